//! The error of an approximation over the missing entries.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::rule::WeightRule;
use super::{Measured, Negatives};
use crate::data::Interactions;
use crate::linalg::{Dense, RowBlocks};

/// Rows whose weights are compared by one task.
const ROWS_PER_TASK: usize = 64;
/// Missing entries drawn when W is too large to compare all.
pub(super) const SAMPLE: usize = 1 << 20;
/// Sampled entries compared by one task.
const ENTRIES_PER_TASK: usize = 1 << 14;
/// Half the width of a 95% interval in standard deviations.
const NORMAL_95: f64 = 1.959_964;
/// Draws for each missing entry, after which sampling a nearly full matrix ends.
const DRAWS_PER_ENTRY: usize = 64;

/// The missing entries on which approximations are compared with W.
pub(super) enum Probe<'a> {
    /// All of them.
    All {
        w: &'a dyn RowBlocks,
        data: &'a Interactions<'a>,
    },
    /// Some, with their weights.
    Sample(Vec<(u32, u32, f32)>),
}

/// The error of an approximation.
pub(super) struct MeasuredError {
    pub(super) relative_error: f64,
    pub(super) measured: Measured,
    pub(super) negatives: Negatives,
}

/// Sums over missing entries: squared errors `d²`, squared weights `w²` and their products.
#[derive(Clone, Copy, Default)]
struct ErrorSums {
    entries: u64,
    off: f64,
    all: f64,
    off_off: f64,
    off_all: f64,
    all_all: f64,
    negatives: Negatives,
}

impl ErrorSums {
    fn add(&mut self, user: u32, item: u32, w: f32, approximated: f32) {
        let w = f64::from(w);
        let (off, all) = ((w - f64::from(approximated)).powi(2), w * w);
        self.entries += 1;
        self.off += off;
        self.all += all;
        self.off_off += off * off;
        self.off_all += off * all;
        self.all_all += all * all;
        self.negatives.add(user, item, approximated);
    }

    fn merge(mut self, other: Self) -> Self {
        self.entries += other.entries;
        self.off += other.off;
        self.all += other.all;
        self.off_off += other.off_off;
        self.off_all += other.off_all;
        self.all_all += other.all_all;
        self.negatives.merge(other.negatives);
        self
    }

    /// The interval of the ratio Σd²/Σw², linearised around its estimate.
    fn interval(&self) -> (f64, f64) {
        if self.all <= 0.0 {
            let edge = root_ratio(self.off, self.all);
            return (edge, edge);
        }
        let ratio = self.off / self.all;
        let spread = self.off_off - 2.0 * ratio * self.off_all + ratio * ratio * self.all_all;
        let half = NORMAL_95 * spread.max(0.0).sqrt() / self.all;
        ((ratio - half).max(0.0).sqrt(), (ratio + half).sqrt())
    }
}

