//! A half-sweep in double precision, for sweeps that rounding in single precision has spoilt.
//!
//! Where the weight of observed entries is far below that of missing ones, a row's curvature
//! `Σ_t a_ut S_t − Σ_R (a·b − c) q qᵀ` is a small difference of large sums. In `f32` little of it may be
//! left; in `f64` it holds down to ratios of about 1e-12. A pivot that is still below the rounding of
//! its terms is not treated as curvature: its coordinate stays where it is. A row that would not improve
//! stays as it was, whatever the reason, so that the half-sweep raises the objective by rounding at most.
//! Whether it improves is seen from all of its entries, unless the matrix has too many: `pᵀ H p` cancels
//! as well.

use std::ops::Range;
use std::sync::atomic::Ordering;

use rayon::prelude::*;

use super::cache::Inner;
use super::quadratic::{Quadratic, add_line};
use super::{Halt, Side, missing_weight, observed_row};
use crate::linalg::Dense;
use crate::row_sums::RowSum;

/// A pivot below this share of the absolute values of its terms is rounding.
const PIVOT: f64 = 1e-13;

/// The steps that a row makes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Steps {
    /// Exact solves over blocks of this many coordinates.
    Blocks(usize),
    /// Conjugate gradients.
    Conjugate(usize),
}

/// The caches `S_t` of one side in double precision: Z matrices K × K, of which the lower triangle is
/// summed.
#[derive(Clone)]
pub(crate) struct DoubleCache {
    pub(super) k: usize,
    pub(super) sums: Vec<f64>,
}

impl DoubleCache {
    pub(crate) fn new(factors: &Dense, weights: &Dense) -> Self {
        let sums = double_sums(factors, weights, 0).total();
        Self::of_sums(factors.cols(), weights.cols(), sums.as_deref())
    }

    /// Takes the [sums](double_sums) over all rows.
    pub(crate) fn of_sums(k: usize, z: usize, packed: Option<&[f64]>) -> Self {
        let mut sums = vec![0.0; z * k * k];
        let mut packed = packed.unwrap_or_default();
        for (at, line) in sums.chunks_exact_mut(k).enumerate() {
            let Some((lower, rest)) = packed.split_at_checked(at % k + 1) else {
                break;
            };
            line[..lower.len()].copy_from_slice(lower);
            packed = rest;
        }
        Self { k, sums }
    }

    fn matrices(&self) -> impl Iterator<Item = &[f64]> {
        self.sums.chunks_exact(self.k * self.k)
    }

    /// `Σ_t ⟨S_t, other_t⟩`.
    pub(crate) fn inner(&self, other: &Self) -> Inner {
        self.inner_but(other, &[])
    }

    /// The same without some components.
    pub(crate) fn inner_but(&self, other: &Self, without: &[usize]) -> Inner {
        let mut inner = Inner::default();
        for (at, (x, y)) in self.sums.iter().zip(&other.sums).enumerate() {
            let (f, g) = (at % (self.k * self.k) / self.k, at % self.k);
            if without.contains(&(at / (self.k * self.k))) {
                continue;
            }
            match g.cmp(&f) {
                std::cmp::Ordering::Less => inner.add(2.0 * x * y),
                std::cmp::Ordering::Equal => inner.add(x * y),
                std::cmp::Ordering::Greater => {}
            }
        }
        inner
    }

    /// `Σ_t a_t S_t`, of which the lower triangle is summed.
    pub(crate) fn weighted(&self, a: &[f32]) -> Vec<f64> {
        let mut h = vec![0.0; self.k * self.k];
        for (a, matrix) in a.iter().zip(self.matrices()) {
            for (slot, s) in h.iter_mut().zip(matrix) {
                *slot += f64::from(*a) * s;
            }
        }
        h
    }
}

/// The sums of the caches over rows that begin with chunk `first` of the whole matrix: of each matrix the
/// lower triangle, line after line.
pub(crate) fn double_sums(factors: &Dense, weights: &Dense, first: usize) -> RowSum<Vec<f64>> {
    let (triangle, z) = (triangle(factors.cols()), weights.cols());
    let of_chunk = |rows: Range<usize>| {
        let mut sums = vec![0.0; z * triangle];
        for row in rows {
            for (sums, weight) in sums.chunks_exact_mut(triangle).zip(weights.row(row)) {
                add_triangle(sums, f64::from(*weight), factors.row(row));
            }
        }
        sums
    };
    RowSum::over_part(first, factors.rows(), 1, &of_chunk)
}

/// Numbers on and below the diagonal of a K × K matrix.
fn triangle(k: usize) -> usize {
    k * (k + 1) / 2
}

