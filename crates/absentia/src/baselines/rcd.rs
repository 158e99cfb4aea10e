//! RCD: randomised block coordinate descent (Devooght, Kourtellis and Mantrach 2015).
//!
//! A pass visits all rows of P and Q in random order, and each takes one gradient step whose length
//! is found by backtracking. With G the Gram matrix of the other side, kept up to date at `O(K²)` a
//! step, the part of J that belongs to row u is
//!
//! ```text
//! L(p) = w₀ pᵀGp + Σ_{i∈R_u} (d_ui (p·q_i)² − 2 c_ui r_ui p·q_i) + λ_u|p|² + const,   d_ui = c_ui − w₀
//! ```
//!
//! Along its gradient g this is the parabola `L(p − sg) = L(p) − s|g|² + s²κ`, κ = half of `gᵀL″g`,
//! so the search `s = 1, β, β², …` until `L(p − sg) ≤ L(p) − αs|g|²` needs no further look at the
//! data: the condition is `sκ ≤ (1 − α)|g|²`. α, β, the number of tries and the smallest gradient
//! are those of the authors' program; unlike it, factors may be negative, as in the paper's other
//! methods.

use super::random::{of_pass, shuffled};
use super::{Pass, PassInput, dot};
use crate::data::{Entries, Values};
use crate::linalg::Dense;
use crate::linalg::kernels::{Gathered, Kernels};

/// Share of the linear decrease that a step must reach.
const ALPHA: f32 = 0.3;
/// Factor between one step tried and the next.
const BETA: f32 = 0.3;
/// Steps tried before the row is left as it is.
const TRIES: usize = 10;
/// Squared length of a gradient that is left alone.
const LEAST_GRADIENT: f32 = 1e-4;
/// Rows between two looks at the flag that ends the run.
const ROWS_PER_LOOK: usize = 1024;

/// One pass: every row once, in random order.
pub(super) fn pass(input: &PassInput<'_>, iteration: usize, p: &mut Dense, q: &mut Dense) -> Pass {
    let n_users = p.rows();
    let order = shuffled(
        &mut of_pass(input.params.seed, iteration),
        n_users + q.rows(),
    );
    let mut descent = Descent {
        weight: input.uniform_weight(),
        kernels: input.kernels,
        grams: [Gram::of(p, input.kernels), Gram::of(q, input.kernels)],
        scratch: RcdScratch::default(),
    };
    let (users, items) = (input.data.by_user(), input.data.by_item());
    for (at, &node) in order.iter().enumerate() {
        if at % ROWS_PER_LOOK == 0 && input.is_cancelled() {
            return Pass::Cancelled;
        }
        let node = node as usize;
        if node < n_users {
            let side = (users, input.penalty.users);
            descent.step(0, side, node, p, q);
        } else {
            let side = (items, input.penalty.items);
            descent.step(1, side, node - n_users, q, p);
        }
    }
    Pass::Objective
}

/// `Σ_u p_u p_uᵀ`, padded.
struct Gram(Dense);

impl Gram {
    fn of(factors: &Dense, kernels: Kernels) -> Self {
        let mut gram = Self(Dense::padded(factors.stride(), factors.stride()));
        for row in 0..factors.rows() {
            gram.add(1.0, factors.padded_row(row), kernels);
        }
        gram
    }

    /// Adds `scale · x xᵀ`.
    fn add(&mut self, scale: f32, x: &[f32], kernels: Kernels) {
        let stride = self.0.stride();
        for (line, x_f) in self.0.as_mut_slice().chunks_exact_mut(stride).zip(x) {
            kernels.axpy(scale * x_f, x, line);
        }
    }

    /// `out = G x`.
    fn times(&self, x: &[f32], lines: &[u32], out: &mut [f32], kernels: Kernels) {
        let gathered = Gathered {
            matrix: self.0.as_slice(),
            stride: self.0.stride(),
            indices: lines,
        };
        kernels.predict(x, gathered, out);
    }
}

struct Descent {
    weight: f32,
    kernels: Kernels,
    /// Of P and of Q.
    grams: [Gram; 2],
    scratch: RcdScratch,
}

#[derive(Default)]
struct RcdScratch {
    /// 0..K, padded: the lines of a Gram matrix.
    lines: Vec<u32>,
    gradient: Vec<f32>,
    image: Vec<f32>,
    along: Vec<f32>,
    coefficients: Vec<f32>,
}

