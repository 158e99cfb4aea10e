//! Weights of missing entries against their definitions, by brute force over random problems.

use absentia::data::{Duplicates, Interactions, Triplets};
use absentia::error::{Axis, Fault};
use absentia::linalg::Dense;
use absentia::weights::{
    Groups, Measured, Method, MissingWeights, NewRow, Rank, Scheme, Strength, WeightFunction,
    WeightsError,
};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn random_data(n_users: usize, n_items: usize, entries: usize, seed: u64) -> Interactions<'static> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut draw = |count: usize| rng.next_u32() % count as u32;
    // The smaller of two draws makes low numbers popular.
    let users: Vec<u32> = (0..entries).map(|_| draw(n_users)).collect();
    let items: Vec<u32> = (0..entries)
        .map(|_| draw(n_items).min(draw(n_items)))
        .collect();
    Triplets::new(&users, &items)
        .build(n_users, n_items, Duplicates::Last)
        .expect("in range")
}

fn is_missing(data: &Interactions<'_>, u: usize, i: usize) -> bool {
    data.by_user()
        .row(u)
        .indices
        .binary_search(&(i as u32))
        .is_err()
}

fn missing(data: &Interactions<'_>) -> Vec<(u32, u32)> {
    let pairs = (0..data.n_users()).flat_map(|u| (0..data.n_items()).map(move |i| (u, i)));
    let pairs = pairs.filter(|&(u, i)| is_missing(data, u, i));
    pairs.map(|(u, i)| (u as u32, i as u32)).collect()
}

fn brute_mean(data: &Interactions<'_>, weights: &MissingWeights) -> f64 {
    let pairs = missing(data);
    let sum: f64 = pairs
        .iter()
        .map(|&(u, i)| f64::from(weights.weight(u, i)))
        .sum();
    sum / pairs.len() as f64
}

fn full(weights: &MissingWeights) -> Dense {
    Dense::from_fn(weights.n_users(), weights.n_items(), |u, i| {
        weights.weight(u as u32, i as u32)
    })
}

fn random_weights(m: usize, n: usize, seed: u64) -> Dense {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Dense::from_fn(m, n, |u, i| {
        let noise = rng.next_u32() as f32 / u32::MAX as f32;
        0.1 + noise + ((u % 3) * (i % 4)) as f32
    })
}

fn assert_same(x: &MissingWeights, y: &MissingWeights, tolerance: f32) {
    for u in 0..x.n_users() as u32 {
        for i in 0..x.n_items() as u32 {
            let (left, right) = (x.weight(u, i), y.weight(u, i));
            let scale = left.abs().max(right.abs()).max(f32::MIN_POSITIVE);
            assert!(
                (left - right).abs() <= tolerance * scale,
                "({u}, {i}): {left} and {right}"
            );
        }
    }
}

fn popularity(strength: Strength, alpha: f32) -> Scheme {
    Scheme::Popularity { strength, alpha }
}

#[test]
fn popularity_is_the_papers_formula_on_a_case_worked_by_hand() {
    // n = (4, 1, 0, 1): with alpha 1/2, f^α ∝ (2, 1, 0, 1), and 8 / 4 = 2 a unit.
    let data = Triplets::new(&[0, 1, 2, 3, 0, 1], &[0, 0, 0, 0, 1, 3])
        .build(5, 4, Duplicates::Error)
        .unwrap();
    let weights = popularity(Strength::C0(8.0), 0.5).resolve(&data).unwrap();
    for (item, expected) in [4.0, 2.0, 0.0, 2.0].into_iter().enumerate() {
        assert!((weights.weight(4, item as u32) - expected).abs() < 1e-6);
    }
    assert_eq!(weights.rank(), 1);
    let flat = popularity(Strength::C0(8.0), 0.0).resolve(&data).unwrap();
    assert!((0..4).all(|item| (flat.weight(0, item) - 2.0).abs() < 1e-6));
    // A new item with 4 interactions, then a new user, under the frozen normalisers.
    assert!((weights.new_item(4).unwrap()[0] - 0.5).abs() < 1e-7);
    assert_eq!(weights.new_user(9).unwrap(), [8.0]);
}

