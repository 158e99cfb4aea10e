//! A random problem: its files, its command line, and the same as the oracle takes it.

use std::fmt::Write as _;

use super::oracle::{Factors, Oracle};
use crate::dice::Dice;
use crate::room::Room;

pub(super) struct Problem {
    pub(super) oracle: Oracle,
    pub(super) start: Factors,
    /// Whether magnitudes are such that a refusal is right too.
    pub(super) is_extreme: bool,
    /// Number of coordinates that the solver changes at once, if its steps are exact.
    pub(super) block: Option<usize>,
    flags: String,
    files: Vec<(&'static str, Vec<u8>)>,
}

/// An observed entry as the file has it.
struct Entry {
    value: f32,
    time: i64,
    weight: f32,
}

const NOW: i64 = 1_600_000_000;
const DAY: i64 = 86_400;

impl Problem {
    pub(super) fn random(dice: &mut Dice) -> Self {
        let (users, items) = (dice.within(2, 30), dice.within(2, 25));
        let is_extreme = dice.is(0.4);
        let mut flags = format!("--dense-ids --shape {users},{items} --post-scale 0");
        let density = dice.one_of(&[0.1, 0.3, 0.6, 0.95]);
        let scale = if is_extreme {
            dice.magnitude(-12.0, 12.0)
        } else {
            1.0
        };
        let entries: Vec<Option<Entry>> = (0..users * items)
            .map(|at| {
                (at == 0 || dice.is(density)).then(|| Entry {
                    value: (scale * (0.1 + 5.0 * dice.unit())) as f32,
                    time: NOW - i64::from(dice.below(100) as u32) * DAY,
                    weight: dice.magnitude(-2.0, 1.0) as f32,
                })
            })
            .collect();
        let factors = dice.one_of(&[1, 2, 3, 5, 8, 16, 17, 32]);
        let (solver, block) = solver(dice, factors);
        let _ = write!(
            flags,
            " --solver {solver} -k {factors} --iterations {}",
            dice.within(1, 8)
        );
        let mut target = targets(dice, &entries, items, &mut flags);
        let mut weight = confidences(dice, &entries, is_extreme, &mut flags);
        let mut files = vec![("data.csv", csv(&entries, items))];
        let missing = weights(
            dice,
            &entries,
            (users, items),
            is_extreme,
            (&mut flags, &mut files),
        );
        exposures(
            dice,
            &entries,
            items,
            (&mut weight, &mut target),
            (&mut flags, &mut files),
        );
        for (weight, missing) in weight.iter_mut().zip(&missing) {
            if weight.is_nan() {
                *weight = *missing;
            }
        }
        let lambda = match dice.below(4) {
            0 if is_extreme => 0.0,
            1 if is_extreme => dice.magnitude(-12.0, 6.0),
            _ => dice.magnitude(-2.0, 0.5),
        };
        let lambda = f64::from(lambda as f32);
        let exponent = dice.one_of(&[0.0, 0.5, 1.0]);
        let _ = write!(
            flags,
            " --regularization {} --reg-exponent {exponent}",
            lambda as f32
        );
        let size = if is_extreme {
            dice.magnitude(-4.0, 1.0)
        } else {
            0.5
        };
        Self {
            start: Factors::random(dice, users, items, factors, size),
            oracle: Oracle {
                users,
                items,
                factors,
                weight,
                missing,
                target,
                lambda,
                exponent,
            },
            is_extreme,
            block,
            flags,
            files,
        }
    }

    pub(super) fn line(&self) -> String {
        let flags = &self.flags;
        format!("train data.csv --model m.absentia --init P.npy,Q.npy --json {flags}")
    }

