//! Caches that follow single rows: sums in double precision, rounded for the solvers.
//!
//! Training sums the caches once for each half-sweep. A stream of events changes one row at a time:
//! `S_t += b'_t q'q'ᵀ − b_t q qᵀ` costs K² numbers for each t. The sums are in `f64`, so that a million
//! changes leave no trace of rounding that a solver could see, and the solvers read them rounded.

use super::cache::GramCache;
use super::in_double::DoubleCache;
use crate::linalg::{Dense, LANES};

/// A row of factors with its weights on missing entries.
#[derive(Clone, Copy)]
pub(crate) struct WeightedRow<'r> {
    /// Z weights.
    pub(crate) weights: &'r [f32],
    /// K factors.
    pub(crate) factors: &'r [f32],
}

/// `S_t` of one side for every t.
pub(crate) struct GrowingCache {
    sums: DoubleCache,
    rounded: GramCache,
}

impl GrowingCache {
    /// Sums over all rows, in double precision.
    pub(crate) fn new(factors: &Dense, weights: &Dense) -> Self {
        Self::of(DoubleCache::new(factors, weights), weights.cols())
    }

    /// Takes sums as [`sums`](Self::sums) has them, or yields `None` if their number does not fit.
    pub(crate) fn from_sums(k: usize, z: usize, sums: Vec<f64>) -> Option<Self> {
        (sums.len() == z * k * k).then(|| Self::of(DoubleCache { k, sums }, z))
    }

    fn of(sums: DoubleCache, z: usize) -> Self {
        let rounded = GramCache::zeros(sums.k.next_multiple_of(LANES), z);
        let mut cache = Self { sums, rounded };
        (0..z).for_each(|t| cache.change(t, |_, _| {}));
        cache
    }

    /// The caches as the solvers read them.
    pub(crate) fn rounded(&self) -> &GramCache {
        &self.rounded
    }

    /// The caches in double precision.
    pub(crate) fn in_double(&self) -> &DoubleCache {
        &self.sums
    }

    /// Z matrices K × K, row by row, of which the lower triangle counts.
    pub(crate) fn sums(&self) -> &[f64] {
        &self.sums.sums
    }

    /// `Σ_t a_t S_t`, of which the lower triangle is summed.
    pub(crate) fn weighted(&self, a: &[f32]) -> Vec<f64> {
        self.sums.weighted(a)
    }

    /// Puts a row in the place of another: `S_t += b'_t q'q'ᵀ − b_t q qᵀ`.
    pub(crate) fn replace(&mut self, old: WeightedRow<'_>, new: WeightedRow<'_>) {
        let weights = old.weights.iter().zip(new.weights);
        for (t, (&before, &after)) in weights.enumerate() {
            if before == 0.0 && after == 0.0 {
                continue;
            }
            let (before, after) = (f64::from(before), f64::from(after));
            self.change(t, |f, line| {
                let (out, into) = (
                    before * f64::from(old.factors[f]),
                    after * f64::from(new.factors[f]),
                );
                let pairs = old.factors.iter().zip(new.factors);
                for (slot, (&old, &new)) in line.iter_mut().zip(pairs) {
                    *slot += into * f64::from(new) - out * f64::from(old);
                }
            });
        }
    }

    /// Changes the lower triangle of one `S_t`, line by line, and rounds it.
    fn change(&mut self, t: usize, mut change: impl FnMut(usize, &mut [f64])) {
        let k = self.sums.k;
        let matrix = &mut self.sums.sums[t * k * k..(t + 1) * k * k];
        for (f, line) in matrix.chunks_exact_mut(k).enumerate() {
            change(f, &mut line[..=f]);
        }
        for block in 0..k.div_ceil(LANES) {
            round_lines(matrix, k, block, t, &mut self.rounded);
            self.rounded.gather_diagonal(block, t);
        }
    }
}

/// Rounds sixteen lines of the lower triangle, and the columns that mirror them.
fn round_lines(matrix: &[f64], k: usize, block: usize, t: usize, rounded: &mut GramCache) {
    let lines = block * LANES..k.min((block + 1) * LANES);
    for left in 0..=block {
        let first = left * LANES;
        let mut square = [[0.0_f32; LANES]; LANES];
        for (f, square) in lines.clone().zip(&mut square) {
            let line = &matrix[f * k..(f + 1) * k][first..(f + 1).min(first + LANES)];
            for (slot, sum) in square.iter_mut().zip(line) {
                *slot = *sum as f32;
            }
        }
        if left == block {
            let lower = square;
            for (g, line) in square.iter_mut().enumerate() {
                for (f, slot) in line.iter_mut().enumerate().skip(g + 1) {
                    *slot = lower[f][g];
                }
            }
        }
        let panel = &mut rounded.panel_mut(left, t)[block * LANES * LANES..];
        for (to, from) in panel.chunks_exact_mut(LANES).zip(&square) {
            to.copy_from_slice(from);
        }
        if left < block {
            let mirror = &mut rounded.panel_mut(block, t)[first * LANES..];
            for (g, to) in mirror.chunks_exact_mut(LANES).take(LANES).enumerate() {
                for (f, slot) in to.iter_mut().enumerate() {
                    *slot = square[f][g];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::kernels::Kernels;

    fn number(at: usize) -> f32 {
        ((at * 7919 % 2003) as f32 - 1001.0) / 700.0
    }

    #[test]
    fn rows_that_were_replaced_leave_no_trace_in_the_sums() {
        for k in [3, 16, 40] {
            let (rows, z) = (50, 2);
            let mut factors = Dense::padded(rows, k);
            for row in 0..rows {
                let line = factors.row_mut(row);
                (0..k).for_each(|f| line[f] = number(row * k + f));
            }
            let mut weights = Dense::from_fn(rows, z, |row, t| number(row + 77 * t).abs());
            let mut cache = GrowingCache::new(&factors, &weights);
            for n in 0..400 {
                let row = n * 31 % rows;
                let (weight, line) = (weights.row(row).to_vec(), factors.row(row).to_vec());
                let (w, q) = (weights.row_mut(row), factors.row_mut(row));
                (0..z).for_each(|t| w[t] = number(n + t).abs());
                (0..k).for_each(|f| q[f] = number(3 * n + f));
                let old = WeightedRow {
                    weights: &weight,
                    factors: &line,
                };
                let new = WeightedRow {
                    weights: weights.row(row),
                    factors: factors.row(row),
                };
                cache.replace(old, new);
            }
            let again = GrowingCache::new(&factors, &weights);
            for (kept, sum) in cache.sums().iter().zip(again.sums()) {
                assert!((kept - sum).abs() <= 1e-12 * 500.0, "{kept}, {sum}");
            }
            // The rounded caches are laid out as those of training.
            let trained = GramCache::new(&factors, &weights, Kernels::in_use());
            for block in 0..k.div_ceil(LANES) {
                for t in 0..z {
                    let pairs = cache.rounded().panel(block, t).iter();
                    let panels = pairs.zip(trained.panel(block, t));
                    for (x, y) in panels {
                        assert!((x - y).abs() <= 1e-4 * (1.0 + y.abs()), "{x}, {y}");
                    }
                }
            }
        }
    }
}
