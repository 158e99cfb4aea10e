//! Non-negative factors of a non-negative matrix.
//!
//! `W ≈ A Bᵀ` with `A, B ≥ 0`, by hierarchical alternating least squares (Cichocki and Phan 2009):
//! one column of one side at a time is solved exactly and cut at zero, several rounds for each
//! product with `W` (Gillis and Glineur 2012). The start is the non-negative part of the singular
//! vectors (Boutsidis and Gallopoulos 2008), which for rank 1 is already the answer.

use rayon::prelude::*;

use super::operator::LinearOperator;
use super::svd::{DecompositionError, Svd, SvdParams, check_rank, truncated_svd};
use super::tall::TallMatrix;

/// Rounds of column updates for each product with `W`.
const ROUNDS: usize = 4;
/// Updates of a side whose other side stays as it is.
const LONE_SIDE: usize = 50;
/// Rows updated by one task.
const TASK_ROWS: usize = 256;
/// Relative error that rounding alone can leave.
const ROUNDING: f64 = 1e-8;
/// Consecutive sweeps without real improvement after which the factors count as converged.
const PATIENCE: usize = 3;

/// Parameters of a non-negative factorisation.
///
/// | Name | Default | Range |
/// | --- | --- | --- |
/// | `rank` | – | 1 ..= min(rows, cols) |
/// | `tolerance` | 1e-5 | ≥ 0 |
/// | `max_sweeps` | 2000 | ≥ 1 |
/// | `seed` | 0 | any |
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NmfParams {
    /// Number of columns of `A` and `B`.
    pub(crate) rank: usize,
    /// Share of the error that a sweep must remove for another sweep to follow.
    pub(crate) tolerance: f64,
    /// Maximum number of sweeps.
    pub(crate) max_sweeps: usize,
    /// Seed of the singular value decomposition it starts from.
    pub(crate) seed: u64,
}

impl NmfParams {
    /// Yields the defaults for a rank.
    #[must_use]
    pub(crate) fn new(rank: usize) -> Self {
        Self {
            rank,
            tolerance: 1e-5,
            max_sweeps: 2000,
            seed: 0,
        }
    }
}

/// `W ≈ A Bᵀ` with no entry of `A` or `B` below zero.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Nmf {
    /// Left factors, `rows × rank`.
    pub(crate) a: TallMatrix,
    /// Right factors, `cols × rank`.
    pub(crate) b: TallMatrix,
    /// Whether further sweeps would hardly improve the factors.
    pub(crate) converged: bool,
    /// `‖W − A Bᵀ‖_F / ‖W‖_F` over all entries.
    pub(crate) relative_error: f64,
    /// Sweeps done.
    pub(crate) sweeps: usize,
}

/// Yields non-negative factors of `w`, which should not have negative entries itself.
///
/// A sweep costs two passes over `w`. The result does not depend on the number of threads.
///
/// # Errors
/// A rank out of range, or a matrix with numbers that are not finite.
pub(crate) fn nonnegative_factors(
    w: &dyn LinearOperator,
    params: &NmfParams,
) -> Result<Nmf, DecompositionError> {
    check_rank(w, params.rank)?;
    let start = SvdParams {
        tolerance: 1e-6,
        max_restarts: 20,
        seed: params.seed,
        ..SvdParams::new(params.rank)
    };
    let (mut a, mut b) = start_from(&truncated_svd(w, &start)?);
    let norm = w.squared_norm();
    let (mut error, mut idle, mut sweeps) = (f64::INFINITY, 0, 0);
    let mut wb = w.apply(&b);
    while idle < PATIENCE && sweeps < params.max_sweeps {
        update(&mut a, &wb, &b.inner(&b));
        let wa = w.apply_transposed(&a);
        update(&mut b, &wa, &a.inner(&a));
        wb = w.apply(&b);
        sweeps += 1;
        let now = relative_error(norm, &wb, &a, &b);
        let done = now <= ROUNDING || error - now <= params.tolerance * error;
        idle = if done { idle + 1 } else { 0 };
        error = now;
    }
    balance(&mut a, &mut b);
    Ok(Nmf {
        a,
        b,
        converged: idle >= PATIENCE,
        relative_error: error,
        sweeps,
    })
}

/// Takes from each pair of singular vectors the stronger of its two non-negative halves.
fn start_from(svd: &Svd) -> (TallMatrix, TallMatrix) {
    let rank = svd.sigma.len();
    let mut a = TallMatrix::zeros(svd.u.rows(), rank);
    let mut b = TallMatrix::zeros(svd.v.rows(), rank);
    for t in 0..rank {
        let half = |side: &TallMatrix, sign: f64| -> f64 {
            let parts = (0..side.rows()).map(|row| (sign * side.get(row, t)).max(0.0).powi(2));
            parts.sum::<f64>().sqrt()
        };
        let (plus, minus) = (
            (half(&svd.u, 1.0), half(&svd.v, 1.0)),
            (half(&svd.u, -1.0), half(&svd.v, -1.0)),
        );
        let positive = plus.0 * plus.1 >= minus.0 * minus.1;
        let (sign, (left, right)) = if positive { (1.0, plus) } else { (-1.0, minus) };
        let strength = (svd.sigma[t] * left * right).sqrt();
        for (into, from, norm) in [(&mut a, &svd.u, left), (&mut b, &svd.v, right)] {
            for row in 0..from.rows() {
                let part = (sign * from.get(row, t)).max(0.0);
                into.set(
                    row,
                    t,
                    if norm > 0.0 {
                        strength * part / norm
                    } else {
                        0.0
                    },
                );
            }
        }
    }
    (a, b)
}

