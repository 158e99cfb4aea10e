//! Element-wise ALS, subspace ALS and ALS as one solver: exact steps over blocks of coordinates.
//!
//! A *window* of coordinates (sixteen, or the block if that is larger) is handled at a time. It
//! needs only `h = H_u[window, window]` and the gradient on the window; `H_u` is never formed unless
//! the window is the whole row. Within a window, blocks are solved exactly one after the other:
//! blocks of one coordinate give the paper's Algorithm 2 step by step, in its order; blocks of K
//! give ALS; in between lies iALS++ (Rendle et al. 2021), here for any rank of weights.
//!
//! Per row and sweep: `O(Z K² + |R_u| K w)` for windows of w coordinates, all of it in kernels.

use super::block_step::BlockStep;
use super::tile::{PIECE, for_each_piece, sum_pieces};
use super::{NotConvex, RowSolver, Side, Tile};
use crate::linalg::LANES;
use crate::linalg::kernels::{Gathered, Panel};

/// Curvature below this share of what the missing entries contribute is rounding, and counts as 0.
const CURVATURE_FLOOR: f32 = 4e-7;

/// Exact solves over blocks of `block` coordinates.
pub(crate) struct BlockSolver {
    /// A divisor or a multiple of sixteen.
    pub(crate) block: usize,
}

/// Buffers of one worker.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Weights of the tile's rows, one line of rows per component.
    scales: Vec<f32>,
    /// Gram matrices, one per row of a group.
    h: Vec<f32>,
    /// Least curvature that counts, per row and coordinate.
    floor: Vec<f32>,
    /// Reciprocal curvatures, per row and coordinate.
    inverse: Vec<f32>,
    /// Negative half-gradients on the window, per row.
    g: Vec<f32>,
    /// Steps on the window, per row.
    delta: Vec<f32>,
    /// `c r − d p·q` of one row's entries.
    error: Vec<f32>,
    /// What solving one block needs.
    work: Vec<f32>,
}

/// Coordinates `at .. at + width` of every row.
#[derive(Clone, Copy)]
struct Window {
    at: usize,
    width: usize,
}

impl RowSolver for BlockSolver {
    type Scratch = Scratch;

    fn solve(
        &self,
        tile: &mut Tile<'_>,
        side: &Side<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), NotConvex> {
        tile.predict(side);
        scratch.load_scales(tile, side);
        let step = self.block.max(LANES);
        for at in (0..tile.stride).step_by(step) {
            let window = Window {
                at,
                width: step.min(tile.stride - at),
            };
            self.solve_window(window, tile, side, scratch)?;
        }
        Ok(())
    }
}

impl BlockSolver {
    fn solve_window(
        &self,
        window: Window,
        tile: &mut Tile<'_>,
        side: &Side<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), NotConvex> {
        let (rows, width) = (tile.len(), window.width);
        scratch.start_gradients(window, tile, side);
        for buffer in [&mut scratch.floor, &mut scratch.inverse, &mut scratch.delta] {
            buffer.clear();
            buffer.resize(rows * width, 0.0);
        }
        if width == LANES {
            // Small Gram matrices of all rows side by side: one product starts them, and their
            // coordinate steps run interleaved.
            scratch.start_small_grams(window, tile, side);
            for at in 0..rows {
                let h = at * LANES * LANES;
                scratch.add_entries(window, at, h, tile, side);
                scratch.invert_curvatures(at, h, width, tile, side)?;
            }
            self.step_all(rows, tile, side, scratch)?;
        } else {
            for at in 0..rows {
                scratch.start_wide_gram(window, tile.row(at), side);
                scratch.add_entries(window, at, 0, tile, side);
                scratch.invert_curvatures(at, 0, width, tile, side)?;
                self.step_blocks(at, 0, width, tile.row(at), side, scratch)?;
            }
        }
        apply_steps(window, tile, side, &scratch.delta);
        Ok(())
    }

