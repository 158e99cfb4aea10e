//! A few neighbouring rows, solved together so that products with the caches are matrix products.

use std::ops::Range;

use rayon::prelude::*;

use super::objective::EntryLoss;
use super::{Side, observed_row};
use crate::data::Entries;
use crate::linalg::Dense;
use crate::linalg::kernels::Gathered;

/// Rows of a tile at the most: enough to make products with the caches matrix products, few enough
/// for their small Gram matrices to stay in cache.
const TILE_ROWS: usize = 32;

/// Entries of a tile at the most, unless a single row has more.
const TILE_ENTRIES: usize = 16_384;

/// Entries after which a row's sums are cut into pieces that other threads may take.
pub(crate) const PIECE: usize = 4_096;

/// How the rows of one side are cut into tiles; depends on the data only.
pub(crate) struct Tiles(Vec<Range<usize>>);

impl Tiles {
    pub(crate) fn new(observed: &Entries<'_>) -> Self {
        let mut tiles = Vec::new();
        let mut start = 0;
        while start < observed.rows() {
            let mut end = start + 1;
            while end < observed.rows()
                && end - start < TILE_ROWS
                && observed.offsets()[end + 1] - observed.offsets()[start] <= TILE_ENTRIES as u64
            {
                end += 1;
            }
            tiles.push(start..end);
            start = end;
        }
        Self(tiles)
    }

    /// Yields each tile with its rows of `free`.
    pub(crate) fn split<'f>(&self, free: &'f mut Dense) -> Vec<(Range<usize>, &'f mut [f32])> {
        let stride = free.stride();
        let mut rest = free.as_mut_slice();
        let mut parts = Vec::with_capacity(self.0.len());
        for tile in &self.0 {
            let (part, tail) = rest.split_at_mut(tile.len() * stride);
            parts.push((tile.clone(), part));
            rest = tail;
        }
        parts
    }
}

/// Buffers of a worker, reused from tile to tile.
#[derive(Default)]
pub(crate) struct TileScratch {
    starts: Vec<usize>,
    missing: Vec<f32>,
    d: Vec<f32>,
    pull: Vec<f32>,
    predicted: Vec<f32>,
}

/// Some rows of the free side with what their entries contribute.
///
/// For the entry n of a row: `missing` is the weight `a_u·b_i` it would have if it were missing,
/// `d = c − missing`, `pull = c·r`, and `predicted = p_u·q_i`.
pub(crate) struct Tile<'t> {
    rows: Range<usize>,
    /// Factors of the rows, padded.
    pub(crate) factors: &'t mut [f32],
    /// Distance between rows of `factors`.
    pub(crate) stride: usize,
    buffers: &'t mut TileScratch,
}

/// The entries of one row of a tile.
pub(crate) struct RowEntries<'r> {
    /// Rows of the fixed side.
    pub(crate) gathered: Gathered<'r>,
    /// `c − a·b`.
    pub(crate) d: &'r [f32],
    /// `c·r`.
    pub(crate) pull: &'r [f32],
    /// `p·q`.
    pub(crate) predicted: &'r mut [f32],
}

impl<'t> Tile<'t> {
    pub(super) fn load(
        rows: Range<usize>,
        factors: &'t mut [f32],
        side: &Side<'_>,
        buffers: &'t mut TileScratch,
    ) -> Self {
        let stride = side.fixed.stride();
        let total =
            (side.observed.offsets()[rows.end] - side.observed.offsets()[rows.start]) as usize;
        buffers.starts.clear();
        for column in [
            &mut buffers.missing,
            &mut buffers.d,
            &mut buffers.pull,
            &mut buffers.predicted,
        ] {
            column.clear();
            column.resize(total, 0.0);
        }
        let mut tile = Self {
            rows,
            factors,
            stride,
            buffers,
        };
        tile.fill(side);
        tile
    }

