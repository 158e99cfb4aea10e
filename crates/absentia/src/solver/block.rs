//! Element-wise ALS, subspace ALS and ALS as one solver: exact steps over blocks of coordinates.
//!
//! A *window* of coordinates (sixteen, or the block if that is larger) is handled at a time. It
//! needs only `h = H_u[window, window]` and the gradient on the window; `H_u` is never formed unless
//! the window is the whole row. Within a window, blocks are solved exactly one after the other:
//! blocks of one coordinate give the paper's Algorithm 2 step by step, in its order; blocks of K
//! give ALS; in between is iALS++ (Rendle et al. 2021), here for any rank of weights.
//!
//! Per row and sweep: `O(Z K² + |R_u| K w)` for windows of w coordinates, all of it in kernels.

mod grams;

use std::ops::Range;

use super::block_step::BlockStep;
use super::long_rows::SEGMENT;
use super::{EntryLoss, NotConvex, RowSolver, Side, Tile};
use crate::linalg::kernels::{Form, Place, Quadratics, Solving, StridedRows};
use crate::linalg::{Buffer, LANES};

/// Curvature below this share of what the missing entries contribute is rounding, and counts as 0.
pub(super) const CURVATURE_FLOOR: f32 = 4e-7;

/// Floats of a small Gram matrix that is square.
pub(super) const SMALL: usize = Form::Square.floats();

/// Bytes of one worker's buffers for solving sixteen rows at once.
pub(crate) const SOLVING_BYTES: u64 = size_of::<Solving>() as u64;

/// Exact solves over blocks of `block` coordinates.
pub(crate) struct BlockSolver {
    /// A divisor or a multiple of sixteen.
    pub(crate) block: usize,
}

/// Buffers of one worker.
#[derive(Default)]
pub(crate) struct BlockScratch {
    /// Weights of the tile's rows, negative, one line of rows per component.
    scales: Vec<f32>,
    /// Penalties of the tile's rows.
    penalty: Vec<f32>,
    /// Gram matrices, one per row of the tile, or that of one row.
    h: Buffer,
    /// What missing entries contribute to small Gram matrices, where that is a sum of several.
    missing: Buffer,
    /// What missing entries contribute to curvatures, per row and coordinate.
    base: Buffer,
    /// Negative half-gradients on the window, per row.
    g: Buffer,
    /// Steps on the window, per row.
    delta: Buffer,
    /// What solving one block needs.
    work: Vec<f32>,
    /// What solving sixteen rows at once needs.
    solving: Box<Solving>,
}

/// Coordinates `at .. at + width` of every row.
#[derive(Clone, Copy)]
struct Window {
    at: usize,
    width: usize,
}

impl Window {
    /// Sixteen of its coordinates, from position `at`: in rows of factors, and in rows of the window.
    fn places(self, at: usize, stride: usize) -> (Place, Place) {
        let whole = Place {
            at: self.at + at,
            stride,
        };
        let stride = self.width;
        (whole, Place { at, stride })
    }

    /// The blocks of sixteen coordinates it is made of.
    fn blocks(self) -> Range<usize> {
        self.at / LANES..(self.at + self.width) / LANES
    }
}

impl RowSolver for BlockSolver {
    type Scratch = BlockScratch;

    fn solve(
        &self,
        tile: &mut Tile<'_>,
        side: &Side<'_>,
        scratch: &mut BlockScratch,
    ) -> Result<EntryLoss, NotConvex> {
        tile.fill(side);
        tile.pack(side);
        scratch.load_rows(tile, side);
        let step = self.block.max(LANES);
        for at in (0..tile.stride).step_by(step) {
            let window = Window {
                at,
                width: step.min(tile.stride - at),
            };
            scratch.start_gradients(window, tile, side);
            if window.width == LANES {
                self.solve_small(window, tile, side, scratch)?;
            } else {
                self.solve_wide(window, tile, side, scratch)?;
            }
            apply_steps(window, tile, side, scratch.delta.as_slice());
        }
        Ok(tile.loss(side))
    }
}