/// Yields for each row y of `products` the row x ≥ 0 that is closest to solving `x SᵀS = y`:
/// non-negative least squares against the columns of `s`.
pub(crate) fn nonnegative_rows(products: &TallMatrix, s: &TallMatrix) -> TallMatrix {
    let mut rows = TallMatrix::zeros(products.rows(), products.cols());
    let gram = s.inner(s);
    for _ in 0..LONE_SIDE {
        update(&mut rows, products, &gram);
    }
    rows
}

/// Solves each column of `free` in turn, others fixed, given `W` times the other side and that
/// side's Gram matrix. Rows do not interact.
fn update(free: &mut TallMatrix, product: &TallMatrix, gram: &TallMatrix) {
    let k = free.cols();
    free.values_mut()
        .par_chunks_mut(TASK_ROWS * k)
        .zip(product.values().par_chunks(TASK_ROWS * k))
        .for_each(|(free, product)| {
            for (row, target) in free.chunks_exact_mut(k).zip(product.chunks_exact(k)) {
                for _ in 0..ROUNDS {
                    update_row(row, target, gram);
                }
            }
        });
}

fn update_row(row: &mut [f64], target: &[f64], gram: &TallMatrix) {
    for t in 0..row.len() {
        let curvature = gram.get(t, t);
        if curvature > 0.0 {
            let now: f64 = gram.row(t).iter().zip(&*row).map(|(g, x)| g * x).sum();
            row[t] = (row[t] + (target[t] - now) / curvature).max(0.0);
        }
    }
}

fn relative_error(norm: f64, wb: &TallMatrix, a: &TallMatrix, b: &TallMatrix) -> f64 {
    let dot = |x: &TallMatrix, y: &TallMatrix| -> f64 {
        let pairs = x.values().iter().zip(y.values());
        pairs.map(|(x, y)| x * y).sum()
    };
    let squared = norm - 2.0 * dot(wb, a) + dot(&a.inner(a), &b.inner(b));
    if norm > 0.0 {
        (squared.max(0.0) / norm).sqrt()
    } else {
        0.0
    }
}

/// Gives both sides of a component the same length, so that neither leaves the range of `f32`.
fn balance(a: &mut TallMatrix, b: &mut TallMatrix) {
    let ratios: Vec<f64> = a
        .column_norms()
        .into_iter()
        .zip(b.column_norms())
        .map(|(left, right)| {
            if left > 0.0 && right > 0.0 {
                (right / left).sqrt()
            } else {
                1.0
            }
        })
        .collect();
    a.scale_columns(&ratios);
    let inverse: Vec<f64> = ratios.iter().map(|ratio| 1.0 / ratio).collect();
    b.scale_columns(&inverse);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Dense, RowOperator};

    fn product(a: &TallMatrix, b: &TallMatrix, u: usize, i: usize) -> f64 {
        a.row(u).iter().zip(b.row(i)).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn a_positive_matrix_of_rank_one_is_recovered() {
        let w = Dense::from_fn(30, 20, |u, i| (1.0 + u as f32) * (0.5 + (i % 7) as f32));
        let found = nonnegative_factors(&RowOperator(&w), &NmfParams::new(1)).expect("finite");
        assert!(found.converged && found.relative_error < 1e-7);
        for (u, i) in [(0, 0), (29, 19), (7, 13)] {
            let expected = f64::from(w.row(u)[i]);
            assert!((product(&found.a, &found.b, u, i) - expected).abs() < 1e-6 * expected);
        }
    }

    #[test]
    fn blocks_of_constants_are_recovered_at_their_rank() {
        let table = [[1.0, 0.0, 0.2], [0.0, 2.0, 0.1]];
        let w = Dense::from_fn(40, 30, |u, i| table[u % 2][i % 3]);
        let found = nonnegative_factors(&RowOperator(&w), &NmfParams::new(2)).expect("finite");
        assert!(found.relative_error < 1e-5, "{}", found.relative_error);
    }

    #[test]
    fn factors_are_never_negative_and_the_error_is_the_true_one() {
        let w = Dense::from_fn(25, 35, |u, i| ((u * 13 + i * 7 + u * i) % 11) as f32);
        for rank in [1, 3, 8] {
            let found = nonnegative_factors(&RowOperator(&w), &NmfParams::new(rank)).expect("ok");
            let sides = found.a.values().iter().chain(found.b.values());
            assert!(sides.into_iter().all(|x| *x >= 0.0));
            let (mut off, mut all) = (0.0, 0.0);
            for u in 0..25 {
                for i in 0..35 {
                    let value = f64::from(w.row(u)[i]);
                    off += (value - product(&found.a, &found.b, u, i)).powi(2);
                    all += value * value;
                }
            }
            assert!(((off / all).sqrt() - found.relative_error).abs() < 1e-6);
        }
    }
}