    fn fill(&mut self, side: &Side<'_>) {
        let mut start = 0;
        for row in self.rows.clone() {
            let observed = observed_row(side, row);
            self.buffers.starts.push(start);
            let end = start + observed.len();
            let missing = &mut self.buffers.missing[start..end];
            for_each_piece(missing, |first, out| {
                side.missing_weights(row, &observed.indices[first..first + out.len()], out);
            });
            for (n, missing) in missing.iter().enumerate() {
                let c = observed.c.get(n);
                self.buffers.d[start + n] = c - missing;
                self.buffers.pull[start + n] = c * observed.r.get(n);
            }
            start = end;
        }
        self.buffers.starts.push(start);
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The row of the free side that row `at` of the tile is.
    pub(crate) fn row(&self, at: usize) -> usize {
        self.rows.start + at
    }

    /// The rows of the free side.
    pub(crate) fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Factors of row `at` of the tile, padded.
    pub(crate) fn factors_of(&mut self, at: usize) -> &mut [f32] {
        &mut self.factors[at * self.stride..(at + 1) * self.stride]
    }

    /// Entries of row `at` of the tile.
    pub(crate) fn entries<'r>(&'r mut self, at: usize, side: &'r Side<'_>) -> RowEntries<'r> {
        let range = self.buffers.starts[at]..self.buffers.starts[at + 1];
        RowEntries {
            gathered: side.gathered(observed_row(side, self.rows.start + at).indices),
            d: &self.buffers.d[range.clone()],
            pull: &self.buffers.pull[range.clone()],
            predicted: &mut self.buffers.predicted[range],
        }
    }

    /// Sets the predictions of every row from its factors.
    pub(crate) fn predict(&mut self, side: &Side<'_>) {
        for at in 0..self.len() {
            let p_u = &self.factors[at * self.stride..(at + 1) * self.stride];
            let indices = observed_row(side, self.rows.start + at).indices;
            let predicted =
                &mut self.buffers.predicted[self.buffers.starts[at]..self.buffers.starts[at + 1]];
            for_each_piece(predicted, |first, out| {
                let indices = &indices[first..first + out.len()];
                side.kernels.predict(p_u, side.gathered(indices), out);
            });
        }
    }

    /// What the tile's entries add to the objective, given their predictions.
    pub(super) fn loss(&self, side: &Side<'_>) -> EntryLoss {
        let mut loss = EntryLoss::default();
        for (at, row) in self.rows.clone().enumerate() {
            let observed = observed_row(side, row);
            let start = self.buffers.starts[at];
            for n in 0..observed.len() {
                let predicted = f64::from(self.buffers.predicted[start + n]);
                let error = f64::from(observed.r.get(n)) - predicted;
                loss.observed += f64::from(observed.c.get(n)) * error * error;
                loss.counted_as_missing +=
                    f64::from(self.buffers.missing[start + n]) * predicted * predicted;
            }
        }
        loss
    }
}

/// Calls `f(position, piece)` on the pieces of a row's buffer, in parallel if there are several.
pub(crate) fn for_each_piece<T: Send>(buffer: &mut [T], f: impl Fn(usize, &mut [T]) + Sync) {
    if buffer.len() <= PIECE {
        f(0, buffer);
    } else {
        buffer
            .par_chunks_mut(PIECE)
            .enumerate()
            .for_each(|(piece, part)| f(piece * PIECE, part));
    }
}

/// Adds to `out` a sum over `len` entries, where `f(range, out)` adds the part of a range.
///
/// Pieces are summed in `f32` and added up in order in `f64`, so that a row of a million entries
/// keeps its precision, and its bits whatever the number of threads.
pub(crate) fn sum_pieces(len: usize, out: &mut [f32], f: impl Fn(Range<usize>, &mut [f32]) + Sync) {
    if len <= PIECE {
        f(0..len, out);
        return;
    }
    let parts: Vec<Vec<f32>> = (0..len.div_ceil(PIECE))
        .into_par_iter()
        .map(|piece| {
            let mut part = vec![0.0; out.len()];
            f(piece * PIECE..len.min((piece + 1) * PIECE), &mut part);
            part
        })
        .collect();
    for (n, slot) in out.iter_mut().enumerate() {
        *slot = parts
            .iter()
            .fold(f64::from(*slot), |sum, part| sum + f64::from(part[n])) as f32;
    }
}