#[test]
fn activity_and_the_product_follow_their_formulas() {
    let data = Triplets::new(&[0, 0, 0, 0, 1], &[0, 1, 2, 3, 0])
        .build(3, 4, Duplicates::Error)
        .unwrap();
    let active = Scheme::Activity {
        strength: Strength::C0(3.0),
        alpha: 0.5,
    };
    let weights = active.resolve(&data).unwrap();
    assert!((weights.weight(0, 2) - 2.0).abs() < 1e-6 && (weights.weight(1, 2) - 1.0).abs() < 1e-6);
    assert!((weights.new_user(4).unwrap()[0] - 2.0).abs() < 1e-6);
    assert_eq!(weights.new_item(7).unwrap(), [1.0]);
    let both = Scheme::PopularityActivity {
        strength: Strength::C0(3.0),
        alpha: 1.0,
        beta: 0.5,
    };
    let weights = both.resolve(&data).unwrap();
    assert!((weights.weight(0, 0) - 2.0 * 0.4).abs() < 1e-6);
    assert!((weights.weight(1, 3) - 1.0 * 0.2).abs() < 1e-6);
}

#[test]
fn exceptions_do_not_count_as_popularity_but_are_not_missing_either() {
    let data = random_data(12, 9, 40, 3);
    let shown: Vec<(u32, u32)> = missing(&data).into_iter().step_by(5).collect();
    let (users, items): (Vec<u32>, Vec<u32>) = shown.into_iter().unzip();
    let with = data
        .with_exposed(&users, &items, &vec![2.0; users.len()])
        .unwrap();
    let scheme = popularity(Strength::C0(5.0), 0.7);
    assert_same(
        &scheme.resolve(&data).unwrap(),
        &scheme.resolve(&with).unwrap(),
        0.0,
    );
    let mean = popularity(Strength::Mean(0.3), 0.7).resolve(&with).unwrap();
    assert!((brute_mean(&with, &mean) - 0.3).abs() < 1e-6);
}

