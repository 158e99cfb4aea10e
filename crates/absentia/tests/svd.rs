//! The truncated singular value decomposition against faer's dense one, and on real data.

mod real;

use absentia::data::{Duplicates, Triplets};
use absentia::internals::{LinearOperator, RowOperator, Svd, SvdParams, TallMatrix, truncated_svd};
use absentia::{DecompositionError, Dense};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn random(rows: usize, cols: usize, seed: u64) -> Dense {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Dense::from_fn(rows, cols, |_, _| {
        rng.next_u32() as f32 / u32::MAX as f32 - 0.3
    })
}

/// A matrix of exact rank `rank` in `f32`: small integers times small integers.
fn deficient(rows: usize, cols: usize, rank: usize, seed: u64) -> Dense {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut draw = |n| Dense::from_fn(n, rank, |_, _| (rng.next_u32() % 9) as f32 - 4.0);
    let (a, b) = (draw(rows), draw(cols));
    Dense::from_fn(rows, cols, |u, i| {
        a.row(u).iter().zip(b.row(i)).map(|(x, y)| x * y).sum()
    })
}

fn oracle(w: &Dense) -> Vec<f64> {
    let full = faer::Mat::from_fn(w.rows(), w.cols(), |u, i| f64::from(w.row(u)[i]));
    full.singular_values().expect("finite")
}

fn distance_from_identity(x: &TallMatrix) -> f64 {
    let mut worst = 0.0_f64;
    for s in 0..x.cols() {
        for t in 0..x.cols() {
            let dot: f64 = (0..x.rows()).map(|n| x.get(n, s) * x.get(n, t)).sum();
            worst = worst.max((dot - f64::from(u8::from(s == t))).abs());
        }
    }
    worst
}

fn assert_triplets(w: &Dense, svd: &Svd) {
    let expected = oracle(w);
    let largest = expected[0].max(1e-300);
    assert!(svd.converged, "residual {}", svd.residual);
    for (found, expected) in svd.sigma.iter().zip(&expected) {
        assert!(
            (found - expected).abs() <= 1e-10 * largest,
            "{found} is not {expected}"
        );
    }
    assert!(distance_from_identity(&svd.u) < 1e-11);
    assert!(distance_from_identity(&svd.v) < 1e-11);
    for t in 0..svd.sigma.len() {
        for u in 0..w.rows() {
            let row = w.row(u).iter().enumerate();
            let image: f64 = row.map(|(i, &x)| f64::from(x) * svd.v.get(i, t)).sum();
            assert!((image - svd.sigma[t] * svd.u.get(u, t)).abs() <= 2e-6 * largest);
        }
    }
}

#[test]
fn random_matrices_of_any_shape_agree_with_the_dense_decomposition() {
    for (rows, cols, rank) in [
        (1, 1, 1),
        (5, 1, 1),
        (1, 6, 1),
        (40, 30, 30),
        (30, 200, 7),
        (700, 50, 12),
        (150, 160, 3),
    ] {
        let w = random(rows, cols, (rows * cols) as u64);
        assert_triplets(
            &w,
            &truncated_svd(&RowOperator(&w), &SvdParams::new(rank)).unwrap(),
        );
    }
}

#[test]
fn matrices_of_lower_rank_than_asked_for_get_zeros_and_orthonormal_vectors() {
    for (rows, cols, rank) in [(60, 40, 3), (40, 90, 5)] {
        let w = deficient(rows, cols, rank, 9);
        let svd = truncated_svd(&RowOperator(&w), &SvdParams::new(rank + 4)).unwrap();
        assert_triplets(&w, &svd);
        assert!(svd.sigma[rank..].iter().all(|s| *s < 1e-10 * svd.sigma[0]));
    }
    let zero = Dense::zeros(12, 9);
    let svd = truncated_svd(&RowOperator(&zero), &SvdParams::new(4)).unwrap();
    assert!(svd.converged && svd.sigma.iter().all(|s| *s == 0.0));
    assert!(distance_from_identity(&svd.u) < 1e-12);
}

