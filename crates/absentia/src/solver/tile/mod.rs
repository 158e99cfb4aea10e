//! A few neighbouring rows, solved together so that products with the caches are matrix products.

use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;

use super::lane_parallel::Layout;
use super::long_rows::{PIECE, for_each_piece, sum_pieces};
use super::objective::EntryLoss;
use super::tiles::{PACKED_BYTES, Part, TILE_BYTES, entries_in};
use super::{Side, observed_row};
use crate::data::{Row, ValuesRow};
use crate::linalg::kernels::{Columns, Gathered};
use crate::linalg::{Buffer, LANES};

/// Buffers of a worker, reused from tile to tile; in whole lanes, the padding at zero.
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
    /// The columns of so many entries, in whole lanes, and the lines beside them.
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
    /// Factors of the rows as the sweep found them, padded.
    pub(crate) before: &'t [f32],
    /// Factors of the rows, padded; they stand for nothing until they are filled or written.
    pub(crate) factors: &'t mut [f32],
    /// Where its layout is kept, if it is.
    pub(super) layout: Option<&'t OnceLock<Layout>>,
    /// Floats of a row of factors.
    pub(crate) stride: usize,
    /// Entries in whole lanes.
    padded: usize,
    /// Lines of a block: one more than entries, so that the lines of one entry are not all in the
    /// same place of a cache.
    pitch: usize,
    /// Columns of the tile's entries, and of all after them.
    picks: &'t [u32],
    buffers: &'t mut TileScratch,
}

/// The entries of one row of a tile.
pub(crate) struct RowEntries<'r> {
    /// Rows of the fixed side.
    pub(crate) gathered: Gathered<'r>,
    /// `p·q`.
    pub(crate) predicted: &'r mut [f32],
}

impl<'t> Tile<'t> {
    pub(super) fn load(part: Part<'t>, side: &Side<'t>, buffers: &'t mut TileScratch) -> Self {
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

    /// Starts from the factors as they were, and weighs every entry.
    pub(super) fn fill(&mut self, side: &Side<'_>) {
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
            for_each_piece(missing, |first, out| {
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

    /// Where the entries of row `at` stand among those of the tile.
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

    /// Entries of row `at` of the tile.
    pub(crate) fn entries<'r>(&'r mut self, at: usize, side: &'r Side<'_>) -> RowEntries<'r> {
        let range = self.range(at);
        RowEntries {
            gathered: side.gathered(observed_row(side, self.rows.start + at).indices),
            predicted: &mut self.buffers.predicted.room(self.padded)[range],
        }
    }

    /// Sets the predictions of every row from its factors.
    pub(crate) fn predict(&mut self, side: &Side<'_>) {
        for at in 0..self.len() {
            let range = self.range(at);
            let p_u = &self.factors[at * self.stride..(at + 1) * self.stride];
            let indices = observed_row(side, self.rows.start + at).indices;
            let predicted = &mut self.buffers.predicted.room(self.padded)[range];
            for_each_piece(predicted, |first, out| {
                let indices = &indices[first..first + out.len()];
                side.kernels.predict(p_u, side.gathered(indices), out);
            });
        }
    }

    /// Predicts every entry anew after its row's factors have changed.
    pub(crate) fn predict_again(&mut self, side: &Side<'_>) {
        if !self.is_packed() {
            self.predict(side);
            return;
        }
        let lines = &self.buffers.lines.as_slice()[..self.pitch * self.stride];
        let rows = &self.buffers.rows[..self.padded];
        let predicted = self.buffers.predicted.room(self.padded);
        side.kernels
            .dots(self.factors, self.stride, rows, lines, predicted);
    }

    /// Rows of the fixed side that the entries of row `at` name.
    pub(crate) fn gathered<'s>(&self, at: usize, side: &Side<'s>) -> Gathered<'s> {
        side.gathered(observed_row(side, self.rows.start + at).indices)
    }

    /// Whether the lines of all entries are held; otherwise the tile is one long row.
    pub(crate) fn is_packed(&self) -> bool {
        self.padded <= entries_in(PACKED_BYTES, self.stride)
    }

