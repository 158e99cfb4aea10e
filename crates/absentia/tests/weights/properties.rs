//! What holds for any data and parameters.

use absentia::Axis;
use absentia::weights::{Decomposition, Measured, Rank, Scheme, Strength};
use proptest::prelude::*;

use crate::{brute_mean, missing, new_row, popularity, random_data, random_weights};

fn any_counted_scheme() -> impl Strategy<Value = (u8, f32, f32, f32)> {
    (0_u8..3, 0.001_f32..3.0, 0.0_f32..1.5, 0.0_f32..1.5)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(64)
    })]

    #[test]
    fn a_mean_weight_is_the_mean_over_missing_entries(
        (kind, mean, alpha, beta) in any_counted_scheme(),
        m in 2_usize..30, n in 2_usize..30, seed in 0_u64..1000,
    ) {
        let data = random_data(m, n, (m * n) / 3 + 1, seed);
        let strength = Strength::Mean(mean);
        let scheme = match kind {
            0 => popularity(strength, alpha),
            1 => Scheme::activity(strength, alpha),
            _ => Scheme::popularity_activity(strength, alpha, beta),
        };
        if let Ok(weights) = scheme.resolve(&data) {
            let brute = brute_mean(&data, &weights);
            prop_assert!((brute - f64::from(mean)).abs() <= 1e-5 * f64::from(mean));
            prop_assert!((weights.mean_missing(&data) - brute).abs() <= 1e-6 * brute);
        }
    }

    #[test]
    fn the_reported_error_is_that_over_missing_entries_by_brute_force(
        m in 2_usize..30, n in 2_usize..30, rank in 1_usize..5, nonnegative: bool, seed in 0_u64..1000,
    ) {
        let data = random_data(m, n, (m * n) / 4, seed);
        let w = random_weights(m, n, seed);
        let rank = rank.min(m).min(n);
        let method = if nonnegative { Decomposition::NonNegative } else { Decomposition::Svd };
        let scheme = Scheme::dense(w.clone(), Rank::Fixed(rank), method);
        let weights = scheme.resolve(&data).unwrap();
        let (mut off, mut all) = (0.0, 0.0);
        for (u, i) in missing(&data) {
            let value = f64::from(w.row(u as usize)[i as usize]);
            off += (value - f64::from(weights.weight(u, i))).powi(2);
            all += value * value;
        }
        let found = weights.approximation().unwrap();
        prop_assert!((found.relative_error - (off / all).sqrt()).abs() <= 1e-9);
        let entries = missing(&data).len() as u64;
        prop_assert_eq!(found.measured, Measured::All { entries });
        prop_assert_eq!(found.rank, rank);
    }

    #[test]
    fn new_rows_equal_the_rows_of_training_with_the_same_counts(
        (kind, c0, alpha, beta) in any_counted_scheme(), seed in 0_u64..1000,
    ) {
        let data = random_data(15, 12, 60, seed);
        let strength = Strength::C0(c0);
        let scheme = match kind {
            0 => popularity(strength, alpha),
            1 => Scheme::activity(strength, alpha),
            _ => Scheme::popularity_activity(strength, alpha, beta),
        };
        let weights = scheme.resolve(&data).unwrap();
        for (u, count) in data.user_counts().into_iter().enumerate() {
            let (new, old) = (new_row(&weights, Axis::User, count, &[]).unwrap()[0], weights.a().row(u)[0]);
            prop_assert!((new - old).abs() <= 1e-6 * old);
        }
        for (i, count) in data.item_counts().into_iter().enumerate() {
            let (new, old) = (new_row(&weights, Axis::Item, count, &[]).unwrap()[0], weights.b().row(i)[0]);
            prop_assert!((new - old).abs() <= 1e-6 * old);
        }
    }
}