    pub(super) fn write(&self, room: &Room) {
        for (name, bytes) in &self.files {
            room.write(name, bytes);
        }
        let (oracle, start) = (&self.oracle, &self.start);
        room.write("P.npy", array(&start.p, oracle.users));
        room.write("Q.npy", array(&start.q, oracle.items));
    }
}

fn solver(dice: &mut Dice, factors: usize) -> (String, Option<usize>) {
    match dice.below(7) {
        0 | 1 => ("eals".to_owned(), Some(1)),
        2 => ("eals-vanilla".to_owned(), Some(1)),
        3 => ("als".to_owned(), Some(factors)),
        4 | 5 => {
            let block = dice.one_of(&[1, 2, 4, 8, 16]);
            (format!("subspace --block {block}"), Some(block))
        }
        _ => (format!("als-cg --cg-steps {}", dice.within(1, 6)), None),
    }
}

/// Targets of observed entries, 0 elsewhere.
fn targets(
    dice: &mut Dice,
    entries: &[Option<Entry>],
    items: usize,
    flags: &mut String,
) -> Vec<f64> {
    let kind = dice.one_of(&["raw", "binary", "log", "normalized:0.3,0.5"]);
    let _ = write!(flags, " --targets {kind}");
    let count = |same: &dyn Fn(usize) -> bool| {
        entries
            .iter()
            .enumerate()
            .filter(|(at, entry)| entry.is_some() && same(*at))
            .count() as f64
    };
    let target = |at: usize, entry: &Entry| match kind {
        "raw" => f64::from(entry.value),
        "binary" => 1.0,
        "log" => f64::from(entry.value).ln_1p(),
        _ => {
            let of_user = count(&|other| other / items == at / items);
            let of_item = count(&|other| other % items == at % items);
            of_user.powf(-0.3) * of_item.powf(-0.5)
        }
    };
    let mut targets: Vec<f64> = entries
        .iter()
        .enumerate()
        .map(|(at, entry)| entry.as_ref().map_or(0.0, |entry| target(at, entry)))
        .collect();
    if kind.starts_with("normalized") {
        let mean = targets.iter().sum::<f64>() / count(&|_| true);
        for target in &mut targets {
            *target /= mean;
        }
    }
    targets
}

/// Weights of observed entries, NaN elsewhere.
fn confidences(
    dice: &mut Dice,
    entries: &[Option<Entry>],
    is_extreme: bool,
    flags: &mut String,
) -> Vec<f64> {
    let constant = if is_extreme {
        dice.magnitude(-8.0, 6.0)
    } else {
        dice.magnitude(-2.0, 1.0)
    } as f32;
    let kind = dice.below(5);
    let rule = match kind {
        0 => constant.to_string(),
        1 => "linear:0.5".to_owned(),
        2 => "log:0.8,0.1".to_owned(),
        3 => "decay:30d".to_owned(),
        _ => "column --weight-col weight".to_owned(),
    };
    let _ = write!(flags, " --confidence {rule}");
    let latest = entries
        .iter()
        .flatten()
        .map(|entry| entry.time)
        .max()
        .unwrap_or(NOW);
    let weight = |entry: &Entry| {
        let value = f64::from(entry.value);
        match kind {
            0 => f64::from(constant),
            1 => 1.0 + 0.5 * value,
            2 => 1.0 + 0.8 * (value / 0.1).ln_1p(),
            3 => (-((latest - entry.time) as f64) / (30 * DAY) as f64).exp2(),
            _ => f64::from(entry.weight),
        }
    };
    entries
        .iter()
        .map(|entry| entry.as_ref().map_or(f64::NAN, weight))
        .collect()
}

/// Weights of missing entries: for every entry what it would have if it were missing.
fn weights(
    dice: &mut Dice,
    entries: &[Option<Entry>],
    (users, items): (usize, usize),
    is_extreme: bool,
    (flags, files): (&mut String, &mut Vec<(&'static str, Vec<u8>)>),
) -> Vec<f64> {
    let size = if is_extreme {
        dice.magnitude(-8.0, 4.0)
    } else {
        dice.magnitude(-3.0, 0.0)
    } as f32;
    let total = entries.iter().flatten().count() as f64;
    match dice.below(3) {
        0 => {
            let _ = write!(flags, " --weights uniform:{size}");
            vec![f64::from(size); users * items]
        }
        1 if total > 0.0 => {
            let _ = write!(flags, " --weights popularity:c0={size},alpha=0.5");
            let share = |item: usize| {
                let of_item = (0..users).filter(|user| entries[user * items + item].is_some());
                (of_item.count() as f64 / total).sqrt()
            };
            let shares: Vec<f64> = (0..items).map(share).collect();
            let sum: f64 = shares.iter().sum();
            (0..users * items)
                .map(|at| f64::from(size) * shares[at % items] / sum)
                .collect()
        }
        _ => {
            let rank = dice.within(1, 3);
            let mut side = |rows: usize| -> Vec<f64> {
                let number = |_| f64::from((f64::from(size).sqrt() * dice.unit()) as f32);
                (0..rows * rank).map(number).collect()
            };
            let (a, b) = (side(users), side(items));
            files.push(("A.npy", array(&a, users)));
            files.push(("B.npy", array(&b, items)));
            flags.push_str(" --weights lowrank:A.npy,B.npy");
            let weight = |at: usize| -> f64 {
                (0..rank)
                    .map(|t| a[at / items * rank + t] * b[at % items * rank + t])
                    .sum()
            };
            (0..users * items).map(weight).collect()
        }
    }
}

/// Makes some missing entries exposed ones: target 0 and a weight of their own.
fn exposures(
    dice: &mut Dice,
    entries: &[Option<Entry>],
    items: usize,
    (weight, target): (&mut [f64], &mut [f64]),
    (flags, files): (&mut String, &mut Vec<(&'static str, Vec<u8>)>),
) {
    if !dice.is(0.25) {
        return;
    }
    let own = dice.magnitude(-2.0, 0.5) as f32;
    let mut text = "user,item\n".to_owned();
    let mut count = 0;
    for (at, entry) in entries.iter().enumerate() {
        if entry.is_none() && dice.is(0.2) {
            let _ = writeln!(text, "{},{}", at / items, at % items);
            (weight[at], target[at]) = (f64::from(own), 0.0);
            count += 1;
        }
    }
    if count > 0 {
        let _ = write!(flags, " --exposed exposed.csv --exposed-weight {own}");
        files.push(("exposed.csv", text.into_bytes()));
    }
}

fn csv(entries: &[Option<Entry>], items: usize) -> Vec<u8> {
    let mut text = "user,item,rating,time,weight\n".to_owned();
    for (at, entry) in entries.iter().enumerate() {
        if let Some(Entry {
            value,
            time,
            weight,
        }) = entry
        {
            let _ = writeln!(
                text,
                "{},{},{value:e},{time},{weight:e}",
                at / items,
                at % items
            );
        }
    }
    text.into_bytes()
}

fn array(numbers: &[f64], rows: usize) -> Vec<u8> {
    let numbers: Vec<f32> = numbers.iter().map(|x| *x as f32).collect();
    let mut bytes = Vec::new();
    let shape = [rows, numbers.len() / rows];
    absentia_io::npy::write(&mut bytes, &shape, &numbers).expect("written");
    bytes
}