    /// Steps of every row of the tile, their Gram matrices side by side.
    fn step_all(
        &self,
        rows: usize,
        tile: &Tile<'_>,
        side: &Side<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), NotConvex> {
        if self.block == 1 {
            side.kernels.descend(
                &scratch.h,
                &scratch.inverse,
                &mut scratch.g,
                &mut scratch.delta,
            );
            return Ok(());
        }
        for at in 0..rows {
            self.step_blocks(at, at * LANES * LANES, LANES, tile.row(at), side, scratch)?;
        }
        Ok(())
    }

    /// Exact solves of the blocks of one row's window, one after the other.
    fn step_blocks(
        &self,
        at: usize,
        h: usize,
        width: usize,
        row: usize,
        side: &Side<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), NotConvex> {
        let block = self.block.min(width);
        let lines = at * width..(at + 1) * width;
        let mut step = BlockStep {
            h: &scratch.h[h..h + width * width],
            width,
            floor: &scratch.floor[lines.clone()],
            kernels: side.kernels,
        };
        let (g, delta) = (&mut scratch.g[lines.clone()], &mut scratch.delta[lines]);
        scratch.work.resize(width + block + block * block, 0.0);
        for first in (0..width).step_by(block) {
            let range = first..first + block;
            let negative = step.solve(range.clone(), g, delta, &mut scratch.work);
            if let Some(curvature) = negative.filter(|_| side.may_be_negative) {
                return Err(NotConvex { row, curvature });
            }
            if range.end < width {
                for f in range {
                    side.kernels
                        .axpy(-delta[f], &step.h[f * width..(f + 1) * width], g);
                }
            }
        }
        Ok(())
    }
}

impl Scratch {
    fn load_scales(&mut self, tile: &Tile<'_>, side: &Side<'_>) {
        let z = side.cache.rank();
        self.scales.clear();
        for t in 0..z {
            self.scales
                .extend(tile.rows().map(|row| side.own_weights.row(row)[t]));
        }
    }

    /// `g = −Σ_t a_ut (S_t p_u)[window] − λ_u p_u[window]` for all rows of the tile.
    fn start_gradients(&mut self, window: Window, tile: &mut Tile<'_>, side: &Side<'_>) {
        let (rows, width) = (tile.len(), window.width);
        self.g.clear();
        self.g.resize(rows * width, 0.0);
        let x = Panel {
            values: tile.factors,
            stride: tile.stride,
            rows,
            k: tile.stride,
        };
        for block in 0..width / LANES {
            for (t, scale) in self.scales.chunks_exact(rows).enumerate() {
                let panel = side.cache.panel(window.at / LANES + block, t);
                side.kernels.panel_product(
                    x,
                    panel,
                    Some(scale),
                    &mut self.g[block * LANES..],
                    width,
                );
            }
        }
        for (at, g) in self.g.chunks_exact_mut(width).enumerate() {
            let lambda = side.penalty.get(tile.row(at));
            let p = &tile.factors[at * tile.stride + window.at..][..width];
            for (slot, p) in g.iter_mut().zip(p) {
                *slot = -*slot - lambda * p;
            }
        }
    }

    /// `h = Σ_t a_ut S_t[window, window]` for all rows of the tile, as one product per line.
    fn start_small_grams(&mut self, window: Window, tile: &Tile<'_>, side: &Side<'_>) {
        const SIZE: usize = LANES * LANES;
        let (rows, z) = (tile.len(), side.cache.rank());
        self.h.clear();
        self.h.resize(rows * SIZE, 0.0);
        let first = tile.row(0) * z;
        let weights = &side.own_weights.as_slice()[first..first + rows * z];
        let x = Panel {
            values: weights,
            stride: z,
            rows,
            k: z,
        };
        for f in 0..LANES {
            side.kernels.panel_product(
                x,
                side.cache.diagonal(window.at + f),
                None,
                &mut self.h[f * LANES..],
                SIZE,
            );
        }
    }