impl BlockSolver {
    /// A window of sixteen coordinates: Gram matrices of all rows side by side, so that their
    /// coordinate steps run interleaved.
    fn solve_small(
        &self,
        window: Window,
        tile: &Tile<'_>,
        side: &Side<'_>,
        scratch: &mut BlockScratch,
    ) -> Result<(), NotConvex> {
        let (rows, form) = (tile.len(), self.form());
        scratch.start_small_grams(form, window, tile, side);
        if tile.is_packed() && (0..rows).all(|at| tile.range(at).len() <= SEGMENT) {
            scratch.add_all_small(form, window, tile, side);
        } else {
            (0..rows).for_each(|at| scratch.add_small(form, window, at, tile, side));
        }
        let delta = scratch.delta.room(in_lanes(rows) * LANES);
        let quadratics = Quadratics {
            h: scratch.h.as_slice(),
            base: scratch.base.as_slice(),
            penalty: &scratch.penalty,
            g: scratch.g.as_slice(),
        };
        if self.block == 1 {
            let negative = side.kernels.descend(&quadratics, CURVATURE_FLOOR, delta);
            return convex(negative, tile, side);
        }
        if self.block < LANES {
            return (0..rows).try_for_each(|at| self.step_small(at, tile, side, scratch));
        }
        let mut left = Vec::new();
        for first in (0..rows).step_by(LANES) {
            let work = &mut scratch.solving;
            let solved = side
                .kernels
                .solve(&quadratics, first, CURVATURE_FLOOR, work, delta);
            convex(solved.negative, tile, side)?;
            left.extend(
                (0..LANES)
                    .filter(|lane| solved.unsure >> lane & 1 == 1)
                    .map(|lane| first + lane),
            );
        }
        left.into_iter()
            .try_for_each(|at| self.step_small(at, tile, side, scratch))
    }

    /// The form of small Gram matrices: folded where a window is solved as a whole.
    fn form(&self) -> Form {
        if self.block < LANES {
            Form::Square
        } else {
            Form::Folded
        }
    }

    /// Blocks of one row's window of sixteen coordinates.
    fn step_small(
        &self,
        at: usize,
        tile: &Tile<'_>,
        side: &Side<'_>,
        scratch: &mut BlockScratch,
    ) -> Result<(), NotConvex> {
        let square = scratch.unfold(self.form(), at, tile.len());
        self.step_blocks(at, square, LANES, tile, side, scratch)
    }

    /// A wider window: one row after the other.
    fn solve_wide(
        &self,
        window: Window,
        tile: &Tile<'_>,
        side: &Side<'_>,
        scratch: &mut BlockScratch,
    ) -> Result<(), NotConvex> {
        scratch.delta.room(tile.len() * window.width);
        for at in 0..tile.len() {
            scratch.start_wide_gram(window, at, tile, side);
            scratch.add_wide(window, at, tile, side);
            self.step_blocks(at, 0, window.width, tile, side, scratch)?;
        }
        Ok(())
    }

