//! `H_u` on a window: what missing entries contribute, and the row's own entries.

use std::ops::Range;

use super::{BlockScratch, SMALL, Window, in_lanes, weights_of};
use crate::linalg::kernels::{Form, RowLines, TileLines};
use crate::linalg::{Buffer, LANES};
use crate::solver::long_rows::{SEGMENT, sum_segments};
use crate::solver::{Side, Tile};

impl BlockScratch {
    /// `Σ_t a_ut S_t[window, window]` for all rows of the tile, as one product per line; not needed
    /// where there is only one t.
    pub(super) fn start_small_grams(
        &mut self,
        form: Form,
        window: Window,
        tile: &Tile<'_>,
        side: &Side<'_>,
    ) {
        let (floats, z) = (form.floats(), side.cache.rank());
        // Behind them, one more that is square.
        self.h.room(in_lanes(tile.len()) * floats + SMALL);
        if z == 1 {
            return;
        }
        let missing = self.missing.room(tile.len() * floats);
        missing.fill(0.0);
        let weights = weights_of(tile, side);
        let diagonals = side.cache.diagonals(form, window.at / LANES);
        for (line, lines) in diagonals.chunks_exact(z * LANES).enumerate() {
            let out = &mut missing[line * LANES..];
            side.kernels
                .panel_product(weights, lines, None, out, floats);
        }
    }

    /// Makes a whole square of the small Gram matrix of row `at`, in place or behind those of all
    /// rows; yields where it starts.
    pub(super) fn unfold(&mut self, form: Form, at: usize, rows: usize) -> usize {
        let (from, to) = match form {
            Form::Square => (at * SMALL, at * SMALL),
            Form::Folded => (at * form.floats(), in_lanes(rows) * form.floats()),
        };
        let h = self.h.room(to + SMALL);
        for n in 0..form.floats() {
            let ((f, g), value) = (form.entry(n), h[from + n]);
            // Of a square, only the upper triangle was summed.
            if form == Form::Folded || f < g {
                h[to + f * LANES + g] = value;
                h[to + g * LANES + f] = value;
            }
        }
        to
    }

    /// The small Gram matrices of packed rows with their entries, which go to their gradients too.
    pub(super) fn add_all_small(
        &mut self,
        form: Form,
        window: Window,
        tile: &Tile<'_>,
        side: &Side<'_>,
    ) {
        let (block, rows) = (window.at / LANES, tile.len());
        let (scales, bases) = match side.cache.only_diagonal(form, block) {
            Some(diagonal) => (Some(&self.scales[..]), diagonal),
            None => (None, self.missing.as_slice()),
        };
        let all = 0..tile.padded();
        let (d, error) = tile.pulls(all.clone());
        let tile = TileLines {
            starts: tile.starts(),
            entries: RowLines {
                d,
                error,
                lines: tile.lines(block, all.clone()),
                next: tile.next(all, side),
                at: window.at,
            },
            scales,
            bases,
        };
        let h = self.h.room(rows * form.floats());
        let g = self.g.room(rows * LANES);
        side.kernels.grams(form, tile, h, g);
    }

    /// The small Gram matrix of row `at` with its entries, part by part, for tiles with a long row.
    pub(super) fn add_small(
        &mut self,
        form: Form,
        window: Window,
        at: usize,
        tile: &Tile<'_>,
        side: &Side<'_>,
    ) {
        let (block, range, floats) = (window.at / LANES, tile.range(at), form.floats());
        let own = at * floats..(at + 1) * floats;
        let (scale, base) = match side.cache.only_diagonal(form, block) {
            Some(diagonal) => (-self.scales[at], diagonal),
            None => (1.0, &self.missing.as_slice()[own.clone()]),
        };
        let h = &mut self.h.room(own.end)[own];
        let g = &mut self.g.room((at + 1) * LANES)[at * LANES..];
        let mut sums = [0.0; SMALL + LANES];
        let sums = &mut sums[..floats + LANES];
        sum_segments(range.len(), sums, |part, out| {
            let mut own = Buffer::default();
            let lines = tile.lines_of(at, block, part.clone(), &mut own, side);
            let (d, error) = tile.pulls(range.start + part.start..range.start + part.end);
            let (h, g) = out.split_at_mut(floats);
            let row = RowLines {
                d,
                error,
                lines,
                next: side.gathered(&[]),
                at: window.at,
            };
            side.kernels.gram(form, row, 0.0, base, h, g);
        });
        for (n, slot) in h.iter_mut().enumerate() {
            *slot = scale * base[n] + sums[n];
        }
        side.kernels.axpy(1.0, &sums[floats..], g);
    }

    /// `h = Σ_t a_ut S_t[window, window]` of one row and a window of any width.
    pub(super) fn start_wide_gram(
        &mut self,
        window: Window,
        at: usize,
        tile: &Tile<'_>,
        side: &Side<'_>,
    ) {
        let Window { at: from, width } = window;
        let h = self.h.room(width * width);
        h.fill(0.0);
        for (t, &a) in side.own_weights.row(tile.row(at)).iter().enumerate() {
            if a == 0.0 {
                continue;
            }
            for (at, block) in window.blocks().enumerate() {
                let panel = &side.cache.panel(block, t)[from * LANES..(from + width) * LANES];
                for (f, line) in panel.chunks_exact(LANES).enumerate() {
                    let slot = &mut h[f * width + at * LANES..][..LANES];
                    side.kernels.axpy(a, line, slot);
                }
            }
        }
    }

    /// Adds the entries of row `at` to the lower triangle of its wide Gram matrix and its gradient.
    pub(super) fn add_wide(&mut self, window: Window, at: usize, tile: &Tile<'_>, side: &Side<'_>) {
        let (width, range) = (window.width, tile.range(at));
        let h = self.h.room(width * width);
        let g = &mut self.g.room((at + 1) * width)[at * width..];
        let add = |part: Range<usize>, h: &mut [f32], g: &mut [f32]| {
            let (d, error) = tile.pulls(range.start + part.start..range.start + part.end);
            let mut own: Vec<Buffer> = window.blocks().map(|_| Buffer::default()).collect();
            let lines = window.blocks().zip(&mut own);
            let lines: Vec<&[f32]> = lines
                .map(|(block, own)| tile.lines_of(at, block, part.clone(), own, side))
                .collect();
            for (f, left) in lines.iter().enumerate() {
                let g = &mut g[f * LANES..];
                side.kernels.combine_lines(error, left, g);
                for (g, right) in lines[..=f].iter().enumerate() {
                    let corner = &mut h[f * LANES * width + g * LANES..];
                    side.kernels.cross(Some(d), left, right, corner, width);
                }
            }
        };
        if range.len() <= SEGMENT {
            add(0..range.len(), h, g);
            return;
        }
        let mut sums = vec![0.0; width * width + width];
        sum_segments(range.len(), &mut sums, |part, out| {
            let (h, g) = out.split_at_mut(width * width);
            add(part, h, g);
        });
        side.kernels.axpy(1.0, &sums[..width * width], h);
        side.kernels.axpy(1.0, &sums[width * width..], g);
    }
}