    /// Predicts every entry from the factors as they are and, unless the tile is one long row, packs
    /// the rows of the fixed side that its entries name.
    pub(crate) fn pack(&mut self, side: &Side<'_>) {
        if self.is_packed() {
            // Picks beyond the tile are those of its neighbour, likely the next to be packed.
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

    /// Rows of the fixed side that stand where those of `range` do, but in what follows the tile:
    /// likely the next to be packed.
    pub(crate) fn next<'s>(&self, range: Range<usize>, side: &Side<'s>) -> Gathered<'s>
    where
        't: 's,
    {
        let (picks, after) = (self.picks, self.n_entries());
        let (start, end) = (after + range.start, after + range.end);
        side.gathered(&picks[start.min(picks.len())..end.min(picks.len())])
    }

    /// Entries of all rows.
    fn n_entries(&self) -> usize {
        self.buffers.starts[self.len()]
    }

    /// Packed lines of the entries in `range`, for one block of sixteen coordinates.
    pub(crate) fn lines(&self, block: usize, range: Range<usize>) -> &[f32] {
        let first = block * self.pitch;
        &self.buffers.lines.as_slice()[(first + range.start) * LANES..(first + range.end) * LANES]
    }

    /// `x_u · q_i` of every packed entry, `x` having a row of K for each row of the tile.
    pub(crate) fn dots(&self, x: &[f32], out: &mut [f32], side: &Side<'_>) {
        let lines = &self.buffers.lines.as_slice()[..self.pitch * self.stride];
        let rows = &self.buffers.rows[..self.padded];
        side.kernels.dots(x, self.stride, rows, lines, out);
    }

    /// `out += Σ coefficients[n] q_n` over the entries of row `at`, coefficients being those of all
    /// entries of the tile.
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
            sum_pieces(range.len(), out, |part, out| {
                let part = range.start + part.start..range.start + part.end;
                let lines = self.lines(block, part.clone());
                side.kernels.combine_lines(&coefficients[part], lines, out);
            });
        }
    }

    /// Entries in whole lanes.
    pub(crate) fn padded(&self) -> usize {
        self.padded
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

    /// `d` and error of the entries in `range`.
    pub(crate) fn pulls(&self, range: Range<usize>) -> (&[f32], &[f32]) {
        (
            &self.buffers.d.as_slice()[range.clone()],
            &self.buffers.error.as_slice()[range],
        )
    }

    /// Corrects predictions and errors by the steps on one block of coordinates; those of a row are
    /// a `pitch` after those of the row before.
    pub(crate) fn correct(&mut self, delta: &[f32], pitch: usize, block: usize, side: &Side<'_>) {
        if self.is_packed() {
            let first = block * self.pitch * LANES;
            let (mut columns, lines) = self.buffers.columns(self.padded);
            let lines = &lines.as_slice()[first..];
            side.kernels.correct(delta, pitch, lines, &mut columns);
            return;
        }
        self.correct_long(delta, block, side);
    }

    /// The same for a tile of one long row, piece by piece, each gathered again.
    fn correct_long(&mut self, delta: &[f32], block: usize, side: &Side<'_>) {
        let indices = observed_row(side, self.rows.start).indices;
        let (d, pull) = (self.buffers.d.as_slice(), self.buffers.pull.as_slice());
        let predicted = self.buffers.predicted.room(self.padded);
        let pieces = predicted
            .par_chunks_mut(PIECE)
            .zip(self.buffers.error.room(self.padded).par_chunks_mut(PIECE));
        pieces.enumerate().for_each(|(piece, (predicted, error))| {
            let first = piece * PIECE;
            let range = first..indices.len().min(first + PIECE);
            let mut lines = Buffer::default();
            let lines = lines.room(predicted.len() * LANES);
            side.kernels
                .pick(side.gathered(&indices[range]), block * LANES, lines);
            let len = predicted.len();
            let mut columns = Columns {
                rows: &vec![0; len],
                d: &d[first..first + len],
                pull: &pull[first..first + len],
                predicted,
                error,
            };
            side.kernels.correct(delta, 0, lines, &mut columns);
        });
    }

    /// What the tile's entries add to the objective, given their predictions, if that is wanted.
    pub(super) fn loss(&self, side: &Side<'_>) -> EntryLoss {
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

    /// The penalty of the tile's rows.
    pub(super) fn ridge(&self, side: &Side<'_>) -> f64 {
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
