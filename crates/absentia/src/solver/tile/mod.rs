//! A few neighbouring rows, solved together so that products with the caches are matrix products.
//!
//! | file | concept |
//! | --- | --- |
//! | `entries` | weights and targets of the entries |
//! | `lines` | packed rows of the fixed side |
//! | `predictions` | predictions and errors, and their correction after a step |
//! | `loss` | the tile's part of the objective |

mod entries;
mod lines;
mod loss;
mod predictions;

use std::ops::Range;
use std::sync::OnceLock;

use super::Side;
use super::lane_parallel::LaneLayout;
use super::tiles::{PACKED_BYTES, TilePart, entries_in};
use crate::linalg::kernels::Columns;
use crate::linalg::{Buffer, LANES};

/// Buffers of a worker, reused for each tile; in whole lanes, with zeros as padding.
#[derive(Default)]
pub(crate) struct TileScratch {
    starts: Vec<usize>,
    rows: Vec<u32>,
    missing: Vec<f32>,
    d: Buffer,
    pull: Buffer,
    predicted: Buffer,
    error: Buffer,
    lines: Buffer,
}

impl TileScratch {
    /// The columns of the first `padded` entries, and the buffer of lines.
    fn columns(&mut self, padded: usize) -> (Columns<'_>, &mut Buffer) {
        let columns = Columns {
            rows: &self.rows[..padded],
            d: &self.d.as_slice()[..padded],
            pull: &self.pull.as_slice()[..padded],
            predicted: self.predicted.room(padded),
            error: self.error.room(padded),
        };
        (columns, &mut self.lines)
    }
}

/// Some rows of the free side with what their entries contribute.
///
/// For each entry: `missing` is the weight `a_u·b_i` it would have if it were missing,
/// `d = c − missing`, `pull = c·r`, `predicted = p_u·q_i` and `error = pull − d·predicted`.
pub(crate) struct Tile<'t> {
    rows: Range<usize>,
    /// Factors of the rows before the sweep, padded.
    pub(crate) before: &'t [f32],
    /// Current factors of the rows, padded; undefined until they are filled or written.
    pub(crate) factors: &'t mut [f32],
    /// Where its lane-parallel layout is stored; `None` if it is not.
    pub(super) layout: Option<&'t OnceLock<LaneLayout>>,
    /// Floats of a row of factors.
    pub(crate) stride: usize,
    /// Entries in whole lanes.
    padded: usize,
    /// Lines of a block: one more than entries, so that the lines of one entry do not all
    /// map to the same cache set.
    pitch: usize,
    /// Columns of the tile's entries, and of all after them.
    picks: &'t [u32],
    buffers: &'t mut TileScratch,
}

impl<'t> Tile<'t> {
    pub(super) fn load(part: TilePart<'t>, side: &Side<'t>, buffers: &'t mut TileScratch) -> Self {
        let rows = part.rows;
        let offsets = side.observed.offsets();
        let picks = &side.observed.indices()[offsets[rows.start] as usize..];
        let offsets = &offsets[rows.start..=rows.end];
        buffers.starts.clear();
        let starts = offsets.iter().map(|end| (end - offsets[0]) as usize);
        buffers.starts.extend(starts);
        let padded = buffers.starts[rows.len()].next_multiple_of(LANES);
        Self {
            rows,
            before: part.before,
            factors: part.after,
            layout: part.layout,
            stride: side.fixed.stride(),
            padded,
            pitch: padded + 1,
            picks,
            buffers,
        }
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

    /// The range of the entries of row `at` among those of the tile.
    pub(crate) fn range(&self, at: usize) -> Range<usize> {
        self.buffers.starts[at]..self.buffers.starts[at + 1]
    }

    /// Where the entries of each row start, and where those of the last end.
    pub(crate) fn starts(&self) -> &[usize] {
        &self.buffers.starts
    }

    /// Columns of the entries of row `at` of the tile.
    pub(crate) fn picks_of(&self, at: usize) -> &'t [u32] {
        &self.picks[self.range(at)]
    }

    /// Entries of all rows.
    fn n_entries(&self) -> usize {
        self.buffers.starts[self.len()]
    }

    /// Entries in whole lanes.
    pub(crate) fn padded(&self) -> usize {
        self.padded
    }

    /// Whether the lines of all entries are held; otherwise the tile is one long row.
    pub(crate) fn is_packed(&self) -> bool {
        self.padded <= entries_in(PACKED_BYTES, self.stride)
    }
}