impl Probe<'_> {
    /// Draws missing entries of a rule, uniformly, with replacement.
    pub(super) fn sample(rule: &dyn WeightRule, data: &Interactions<'_>, wanted: usize) -> Self {
        let (m, n) = (data.n_users() as u64, data.n_items() as u64);
        let mut rng = ChaCha8Rng::seed_from_u64(0x0007_5eed);
        let mut below =
            |count: u64| ((u128::from(rng.next_u64()) * u128::from(count)) >> 64) as u32;
        let mut drawn = Vec::with_capacity(wanted);
        for _ in 0..wanted.saturating_mul(DRAWS_PER_ENTRY) {
            if drawn.len() == wanted || m == 0 || n == 0 {
                break;
            }
            let (user, item) = (below(m), below(n));
            let row = data.by_user().row(user as usize).indices;
            if row.binary_search(&item).is_err() {
                drawn.push((user, item, rule.weight(user, item)));
            }
        }
        Probe::Sample(drawn)
    }

    /// Yields `each` folded over chunks of the missing entries, in the order of the chunks.
    fn fold<T: Clone + Send + Sync>(
        &self,
        start: &T,
        each: impl Fn(&mut T, u32, u32, f32) + Sync,
    ) -> Vec<T> {
        match self {
            Probe::Sample(pairs) => pairs
                .par_chunks(ENTRIES_PER_TASK)
                .map(|pairs| {
                    let mut folded = start.clone();
                    for &(u, i, w) in pairs {
                        each(&mut folded, u, i, w);
                    }
                    folded
                })
                .collect(),
            Probe::All { w, data } => (0..w.rows().div_ceil(ROWS_PER_TASK))
                .into_par_iter()
                .map_init(Vec::new, |buffer, task| {
                    let users = task * ROWS_PER_TASK..w.rows().min((task + 1) * ROWS_PER_TASK);
                    buffer.resize(users.len() * w.cols(), 0.0);
                    w.fill(users.clone(), buffer);
                    let mut folded = start.clone();
                    for (u, row) in users.zip(buffer.chunks_exact(w.cols().max(1))) {
                        for_missing(data.by_user().row(u).indices, row.len(), |i| {
                            each(&mut folded, u as u32, i as u32, row[i]);
                        });
                    }
                    folded
                })
                .collect(),
        }
    }

    /// Yields the error of `A Bᵀ` and its negative weights.
    pub(super) fn measure(&self, a: &Dense, b: &Dense) -> MeasuredError {
        let parts = self.fold(&ErrorSums::default(), |sums, u, i, w| {
            let approximated = dot(a.row(u as usize), b.row(i as usize));
            sums.add(u, i, w, approximated);
        });
        let sums = parts
            .into_iter()
            .fold(ErrorSums::default(), ErrorSums::merge);
        let (low, high) = sums.interval();
        let entries = sums.entries;
        MeasuredError {
            relative_error: root_ratio(sums.off, sums.all),
            measured: match self {
                Probe::All { .. } => Measured::All { entries },
                Probe::Sample(_) => Measured::Sample { entries, low, high },
            },
            negatives: sums.negatives,
        }
    }

    /// Yields the error with the first 0, 1, ..., Z components, in one pass.
    pub(super) fn errors_by_rank(&self, a: &Dense, b: &Dense) -> Vec<f64> {
        let none = vec![0.0; a.cols() + 1];
        let parts = self.fold(&none, |sums, u, i, w| {
            let mut rest = f64::from(w);
            sums[0] += rest * rest;
            let pairs = a.row(u as usize).iter().zip(b.row(i as usize));
            for (sum, (&a, &b)) in sums[1..].iter_mut().zip(pairs) {
                rest -= f64::from(a) * f64::from(b);
                *sum += rest * rest;
            }
        });
        let mut total = none;
        for part in parts {
            total.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
        }
        let all = total[0];
        total.into_iter().map(|off| root_ratio(off, all)).collect()
    }
}

/// Calls `each` with every column below `n` that is not in `observed`, which is sorted.
fn for_missing(observed: &[u32], n: usize, mut each: impl FnMut(usize)) {
    let mut start = 0;
    for &index in observed {
        (start..index as usize).for_each(&mut each);
        start = index as usize + 1;
    }
    (start..n).for_each(each);
}

fn root_ratio(off: f64, all: f64) -> f64 {
    match (off > 0.0, all > 0.0) {
        (false, _) => 0.0,
        (true, true) => (off / all).sqrt(),
        (true, false) => f64::INFINITY,
    }
}

pub(in crate::weights) fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_columns_are_those_between_the_observed_ones() {
        let list = |observed: &[u32]| {
            let mut seen = Vec::new();
            for_missing(observed, 5, |i| seen.push(i));
            seen
        };
        assert_eq!(list(&[]), [0, 1, 2, 3, 4]);
        assert_eq!(list(&[0, 3]), [1, 2, 4]);
        assert_eq!(list(&[1, 4]), [0, 2, 3]);
    }
}
