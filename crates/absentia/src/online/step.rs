//! Improving one row with the other side held fixed.

use std::sync::atomic::AtomicBool;

use super::Online;
use crate::data::{Values, mix};
use crate::error::Axis;
use crate::fit::start_row;
use crate::linalg::Dense;
use crate::solver::Side;
use crate::solver::growing::WeightedRow;
use crate::solver::guarded::improve_row;
use crate::solver::penalty::{row_penalty, total_weight};

/// How a row is improved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowStep {
    /// One exact step for each coordinate, as `eals` makes them.
    Coordinates,
    /// The minimiser of the row.
    Exact,
}

/// Never set: a row is improved too fast to be cancelled.
static NOT_CANCELLED: AtomicBool = AtomicBool::new(false);

impl Online {
    /// Improves a row and the caches with it; yields whether that was possible. A row without entries is
    /// 0, the minimiser of its part of the objective.
    pub(super) fn improve(&mut self, axis: Axis, row: u32, pass: RowStep) -> bool {
        let (row, k) = (row as usize, self.params.factors);
        if self.observed.rows[axis][row].len() == 0 {
            self.set_factors(axis, row, &vec![0.0; k]);
            return true;
        }
        let Some(after) = self.improved(axis, row, pass) else {
            return false;
        };
        self.set_factors(axis, row, after.row(0));
        true
    }

    /// The improved row, if it has a minimum.
    fn improved(&mut self, axis: Axis, row: usize, pass: RowStep) -> Option<Dense> {
        let other = axis.other();
        let (fixed, fixed_weights) = (&self.factors[other], &self.weights.v[other]);
        let entries = self.observed.rows[axis][row].entries(fixed.rows());
        let own = self.weights.scaled(axis, row);
        let (lambda, exponent) = (self.params.regularization, self.params.reg_exponent);
        let lambda = if lambda == 0.0 || exponent == 0.0 {
            lambda
        } else {
            let sums = &self.weights.sums[other];
            let total = total_weight(&entries, 0, &own, fixed_weights, sums);
            row_penalty(row, total, lambda, exponent).ok()?
        };
        let side = Side {
            observed: &entries,
            own_weights: &own,
            fixed_weights,
            fixed,
            cache: self.caches[other].rounded(),
            penalty: &Values::Constant(lambda),
            features: &[],
            may_be_negative: self.weights.may_be_negative(),
            wants_loss: false,
            kernels: self.kernels,
            cancelled: &NOT_CANCELLED,
        };
        let mut before = Dense::padded(1, fixed.cols());
        let block = match pass {
            RowStep::Coordinates => {
                before
                    .row_mut(0)
                    .copy_from_slice(self.factors[axis].row(row));
                1
            }
            RowStep::Exact => before.stride(),
        };
        let cache = self.caches[other].in_double();
        improve_row(&side, cache, (&before, block), &mut self.scratch)
    }

    /// Changes the factors of a row, and the caches with it.
    pub(super) fn set_factors(&mut self, axis: Axis, row: usize, factors: &[f32]) {
        let weights = self.weights.v[axis].row(row);
        let old = WeightedRow {
            weights,
            factors: self.factors[axis].row(row),
        };
        if old.factors == factors {
            return;
        }
        self.caches[axis].replace(old, WeightedRow { weights, factors });
        self.factors[axis].row_mut(row).copy_from_slice(factors);
    }

    /// Changes the caches after the weights of a row changed from `before`.
    pub(super) fn reweigh(&mut self, axis: Axis, row: usize, before: &[f32]) {
        if self.is_blank(axis, row as u32) {
            return;
        }
        let factors = self.factors[axis].row(row);
        let old = WeightedRow {
            weights: before,
            factors,
        };
        let weights = self.weights.v[axis].row(row);
        self.caches[axis].replace(old, WeightedRow { weights, factors });
    }

    /// Whether a row has not learned anything yet: its factors are 0. Two such rows are a fixed point of every
    /// step.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn is_blank(&self, axis: Axis, row: u32) -> bool {
        self.factors[axis]
            .row(row as usize)
            .iter()
            .all(|&x| x == 0.0)
    }

    /// The start of a row, drawn from the hash of its id; rows of the training data have a hash of their
    /// number.
    pub(super) fn start_of(&self, axis: Axis, row: u32) -> Vec<f32> {
        let row = row as usize;
        let side = match axis {
            Axis::User => 0,
            Axis::Item => 1,
        };
        let added = row.checked_sub(self.trained_rows[axis]);
        let id = added.map_or(row as u64, |at| self.hashes[axis][at]);
        let mut start = vec![0.0; self.params.factors];
        let seed = mix(self.params.seed, id, side);
        start_row(&mut start, self.params.init_std, seed);
        start
    }
}