    /// Exact solves of the blocks of one row's window, one after the other.
    fn step_blocks(
        &self,
        at: usize,
        h: usize,
        width: usize,
        tile: &Tile<'_>,
        side: &Side<'_>,
        scratch: &mut BlockScratch,
    ) -> Result<(), NotConvex> {
        let (block, row, lines) = (
            self.block.min(width),
            tile.row(at),
            at * width..(at + 1) * width,
        );
        let matrix = &mut scratch.h.room(h + width * width)[h..];
        let base = &scratch.base.as_slice()[lines.clone()];
        let (floor, work) = {
            let needed = 2 * width + block + block * block;
            scratch.work.resize(needed.max(scratch.work.len()), 0.0);
            scratch.work.split_at_mut(width)
        };
        for f in 0..width {
            floor[f] = CURVATURE_FLOOR * base[f].abs();
            matrix[f * width + f] += scratch.penalty[at];
            let curvature = matrix[f * width + f];
            if side.may_be_negative && curvature < -floor[f] {
                return Err(NotConvex { row, curvature });
            }
        }
        let mut step = BlockStep {
            h: matrix,
            width,
            floor,
            kernels: side.kernels,
        };
        let g = &mut scratch.g.room(lines.end)[lines.clone()];
        let delta = &mut scratch.delta.room(lines.end)[lines];
        for first in (0..width).step_by(block) {
            let range = first..first + block;
            let negative = step.solve(range.clone(), g, delta, work);
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

impl BlockScratch {
    fn load_rows(&mut self, tile: &Tile<'_>, side: &Side<'_>) {
        let z = side.cache.rank();
        self.scales.clear();
        for t in 0..z {
            self.scales
                .extend(tile.rows().map(|row| -side.own_weights.row(row)[t]));
        }
        self.penalty.clear();
        self.penalty
            .extend(tile.rows().map(|row| side.penalty.get(row)));
    }

    /// `g = −Σ_t a_ut (S_t p_u)[window] − λ_u p_u[window]` for all rows of the tile, with what features add, and what
    /// missing entries contribute to the curvatures there.
    fn start_gradients(&mut self, window: Window, tile: &mut Tile<'_>, side: &Side<'_>) {
        let (rows, width) = (tile.len(), window.width);
        let g = &mut self.g.room(in_lanes(rows) * width)[..rows * width];
        let base = &mut self.base.room(in_lanes(rows) * width)[..rows * width];
        base.fill(0.0);
        for at in (0..width).step_by(LANES) {
            let (from, to) = window.places(at, tile.stride);
            side.kernels
                .pull_back(&self.penalty, tile.factors, from, g, to);
        }
        if !side.features.is_empty() {
            for (at, row) in tile.rows().enumerate() {
                side.add_products(row, window.at, &mut g[at * width..(at + 1) * width]);
            }
        }
        let x = StridedRows {
            values: tile.factors,
            stride: tile.stride,
            rows,
            k: tile.stride,
        };
        let weights = weights_of(tile, side);
        for (at, block) in window.blocks().enumerate() {
            let (g, base) = (&mut g[at * LANES..], &mut base[at * LANES..]);
            for (t, scale) in self.scales.chunks_exact(rows).enumerate() {
                // Group weights are mostly zero.
                if scale.iter().any(|&a| a != 0.0) {
                    let panel = side.cache.panel(block, t);
                    side.kernels.panel_product(x, panel, Some(scale), g, width);
                }
            }
            let curvatures = side.cache.curvatures(block);
            side.kernels
                .panel_product(weights, curvatures, None, base, width);
        }
    }
}

/// Rows of a tile in whole lanes, since sixteen are solved at once.
fn in_lanes(rows: usize) -> usize {
    rows.next_multiple_of(LANES)
}

/// An error where a row has negative curvature that is more than rounding.
fn convex(
    negative: Option<(usize, f32)>,
    tile: &Tile<'_>,
    side: &Side<'_>,
) -> Result<(), NotConvex> {
    match negative.filter(|_| side.may_be_negative) {
        Some((at, curvature)) => Err(NotConvex {
            row: tile.row(at),
            curvature,
        }),
        None => Ok(()),
    }
}

/// Weights of the tile's rows, a row of Z each.
fn weights_of<'s>(tile: &Tile<'_>, side: &Side<'s>) -> StridedRows<'s> {
    let (rows, z) = (tile.len(), side.cache.rank());
    let first = tile.row(0) * z;
    StridedRows {
        values: &side.own_weights.as_slice()[first..first + rows * z],
        stride: z,
        rows,
        k: z,
    }
}

/// `p_u[window] += δ_u`, and the predictions with it where they are still needed.
fn apply_steps(window: Window, tile: &mut Tile<'_>, side: &Side<'_>, delta: &[f32]) {
    let width = window.width;
    for at in (0..width).step_by(LANES) {
        let (to, from) = window.places(at, tile.stride);
        let rows = tile.len();
        side.kernels.advance(rows, delta, from, tile.factors, to);
    }
    if window.at + width == tile.stride && !side.wants_loss {
        return;
    }
    for (at, block) in window.blocks().enumerate() {
        tile.correct(&delta[at * LANES..], width, block, side);
    }
}
