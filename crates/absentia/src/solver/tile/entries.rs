//! The weights and targets of a tile's entries.

use std::ops::Range;

use super::Tile;
use crate::data::{Row, ValuesRow};
use crate::linalg::kernels::Gathered;
use crate::solver::long_rows::for_each_segment;
use crate::solver::{Side, observed_row};

/// The entries of one row of a tile.
pub(crate) struct TileEntries<'r> {
    /// Rows of the fixed side.
    pub(crate) gathered: Gathered<'r>,
    /// `p·q`.
    pub(crate) predicted: &'r mut [f32],
}

impl Tile<'_> {
    /// Copies the factors from before the sweep, and computes the weight of every entry.
    pub(in crate::solver) fn fill(&mut self, side: &Side<'_>) {
        self.factors.copy_from_slice(self.before);
        let (total, padded) = (self.n_entries(), self.padded);
        self.buffers.rows.clear();
        self.buffers.missing.resize(padded, 0.0);
        for column in [&mut self.buffers.d, &mut self.buffers.pull] {
            column.room(padded)[total..].fill(0.0);
        }
        self.buffers.predicted.room(padded);
        self.buffers.error.room(padded);
        let (d, pull) = (
            self.buffers.d.room(self.padded),
            self.buffers.pull.room(self.padded),
        );
        for (at, row) in self.rows.clone().enumerate() {
            let observed = observed_row(side, row);
            let (start, end) = (self.buffers.starts[at], self.buffers.starts[at + 1]);
            self.buffers.rows.resize(end, at as u32);
            let missing = &mut self.buffers.missing[start..end];
            for_each_segment(missing, |first, out| {
                side.missing_weights(row, &observed.indices[first..first + out.len()], out);
            });
            weigh(
                &observed,
                missing,
                &mut d[start..end],
                &mut pull[start..end],
            );
        }
        self.buffers.rows.resize(self.padded, 0);
    }

    /// Entries of row `at` of the tile.
    pub(crate) fn entries<'r>(&'r mut self, at: usize, side: &'r Side<'_>) -> TileEntries<'r> {
        let range = self.range(at);
        TileEntries {
            gathered: side.gathered(observed_row(side, self.rows.start + at).indices),
            predicted: &mut self.buffers.predicted.room(self.padded)[range],
        }
    }

    /// `d` and error of the entries in `range`.
    pub(crate) fn pulls(&self, range: Range<usize>) -> (&[f32], &[f32]) {
        (
            &self.buffers.d.as_slice()[range.clone()],
            &self.buffers.error.as_slice()[range],
        )
    }
}

/// `d = c − missing` and `pull = c·r` of a row's entries.
fn weigh(observed: &Row<'_>, missing: &[f32], d: &mut [f32], pull: &mut [f32]) {
    if let (ValuesRow::Constant(c), ValuesRow::Constant(r)) = (observed.c, observed.r) {
        pull.fill(c * r);
        for (slot, missing) in d.iter_mut().zip(missing) {
            *slot = c - missing;
        }
        return;
    }
    for (n, missing) in missing.iter().enumerate() {
        let c = observed.c.get(n);
        d[n] = c - missing;
        pull[n] = c * observed.r.get(n);
    }
}
