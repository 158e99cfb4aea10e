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

/// What solving some chunks of the rows of one side reads.
pub struct SideParts {
    /// The chunks.
    pub chunks: Range<usize>,
    /// Their entries; columns are numbered by their place in `needs`.
    pub entries: Entries<'static>,
    /// Rows of the other side that the entries name, rising.
    pub needs: Vec<u32>,
    /// Their weight rows.
    pub own_weights: Dense,
    /// Weight rows of the rows that are needed.
    pub fixed_weights: Dense,
    /// Their penalties.
    pub penalty: Values<'static>,
}

impl SideParts {
    /// Cuts the rows of some chunks out of a problem.
    #[must_use]
    pub fn cut((problem, axis): (&Problem<'_>, Axis), chunks: Range<usize>) -> Self {
        let all = problem.entries(axis);
        let rows = rows_of(&chunks, all.rows());
        let (entries, needs) = all.part(rows.clone());
        let needed = needs.iter().map(|row| *row as usize);
        Self {
            own_weights: picked(problem.weights(axis), rows.clone()),
            fixed_weights: picked(problem.weights(axis.other()), needed),
            penalty: problem.penalty(axis).part(rows),
            chunks,
            entries,
            needs,
        }
    }
}

/// The rows of some chunks, of `rows` in all.
#[must_use]
pub fn rows_of(chunks: &Range<usize>, rows: usize) -> Range<usize> {
    let row_of = |chunk: usize| (chunk * CHUNK_ROWS).min(rows);
    row_of(chunks.start)..row_of(chunks.end)
}

/// Some chunks of rows with their factors.
pub(super) struct Share {
    first_row: usize,
    pub(super) parts: SideParts,
    pub(super) tiles: Tiles,
    pub(super) factors: Dense,
    before: Option<Dense>,
}

impl Share {
    /// `start` has the factors of the rows, `rows` is the number of all rows of the side.
    pub(super) fn new(
        parts: SideParts,
        rows: usize,
        start: Dense,
        tiles: impl FnOnce(&Entries<'_>, usize) -> Tiles,
    ) -> Self {
        let factors = start.into_padded();
        let tiles = tiles(&parts.entries, factors.stride()).starting_at(parts.chunks.start);
        Self {
            first_row: rows_of(&parts.chunks, rows).start,
            before: None,
            parts,
            tiles,
            factors,
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
            observed: &self.parts.entries,
            own_weights: &self.parts.own_weights,
            fixed_weights: &self.parts.fixed_weights,
            fixed,
            cache,
            penalty: &self.parts.penalty,
            features: &[],
            may_be_negative: false,
            wants_loss: false,
            kernels,
            cancelled: cancel.flag(),
        }
    }

    /// Memory for the factors after a half-sweep: that of the factors before the last one. They can no
    /// longer be restored.
    pub(super) fn spare(&mut self) -> Dense {
        let (rows, cols) = (self.factors.rows(), self.factors.cols());
        let before = self.before.take();
        before.unwrap_or_else(|| Dense::padded(rows, cols))
    }

    pub(super) fn replace(&mut self, after: Dense) {
        self.before = Some(std::mem::replace(&mut self.factors, after));
    }

    /// Takes factors from elsewhere; there are none before them.
    pub(super) fn set(&mut self, factors: Dense) {
        self.factors = factors.into_padded();
        self.before = None;
    }

    pub(super) fn undo(&mut self) {
        if let Some(before) = self.before.take() {
            self.factors = before;
        }
    }
}

/// Some rows of a matrix, without padding.
pub(super) fn picked(matrix: &Dense, rows: impl ExactSizeIterator<Item = usize>) -> Dense {
    let mut picked = Dense::zeros(rows.len(), matrix.cols());
    for (at, row) in rows.enumerate() {
        picked.row_mut(at).copy_from_slice(matrix.row(row));
    }
    picked
}
