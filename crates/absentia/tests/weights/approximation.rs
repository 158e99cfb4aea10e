//! W given in full or as a rule.

use absentia::Dense;
use absentia::weights::{
    Decomposition, Measured, Rank, Scheme, Strength, WeightFunction, WeightsError,
};

use crate::{assert_same, full, is_missing, missing, popularity, random_data, random_weights};

#[test]
fn popularity_equals_its_factors_given_and_its_dense_form_approximated_at_rank_one() {
    let data = random_data(40, 30, 200, 1);
    let scheme = popularity(Strength::Mean(0.1), 0.4);
    let weights = scheme.resolve(&data).unwrap();
    let given = Scheme::low_rank(weights.a().clone(), weights.b().clone());
    assert_same(&weights, &given.resolve(&data).unwrap(), 0.0);
    for method in [Decomposition::Svd, Decomposition::NonNegative] {
        let w = full(&weights);
        for rank in [Rank::Fixed(1), Rank::error(1e-4)] {
            let dense = Scheme::dense(w.clone(), rank, method);
            let approximated = dense.resolve(&data).unwrap();
            assert_same(&weights, &approximated, 2e-6);
            assert!(!approximated.may_be_negative());
            let found = approximated.approximation().unwrap();
            assert_eq!((found.rank, found.negatives.count), (1, 0));
            assert!(found.relative_error < 1e-6 && found.converged);
        }
    }
}

#[test]
fn a_reconstruction_says_so_and_names_its_error_and_its_negative_weights() {
    let data = random_data(30, 30, 100, 6);
    // A sharp corner of large weights, which two singular vectors overshoot.
    let w = Dense::from_fn(30, 30, |u, i| if (u * i) % 11 == 3 { 9.0 } else { 0.01 });
    let scheme = |method| Scheme::dense(w.clone(), Rank::Fixed(3), method);
    let weights = scheme(Decomposition::Svd).resolve(&data).unwrap();
    let found = weights.approximation().unwrap();
    let negative: Vec<f32> = missing(&data)
        .into_iter()
        .map(|(u, i)| weights.weight(u, i))
        .filter(|weight| *weight < 0.0)
        .collect();
    assert!(weights.may_be_negative() && !negative.is_empty());
    assert_eq!(found.negatives.count, negative.len() as u64);
    let (u, i, worst) = found.negatives.worst.unwrap();
    let lowest = negative.iter().copied().fold(0.0, f32::min);
    assert_eq!(worst.to_bits(), lowest.to_bits());
    assert_eq!(worst.to_bits(), weights.weight(u, i).to_bits());
    let text = weights.explain(u, i).to_string();
    assert!(
        text.contains("reconstruction") && text.contains("nonnegative avoids this"),
        "{text}"
    );
    let safe = scheme(Decomposition::NonNegative).resolve(&data).unwrap();
    assert!(!safe.may_be_negative());
    assert_eq!(safe.approximation().unwrap().negatives.count, 0);
}

#[test]
fn a_chosen_error_is_reached_with_the_smallest_rank_that_does() {
    let data = random_data(40, 30, 150, 7);
    let w = random_weights(40, 30, 2);
    for method in [Decomposition::Svd, Decomposition::NonNegative] {
        let at = |rank| Scheme::dense(w.clone(), rank, method).resolve(&data);
        let found = at(Rank::error(0.1))
            .unwrap()
            .approximation()
            .unwrap()
            .clone();
        assert!(found.relative_error <= 0.1 && found.rank > 1);
        let below = at(Rank::Fixed(found.rank - 1)).unwrap();
        assert!(below.approximation().unwrap().relative_error > 0.1);
        let error = at(Rank::Error {
            target: 0.1,
            max_rank: found.rank - 1,
        })
        .unwrap_err();
        assert!(matches!(error, WeightsError::Unreachable { reached, .. } if reached > 0.1));
    }
}

#[test]
fn a_rule_is_the_same_as_the_matrix_it_fills() {
    let data = random_data(35, 45, 150, 8);
    let rule = |u: u32, i: u32| 0.1 + ((u % 5) * (i % 3)) as f32;
    let w = Dense::from_fn(35, 45, |u, i| rule(u as u32, i as u32));
    let by_rule = Scheme::from_rule(rule, Rank::Fixed(2))
        .resolve(&data)
        .unwrap();
    let by_matrix = Scheme::dense(w, Rank::Fixed(2), Decomposition::Svd);
    assert_same(&by_rule, &by_matrix.resolve(&data).unwrap(), 0.0);
    let found = by_rule.approximation().unwrap();
    assert!(matches!(found.measured, Measured::All { .. }) && found.relative_error < 1e-6);
}

/// A rule too large to store, of rank 2 and a remainder that is known by its size.
fn large_rule(u: u32, i: u32) -> f32 {
    let noise = f32::from(u8::from((u * 7919 + i * 104_729) % 64 < 32)) - 0.5;
    1.0 + 0.5 * (u % 2) as f32 * (i % 3) as f32 + 0.2 * noise
}

#[test]
fn a_large_rule_is_measured_on_a_sample_whose_interval_covers_the_truth() {
    let (m, n) = (9000, 6000);
    let data = random_data(m, n, 20_000, 9);
    let weights = Scheme::from_rule(large_rule, Rank::Fixed(2))
        .resolve(&data)
        .unwrap();
    let found = weights.approximation().unwrap();
    let Measured::Sample { entries, low, high } = found.measured else {
        panic!("measured on all entries");
    };
    let (mut off, mut all) = (0.0_f64, 0.0_f64);
    for u in 0..m {
        for i in (0..n).filter(|&i| is_missing(&data, u, i)) {
            let w = f64::from(large_rule(u as u32, i as u32));
            off += (w - f64::from(weights.weight(u as u32, i as u32))).powi(2);
            all += w * w;
        }
    }
    let truth = (off / all).sqrt();
    assert!(entries >= 1_000_000 && low < high);
    assert!(low <= truth && truth <= high, "{low} <= {truth} <= {high}");
    assert!(high - low < 0.01 * truth);
}

#[test]
fn a_rule_over_more_pairs_than_can_be_looked_at_is_factorised_from_some_of_them() {
    let (m, n) = (60_000, 50_000);
    let data = random_data(m, n, 20_000, 10);
    let rule =
        |u: u32, i: u32| 0.2 + (u % 4) as f32 * (i % 5) as f32 + f32::from(u8::from(i < 25_000));
    for method in [Decomposition::Svd, Decomposition::NonNegative] {
        let function = WeightFunction::new(rule);
        let scheme = Scheme::function(function, Rank::Fixed(3), method);
        let weights = scheme.resolve(&data).unwrap();
        let found = weights.approximation().unwrap();
        assert!(found.relative_error < 2e-3, "{method}: {found}");
        assert!(matches!(found.measured, Measured::Sample { .. }));
    }
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let data = random_data(300, 200, 2000, 13);
    for method in [Decomposition::Svd, Decomposition::NonNegative] {
        let scheme = Scheme::dense(random_weights(300, 200, 3), Rank::error(0.2), method);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| scheme.resolve(&data).unwrap())
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(7));
    }
}
