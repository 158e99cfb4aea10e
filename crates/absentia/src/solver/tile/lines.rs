//! The rows of the fixed side that a tile's entries name, packed into lines.

use std::ops::Range;

use super::Tile;
use crate::linalg::kernels::Gathered;
use crate::linalg::{Buffer, LANES};
use crate::solver::long_rows::sum_segments;
use crate::solver::tiles::{TILE_BYTES, entries_in};
use crate::solver::{Side, observed_row};

impl<'t> Tile<'t> {
    /// Predicts every entry from the current factors. Unless the tile is one long row, also packs the
    /// rows of the fixed side that its entries name.
    pub(crate) fn pack(&mut self, side: &Side<'_>) {
        if self.is_packed() {
            // Picks beyond the tile belong to the next tile, which is likely to be packed next.
            let (picked, entries) = (side.gathered(self.picks), self.n_entries());
            let (kernels, stride) = (side.kernels, self.stride);
            let usual = entries_in(TILE_BYTES, stride) * stride;
            let (mut columns, lines) = self.buffers.columns(self.padded);
            let lines = &mut lines.room(usual.max(self.pitch * stride))[..self.pitch * stride];
            kernels.pack(picked, entries, self.factors, lines, &mut columns);
            return;
        }
        self.predict(side);
        let (d, pull) = (self.buffers.d.as_slice(), self.buffers.pull.as_slice());
        let errors = self.buffers.error.room(self.padded).iter_mut().zip(d);
        let predicted = self.buffers.predicted.as_slice();
        for (((error, d), pull), predicted) in errors.zip(pull).zip(predicted) {
            *error = pull - d * predicted;
        }
    }

    /// Rows of the fixed side at the positions of `range` in the next tile, which is likely to be
    /// packed next.
    pub(crate) fn next<'s>(&self, range: Range<usize>, side: &Side<'s>) -> Gathered<'s>
    where
        't: 's,
    {
        let (picks, after) = (self.picks, self.n_entries());
        let (start, end) = (after + range.start, after + range.end);
        side.gathered(&picks[start.min(picks.len())..end.min(picks.len())])
    }

    /// Rows of the fixed side that the entries of row `at` name.
    pub(crate) fn gathered<'s>(&self, at: usize, side: &Side<'s>) -> Gathered<'s> {
        side.gathered(observed_row(side, self.rows.start + at).indices)
    }

    /// Packed lines of the entries in `range`, for one block of sixteen coordinates.
    pub(crate) fn lines(&self, block: usize, range: Range<usize>) -> &[f32] {
        let first = block * self.pitch;
        &self.buffers.lines.as_slice()[(first + range.start) * LANES..(first + range.end) * LANES]
    }

    /// Lines of some entries of row `at`: packed, or gathered into `own`.
    pub(crate) fn lines_of<'r>(
        &'r self,
        at: usize,
        block: usize,
        part: Range<usize>,
        own: &'r mut Buffer,
        side: &Side<'_>,
    ) -> &'r [f32] {
        if self.is_packed() {
            let start = self.range(at).start;
            return self.lines(block, start + part.start..start + part.end);
        }
        let lines = own.room(part.len() * LANES);
        let indices = &observed_row(side, self.rows.start + at).indices[part];
        side.kernels
            .pick(side.gathered(indices), block * LANES, lines);
        lines
    }

    /// `x_u · q_i` of every packed entry, `x` having a row of K for each row of the tile.
    pub(crate) fn dots(&self, x: &[f32], out: &mut [f32], side: &Side<'_>) {
        let lines = &self.buffers.lines.as_slice()[..self.pitch * self.stride];
        let rows = &self.buffers.rows[..self.padded];
        side.kernels.dots(x, self.stride, rows, lines, out);
    }

    /// `out += Σ coefficients[n] q_n` over the entries of row `at`, where coefficients
    /// are those of all entries of the tile.
    pub(crate) fn combine(
        &self,
        at: usize,
        coefficients: &[f32],
        out: &mut [f32],
        side: &Side<'_>,
    ) {
        let range = self.range(at);
        let blocks = out.chunks_exact_mut(LANES).enumerate();
        for (block, out) in blocks {
            sum_segments(range.len(), out, |part, out| {
                let part = range.start + part.start..range.start + part.end;
                let lines = self.lines(block, part.clone());
                side.kernels.combine_lines(&coefficients[part], lines, out);
            });
        }
    }
}