impl Descent {
    /// One gradient step of row `row` of side `own` (0: users), whose entries and penalties are
    /// `side`.
    fn step(
        &mut self,
        own: usize,
        side: (&Entries<'_>, &Values<'_>),
        row: usize,
        free: &mut Dense,
        fixed: &Dense,
    ) {
        let stride = free.stride();
        let lambda = side.1.get(row);
        let x = &mut free.as_mut_slice()[row * stride..(row + 1) * stride];
        self.gradient(1 - own, side.0, row, lambda, x, fixed);
        let norm = dot(self.kernels, &self.scratch.gradient, &self.scratch.gradient);
        if norm < LEAST_GRADIENT {
            return;
        }
        let curvature = self.curvature(1 - own, side.0, row, lambda, fixed);
        let Some(length) = line_search(norm, curvature) else {
            return;
        };
        self.grams[own].add(-1.0, x, self.kernels);
        self.kernels.axpy(-length, &self.scratch.gradient, x);
        self.grams[own].add(1.0, x, self.kernels);
    }

    /// `g = 2 (w₀ G p + Σ_i (d_i p·q_i − c_i r_i) q_i + λ p)`.
    fn gradient(
        &mut self,
        other: usize,
        observed: &Entries<'_>,
        row: usize,
        lambda: f32,
        x: &[f32],
        fixed: &Dense,
    ) {
        let (entries, scratch) = (observed.row(row), &mut self.scratch);
        let gathered = gathered(fixed, entries.indices);
        scratch.lines.resize(x.len(), 0);
        (0..)
            .zip(&mut scratch.lines)
            .for_each(|(at, line)| *line = at);
        scratch.gradient.resize(x.len(), 0.0);
        let gradient = &mut scratch.gradient[..];
        self.grams[other].times(x, &scratch.lines, gradient, self.kernels);
        for (slot, x_f) in gradient.iter_mut().zip(x) {
            *slot = self.weight * *slot + lambda * x_f;
        }
        scratch.coefficients.resize(entries.len(), 0.0);
        self.kernels.predict(x, gathered, &mut scratch.coefficients);
        for (at, slot) in scratch.coefficients.iter_mut().enumerate() {
            let c = entries.c.get(at);
            *slot = (c - self.weight) * *slot - c * entries.r.get(at);
        }
        self.kernels
            .combine(&scratch.coefficients, 0, gathered, gradient);
        for slot in gradient.iter_mut() {
            *slot *= 2.0;
        }
    }

    /// `κ = w₀ gᵀGg + Σ_i d_i (q_i·g)² + λ|g|²`.
    fn curvature(
        &mut self,
        other: usize,
        observed: &Entries<'_>,
        row: usize,
        lambda: f32,
        fixed: &Dense,
    ) -> f32 {
        let (entries, scratch) = (observed.row(row), &mut self.scratch);
        let g = &scratch.gradient[..];
        scratch.image.resize(g.len(), 0.0);
        self.grams[other].times(g, &scratch.lines, &mut scratch.image, self.kernels);
        let missing = self.weight * dot(self.kernels, g, &scratch.image);
        scratch.along.resize(entries.len(), 0.0);
        self.kernels
            .predict(g, gathered(fixed, entries.indices), &mut scratch.along);
        let own = scratch.along.iter().enumerate();
        let own: f32 = own
            .map(|(at, x)| (entries.c.get(at) - self.weight) * x * x)
            .sum();
        missing + own + lambda * dot(self.kernels, g, g)
    }
}

fn gathered<'a>(fixed: &'a Dense, indices: &'a [u32]) -> Gathered<'a> {
    Gathered {
        matrix: fixed.as_slice(),
        stride: fixed.stride(),
        indices,
    }
}

/// The first of `1, β, β², …` that decreases the parabola enough.
fn line_search(norm: f32, curvature: f32) -> Option<f32> {
    let tries = std::iter::successors(Some(1.0), |length| Some(length * BETA));
    tries
        .take(TRIES)
        .find(|length| length * curvature <= (1.0 - ALPHA) * norm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_ends_at_the_first_step_that_decreases_enough() {
        assert_eq!(line_search(1.0, 0.7), Some(1.0));
        assert_eq!(line_search(1.0, 0.71), Some(BETA));
        assert_eq!(line_search(1.0, f32::MAX), None);
    }
}