#[test]
fn popularity_equals_its_factors_given_and_its_dense_form_approximated_at_rank_one() {
    let data = random_data(40, 30, 200, 1);
    let scheme = popularity(Strength::Mean(0.1), 0.4);
    let weights = scheme.resolve(&data).unwrap();
    let given = Scheme::LowRank {
        a: weights.a().clone(),
        b: weights.b().clone(),
    };
    assert_same(&weights, &given.resolve(&data).unwrap(), 0.0);
    for method in [Method::Svd, Method::NonNegative] {
        let w = full(&weights);
        for rank in [Rank::Fixed(1), Rank::error(1e-4)] {
            let dense = Scheme::Dense {
                w: w.clone(),
                rank,
                method,
            };
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
fn groups_give_each_pair_the_weight_of_the_table_with_the_smaller_side_as_components() {
    let data = random_data(11, 13, 30, 2);
    for (segments, categories) in [(2, 5), (5, 2), (3, 3), (1, 4)] {
        let table = Dense::from_fn(segments, categories, |s, c| ((s * 7 + c * 3) % 4) as f32);
        let groups = Groups {
            table: table.clone(),
            user_segment: (0..11).map(|u| u % segments as u32).collect(),
            item_category: (0..13).map(|i| (i * 2) % categories as u32).collect(),
        };
        let weights = Scheme::Groups(groups.clone()).resolve(&data).unwrap();
        assert_eq!(weights.rank(), segments.min(categories));
        assert!(!weights.may_be_negative());
        for u in 0..11 {
            for i in 0..13 {
                let segment = groups.user_segment[u] as usize;
                let expected = table.row(segment)[groups.item_category[i] as usize];
                assert!((weights.weight(u as u32, i as u32) - expected).abs() == 0.0);
            }
        }
        let last = segments as u32 - 1;
        let twin = groups.user_segment.iter().position(|&s| s == last).unwrap();
        assert_eq!(
            weights.new_user_in_segment(3, last).unwrap(),
            weights.a().row(twin)
        );
        assert_eq!(
            weights.new_item_in_category(3, 0).unwrap(),
            weights.b().row(0)
        );
        let error = weights.new_user(3).unwrap_err();
        assert!(error.to_string().contains("its segment"), "{error}");
        let error = weights.new_user_in_segment(3, segments as u32).unwrap_err();
        assert!(matches!(
            error,
            WeightsError::Group {
                axis: Axis::User,
                ..
            }
        ));
    }
}

#[test]
fn a_scheme_summed_with_itself_is_twice_the_scheme() {
    let data = random_data(20, 25, 90, 4);
    let schemes = [
        popularity(Strength::Mean(0.2), 0.5),
        Scheme::Uniform { weight: 0.03 },
        Scheme::Dense {
            w: random_weights(20, 25, 1),
            rank: Rank::Fixed(4),
            method: Method::Svd,
        },
    ];
    for scheme in schemes {
        let once = scheme.resolve(&data).unwrap();
        let twice = Scheme::Sum(vec![scheme.clone(), scheme])
            .resolve(&data)
            .unwrap();
        assert_eq!(twice.rank(), 2 * once.rank());
        for (u, i) in missing(&data) {
            let expected = 2.0 * once.weight(u, i);
            assert!((twice.weight(u, i) - expected).abs() <= 1e-5 * expected.abs());
        }
    }
}

#[test]
fn a_sum_explains_itself_part_by_part_and_takes_new_rows_part_by_part() {
    let data = random_data(20, 25, 90, 5);
    let a = Dense::from_fn(20, 2, |u, t| (u + t) as f32);
    let b = Dense::from_fn(25, 2, |i, t| (i * t) as f32 - 1.0);
    let scheme = Scheme::Sum(vec![
        Scheme::Uniform { weight: 0.5 },
        popularity(Strength::C0(512.0), 0.4),
        Scheme::LowRank { a, b },
    ]);
    let weights = scheme.resolve(&data).unwrap();
    let explanation = weights.explain(3, 0);
    let total: f32 = explanation.parts.iter().map(|part| part.value).sum();
    assert!((total - explanation.total).abs() <= 1e-5 * total.abs());
    let text = explanation.to_string();
    let popular = format!(
        "c0 512 × f_i^0.4 / Σ f_j^0.4 with n_i = {} of {}",
        data.item_counts()[0],
        data.n_interactions()
    );
    assert!(text.contains(&popular), "{text}");
    assert!(text.contains("0.5 for every missing entry") && text.contains("Z = 2"));
    assert!(weights.may_be_negative());
    let error = weights.new_user(4).unwrap_err();
    assert!(error.to_string().contains("its row of A"));
    let given = NewRow {
        count: 4,
        groups: &[],
        rows: &[&[7.0, 8.0]],
    };
    assert_eq!(
        weights.new_row(Axis::User, &given).unwrap(),
        [0.5, 512.0, 7.0, 8.0]
    );
}

#[test]
fn a_reconstruction_says_so_and_names_its_error_and_its_negative_weights() {
    let data = random_data(30, 30, 100, 6);
    // A sharp corner of large weights, which two singular vectors overshoot.
    let w = Dense::from_fn(30, 30, |u, i| if (u * i) % 11 == 3 { 9.0 } else { 0.01 });
    let scheme = |method| Scheme::Dense {
        w: w.clone(),
        rank: Rank::Fixed(3),
        method,
    };
    let weights = scheme(Method::Svd).resolve(&data).unwrap();
    let found = weights.approximation().unwrap();
    let negative: Vec<f32> = missing(&data)
        .into_iter()
        .map(|(u, i)| weights.weight(u, i))
        .filter(|weight| *weight < 0.0)
        .collect();
    assert!(weights.may_be_negative() && !negative.is_empty());
    assert_eq!(found.negatives.count, negative.len() as u64);
    let (u, i, worst) = found.negatives.worst.unwrap();
    assert_eq!(worst, negative.iter().copied().fold(0.0, f32::min));
    assert_eq!(worst, weights.weight(u, i));
    let text = weights.explain(u, i).to_string();
    assert!(
        text.contains("reconstruction") && text.contains("nonnegative avoids this"),
        "{text}"
    );
    let safe = scheme(Method::NonNegative).resolve(&data).unwrap();
    assert!(!safe.may_be_negative());
    assert_eq!(safe.approximation().unwrap().negatives.count, 0);
}

#[test]
fn a_chosen_error_is_reached_with_the_smallest_rank_that_does() {
    let data = random_data(40, 30, 150, 7);
    let w = random_weights(40, 30, 2);
    for method in [Method::Svd, Method::NonNegative] {
        let at = |rank| {
            Scheme::Dense {
                w: w.clone(),
                rank,
                method,
            }
            .resolve(&data)
        };
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
    let by_matrix = Scheme::Dense {
        w,
        rank: Rank::Fixed(2),
        method: Method::Svd,
    };
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
    for method in [Method::Svd, Method::NonNegative] {
        let function = WeightFunction::new(rule);
        let scheme = Scheme::Function {
            function,
            rank: Rank::Fixed(3),
            method,
        };
        let weights = scheme.resolve(&data).unwrap();
        let found = weights.approximation().unwrap();
        assert!(found.relative_error < 2e-3, "{method}: {found}");
        assert!(matches!(found.measured, Measured::Sample { .. }));
    }
}

#[test]
fn what_cannot_be_a_scheme_is_refused_by_name() {
    let data = random_data(6, 5, 12, 11);
    let dense = |w, rank| Scheme::Dense {
        w,
        rank,
        method: Method::Svd,
    };
    let groups = |segment| {
        Scheme::Groups(Groups {
            table: Dense::from_fn(2, 2, |_, _| 1.0),
            user_segment: vec![segment; 6],
            item_category: vec![0; 5],
        })
    };
    let mut holed = Dense::from_fn(6, 5, |_, _| 1.0);
    holed.row_mut(4)[2] = -1.0;
    for (scheme, expected) in [
        (
            Scheme::Uniform { weight: -1.0 },
            "uniform: weight is -1; it must be finite and at least 0",
        ),
        (
            popularity(Strength::C0(f32::NAN), 0.5),
            "popularity: c0 is NaN",
        ),
        (
            popularity(Strength::Mean(-0.1), 0.5),
            "popularity: mean is -0.1",
        ),
        (
            popularity(Strength::C0(1.0), f32::INFINITY),
            "alpha is inf; it must be finite",
        ),
        (
            Scheme::LowRank {
                a: Dense::zeros(7, 2),
                b: Dense::zeros(5, 2),
            },
            "A has 7 rows, expected 6: one per user",
        ),
        (
            Scheme::LowRank {
                a: Dense::zeros(6, 2),
                b: Dense::zeros(5, 3),
            },
            "A has 2 columns and B has 3",
        ),
        (
            Scheme::LowRank {
                a: Dense::zeros(6, 0),
                b: Dense::zeros(5, 0),
            },
            "at least 1",
        ),
        (
            groups(2),
            "user 0 is in group 2, but the table has 2 for users",
        ),
        (
            dense(Dense::zeros(5, 6), Rank::Fixed(1)),
            "W is 5 × 6, expected 6 × 5",
        ),
        (dense(holed, Rank::Fixed(1)), "W has -1 at row 4, column 2"),
        (dense(Dense::zeros(6, 5), Rank::Fixed(0)), "rank 0"),
        (
            dense(Dense::zeros(6, 5), Rank::Fixed(6)),
            "it must be from 1 to 5",
        ),
        (
            dense(Dense::zeros(6, 5), Rank::error(-0.5)),
            "error is -0.5",
        ),
        (
            Scheme::from_rule(|u, _| if u == 3 { f32::NAN } else { 1.0 }, Rank::Fixed(1)),
            "NaN at row 3, column 0",
        ),
        (Scheme::Sum(vec![]), "needs at least one"),
    ] {
        let error = scheme.resolve(&data).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.fault(), Fault::Caller);
    }
}

#[test]
fn a_mean_that_no_strength_gives_is_refused() {
    // The only item with interactions is observed by everyone, so all that is missing has weight 0.
    let data = Triplets::new(&[0, 1], &[0, 0])
        .build(2, 3, Duplicates::Error)
        .unwrap();
    let error = popularity(Strength::Mean(0.1), 1.0)
        .resolve(&data)
        .unwrap_err();
    assert!(matches!(error, WeightsError::NoMean { missing: 4, .. }));
    assert!(popularity(Strength::Mean(0.1), 0.5).resolve(&data).is_err());
    assert!(popularity(Strength::Mean(0.1), 0.0).resolve(&data).is_ok());
    let full = Triplets::new(&[0, 0], &[0, 1])
        .build(1, 2, Duplicates::Error)
        .unwrap();
    assert!(popularity(Strength::Mean(0.1), 0.5).resolve(&full).is_err());
    assert!(popularity(Strength::C0(0.1), 0.5).resolve(&full).is_ok());
}

#[test]
fn saved_parts_come_back_as_they_were_and_are_checked() {
    let data = random_data(20, 25, 90, 12);
    let scheme = Scheme::Sum(vec![
        Scheme::Uniform { weight: 0.5 },
        popularity(Strength::C0(2.0), 0.4),
    ]);
    let weights = scheme.resolve(&data).unwrap();
    let (a, b, frozen) = (
        weights.a().clone(),
        weights.b().clone(),
        weights.frozen().clone(),
    );
    let back = MissingWeights::from_parts(a.clone(), b.clone(), frozen.clone()).unwrap();
    assert_eq!(back, weights);
    let mut fewer = frozen;
    fewer.parts.pop();
    let error = MissingWeights::from_parts(a, b, fewer).unwrap_err();
    assert_eq!(
        error,
        WeightsError::Parts {
            parts: 1,
            columns: 2
        }
    );
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let data = random_data(300, 200, 2000, 13);
    for method in [Method::Svd, Method::NonNegative] {
        let scheme = Scheme::Dense {
            w: random_weights(300, 200, 3),
            rank: Rank::error(0.2),
            method,
        };
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
            1 => Scheme::Activity { strength, alpha },
            _ => Scheme::PopularityActivity { strength, alpha, beta },
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
        let method = if nonnegative { Method::NonNegative } else { Method::Svd };
        let scheme = Scheme::Dense { w: w.clone(), rank: Rank::Fixed(rank), method };
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
            1 => Scheme::Activity { strength, alpha },
            _ => Scheme::PopularityActivity { strength, alpha, beta },
        };
        let weights = scheme.resolve(&data).unwrap();
        for (u, count) in data.user_counts().into_iter().enumerate() {
            let (new, old) = (weights.new_user(count).unwrap()[0], weights.a().row(u)[0]);
            prop_assert!((new - old).abs() <= 1e-6 * old);
        }
        for (i, count) in data.item_counts().into_iter().enumerate() {
            let (new, old) = (weights.new_item(count).unwrap()[0], weights.b().row(i)[0]);
            prop_assert!((new - old).abs() <= 1e-6 * old);
        }
    }
}
