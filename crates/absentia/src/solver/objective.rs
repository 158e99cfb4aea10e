//! The exact objective J, from the caches and predictions that a sweep computed.
//!
//! The missing part of J over *all* entries is `Σ_t ⟨S^p_t, S^q_t⟩` (the paper's fast formula, with
//! both caches instead of one); subtracting what the observed entries contribute to it leaves the
//! missing ones. Close to a perfect fit this is a small difference of large sums. So each way to sum J
//! knows how far off it may be, and the run takes a more exact one until that is far below J
//! ([`Precision`](crate::fit::backend::Precision)).

use std::ops::Range;

use super::cache::Inner;
use crate::data::{Entries, Interactions, Values};
use crate::linalg::Dense;
use crate::row_sums::{RowSum, Summand};
use crate::weights::MissingWeights;

/// What the rows of a half-sweep and their observed entries contribute.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EntryLoss {
    /// `Σ_R c (r − p·q)²`.
    pub observed: f64,
    /// `Σ_R (a·b) (p·q)²`, which the sum over all entries counts and the missing part must not.
    pub counted_as_missing: f64,
    /// `Σ_u λ_u |p_u|²` of the rows just solved.
    pub ridge: f64,
}

impl EntryLoss {
    /// Adds the observed part of some entries, and what is counted as missing.
    pub(crate) fn add_entries(&mut self, [observed, counted]: [f64; 2]) {
        self.observed += observed;
        self.counted_as_missing += counted;
    }
}

impl Summand for EntryLoss {
    fn add(&mut self, other: Self) {
        self.observed += other.observed;
        self.counted_as_missing += other.counted_as_missing;
        self.ridge += other.ridge;
    }
}

/// The objective and its three parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Objective {
    /// `Σ_{(u,i)∈R} c_ui (r_ui − p_u·q_i)²`.
    pub observed: f64,
    /// `Σ_{(u,i)∉R} (a_u·b_i) (p_u·q_i)²`.
    pub missing: f64,
    /// `Σ_u λ_u|p_u|² + Σ_i λ_i|q_i|²`.
    pub regularization: f64,
}

impl Objective {
    /// The sum J of the three parts.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.observed + self.missing + self.regularization
    }
}

/// `Σ_{(u,i)∉R} (a_u·b_i)(p_u·q_i)²` from the sum over all entries and what the observed ones contribute.
pub(crate) fn missing_of_all(all: Inner, loss: &EntryLoss, may_be_negative: bool) -> f64 {
    let missing = all.sum - loss.counted_as_missing;
    // Where weights are not negative, only rounding can be.
    if may_be_negative {
        missing
    } else {
        missing.max(0.0)
    }
}

/// `Σ_u λ_u |p_u|²`.
pub(crate) fn ridge(factors: &Dense, penalty: &Values<'_>) -> f64 {
    ridge_sums(factors, penalty, 0).total().unwrap_or(0.0)
}

/// `λ_u |p_u|²` of rows that begin with chunk `first` of the whole matrix.
pub(crate) fn ridge_sums(factors: &Dense, penalty: &Values<'_>, first: usize) -> RowSum<f64> {
    let square = |row: usize| -> f64 {
        let row = factors.row(row).iter();
        row.map(|x| f64::from(*x) * f64::from(*x)).sum()
    };
    let of_chunk = |rows: Range<usize>| -> f64 {
        rows.map(|row| f64::from(penalty.get(row)) * square(row))
            .sum()
    };
    RowSum::over_part(first, factors.rows(), 1, &of_chunk)
}

/// What the observed entries add to J, from the factors alone, in `f64` throughout.
pub(crate) fn entry_loss(
    data: &Interactions<'_>,
    weights: &MissingWeights,
    p: &Dense,
    q: &Dense,
) -> EntryLoss {
    let sums = entry_losses(data.by_user(), (weights.a(), weights.b()), (p, q), 0);
    sums.total().unwrap_or_default()
}

/// The same of users that begin with chunk `first` of all users.
pub(crate) fn entry_losses(
    by_user: &Entries<'_>,
    (a, b): (&Dense, &Dense),
    (p, q): (&Dense, &Dense),
    first: usize,
) -> RowSum<EntryLoss> {
    let row_loss = |user: usize| {
        let row = by_user.row(user);
        let mut loss = EntryLoss::default();
        for (n, &item) in row.indices.iter().enumerate() {
            let predicted = dot(p.padded_row(user), q.padded_row(item as usize));
            let weight = dot(a.row(user), b.row(item as usize));
            let error = f64::from(row.r.get(n)) - predicted;
            loss.observed += f64::from(row.c.get(n)) * error * error;
            loss.counted_as_missing += weight * predicted * predicted;
        }
        loss
    };
    let of_chunk = |rows: Range<usize>| {
        let mut loss = EntryLoss::default();
        rows.for_each(|user| loss.add(row_loss(user)));
        loss
    };
    RowSum::over_part(first, p.rows(), 1, &of_chunk)
}

