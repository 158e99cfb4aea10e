//! Predictions of a tile's entries, and their correction after a step.

use rayon::prelude::*;

use super::Tile;
use crate::linalg::kernels::Columns;
use crate::linalg::{Buffer, LANES};
use crate::solver::long_rows::{SEGMENT, for_each_segment};
use crate::solver::{Side, observed_row};

impl Tile<'_> {
    /// Sets the predictions of every row from its factors.
    pub(crate) fn predict(&mut self, side: &Side<'_>) {
        for at in 0..self.len() {
            let range = self.range(at);
            let p_u = &self.factors[at * self.stride..(at + 1) * self.stride];
            let indices = observed_row(side, self.rows.start + at).indices;
            let predicted = &mut self.buffers.predicted.room(self.padded)[range];
            for_each_segment(predicted, |first, out| {
                let indices = &indices[first..first + out.len()];
                side.kernels.predict(p_u, side.gathered(indices), out);
            });
        }
    }

    /// Predicts every entry again after its row's factors have changed.
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

    /// Corrects predictions and errors by the steps on one block of coordinates; those of each
    /// row start a `pitch` after those of the previous row.
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

    /// The same for a tile of one long row, whose segments are gathered again.
    fn correct_long(&mut self, delta: &[f32], block: usize, side: &Side<'_>) {
        let indices = observed_row(side, self.rows.start).indices;
        let (d, pull) = (self.buffers.d.as_slice(), self.buffers.pull.as_slice());
        let predicted = self.buffers.predicted.room(self.padded);
        let segments = predicted
            .par_chunks_mut(SEGMENT)
            .zip(self.buffers.error.room(self.padded).par_chunks_mut(SEGMENT));
        segments
            .enumerate()
            .for_each(|(segment, (predicted, error))| {
                let first = segment * SEGMENT;
                let range = first..indices.len().min(first + SEGMENT);
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
}
