//! Beyond the paper: weights it leaves to future work, exposure, and what low rank costs.

use absentia::Dense;
use absentia::Interactions;
use absentia::evaluate::Evaluation;
use absentia::weights::{Groups, Scheme, Strength};
use absentia_report::format::{count, p_value, signed};
use anyhow::Result;

use super::data::Set;
use super::lab::{
    Difference, Lab, METRICS, Setting, Verdict, findings, mean, mean_text, measured, statement,
};
use super::part::{Bars, Block, Grid};

/// Mean weight of missing entries, the same for every scheme.
const MEAN: f32 = 0.01;
/// Weights of exposed entries that are tried: less than other missing ones', and more.
const EXPOSED: [f32; 5] = [0.0, 0.03, 0.1, 0.3, 1.0];

/// This program's own defaults: a penalty that grows with the row's weight.
fn setting(lab: &Lab<'_>, scheme: Scheme) -> Setting {
    Setting {
        scheme,
        params: lab
            .params(lab.size.factors().min(64), lab.size.sweeps())
            .reg_exponent(1.0),
    }
}

/// Four segments of users by activity and four of items by popularity, a missing entry weighing the
/// more, the more active its user and the more popular its item.
fn quartiles(train: &Interactions<'_>) -> Groups {
    let segment = |counts: Vec<u32>| -> Vec<u32> {
        let mut sorted = counts.clone();
        sorted.sort_unstable();
        let cut = |quarter: usize| sorted[(sorted.len() * quarter / 4).min(sorted.len() - 1)];
        let cuts = [cut(1), cut(2), cut(3)];
        let place = |count: &u32| cuts.iter().filter(|cut| count >= cut).count() as u32;
        counts.iter().map(place).collect()
    };
    Groups {
        table: Dense::from_fn(4, 4, |row, col| MEAN * (0.5 + 0.25 * (row + col) as f32)),
        user_segment: segment(train.user_counts()),
        item_category: segment(train.item_counts()),
    }
}

fn schemes(set: &Set) -> Vec<(&'static str, Scheme)> {
    let strength = Strength::Mean(MEAN);
    vec![
        ("uniform", Scheme::uniform(MEAN)),
        ("popularity, α = 0.25", Scheme::popularity(strength, 0.25)),
        ("popularity, α = 0.5", Scheme::popularity(strength, 0.5)),
        ("activity, α = 0.5", Scheme::activity(strength, 0.5)),
        ("activity, α = 1", Scheme::activity(strength, 1.0)),
        (
            "popularity × activity, 0.25 and 0.5",
            Scheme::popularity_activity(strength, 0.25, 0.5),
        ),
        (
            "groups: quartiles of both",
            Scheme::groups(quartiles(&set.train)),
        ),
    ]
}

/// Users, items, both, and groups, against uniform weights of the same mean.
pub(super) fn weights(lab: &Lab<'_>, set: &Set) -> Result<Vec<Block>> {
    let mut grid = Grid::new(
        format!(
            "{}: weights on missing entries, all with a mean of {MEAN} (groups: about)",
            set.name
        ),
        [
            "weights",
            METRICS[0],
            METRICS[1],
            "ndcg against uniform",
            "p",
        ],
    );
    let mut bars = Vec::new();
    let mut first: Option<Evaluation> = None;
    for (name, scheme) in schemes(set) {
        let (_, found) = lab.tested(set, &setting(lab, scheme))?;
        let mut row = vec![
            name.to_owned(),
            mean_text(&found, METRICS[0]),
            mean_text(&found, METRICS[1]),
        ];
        if let Some(uniform) = &first {
            let difference = Difference::of(&found, uniform, METRICS[1])?;
            let half = (difference.interval.high - difference.interval.low) / 2.0;
            bars.push((name.to_owned(), difference.test.difference, half));
            row.push(signed(difference.test.difference));
            row.push(p_value(difference.test.p));
        } else {
            row.extend(["–".to_owned(), "–".to_owned()]);
        }
        grid.row(row);
        first.get_or_insert(found);
    }
    Ok(vec![
        Block::Table(grid),
        Block::Bars(Bars {
            title: format!(
                "{}: ndcg@100 against uniform weights, 95 % bootstrap interval",
                set.name
            ),
            bars,
        }),
    ])
}

/// Pairs that were shown and not taken.
struct Shown {
    users: Vec<u32>,
    items: Vec<u32>,
}