#[test]
fn repeated_singular_values_are_all_found() {
    // Twenty fives, then ones: fewer starting vectors than copies would miss some.
    let w = Dense::from_fn(120, 90, |u, i| match (u == i, i < 20) {
        (true, true) => 5.0,
        (true, false) => 1.0,
        _ => 0.0,
    });
    let svd = truncated_svd(&RowOperator(&w), &SvdParams::new(16)).unwrap();
    assert_triplets(&w, &svd);
    let identity = Dense::from_fn(64, 64, |u, i| f32::from(u8::from(u == i)));
    assert_triplets(
        &identity,
        &truncated_svd(&RowOperator(&identity), &SvdParams::new(10)).unwrap(),
    );
}

#[test]
fn ranks_out_of_range_and_numbers_that_are_not_finite_are_refused() {
    let w = random(4, 6, 1);
    for rank in [0, 5] {
        let error = truncated_svd(&RowOperator(&w), &SvdParams::new(rank)).unwrap_err();
        assert_eq!(
            error,
            DecompositionError::Rank {
                rank,
                rows: 4,
                cols: 6
            }
        );
    }
    let w = Dense::from_fn(5, 5, |u, i| if u == i { f32::NAN } else { 1.0 });
    let error = truncated_svd(&RowOperator(&w), &SvdParams::new(2)).unwrap_err();
    assert_eq!(error, DecompositionError::NotFinite);
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let w = random(900, 300, 2);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| truncated_svd(&RowOperator(&w), &SvdParams::new(9)).unwrap())
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(7));
}

#[test]
fn a_sparse_matrix_decomposes_like_the_same_matrix_stored_dense() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let cells: Vec<(u32, u32, f32)> = (0..400)
        .map(|_| {
            (
                rng.next_u32() % 50,
                rng.next_u32() % 70,
                (rng.next_u32() % 5) as f32 - 1.0,
            )
        })
        .collect();
    let column = |pick: fn(&(u32, u32, f32)) -> u32| cells.iter().map(pick).collect::<Vec<_>>();
    let (users, items) = (column(|cell| cell.0), column(|cell| cell.1));
    let values: Vec<f32> = cells.iter().map(|cell| cell.2).collect();
    let data = Triplets::new(&users, &items)
        .values(&values)
        .build(50, 70, Duplicates::Last)
        .unwrap();
    let mut dense = Dense::zeros(50, 70);
    for user in 0..50 {
        let row = data.by_user().row(user);
        for (n, &item) in row.indices.iter().enumerate() {
            dense.row_mut(user)[item as usize] = row.r.get(n);
        }
    }
    assert_triplets(&dense, &truncated_svd(&data, &SvdParams::new(8)).unwrap());
    let norm = RowOperator(&dense).squared_norm();
    assert!((data.squared_norm() - norm).abs() < 1e-9 * norm);
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(40)
    })]

    #[test]
    fn the_best_approximation_has_the_error_of_the_values_left_out(
        rows in 1_usize..40, cols in 1_usize..40, seed in 0_u64..1000, part in 0.0_f64..1.0,
    ) {
        let w = random(rows, cols, seed);
        let least = rows.min(cols);
        let rank = 1 + ((least - 1) as f64 * part) as usize;
        let svd = truncated_svd(&RowOperator(&w), &SvdParams::new(rank)).unwrap();
        let left_out: f64 = oracle(&w)[rank..].iter().map(|s| s * s).sum();
        let kept: f64 = svd.sigma.iter().map(|s| s * s).sum();
        let norm = RowOperator(&w).squared_norm();
        prop_assert!((norm - kept - left_out).abs() <= 1e-9 * norm);
    }
}

#[test]
fn the_binary_ratings_of_movietweetings_converge_at_rank_8_and_64() {
    let Some(data) = real::movietweetings() else {
        return;
    };
    for rank in [8, 64] {
        let svd = truncated_svd(&data, &SvdParams::new(rank)).unwrap();
        println!(
            "rank {rank}: loss {:.6}, residual {:.1e}, {} products",
            data.squared_norm() - svd.sigma.iter().map(|s| s * s).sum::<f64>(),
            svd.residual,
            svd.products
        );
        assert!(svd.converged);
        // Independent of how it was found: Rᵀ u = σ v for every triplet.
        let image = data.apply_transposed(&svd.u);
        for t in 0..rank {
            let off = (0..data.n_items())
                .map(|i| (image.get(i, t) - svd.sigma[t] * svd.v.get(i, t)).powi(2));
            assert!(off.sum::<f64>().sqrt() <= 1.1e-7 * svd.sigma[0]);
        }
    }
}
