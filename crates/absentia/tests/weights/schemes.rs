//! Each scheme against its formula, and what is refused.

use absentia::Dense;
use absentia::data::{Duplicates, Triplets};
use absentia::error::{Axis, Fault};
use absentia::weights::{
    Decomposition, Groups, MissingWeights, NewRow, Rank, Scheme, Strength, WeightsError,
};

use crate::{assert_same, brute_mean, missing, new_row, popularity, random_data, random_weights};

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
    assert!((new_row(&weights, Axis::Item, 4, &[]).unwrap()[0] - 0.5).abs() < 1e-7);
    assert_eq!(new_row(&weights, Axis::User, 9, &[]).unwrap(), [8.0]);
}

#[test]
fn activity_and_the_product_follow_their_formulas() {
    let data = Triplets::new(&[0, 0, 0, 0, 1], &[0, 1, 2, 3, 0])
        .build(3, 4, Duplicates::Error)
        .unwrap();
    let active = Scheme::activity(Strength::C0(3.0), 0.5);
    let weights = active.resolve(&data).unwrap();
    assert!((weights.weight(0, 2) - 2.0).abs() < 1e-6 && (weights.weight(1, 2) - 1.0).abs() < 1e-6);
    assert!((new_row(&weights, Axis::User, 4, &[]).unwrap()[0] - 2.0).abs() < 1e-6);
    assert_eq!(new_row(&weights, Axis::Item, 7, &[]).unwrap(), [1.0]);
    let both = Scheme::popularity_activity(Strength::C0(3.0), 1.0, 0.5);
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
fn groups_give_each_pair_the_weight_of_the_table_with_the_smaller_side_as_components() {
    let data = random_data(11, 13, 30, 2);
    for (segments, categories) in [(2, 5), (5, 2), (3, 3), (1, 4)] {
        let table = Dense::from_fn(segments, categories, |s, c| ((s * 7 + c * 3) % 4) as f32);
        let groups = Groups {
            table: table.clone(),
            user_segment: (0..11).map(|u| u % segments as u32).collect(),
            item_category: (0..13).map(|i| (i * 2) % categories as u32).collect(),
        };
        let weights = Scheme::groups(groups.clone()).resolve(&data).unwrap();
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
            new_row(&weights, Axis::User, 3, &[last]).unwrap(),
            weights.a().row(twin)
        );
        assert_eq!(
            new_row(&weights, Axis::Item, 3, &[0]).unwrap(),
            weights.b().row(0)
        );
        let error = new_row(&weights, Axis::User, 3, &[]).unwrap_err();
        assert!(error.to_string().contains("its segment"), "{error}");
        let error = new_row(&weights, Axis::User, 3, &[segments as u32]).unwrap_err();
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
        Scheme::uniform(0.03),
        Scheme::dense(
            random_weights(20, 25, 1),
            Rank::Fixed(4),
            Decomposition::Svd,
        ),
    ];
    for scheme in schemes {
        let once = scheme.resolve(&data).unwrap();
        let twice = Scheme::sum(vec![scheme.clone(), scheme])
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
    let scheme = Scheme::sum(vec![
        Scheme::uniform(0.5),
        popularity(Strength::C0(512.0), 0.4),
        Scheme::low_rank(a, b),
    ]);
    let weights = scheme.resolve(&data).unwrap();
    let explanation = weights.explain(3, 0);
    let total: f32 = explanation.parts.iter().map(|part| part.value).sum();
    assert!((total - explanation.total).abs() <= 1e-5 * total.abs());
    let text = explanation.to_string();
    // In words and with values; letters that nobody has introduced explain nothing.
    let (count, total) = (data.item_counts()[0], data.n_interactions());
    let popular = format!("(popularity of the item: {count} of {total} interactions, a share of ");
    assert!(text.contains(&popular), "{text}");
    let power = "raised to the power 0.4 and divided by the sum of these over all items)";
    assert!(text.contains(power), "{text}");
    let value: f32 = text
        .split_once("512 (the strength c0) × ")
        .and_then(|(_, rest)| rest.split(' ').next()?.parse().ok())
        .expect("a value");
    let popularity = explanation.parts[1].value / 512.0;
    assert!((value - popularity).abs() <= 1e-3 * popularity, "{text}");
    assert!(!text.contains("f_i") && !text.contains('Σ'), "{text}");
    assert!(text.contains("0.5 for every missing entry") && text.contains("Z = 2"));
    assert!(weights.may_be_negative());
    let error = new_row(&weights, Axis::User, 4, &[]).unwrap_err();
    assert!(error.to_string().contains("its row of A"));
    let given = NewRow {
        count: 4,
        rows: &[&[7.0, 8.0]],
        ..NewRow::default()
    };
    assert_eq!(
        weights.new_row(Axis::User, &given).unwrap(),
        [0.5, 512.0, 7.0, 8.0]
    );
}

#[test]
fn what_cannot_be_a_scheme_is_refused_by_name() {
    let data = random_data(6, 5, 12, 11);
    let dense = |w, rank| Scheme::dense(w, rank, Decomposition::Svd);
    let groups = |segment| {
        Scheme::groups(Groups {
            table: Dense::from_fn(2, 2, |_, _| 1.0),
            user_segment: vec![segment; 6],
            item_category: vec![0; 5],
        })
    };
    let mut holed = Dense::from_fn(6, 5, |_, _| 1.0);
    holed.row_mut(4)[2] = -1.0;
    for (scheme, expected) in [
        (
            Scheme::uniform(-1.0),
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
            Scheme::low_rank(Dense::zeros(7, 2), Dense::zeros(5, 2)),
            "A has 7 rows, expected 6: one per user",
        ),
        (
            Scheme::low_rank(Dense::zeros(6, 2), Dense::zeros(5, 3)),
            "A has 2 columns and B has 3",
        ),
        (
            Scheme::low_rank(Dense::zeros(6, 0), Dense::zeros(5, 0)),
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
        (Scheme::sum(vec![]), "needs at least one"),
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
    let scheme = Scheme::sum(vec![
        Scheme::uniform(0.5),
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
fn resolved_weights_are_a_scheme_again() {
    let data = random_data(20, 25, 90, 13);
    let scheme = Scheme::sum([
        popularity(Strength::Mean(0.2), 0.4),
        Scheme::activity(Strength::C0(3.0), 0.5),
        Scheme::groups(Groups {
            table: Dense::from_fn(2, 3, |s, c| (s + c) as f32),
            user_segment: (0..20).map(|u| u % 2).collect(),
            item_category: (0..25).map(|i| i % 3).collect(),
        }),
        Scheme::dense(
            random_weights(20, 25, 3),
            Rank::Fixed(2),
            Decomposition::Svd,
        ),
    ]);
    let weights = scheme.resolve(&data).unwrap();
    let again = weights.to_scheme();
    assert_eq!(again.terms().len(), 4);
    assert_same(&weights, &again.resolve(&data).unwrap(), 1e-5);
    assert!(again.spec().is_none());
    let plain = Scheme::sum([popularity(Strength::C0(2.0), 0.4), Scheme::uniform(0.5)]);
    let resolved = plain.resolve(&data).unwrap();
    assert_eq!(resolved.to_scheme(), plain);
    let text = "popularity:c0=2,alpha=0.4 + uniform:0.5";
    assert_eq!(resolved.frozen().to_string(), text);
    assert_eq!(plain.spec(), text.parse().ok());
}