impl Shown {
    /// What was shown and is not an interaction of the whole training part: one that is held out to
    /// validate on was taken, and must not count as refused there.
    fn of(set: &Set) -> Option<Self> {
        let (users, items) = set.exposed.as_ref()?;
        let refused = |user: u32, item: u32| {
            let taken = set.train.by_user().row(user as usize).indices;
            taken.binary_search(&item).is_err()
        };
        let pairs = users.iter().copied().zip(items.iter().copied());
        let (users, items) = pairs.filter(|&(user, item)| refused(user, item)).unzip();
        Some(Self { users, items })
    }

    fn added(&self, data: &Interactions<'_>, weight: f32) -> Result<Interactions<'static>> {
        let weights = vec![weight; self.users.len()];
        Ok(data.with_exposed(&self.users, &self.items, &weights)?)
    }
}

/// Adds a line to a table of weights of exposed entries.
fn add(grid: &mut Grid, name: &str, rows: &str, found: &Evaluation) {
    let [one, two] = METRICS.map(|metric| mean_text(found, metric));
    grid.row([name, rows, &one, &two]);
}

/// The weight that does best on validation rows, and whether it did better than none of its own.
fn best_weight(
    lab: &Lab<'_>,
    set: &Set,
    shown: &Shown,
    setting: &Setting,
    grid: &mut Grid,
) -> Result<(f32, bool)> {
    let (train, valid) = set.validation()?;
    let model = lab.train(&train, setting)?;
    let plain = measured(&model.scorer(), &train, &valid, true)?;
    add(grid, "as any other", "validation", &plain);
    let mut best = (f64::NEG_INFINITY, EXPOSED[0]);
    for weight in EXPOSED {
        let model = lab.train(&shown.added(&train, weight)?, setting)?;
        // What was shown stays a candidate: it may be taken later.
        let found = measured(&model.scorer(), &train, &valid, true)?;
        add(grid, &weight.to_string(), "validation", &found);
        let score = mean(&found, METRICS[1]);
        if score > best.0 {
            best = (score, weight);
        }
    }
    Ok((best.1, best.0 > mean(&plain, METRICS[1])))
}

/// Whether exposed negatives deserve a weight of their own.
pub(super) fn exposure(lab: &Lab<'_>, set: &Set) -> Result<Vec<Block>> {
    let Some(shown) = Shown::of(set) else {
        return Ok(vec![Block::text("This set does not say what was shown.")]);
    };
    let setting = setting(lab, Scheme::uniform(MEAN));
    let mut grid = Grid::new(
        format!(
            "{}: weight of an entry that was shown and not taken; the others weigh {MEAN}",
            set.name
        ),
        ["weight of exposed", "rows", METRICS[0], METRICS[1]],
    );
    let (weight, gained) = best_weight(lab, set, &shown, &setting, &mut grid)?;
    let marked = shown.added(&set.train, weight)?;
    let model = lab.train(&marked, &setting)?;
    let aware = measured(&model.scorer(), &set.train, &set.test, true)?;
    let (_, blind) = lab.tested(set, &setting)?;
    add(&mut grid, "as any other", "test", &blind);
    add(&mut grid, &weight.to_string(), "test", &aware);
    let verdict = match Difference::of(&aware, &blind, METRICS[1])?.verdict() {
        Verdict::Better => "helps",
        Verdict::Worse => "hurts",
        Verdict::Neither => "makes no significant difference",
    };
    let text = format!(
        "{} pairs were shown and not taken. Of the weights tried, {weight} did best on validation \
         rows{}. {} So giving exposed negatives a {} weight than other missing entries {verdict} \
         here, by `{}`.",
        count((marked.len() - marked.n_interactions()) as u64),
        if gained {
            ""
        } else {
            ", though none did better than not telling them apart"
        },
        statement(
            &format!(
                "On the test rows ({}), exposed entries with weight {weight} against not telling them apart",
                set.protocol
            ),
            &aware,
            &blind
        )?,
        if weight > MEAN { "higher" } else { "lower" },
        METRICS[1]
    );
    let mut blocks = vec![Block::Table(grid), Block::text(text)];
    let claim = format!("exposed entries weighing {weight} over {MEAN}");
    blocks.extend(findings(&claim, set, &aware, &blind)?);
    Ok(blocks)
}

/// How the schemes of this section are trained.
pub(super) fn introduction(lab: &Lab<'_>) -> Vec<Block> {
    vec![Block::text(format!(
        "The paper leaves user-oriented and combined weights to future work. Here every scheme has the \
         same mean weight over missing entries, K = {}, {} sweeps, λ_u = 0.01 m_u (m_u the row's total \
         weight); differences are paired by user over the test rows. Settings were not searched for \
         any scheme, so this compares shapes of weights, not best cases.",
        lab.size.factors().min(64),
        lab.size.sweeps()
    ))]
}
