//! Small models and random operations.

use absentia::data::{Confidence, Duplicates, Interactions, Targets, Triplets};
use absentia::fit::{Run, fit};
use absentia::model::RowWeights;
use absentia::online::{Event, Online, Operation, Options, WeightMode};
use absentia::weights::{Scheme, Strength};
use absentia::{Axis, Dense, Model, Params};

/// Random numbers from a seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % limit as u64) as usize
    }

    /// A number in [0, 1).
    pub(crate) fn unit(&mut self) -> f32 {
        self.below(1 << 20) as f32 / (1 << 20) as f32
    }
}

pub(crate) const USERS: usize = 40;
pub(crate) const ITEMS: usize = 30;

/// Rows with varying values, weights, times and exposed entries; every user and item has one.
pub(crate) fn rows() -> Interactions<'static> {
    let mut dice = Dice::new(7);
    let (mut users, mut items) = (Vec::new(), Vec::new());
    for user in 0..USERS {
        for item in 0..ITEMS {
            if user % ITEMS == item || dice.below(6) == 0 {
                users.push(user as u32);
                items.push(item as u32);
            }
        }
    }
    let column = |dice: &mut Dice| {
        users
            .iter()
            .map(|_| 0.5 + dice.unit())
            .collect::<Vec<f32>>()
    };
    let (values, weights) = (column(&mut dice), column(&mut dice));
    let times: Vec<i64> = users
        .iter()
        .map(|_| 1000 + dice.below(500) as i64)
        .collect();
    let data = Triplets::new(&users, &items)
        .values(&values)
        .weights(&weights)
        .times(&times)
        .build(USERS, ITEMS, Duplicates::Error)
        .unwrap();
    data.with_exposed(&[1, 2, 3, 30], &[11, 20, 4, 5], &[0.7, 0.2, 1.5, 0.9])
        .unwrap()
}

pub(crate) fn params() -> Params {
    Params::new()
        .factors(20)
        .iterations(4)
        .regularization(0.02)
        .reg_exponent(0.7)
        .init_std(0.1)
        .targets(Targets::Raw)
        .confidence(Confidence::Column)
}

/// Weights of rank 3 with any rows.
pub(crate) fn rank_three() -> Scheme {
    let mut dice = Dice::new(3);
    let mut side = |rows: usize| Dense::from_fn(rows, 3, |_, _| 0.2 * dice.unit());
    let (a, b) = (side(USERS), side(ITEMS));
    Scheme::low_rank(a, b)
}

/// A scheme of rank 3 that follows the counts in every way.
pub(crate) fn live_sum() -> Scheme {
    Scheme::sum([
        Scheme::popularity(Strength::Mean(0.1), 0.4),
        Scheme::popularity_activity(Strength::Mean(0.05), 0.5, 0.3),
        Scheme::activity(Strength::C0(3.0), 0.6),
    ])
}

pub(crate) struct Setup {
    pub(crate) rows: Interactions<'static>,
    pub(crate) model: Model,
    pub(crate) options: Options,
}

impl Setup {
    pub(crate) fn new(scheme: Scheme, weights: WeightMode) -> Self {
        Self::with(rows(), scheme, weights, &params())
    }

    pub(crate) fn with(
        rows: Interactions<'static>,
        scheme: Scheme,
        weights: WeightMode,
        params: &Params,
    ) -> Self {
        let params = params.clone().check().unwrap();
        let model = fit(&rows, &scheme, &params, Run::default()).unwrap().model;
        Self {
            rows,
            model,
            options: Options {
                scheme: Some(scheme),
                weights,
                duplicates: Duplicates::Sum,
                ..Options::default()
            },
        }
    }

    pub(crate) fn online(&self) -> Online {
        Online::new(&self.model, &self.rows, self.options.clone()).unwrap()
    }

    pub(crate) fn with_steps(&self, steps: u32) -> Online {
        let mut options = self.options.clone();
        options.settings.steps = steps;
        Online::new(&self.model, &self.rows, options).unwrap()
    }
}

pub(crate) fn event(dice: &mut Dice, online: &Online) -> Event {
    let row = |dice: &mut Dice, axis| dice.below(online.n_rows(axis)) as u32;
    Event::new(row(dice, Axis::User), row(dice, Axis::Item))
        .value(0.5 + dice.unit())
        .weight(0.2 + 2.0 * dice.unit())
        .time(1200 + dice.below(1000) as i64)
}

/// An operation that can be applied: mostly events, some of which are undone.
pub(crate) fn operation(dice: &mut Dice, online: &Online) -> Operation {
    let new = event(dice, online);
    let (user, item) = (new.user, new.item);
    match dice.below(100) {
        0..45 => Operation::Insert(new),
        45..65 => Operation::Expose {
            user,
            item,
            weight: dice.unit(),
        },
        65..94 => {
            let items = online.columns(Axis::User, user);
            match items.len() {
                0 => Operation::Insert(new),
                len => Operation::Remove {
                    user,
                    item: items[dice.below(len)],
                    time: None,
                    later: None,
                },
            }
        }
        94 => Operation::Erase { user },
        95 => Operation::Rebuild,
        96 | 97 => Operation::Add {
            axis: Axis::User,
            hash: dice.below(1 << 30) as u64,
            weights: RowWeights::Frozen,
        },
        _ => Operation::Add {
            axis: Axis::Item,
            hash: dice.below(1 << 30) as u64,
            weights: RowWeights::Frozen,
        },
    }
}

/// Applies random operations, none of which recomputes anything.
pub(crate) fn run(online: &mut Online, dice: &mut Dice, operations: usize) {
    let mut done = 0;
    while done < operations {
        let operation = operation(dice, online);
        if operation != Operation::Rebuild {
            online.apply(&operation).unwrap();
            done += 1;
        }
    }
}

/// The caches of one side from scratch, in double precision.
pub(crate) fn caches_from_scratch(online: &Online, axis: Axis) -> Vec<f64> {
    let (v, _) = online.missing_parts(axis);
    let factors = online.factors(axis);
    let (k, z) = (factors.cols(), v.cols());
    let mut sums = vec![0.0; z * k * k];
    for row in 0..factors.rows() {
        for t in 0..z {
            let weight = f64::from(v.row(row)[t]);
            for f in 0..k {
                for g in 0..=f {
                    let product = f64::from(factors.row(row)[f]) * f64::from(factors.row(row)[g]);
                    sums[(t * k + f) * k + g] += weight * product;
                }
            }
        }
    }
    sums
}

/// The largest difference of two lists, relative to their largest number.
pub(crate) fn difference(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len());
    let size = y.iter().fold(0.0_f64, |size, y| size.max(y.abs()));
    let off = x
        .iter()
        .zip(y)
        .fold(0.0_f64, |off, (x, y)| off.max((x - y).abs()));
    off / size.max(f64::MIN_POSITIVE)
}
