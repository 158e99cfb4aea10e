//! Products of factors with another scheme, against loops over all pairs.

use absentia::Dense;
use absentia::data::Interactions;
use absentia::error::Axis;
use absentia::weights::{
    Decomposition, Groups, Learned, MissingWeights, NewRow, Rank, Scheme, Strength,
};

use crate::{assert_same, brute_mean, new_row, popularity, random_data, random_weights};

fn groups() -> Scheme {
    Scheme::groups(Groups {
        table: Dense::from_fn(2, 3, |s, c| (1 + s + 2 * c) as f32),
        user_segment: (0..20).map(|u| u % 2).collect(),
        item_category: (0..25).map(|i| i % 3).collect(),
    })
}

/// Schemes of every kind that can be the other factor.
fn others() -> Vec<Scheme> {
    let column = |rows: usize| Dense::from_fn(rows, 2, |row, t| (1 + row % 3 + t) as f32);
    vec![
        groups(),
        Scheme::low_rank(column(20), column(25)),
        Scheme::dense(
            random_weights(20, 25, 3),
            Rank::Fixed(2),
            Decomposition::NonNegative,
        ),
        Scheme::from_rule(|u, i| 0.1 + ((u + i) % 4) as f32, Rank::Fixed(3)),
        Scheme::learned(Learned::new(0.3)),
    ]
}

fn share(counts: &[u32], at: u32, exponent: f64) -> f64 {
    let power = |n: u32| f64::from(n).powf(exponent);
    power(counts[at as usize]) / counts.iter().map(|&n| power(n)).sum::<f64>()
}

fn assert_product(data: &Interactions<'_>, product: &MissingWeights, other: &MissingWeights) {
    let (users, items) = (data.user_counts(), data.item_counts());
    for user in 0..20 {
        for item in 0..25 {
            let factors = share(&users, user, 0.5) * share(&items, item, 0.25);
            let expected = 7.0 * factors * f64::from(other.weight(user, item));
            let got = f64::from(product.weight(user, item));
            assert!(
                (got - expected).abs() <= 1e-5 * expected.abs(),
                "({user}, {item}): {got}, not {expected}"
            );
        }
    }
}

#[test]
fn a_product_with_any_scheme_multiplies_its_weights() {
    let data = random_data(20, 25, 120, 4);
    let factors = Scheme::popularity_activity(Strength::C0(7.0), 0.25, 0.5);
    for other in others() {
        let product = other.clone().times(factors.clone()).unwrap();
        let (weights, plain) = (
            product.resolve(&data).unwrap(),
            other.resolve(&data).unwrap(),
        );
        assert_eq!(weights.rank(), plain.rank());
        assert_eq!(product.rank_bound(&data), other.rank_bound(&data));
        assert_product(&data, &weights, &plain);
        assert_same(&weights, &weights.to_scheme().resolve(&data).unwrap(), 1e-5);
        assert_eq!(
            weights.approximation().is_some(),
            plain.approximation().is_some()
        );
    }
}

#[test]
fn the_mean_of_a_product_is_that_over_missing_entries() {
    let data = random_data(20, 25, 120, 5);
    for other in others() {
        let product = popularity(Strength::Mean(0.3), 0.5).times(other).unwrap();
        let weights = product.resolve(&data).unwrap();
        let mean = brute_mean(&data, &weights);
        assert!((mean - 0.3).abs() <= 1e-5 * 0.3, "{mean}");
    }
    let nothing = Scheme::low_rank(Dense::zeros(20, 1), Dense::zeros(25, 1));
    let product = popularity(Strength::Mean(0.3), 0.5).times(nothing).unwrap();
    assert!(product.resolve(&data).is_err());
}

#[test]
fn new_rows_of_a_product_need_what_the_other_scheme_needs() {
    let data = random_data(20, 25, 120, 6);
    let product = popularity(Strength::C0(7.0), 0.5).times(groups()).unwrap();
    let weights = product.resolve(&data).unwrap();
    assert!(new_row(&weights, Axis::Item, 3, &[]).is_err());
    let count = data.item_counts()[4];
    let given = NewRow {
        count,
        groups: &[1],
        ..NewRow::default()
    };
    let row = weights.new_row(Axis::Item, &given).unwrap();
    for (new, old) in row.iter().zip(weights.b().row(4)) {
        assert!((new - old).abs() <= 1e-6 * old);
    }
    let text = weights.explain(3, 4).to_string();
    assert!(text.contains("popularity * groups"), "{text}");
    for part in [
        "7 (the strength c0) × (popularity of the item: its share of ",
        "raised to the power 0.5 and divided by the sum of these over all items) × groups (",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn only_factors_of_a_side_are_multiplied_with_one_other_scheme() {
    let factor = || popularity(Strength::C0(1.0), 0.5);
    assert!(factor().times(factor()).is_none());
    assert!(groups().times(groups()).is_none());
    assert!(factor().times(Scheme::uniform(1.0)).is_none());
    let product = factor().times(groups()).unwrap();
    assert!(product.times(groups()).is_none());
    assert!(factor().times(Scheme::sum([groups(), groups()])).is_none());
}
