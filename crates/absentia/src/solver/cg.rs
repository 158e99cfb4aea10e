//! A few conjugate-gradient steps per row, from its current factors (as `implicit` does), for any Z.
//!
//! Minimises the same quadratic as the other solvers without forming `H_u`:
//! `H_u x = Σ_t a_ut S_t x + Σ_{i∈R_u} d_ui q_i (q_i·x) + λ_u x`. Products with the caches are
//! matrix products over the tile; each step costs `O(Z K² + |R_u| K)` a row.

use super::long_rows::{for_each_segment, sum_segments};
use super::{EntryLoss, NotConvex, RowSolver, Side, Tile};
use crate::linalg::LANES;
use crate::linalg::kernels::{Gathered, StridedRows};

/// Conjugate gradients, `steps` per row and half-sweep.
pub(crate) struct CgSolver {
    /// Number of steps.
    pub(crate) steps: usize,
}

/// Buffers of one worker, one line of K per row of the tile.
#[derive(Default)]
pub(crate) struct CgScratch {
    scales: Vec<f32>,
    residual: Vec<f32>,
    direction: Vec<f32>,
    image: Vec<f32>,
    coefficients: Vec<f32>,
}

impl RowSolver for CgSolver {
    type Scratch = CgScratch;

    fn solve(
        &self,
        tile: &mut Tile<'_>,
        side: &Side<'_>,
        scratch: &mut CgScratch,
    ) -> Result<EntryLoss, NotConvex> {
        let (rows, k) = (tile.len(), tile.stride);
        scratch.scales = (0..side.cache.rank())
            .flat_map(|t| tile.rows().map(move |row| side.own_weights.row(row)[t]))
            .collect();
        tile.fill(side);
        tile.pack(side);
        scratch.start_residuals(tile, side);
        scratch.direction.clone_from(&scratch.residual);
        let mut norms: Vec<f64> = scratch.residual.chunks_exact(k).map(square).collect();
        let first = norms.clone();
        for _ in 0..self.steps {
            scratch.multiply_directions(tile, side);
            for at in 0..rows {
                // A row that is solved to rounding would only collect noise.
                if norms[at] > 1e-14 * first[at] {
                    norms[at] = scratch.step(at, norms[at], tile, side)?;
                }
            }
        }
        if side.wants_loss {
            tile.predict_again(side);
        }
        Ok(tile.loss(side))
    }
}

impl CgScratch {
    /// `residual = y − H p`, with the entries' part taken together: `Σ (c r − d p·q) q`.
    fn start_residuals(&mut self, tile: &Tile<'_>, side: &Side<'_>) {
        let (rows, k) = (tile.len(), tile.stride);
        self.residual.clear();
        self.residual.resize(rows * k, 0.0);
        cache_product(&self.scales, tile.factors, rows, side, &mut self.residual);
        for (at, residual) in self.residual.chunks_exact_mut(k).enumerate() {
            let lambda = side.penalty.get(tile.row(at));
            for (slot, p) in residual.iter_mut().zip(&tile.factors[at * k..]) {
                *slot = -*slot - lambda * p;
            }
            side.add_products(tile.row(at), 0, residual);
            let (_, error) = tile.pulls(0..tile.padded());
            if tile.is_packed() {
                tile.combine(at, error, residual, side);
            } else {
                let gathered = tile.gathered(at, side);
                add_combination(&error[..gathered.indices.len()], gathered, residual, side);
            }
        }
    }

    /// `image = H · direction` for all rows.
    fn multiply_directions(&mut self, tile: &Tile<'_>, side: &Side<'_>) {
        let (rows, k) = (tile.len(), tile.stride);
        self.image.clear();
        self.image.resize(rows * k, 0.0);
        cache_product(&self.scales, &self.direction, rows, side, &mut self.image);
        self.coefficients.resize(tile.padded(), 0.0);
        self.weigh_directions(tile, side);
        for (at, image) in self.image.chunks_exact_mut(k).enumerate() {
            let lambda = side.penalty.get(tile.row(at));
            let direction = &self.direction[at * k..(at + 1) * k];
            side.kernels.axpy(lambda, direction, image);
            if tile.is_packed() {
                tile.combine(at, &self.coefficients, image, side);
            } else {
                let gathered = tile.gathered(at, side);
                let coefficients = &self.coefficients[..gathered.indices.len()];
                add_combination(coefficients, gathered, image, side);
            }
        }
    }

    /// `d (q · direction)` of every entry.
    fn weigh_directions(&mut self, tile: &Tile<'_>, side: &Side<'_>) {
        if tile.is_packed() {
            tile.dots(&self.direction, &mut self.coefficients, side);
        } else {
            let gathered = tile.gathered(0, side);
            let coefficients = &mut self.coefficients[..gathered.indices.len()];
            for_each_segment(coefficients, |first, out| {
                let part = Gathered {
                    indices: &gathered.indices[first..first + out.len()],
                    ..gathered
                };
                side.kernels.predict(&self.direction, part, out);
            });
        }
        let (d, _) = tile.pulls(0..tile.padded());
        for (slot, d) in self.coefficients.iter_mut().zip(d) {
            *slot *= d;
        }
    }

    /// One step of row `at`; yields the new squared norm of its residual.
    fn step(
        &mut self,
        at: usize,
        norm: f64,
        tile: &mut Tile<'_>,
        side: &Side<'_>,
    ) -> Result<f64, NotConvex> {
        let k = tile.stride;
        let line = at * k..(at + 1) * k;
        let (direction, image) = (&mut self.direction[line.clone()], &self.image[line.clone()]);
        let residual = &mut self.residual[line];
        let curvature: f64 = direction
            .iter()
            .zip(image)
            .map(|(x, y)| f64::from(*x) * f64::from(*y))
            .sum();
        let scale = (square(direction) * square(image)).sqrt();
        if side.may_be_negative && curvature < -1e-6 * scale {
            return Err(NotConvex {
                row: tile.row(at),
                curvature: (curvature / square(direction)) as f32,
            });
        }
        if curvature <= 0.0 {
            return Ok(0.0);
        }
        let length = (norm / curvature) as f32;
        side.kernels.axpy(length, direction, tile.factors_of(at));
        side.kernels.axpy(-length, image, residual);
        let next = square(residual);
        let turn = (next / norm) as f32;
        for (slot, residual) in direction.iter_mut().zip(residual.iter()) {
            *slot = residual + turn * *slot;
        }
        Ok(next)
    }
}

/// `out += Σ_t a_ut S_t x_u` for every row.
fn cache_product(scales: &[f32], x: &[f32], rows: usize, side: &Side<'_>, out: &mut [f32]) {
    let k = side.fixed.stride();
    let x = StridedRows {
        values: x,
        stride: k,
        rows,
        k,
    };
    for block in 0..k / LANES {
        for (t, scale) in scales.chunks_exact(rows).enumerate() {
            side.kernels.panel_product(
                x,
                side.cache.panel(block, t),
                Some(scale),
                &mut out[block * LANES..],
                k,
            );
        }
    }
}

/// `out += Σ_n coefficients[n] q_n`.
fn add_combination(coefficients: &[f32], gathered: Gathered<'_>, out: &mut [f32], side: &Side<'_>) {
    sum_segments(coefficients.len(), out, |range, out| {
        let part = Gathered {
            indices: &gathered.indices[range.clone()],
            ..gathered
        };
        side.kernels.combine(&coefficients[range], 0, part, out);
    });
}

fn square(x: &[f32]) -> f64 {
    x.iter().map(|x| f64::from(*x) * f64::from(*x)).sum()
}