    /// The same for one row and a window of any width.
    fn start_wide_gram(&mut self, window: Window, row: usize, side: &Side<'_>) {
        let Window { at, width } = window;
        self.h.clear();
        self.h.resize(width * width, 0.0);
        for (t, &a) in side.own_weights.row(row).iter().enumerate() {
            for block in 0..width / LANES {
                let panel = side.cache.panel(at / LANES + block, t);
                for (f, line) in panel[at * LANES..(at + width) * LANES]
                    .chunks_exact(LANES)
                    .enumerate()
                {
                    let slot = &mut self.h[f * width + block * LANES..][..LANES];
                    side.kernels.axpy(a, line, slot);
                }
            }
        }
    }

    /// Adds the observed entries of row `at` to its Gram matrix (at `h`) and its gradient.
    fn add_entries(
        &mut self,
        window: Window,
        at: usize,
        h: usize,
        tile: &mut Tile<'_>,
        side: &Side<'_>,
    ) {
        let width = window.width;
        let lambda = side.penalty.get(tile.row(at));
        let entries = tile.entries(at, side);
        let h = &mut self.h[h..h + width * width];
        for f in 0..width {
            self.floor[at * width + f] = CURVATURE_FLOOR * h[f * width + f].abs();
        }
        let (d, gathered) = (entries.d, entries.gathered);
        for f in (0..width).step_by(LANES) {
            for g in (0..=f).step_by(LANES) {
                add_gram(
                    d,
                    gathered,
                    (window.at + f, window.at + g),
                    &mut h[f * width + g..],
                    width,
                    side,
                );
            }
        }
        for f in 0..width {
            h[f * width + f] += lambda;
        }
        self.error.clear();
        self.error.extend(
            entries
                .d
                .iter()
                .zip(entries.pull)
                .zip(entries.predicted.iter())
                .map(|((d, pull), p)| pull - d * p),
        );
        let error = &self.error;
        sum_pieces(
            error.len(),
            &mut self.g[at * width..(at + 1) * width],
            |range, out| {
                let part = Gathered {
                    indices: &gathered.indices[range.clone()],
                    ..gathered
                };
                side.kernels.combine(&error[range], window.at, part, out);
            },
        );
    }

    fn invert_curvatures(
        &mut self,
        at: usize,
        h: usize,
        width: usize,
        tile: &Tile<'_>,
        side: &Side<'_>,
    ) -> Result<(), NotConvex> {
        for f in 0..width {
            let (curvature, floor) = (self.h[h + f * width + f], self.floor[at * width + f]);
            self.inverse[at * width + f] = if curvature > floor {
                1.0 / curvature
            } else {
                0.0
            };
            if side.may_be_negative && curvature < -floor {
                return Err(NotConvex {
                    row: tile.row(at),
                    curvature,
                });
            }
        }
        Ok(())
    }
}

/// Adds `Σ d q qᵀ` of two blocks of coordinates to `h`.
fn add_gram(
    d: &[f32],
    gathered: Gathered<'_>,
    at: (usize, usize),
    h: &mut [f32],
    pitch: usize,
    side: &Side<'_>,
) {
    if d.len() <= PIECE {
        side.kernels.gram(d, at, gathered, h, pitch);
        return;
    }
    let mut sum = [0.0; LANES * LANES];
    sum_pieces(d.len(), &mut sum, |range, out| {
        let part = Gathered {
            indices: &gathered.indices[range.clone()],
            ..gathered
        };
        side.kernels.gram(&d[range], at, part, out, LANES);
    });
    for (f, line) in sum.chunks_exact(LANES).enumerate() {
        for (slot, more) in h[f * pitch..f * pitch + LANES].iter_mut().zip(line) {
            *slot += more;
        }
    }
}

/// `p_u[window] += δ_u`, and the predictions with it.
fn apply_steps(window: Window, tile: &mut Tile<'_>, side: &Side<'_>, delta: &[f32]) {
    for (at, delta) in delta.chunks_exact(window.width).enumerate() {
        for (slot, step) in tile.factors_of(at)[window.at..].iter_mut().zip(delta) {
            *slot += step;
        }
        let entries = tile.entries(at, side);
        let gathered = entries.gathered;
        for_each_piece(entries.predicted, |first, out| {
            let part = Gathered {
                indices: &gathered.indices[first..first + out.len()],
                ..gathered
            };
            side.kernels.correct(delta, window.at, part, out);
        });
    }
}
