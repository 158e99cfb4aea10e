//! The part of the objective that a tile contributes.

use super::Tile;
use crate::solver::objective::EntryLoss;
use crate::solver::{Side, observed_row};

impl Tile<'_> {
    /// The part of the objective that the tile's entries contribute, if it is requested.
    pub(in crate::solver) fn loss(&self, side: &Side<'_>) -> EntryLoss {
        let mut loss = EntryLoss::default();
        if !side.wants_loss {
            return loss;
        }
        for (at, row) in self.rows.clone().enumerate() {
            let (observed, range) = (observed_row(side, row), self.range(at));
            loss.add_entries(side.kernels.losses(
                observed.c.as_slice(),
                observed.r.as_slice(),
                &self.buffers.predicted.as_slice()[range.clone()],
                &self.buffers.missing[range],
            ));
        }
        loss
    }

    /// The regularization term of the tile's rows.
    pub(in crate::solver) fn ridge(&self, side: &Side<'_>) -> f64 {
        let factors = self.factors.chunks_exact(self.stride);
        let squares = factors.map(|p_u| f64::from(side.kernels.square(p_u)));
        let penalties = self
            .rows
            .clone()
            .map(|row| f64::from(side.penalty.get(row)));
        penalties
            .zip(squares)
            .map(|(lambda, square)| lambda * square)
            .sum()
    }
}