/// `Σ_R c r²`, the objective where all factors are zero, of users that begin with chunk `first` of all users.
pub(crate) fn losses_at_zero(by_user: &Entries<'_>, first: usize) -> RowSum<f64> {
    let of_row = |row: usize| -> f64 {
        let row = by_user.row(row);
        let square = |n: usize| f64::from(row.c.get(n)) * f64::from(row.r.get(n)).powi(2);
        (0..row.indices.len()).map(square).sum()
    };
    let of_chunk = |rows: Range<usize>| rows.map(of_row).sum();
    RowSum::over_part(first, by_user.rows(), 1, &of_chunk)
}

/// Products of factors that may be summed where nothing but a sum over every entry is exact. Where there
/// are more, what double precision leaves has to do.
const MOST_PRODUCTS: f64 = 2e9;

/// Whether a sum over all entries of a matrix with this many rows and columns takes a few seconds at most.
pub(crate) fn can_sum_every_entry(rows: usize, cols: usize, k: usize) -> bool {
    rows as f64 * cols as f64 * k as f64 <= MOST_PRODUCTS
}

/// `Σ_{(u,i)∉R} w_ui (p_u·q_i)²` entry by entry: for a W that is not factorised, or where the other
/// sums cancel.
pub(crate) fn missing_entry_by_entry(
    data: &Interactions<'_>,
    weight: impl Fn(usize, usize) -> f64 + Sync,
    p: &Dense,
    q: &Dense,
) -> f64 {
    let sums = missing_by_entry(data.by_user(), weight, (p, q), 0);
    sums.total().unwrap_or(0.0)
}

/// The same of users that begin with chunk `first` of all users, and all items.
pub(crate) fn missing_by_entry(
    by_user: &Entries<'_>,
    weight: impl Fn(usize, usize) -> f64 + Sync,
    (p, q): (&Dense, &Dense),
    first: usize,
) -> RowSum<f64> {
    let of_user = |user: usize| {
        let mut total = 0.0;
        let mut observed = by_user.row(user).indices.iter().peekable();
        for item in 0..q.rows() {
            if observed.next_if(|&&seen| seen as usize == item).is_none() {
                let predicted = dot(p.padded_row(user), q.padded_row(item));
                total += weight(user, item) * predicted * predicted;
            }
        }
        total
    };
    let of_chunk = |users: Range<usize>| users.map(of_user).sum();
    RowSum::over_part(first, p.rows(), 1, &of_chunk)
}

/// `Σ_R c (Σ_f |p_f q_f|)²`, from at most `most` entries at equal distances: what the rounding of
/// predictions is proportional to.
pub(crate) fn size_of_predictions(
    data: &Interactions<'_>,
    p: &Dense,
    q: &Dense,
    most: usize,
) -> f64 {
    let entries = data.by_user();
    size_of_all(
        &prediction_sizes(entries, (p, q), (0, entries.len()), most),
        entries.len(),
    )
}

/// The sum over all entries, from those of a sample of them.
pub(crate) fn size_of_all(sample: &[f64], entries: usize) -> f64 {
    let sum = sample.iter().fold(0.0, |sum, size| sum + size);
    sum * entries as f64 / f64::max(sample.len() as f64, 1.0)
}

/// The numbers of at most `most` of `all` entries, evenly spread.
pub(crate) fn sampled(all: usize, most: usize) -> impl Iterator<Item = usize> {
    let step = all.div_ceil(most).max(1);
    (step / 2..all).step_by(step)
}

/// `c (Σ_f |p_f q_f|)²` of an entry.
pub(crate) fn prediction_size(c: f32, p: &[f32], q: &[f32]) -> f64 {
    let products = p.iter().zip(q);
    let size: f64 = products
        .map(|(p, q)| (f64::from(*p) * f64::from(*q)).abs())
        .sum();
    f64::from(c) * size * size
}

/// The [sizes](prediction_size) of the sample's entries, as far as they are in a part: `before` entries of all come
/// before it.
pub(crate) fn prediction_sizes(
    entries: &Entries<'_>,
    (p, q): (&Dense, &Dense),
    (before, all): (usize, usize),
    most: usize,
) -> Vec<f64> {
    let own = sampled(all, most).filter(|at| (before..before + entries.len()).contains(at));
    let size_at = |at: usize| {
        let (p, q) = (
            p.row(entries.row_of(at)),
            q.row(entries.indices()[at] as usize),
        );
        prediction_size(entries.weights().get(at), p, q)
    };
    own.map(|at| size_at(at - before)).collect()
}

/// Several sums at once, so that they need not wait for each other.
pub(crate) fn dot(x: &[f32], y: &[f32]) -> f64 {
    let mut sums = [0.0_f64; 8];
    for (x, y) in x.chunks(8).zip(y.chunks(8)) {
        for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += f64::from(*x) * f64::from(*y);
        }
    }
    sums.iter().sum()
}
