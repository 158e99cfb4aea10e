//! Every baseline against a dense reference in `f64` that shares no code with it but the order in
//! which random things come.

mod direct;
mod iterative;
mod refusals;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::random::unit;
use crate::data::{Confidence, Duplicates, Interactions, Targets, Triplets};
use crate::fit::{Fitted, Init, Run, fit};
use crate::linalg::Dense;
use crate::model::Factors;
use crate::params::{Baseline, Method, Params, Solver};
use crate::weights::Scheme;

type Matrix = Vec<Vec<f64>>;

/// A small problem written out: targets and weights of all M × N entries.
pub(super) struct Small {
    pub(super) data: Interactions<'static>,
    pub(super) r: Matrix,
    pub(super) w: Matrix,
    pub(super) p: Matrix,
    pub(super) q: Matrix,
}

pub(super) const USERS: usize = 23;
pub(super) const ITEMS: usize = 17;
pub(super) const K: usize = 5;

impl Small {
    /// Random entries with one weight on missing ones; `vary` gives observed entries targets and
    /// weights of their own.
    pub(super) fn new(missing: f64, vary: bool) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(11);
        let (mut users, mut items, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut r = vec![vec![0.0; ITEMS]; USERS];
        let mut w = vec![vec![missing; ITEMS]; USERS];
        for u in 0..USERS {
            for i in 0..ITEMS {
                // Popular items come first.
                if unit(&mut random) < 0.5 / (1.0 + i as f64 / 4.0) {
                    let value = 1.0 + f64::from((unit(&mut random) * 4.0).floor() as u8);
                    users.push(u as u32);
                    items.push(i as u32);
                    values.push(value as f32);
                    (r[u][i], w[u][i]) = if vary {
                        (value, 1.0 + 0.5 * value)
                    } else {
                        (1.0, 1.0)
                    };
                }
            }
        }
        let data = Triplets::new(&users, &items)
            .values(&values)
            .build(USERS, ITEMS, Duplicates::Error)
            .unwrap();
        let mut gaussian = |rows: usize| -> Matrix {
            let row = |_| (0..K).map(|_| unit(&mut random) - 0.5).collect();
            (0..rows).map(row).collect()
        };
        let (p, q) = (gaussian(USERS), gaussian(ITEMS));
        Self { data, r, w, p, q }
    }

    pub(super) fn params(vary: bool, solver: impl Into<Method>) -> Params {
        let params = Params::new()
            .factors(K)
            .iterations(3)
            .regularization(0.2)
            .reg_exponent(0.0)
            .solver(solver)
            .seed(4);
        if vary {
            params
                .targets(Targets::Raw)
                .confidence(Confidence::Linear { alpha: 0.5 })
        } else {
            params
        }
    }

    pub(super) fn train(&self, scheme: &Scheme, params: Params) -> Fitted {
        let run = Run {
            init: Init::Given {
                users: factors(&self.p),
                items: factors(&self.q),
            },
            ..Run::default()
        };
        fit(&self.data, scheme, &params.check().unwrap(), run).unwrap()
    }

    /// `J` of the factors, entry by entry.
    pub(super) fn objective(&self, p: &Matrix, q: &Matrix, lambda: f64) -> f64 {
        let mut sum = 0.0;
        for (u, p_u) in p.iter().enumerate() {
            for (i, q_i) in q.iter().enumerate() {
                sum += self.w[u][i] * (self.r[u][i] - dot(p_u, q_i)).powi(2);
            }
        }
        let norms = p.iter().chain(q).map(|row| dot(row, row)).sum::<f64>();
        sum + lambda * norms
    }
}

pub(super) fn factors(matrix: &Matrix) -> Factors {
    Factors::from(Dense::from_fn(matrix.len(), matrix[0].len(), |row, col| {
        matrix[row][col] as f32
    }))
}

pub(super) fn matrix(factors: &Factors) -> Matrix {
    let row = |row: usize| factors.row(row).iter().map(|x| f64::from(*x)).collect();
    (0..factors.rows()).map(row).collect()
}

pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// `P Qᵀ`.
pub(super) fn product(p: &Matrix, q: &Matrix) -> Matrix {
    let row = |p_u: &Vec<f64>| q.iter().map(|q_i| dot(p_u, q_i)).collect();
    p.iter().map(row).collect()
}

#[track_caller]
pub(super) fn assert_close(got: &Matrix, want: &Matrix, tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (row, (got, want)) in got.iter().zip(want).enumerate() {
        assert_eq!(got.len(), want.len(), "row {row}");
        for (col, (got, want)) in got.iter().zip(want).enumerate() {
            let off = (got - want).abs();
            assert!(
                off <= tolerance * want.abs().max(1.0),
                "({row}, {col}): {got}, {want}"
            );
        }
    }
}

/// Eigenvalues of a symmetric matrix, falling, by Jacobi's rotations.
pub(super) fn eigenvalues(mut a: Matrix) -> Vec<f64> {
    let n = a.len();
    for _ in 0..100 {
        for i in 0..n {
            for j in i + 1..n {
                if a[i][j].abs() < 1e-14 {
                    continue;
                }
                let angle = 0.5 * (2.0 * a[i][j]).atan2(a[j][j] - a[i][i]);
                let (s, c) = angle.sin_cos();
                for row in &mut a {
                    (row[i], row[j]) = (c * row[i] - s * row[j], s * row[i] + c * row[j]);
                }
                let (above, below) = a.split_at_mut(j);
                for (x, y) in above[i].iter_mut().zip(&mut below[0]) {
                    (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
                }
            }
        }
    }
    let mut values: Vec<f64> = (0..n).map(|at| a[at][at]).collect();
    values.sort_by(|x, y| y.total_cmp(x));
    values
}

/// `AᵀA`.
pub(super) fn gram(a: &Matrix) -> Matrix {
    let n = a[0].len();
    let entry = |i: usize, j: usize| a.iter().map(|row| row[i] * row[j]).sum();
    (0..n)
        .map(|i| (0..n).map(|j| entry(i, j)).collect())
        .collect()
}
