//! The rows of one side that a shard owns.

use std::ops::Range;

use crate::data::{Entries, Values};
use crate::error::Axis;
use crate::fit::observer::Cancel;
use crate::fit::problem::Problem;
use crate::linalg::Dense;
use crate::linalg::kernels::Kernels;
use crate::row_sums::CHUNK_ROWS;
use crate::solver::cache::GramCache;
use crate::solver::{Side, Tiles};

/// Some chunks of rows, and what solving them reads.
pub(super) struct Share {
    pub(super) chunks: Range<usize>,
    first_row: usize,
    /// Columns are numbered by their place in `needs`.
    pub(super) entries: Entries<'static>,
    /// Rows of the other side that the entries name, rising.
    pub(super) needs: Vec<u32>,
    pub(super) own_weights: Dense,
    /// Weight rows of the rows that are needed.
    pub(super) fixed_weights: Dense,
    pub(super) penalty: Values<'static>,
    pub(super) tiles: Tiles,
    pub(super) factors: Dense,
    before: Option<Dense>,
}

impl Share {
    pub(super) fn new(
        (problem, axis): (&Problem<'_>, Axis),
        chunks: Range<usize>,
        start: &Dense,
        tiles: impl FnOnce(&Entries<'_>, usize) -> Tiles,
    ) -> Self {
        let all = problem.entries(axis);
        let row_of = |chunk: usize| (chunk * CHUNK_ROWS).min(all.rows());
        let rows = row_of(chunks.start)..row_of(chunks.end);
        let (entries, needs) = all.part(rows.clone());
        let needed: Vec<usize> = needs.iter().map(|row| *row as usize).collect();
        let own: Vec<usize> = rows.clone().collect();
        let tiles = tiles(&entries, start.stride()).starting_at(chunks.start);
        Self {
            first_row: rows.start,
            own_weights: picked(problem.weights(axis), &own),
            fixed_weights: picked(problem.weights(axis.other()), &needed),
            penalty: problem.penalty(axis).part(rows),
            factors: picked(start, &own).into_padded(),
            before: None,
            chunks,
            entries,
            needs,
            tiles,
        }
    }

    pub(super) fn rows(&self) -> Range<usize> {
        self.first_row..self.first_row + self.factors.rows()
    }

    /// What a half-sweep of the rows reads.
    pub(super) fn side<'a>(
        &'a self,
        (fixed, cache): (&'a Dense, &'a GramCache),
        kernels: Kernels,
        cancel: &'a Cancel,
    ) -> Side<'a> {
        Side {
            observed: &self.entries,
            own_weights: &self.own_weights,
            fixed_weights: &self.fixed_weights,
            fixed,
            cache,
            penalty: &self.penalty,
            features: &[],
            may_be_negative: false,
            wants_loss: false,
            kernels,
            cancelled: cancel.flag(),
        }
    }

    pub(super) fn replace(&mut self, after: Dense) {
        self.before = Some(std::mem::replace(&mut self.factors, after));
    }

    pub(super) fn undo(&mut self) {
        if let Some(before) = self.before.take() {
            self.factors = before;
        }
    }
}

/// Some rows of a matrix, without padding.
fn picked(matrix: &Dense, rows: &[usize]) -> Dense {
    Dense::from_fn(rows.len(), matrix.cols(), |at, col| {
        matrix.row(rows[at])[col]
    })
}
