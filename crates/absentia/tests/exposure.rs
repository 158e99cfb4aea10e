//! What generated data is for: weights that know what was shown rank better by taste than weights
//! that do not, unless everything was shown alike.
//!
//! Trained with a plain f64 solver of its own, so that this holds for the objective and not for
//! one of the engine's solvers.

#![allow(clippy::unwrap_used)]

use absentia::Dense;
use absentia::Interactions;
use absentia_lab::generate::{ExposureModel, Feedback, Generator, GeneratorParams};

type Matrix = Vec<Vec<f64>>;

const K: usize = 16;
const SWEEPS: usize = 8;
const MEAN: f64 = 0.01;
const LAMBDA: f64 = 0.03;
const TOP: usize = 20;

/// Weights on missing entries: A and B.
struct Weights(Matrix, Matrix);

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn add_outer(h: &mut [f64], scale: f64, q: &[f64]) {
    for f in 0..K {
        for g in 0..K {
            h[f * K + g] += scale * q[f] * q[g];
        }
    }
}

/// Solves `h x = y` by Gaussian elimination; `h` is positive definite.
fn solve(mut h: Vec<f64>, mut y: Vec<f64>) -> Vec<f64> {
    for f in 0..K {
        for e in f + 1..K {
            let ratio = h[e * K + f] / h[f * K + f];
            for g in f..K {
                h[e * K + g] -= ratio * h[f * K + g];
            }
            y[e] -= ratio * y[f];
        }
    }
    for f in (0..K).rev() {
        let known: f64 = (f + 1..K).map(|g| h[f * K + g] * y[g]).sum();
        y[f] = (y[f] - known) / h[f * K + f];
    }
    y
}

/// Solves every row of one side exactly, with `λ_u = λ m_u`.
fn half_sweep(fixed: &Matrix, rows: &[&[u32]], a: &Matrix, b: &Matrix) -> Matrix {
    let z = b[0].len();
    let mut caches = vec![vec![0.0; K * K]; z];
    for (q, b_i) in fixed.iter().zip(b) {
        for (cache, &b_it) in caches.iter_mut().zip(b_i) {
            add_outer(cache, b_it, q);
        }
    }
    let totals: Vec<f64> = (0..z).map(|t| b.iter().map(|b_i| b_i[t]).sum()).collect();
    let solve_row = |(a_u, row): (&Vec<f64>, &&[u32])| {
        let (mut h, mut y, mut mass) = (vec![0.0; K * K], vec![0.0; K], dot(a_u, &totals));
        for (cache, a_ut) in caches.iter().zip(a_u) {
            h.iter_mut().zip(cache).for_each(|(h, s)| *h += a_ut * s);
        }
        for &i in *row {
            let (q, excess) = (&fixed[i as usize], 1.0 - dot(a_u, &b[i as usize]));
            add_outer(&mut h, excess, q);
            y.iter_mut().zip(q).for_each(|(y, q)| *y += q);
            mass += excess;
        }
        (0..K).for_each(|f| h[f * K + f] += LAMBDA * mass);
        solve(h, y)
    };
    a.iter().zip(rows).map(solve_row).collect()
}

fn train(data: &Interactions<'_>, weights: &Weights) -> (Matrix, Matrix) {
    let Weights(a, b) = weights;
    let users: Vec<&[u32]> = (0..a.len())
        .map(|u| data.by_user().row(u).indices)
        .collect();
    let items: Vec<&[u32]> = (0..b.len())
        .map(|i| data.by_item().row(i).indices)
        .collect();
    // Irrational multiples modulo 1: no two columns alike, and no generator needed.
    let start = |i: usize, f: usize| ((i + 1) as f64 * ((f + 2) as f64).sqrt().exp()).fract() - 0.5;
    let mut q: Matrix = (0..b.len())
        .map(|i| (0..K).map(|f| start(i, f)).collect())
        .collect();
    let mut p = Matrix::new();
    for _ in 0..SWEEPS {
        p = half_sweep(&q, &users, a, b);
        q = half_sweep(&p, &items, b, a);
    }
    (p, q)
}

fn rows_of(dense: &Dense) -> Matrix {
    let row = |r| dense.row(r).iter().map(|&x| f64::from(x)).collect();
    (0..dense.rows()).map(row).collect()
}

/// Scales the weights to a mean over all entries.
fn with_mean(mut a: Matrix, b: Matrix) -> Weights {
    let column = |m: &Matrix, t: usize| m.iter().map(|row| row[t]).sum::<f64>();
    let total: f64 = (0..b[0].len()).map(|t| column(&a, t) * column(&b, t)).sum();
    let scale = MEAN * (a.len() * b.len()) as f64 / total;
    a.iter_mut().flatten().for_each(|x| *x *= scale);
    Weights(a, b)
}

/// Share of the top items, among those not observed in training, that users like: none of those
/// they were shown and refused, and the others with the true probability.
fn liked_of_top(generator: &Generator, data: &Interactions<'_>, weights: &Weights) -> f64 {
    let (p, q) = train(data, weights);
    let liked = |(u, p_u): (usize, &Vec<f64>)| {
        let user = generator.user(u as u32);
        let Feedback { liked, refused, .. } = user.feedback();
        let score = |i: u32| (dot(p_u, &q[i as usize]), i);
        let unobserved = (0..q.len() as u32).filter(|i| liked.binary_search(i).is_err());
        let mut scores: Vec<(f64, u32)> = unobserved.map(score).collect();
        scores.sort_by(|x, y| y.0.total_cmp(&x.0));
        let top = scores[..TOP].iter().map(|&(_, item)| item);
        top.filter(|item| refused.binary_search(item).is_err())
            .map(|item| user.like_probability(item))
            .sum::<f64>()
    };
    let total: f64 = p.iter().enumerate().map(liked).sum();
    total / (TOP * p.len()) as f64
}

/// Yields the share liked under uniform, popularity and exposure-aware weights.
fn compare(exposure: ExposureModel, seed: u64) -> [f64; 3] {
    let params = GeneratorParams {
        exposure,
        seed,
        ..GeneratorParams::new(1200, 800, 30_000)
    };
    let generator = Generator::new(params).unwrap();
    let data = generator.interactions().unwrap();
    let expected = generator.expected_exposures();
    let popularity = data
        .item_counts()
        .iter()
        .map(|&f| vec![f64::from(f)])
        .collect();
    [
        with_mean(vec![vec![1.0]; 1200], vec![vec![1.0]; 800]),
        with_mean(vec![vec![1.0]; 1200], popularity),
        with_mean(rows_of(&expected.users), rows_of(&expected.items)),
    ]
    .map(|weights| liked_of_top(&generator, &data, &weights))
}

#[test]
fn knowing_what_was_shown_pays() {
    for seed in 0..2 {
        let [uniform, popularity, exposure] =
            compare(ExposureModel::Segmented { strength: 1.5 }, seed);
        let shares = [uniform, popularity, exposure];
        assert!(popularity > 1.05 * uniform, "{shares:?}");
        assert!(exposure > 1.1 * popularity, "{shares:?}");
    }
}

#[test]
fn there_is_nothing_to_know_where_all_is_shown_alike() {
    let [uniform, popularity, exposure] = compare(ExposureModel::Uniform, 0);
    let shares = [uniform, popularity, exposure];
    assert!((popularity / uniform - 1.0).abs() < 0.05, "{shares:?}");
    assert!((exposure / uniform - 1.0).abs() < 0.05, "{shares:?}");
}
