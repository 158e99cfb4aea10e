//! The objective J, exact, from what a sweep leaves behind.
//!
//! The missing part of J over *all* entries is `Σ_t ⟨S^p_t, S^q_t⟩` (the paper's fast formula, with
//! both caches instead of one); taking away what the observed entries contribute to it leaves the
//! missing ones. All sums are in `f64`, of predictions in `f32`: the error is about 1e-7 of
//! `J + Σ_R (a·b)(p·q)²`.

use rayon::prelude::*;

use crate::data::Values;
use crate::linalg::Dense;

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
    pub(crate) fn add(&mut self, other: Self) {
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

/// Rows whose squares are summed together.
const ROWS: usize = 4096;

/// `Σ_u λ_u |p_u|²`.
pub(crate) fn ridge(factors: &Dense, penalty: &Values<'_>) -> f64 {
    let square = |row: usize| -> f64 {
        factors
            .row(row)
            .iter()
            .map(|x| f64::from(*x) * f64::from(*x))
            .sum()
    };
    let chunk = |first: usize| -> f64 {
        let rows = first..factors.rows().min(first + ROWS);
        rows.map(|row| f64::from(penalty.get(row)) * square(row))
            .sum()
    };
    let starts: Vec<usize> = (0..factors.rows()).step_by(ROWS).collect();
    // Collected before they are added, so that the order is that of the rows.
    starts
        .into_par_iter()
        .map(chunk)
        .collect::<Vec<f64>>()
        .into_iter()
        .sum()
}