/// Adds `weight q qᵀ` to the lower triangle of a matrix, stored line after line.
fn add_triangle(mut packed: &mut [f64], weight: f64, q: &[f32]) {
    for f in 0..q.len() {
        let (line, rest) = packed.split_at_mut(f + 1);
        add_line(line, weight, q);
        packed = rest;
    }
}

/// Bytes that the caches of both sides take in double precision, with two sums of each thread while they
/// are built.
pub(crate) fn double_bytes(k: usize, z: usize, threads: usize) -> u64 {
    let numbers = 2 * (k * k + threads * triangle(k)) as u64;
    (8 * numbers).saturating_mul(z as u64)
}

/// Writes to `after` every row of `before`, improved with the other side held fixed. With `by_entry`,
/// whether a row improves is seen from all of its entries: the side then has all rows of the other one.
pub(crate) fn half_sweep_in_double(
    (steps, by_entry): (Steps, bool),
    (before, after): (&Dense, &mut Dense),
    (side, cache): (&Side<'_>, &DoubleCache),
) -> Result<(), Halt> {
    let (k, stride) = (before.cols(), before.stride());
    let rows = after.as_mut_slice().par_chunks_exact_mut(stride);
    rows.enumerate().try_for_each(|(row, out)| {
        if side.cancelled.load(Ordering::Relaxed) {
            return Err(Halt::Cancelled);
        }
        out.copy_from_slice(before.padded_row(row));
        let start: Vec<f64> = out[..k].iter().map(|x| f64::from(*x)).collect();
        let quadratic = RowQuadratic::of_row(row, cache, side);
        let improved = match steps {
            Steps::Blocks(size) => quadratic.in_blocks(start.clone(), size),
            Steps::Conjugate(steps) => quadratic.conjugate_gradients(start.clone(), steps),
        };
        let rounded: Vec<f64> = improved.iter().map(|x| f64::from(*x as f32)).collect();
        let improves = if by_entry {
            loss(row, &rounded, side) < loss(row, &start, side)
        } else {
            quadratic.at(&rounded) < quadratic.at(&start)
        };
        if improves {
            for (slot, x) in out.iter_mut().zip(&rounded) {
                *slot = *x as f32;
            }
        }
        Ok(())
    })
}

/// What a row contributes to the objective, entry by entry.
pub(super) fn loss(row: usize, p: &[f64], side: &Side<'_>) -> f64 {
    let observed = observed_row(side, row);
    let mut total = f64::from(side.penalty.get(row)) * dot(p, p);
    let mut next = 0;
    let mut targets = vec![0.0; side.fixed.rows()];
    for (column, target) in side.feature_targets(row) {
        targets[column] = f64::from(target);
    }
    for (column, target) in targets.into_iter().enumerate() {
        let q = side.fixed.row(column).iter();
        let predicted: f64 = q.zip(p).map(|(q, p)| f64::from(*q) * p).sum();
        total += if observed.indices.get(next) == Some(&(column as u32)) {
            let (c, r) = (observed.c.get(next), observed.r.get(next));
            next += 1;
            f64::from(c) * (f64::from(r) - predicted).powi(2)
        } else {
            let (a, b) = (side.own_weights.row(row), side.fixed_weights.row(column));
            missing_weight(a, b) * (target - predicted).powi(2)
        };
    }
    total
}

/// Solves the only row of a side exactly. `p` is its solution in single precision, and stays if it is no
/// worse.
pub(crate) fn solve_exactly_in_double(side: &Side<'_>, cache: &DoubleCache, p: &mut [f32]) {
    let quadratic = RowQuadratic::of_row(0, cache, side);
    let single: Vec<f64> = p.iter().map(|x| f64::from(*x)).collect();
    let found = quadratic.in_blocks(vec![0.0; cache.k], cache.k);
    let rounded: Vec<f64> = found.iter().map(|x| f64::from(*x as f32)).collect();
    let (before, after) = (loss(0, &single, side), loss(0, &rounded, side));
    if before.is_nan() || after < before {
        for (slot, x) in p.iter_mut().zip(&rounded) {
            *slot = *x as f32;
        }
    }
}

/// The quadratic of one row, and how far rounding may have spoilt it.
pub(super) struct RowQuadratic {
    k: usize,
    h: Vec<f64>,
    y: Vec<f64>,
    /// Sums of the absolute values of the terms of H's diagonal.
    terms: Vec<f64>,
}

impl RowQuadratic {
    pub(super) fn of_row(row: usize, cache: &DoubleCache, side: &Side<'_>) -> Self {
        let (k, lambda) = (cache.k, f64::from(side.penalty.get(row)));
        let a = side.own_weights.row(row);
        let mut quadratic = Quadratic::of_missing(cache.weighted(a), k);
        let mut terms = vec![lambda; k];
        for (a, matrix) in a.iter().zip(cache.matrices()) {
            for (f, terms) in terms.iter_mut().enumerate() {
                *terms += (f64::from(*a) * matrix[f * k + f]).abs();
            }
        }
        let observed = observed_row(side, row);
        for (n, &column) in observed.indices.iter().enumerate() {
            let q = side.fixed.row(column as usize);
            let missing = missing_weight(a, side.fixed_weights.row(column as usize));
            let (c, r) = (f64::from(observed.c.get(n)), f64::from(observed.r.get(n)));
            quadratic.add(q, (r, c), missing);
            for (terms, q) in terms.iter_mut().zip(q) {
                *terms += (c - missing).abs() * f64::from(*q) * f64::from(*q);
            }
        }
        for (column, target) in side.feature_targets(row) {
            let weight = missing_weight(a, side.fixed_weights.row(column));
            let pull = weight * f64::from(target);
            for (y, q) in quadratic.y.iter_mut().zip(side.fixed.row(column)) {
                *y += pull * f64::from(*q);
            }
        }
        let Quadratic { h, y, .. } = quadratic.with_penalty(lambda);
        Self { k, h, y, terms }
    }

    /// `H x`.
    fn image(&self, x: &[f64]) -> Vec<f64> {
        self.h
            .chunks_exact(self.k)
            .map(|line| dot(line, x))
            .collect()
    }

    fn at(&self, p: &[f64]) -> f64 {
        let image = self.image(p);
        p.iter()
            .zip(image.iter().zip(&self.y))
            .map(|(p, (h, y))| p * (h - 2.0 * y))
            .sum()
    }

    pub(super) fn in_blocks(&self, mut p: Vec<f64>, size: usize) -> Vec<f64> {
        for first in (0..self.k).step_by(size.max(1)) {
            let block = first..self.k.min(first + size.max(1));
            let gradient = block
                .clone()
                .map(|f| self.y[f] - dot(&self.h[f * self.k..][..self.k], &p));
            let step = self.solve(block.clone(), gradient.collect());
            for (f, step) in block.zip(step) {
                p[f] += step;
            }
        }
        p
    }

    /// Solves `H x = g` on a block by an `L D Lᵀ` decomposition; coordinates whose pivots are rounding
    /// stay at 0.
    fn solve(&self, block: Range<usize>, mut g: Vec<f64>) -> Vec<f64> {
        let (n, first) = (block.len(), block.start);
        let mut l = vec![0.0; n * n];
        let mut pivots = vec![0.0; n];
        for f in 0..n {
            for e in 0..f {
                let (upper, lower) = l.split_at(f * n);
                let shared: f64 = (0..e)
                    .map(|d| lower[d] * upper[e * n + d] * pivots[d])
                    .sum();
                let rest = self.h[(first + f) * self.k + first + e] - shared;
                l[f * n + e] = if pivots[e] > 0.0 {
                    rest / pivots[e]
                } else {
                    0.0
                };
            }
            let taken: f64 = (0..f)
                .map(|e| l[f * n + e] * l[f * n + e] * pivots[e])
                .sum();
            let pivot = self.h[(first + f) * self.k + first + f] - taken;
            let noise = PIVOT * self.terms[first + f].max(taken);
            pivots[f] = if pivot > noise { pivot } else { 0.0 };
        }
        for f in 0..n {
            // A coordinate that stays at 0 takes no part.
            g[f] -= (0..f).map(|e| l[f * n + e] * g[e]).sum::<f64>();
        }
        for (g, pivot) in g.iter_mut().zip(&pivots) {
            *g = if *pivot > 0.0 { *g / pivot } else { 0.0 };
        }
        for f in (0..n).rev() {
            if pivots[f] > 0.0 {
                g[f] -= (f + 1..n).map(|e| l[e * n + f] * g[e]).sum::<f64>();
            }
        }
        g
    }

    fn conjugate_gradients(&self, mut p: Vec<f64>, steps: usize) -> Vec<f64> {
        let image = self.image(&p);
        let mut residual: Vec<f64> = self.y.iter().zip(&image).map(|(y, h)| y - h).collect();
        let mut direction = residual.clone();
        let mut norm = dot(&residual, &residual);
        for _ in 0..steps {
            let image = self.image(&direction);
            let curvature = dot(&direction, &image);
            let terms = direction.iter().zip(&self.terms);
            let noise = PIVOT * terms.map(|(x, terms)| x * x * terms).sum::<f64>();
            if norm <= 0.0 || curvature <= noise {
                break;
            }
            let length = norm / curvature;
            for f in 0..self.k {
                p[f] += length * direction[f];
                residual[f] -= length * image[f];
            }
            let next = dot(&residual, &residual);
            for (direction, residual) in direction.iter_mut().zip(&residual) {
                *direction = residual + next / norm * *direction;
            }
            norm = next;
        }
        p
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}
