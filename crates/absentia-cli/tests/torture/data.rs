//! Random tables of ratings, and random settings that suit them.

use std::fmt::Write as _;

use crate::dice::Dice;

/// A table of ratings with ids of one kind.
#[derive(Clone)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
    pub(crate) has_times: bool,
}

#[derive(Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) user: String,
    pub(crate) item: String,
    /// In tenths.
    pub(crate) rating: u32,
    pub(crate) time: u64,
}

impl Table {
    /// Adds rows of pairs that are there already, with other ratings and times.
    pub(crate) fn repeat(&mut self, dice: &mut Dice, share: f64) {
        let mut repeats = self.rows.clone();
        repeats.retain(|_| dice.is(share));
        for row in &mut repeats {
            row.rating = dice.within(1, 50) as u32;
            row.time += dice.below(3) as u64 * 1000;
        }
        self.rows.append(&mut repeats);
    }

    /// A table of this shape at the most. No pair occurs twice.
    pub(crate) fn random(dice: &mut Dice, users: usize, items: usize, density: f64) -> Self {
        let kinds = ["", "u", "é", "0", "user name "];
        let (of_user, of_item) = (dice.one_of(&kinds[..4]), dice.one_of(&kinds));
        let mut rows = Vec::new();
        for user in 0..users {
            for item in 0..items {
                // Some items are more popular than others.
                let popular = 2.0 * (1 + item) as f64 / items as f64;
                if dice.is(density * popular) {
                    rows.push(Row {
                        user: format!("{of_user}{user}"),
                        item: format!("{of_item}{item}"),
                        rating: dice.within(1, 50) as u32,
                        time: 1_500_000_000 + dice.below(100_000_000) as u64,
                    });
                }
            }
        }
        Self {
            rows,
            has_times: dice.is(0.7),
        }
    }

    /// A table of a size that takes an instant to train on.
    pub(crate) fn small(dice: &mut Dice) -> Self {
        let (users, items) = (dice.within(8, 60), dice.within(6, 40));
        Self::random(dice, users, items, 0.25)
    }

    pub(crate) fn csv(&self) -> String {
        let mut text = "user,item,rating".to_owned();
        text.push_str(if self.has_times { ",time\n" } else { "\n" });
        for row in &self.rows {
            let (user, item, rating) = (&row.user, &row.item, f64::from(row.rating) / 10.0);
            let _ = write!(text, "{user},{item},{rating}");
            if self.has_times {
                let _ = write!(text, ",{}", row.time);
            }
            text.push('\n');
        }
        text
    }

    pub(crate) fn shuffled(&self, dice: &mut Dice) -> Self {
        let mut other = self.clone();
        dice.shuffle(&mut other.rows);
        other
    }

    /// Takes a share of the rows out, as another table.
    pub(crate) fn take(&mut self, dice: &mut Dice, share: f64) -> Self {
        let (taken, kept) = self.rows.drain(..).partition(|_| dice.is(share));
        self.rows = kept;
        Self {
            rows: taken,
            has_times: self.has_times,
        }
    }
}

/// Settings of `train` for a solver that minimises J, without the number of sweeps.
pub(crate) fn settings(dice: &mut Dice, table: &Table) -> String {
    let solver = dice.one_of(&[
        "eals",
        "eals-vanilla",
        "subspace --block 1",
        "subspace --block 4",
        "subspace --block 16",
        "als",
        "als-cg --cg-steps 2",
        "als-cg --cg-steps 5",
    ]);
    let factors = dice.one_of(&[1, 2, 3, 5, 8, 13, 16, 17, 24]);
    let mut text = format!("--solver {solver} -k {factors} --seed {}", dice.below(100));
    // What is not given is chosen on rows held out.
    if dice.is(0.85) {
        let lambda = dice.magnitude(-3.0, 0.5);
        let exponent = dice.one_of(&["0", "0.5", "1"]);
        let _ = write!(
            text,
            " --regularization {lambda:.5} --reg-exponent {exponent}"
        );
    }
    if dice.is(0.85) {
        let _ = write!(text, " --weights {}", weights(dice));
    }
    if dice.is(0.6) {
        let targets = [
            "binary",
            "raw",
            "log",
            "normalized:0.2",
            "normalized:0.1,0.4",
        ];
        let _ = write!(text, " --targets {}", dice.one_of(&targets));
    }
    if dice.is(0.6) {
        let mut rules = vec!["0.5", "2", "linear:0.7", "log:0.5,0.1"];
        rules.extend(table.has_times.then_some("decay:200d"));
        let _ = write!(text, " --confidence {}", dice.one_of(&rules));
    }
    if dice.is(0.3) {
        let _ = write!(text, " --post-scale {}", dice.one_of(&["0", "0.3", "-0.2"]));
    }
    text
}

fn weights(dice: &mut Dice) -> String {
    let mean = dice.magnitude(-3.0, 0.0);
    match dice.below(5) {
        0 => format!("uniform:{mean:.4}"),
        1 => format!("popularity:mean={mean:.4},alpha=0.4"),
        2 => format!("activity:mean={mean:.4},alpha=0.5"),
        3 => format!("popularity*activity:mean={mean:.4},alpha=0.4,beta=0.3"),
        _ => format!("learned:mean={mean:.4},rank=2"),
    }
}
