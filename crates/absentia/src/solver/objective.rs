//! The exact objective J, from the caches and predictions that a sweep computed.
//!
//! The missing part of J over *all* entries is `Σ_t ⟨S^p_t, S^q_t⟩` (the paper's fast formula, with
//! both caches instead of one); subtracting what the observed entries contribute to it leaves the
//! missing ones. All sums are in `f64`, of predictions in `f32`: the error is about 1e-7 of
//! `J + Σ_R (a·b)(p·q)²`. If that is much more than J, predictions are computed again in `f64`.

use std::ops::Range;

use super::cache::GramCache;
use crate::data::{Interactions, Values};
use crate::linalg::Dense;
use crate::row_sums::{Summand, sum_rows};
use crate::weights::MissingWeights;

/// What the rows of a half-sweep and their observed entries contribute.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct EntryLoss {
    /// `Σ_R c (r − p·q)²`.
    pub(crate) observed: f64,
    /// `Σ_R (a·b) (p·q)²`, which the sum over all entries counts and the missing part must not.
    pub(crate) counted_as_missing: f64,
    /// `Σ_u λ_u |p_u|²` of the rows just solved.
    pub(crate) ridge: f64,
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

/// `Σ_{(u,i)∉R} (a_u·b_i)(p_u·q_i)²` from both caches and what the observed entries contribute.
pub(crate) fn missing_part(
    sp: &GramCache,
    sq: &GramCache,
    loss: &EntryLoss,
    may_be_negative: bool,
) -> f64 {
    missing_of_all(sp.inner(sq), loss, may_be_negative)
}

/// The same from the sum over all entries.
pub(crate) fn missing_of_all(all: f64, loss: &EntryLoss, may_be_negative: bool) -> f64 {
    let missing = all - loss.counted_as_missing;
    // Where weights are not negative, only rounding can be.
    if may_be_negative {
        missing
    } else {
        missing.max(0.0)
    }
}

/// `Σ_u λ_u |p_u|²`.
pub(crate) fn ridge(factors: &Dense, penalty: &Values<'_>) -> f64 {
    let square = |row: usize| -> f64 {
        let row = factors.row(row).iter();
        row.map(|x| f64::from(*x) * f64::from(*x)).sum()
    };
    let of_chunk = |rows: Range<usize>| -> f64 {
        rows.map(|row| f64::from(penalty.get(row)) * square(row))
            .sum()
    };
    sum_rows(factors.rows(), of_chunk).unwrap_or(0.0)
}

/// What the observed entries add to J, from the factors alone, in `f64` throughout.
pub(crate) fn entry_loss(
    data: &Interactions<'_>,
    weights: &MissingWeights,
    p: &Dense,
    q: &Dense,
) -> EntryLoss {
    let row_loss = |user: usize| {
        let row = data.by_user().row(user);
        let mut loss = EntryLoss::default();
        for (n, &item) in row.indices.iter().enumerate() {
            let predicted = dot(p.padded_row(user), q.padded_row(item as usize));
            let weight = dot(weights.a().row(user), weights.b().row(item as usize));
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
    sum_rows(p.rows(), of_chunk).unwrap_or_default()
}

/// Several sums at once, so that they need not wait for each other.
fn dot(x: &[f32], y: &[f32]) -> f64 {
    let mut sums = [0.0_f64; 8];
    for (x, y) in x.chunks(8).zip(y.chunks(8)) {
        for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += f64::from(*x) * f64::from(*y);
        }
    }
    sums.iter().sum()
}
