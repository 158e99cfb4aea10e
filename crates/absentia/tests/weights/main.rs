//! Weights of missing entries against their definitions, by brute force over random problems.

mod approximation;
mod by_time;
mod learned;
mod products;
mod properties;
mod schemes;

use absentia::data::{Duplicates, Interactions, Triplets};
use absentia::weights::{MissingWeights, NewRow, Scheme, Strength, WeightsError};
use absentia::{Axis, Dense};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(crate) fn random_data(
    n_users: usize,
    n_items: usize,
    entries: usize,
    seed: u64,
) -> Interactions<'static> {
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

pub(crate) fn is_missing(data: &Interactions<'_>, u: usize, i: usize) -> bool {
    data.by_user()
        .row(u)
        .indices
        .binary_search(&(i as u32))
        .is_err()
}

pub(crate) fn missing(data: &Interactions<'_>) -> Vec<(u32, u32)> {
    let pairs = (0..data.n_users()).flat_map(|u| (0..data.n_items()).map(move |i| (u, i)));
    let pairs = pairs.filter(|&(u, i)| is_missing(data, u, i));
    pairs.map(|(u, i)| (u as u32, i as u32)).collect()
}

pub(crate) fn brute_mean(data: &Interactions<'_>, weights: &MissingWeights) -> f64 {
    let pairs = missing(data);
    let sum: f64 = pairs
        .iter()
        .map(|&(u, i)| f64::from(weights.weight(u, i)))
        .sum();
    sum / pairs.len() as f64
}

pub(crate) fn full(weights: &MissingWeights) -> Dense {
    Dense::from_fn(weights.n_users(), weights.n_items(), |u, i| {
        weights.weight(u as u32, i as u32)
    })
}

/// The row of A or B of a new user or item with this many interactions, in these groups.
pub(crate) fn new_row(
    weights: &MissingWeights,
    axis: Axis,
    count: u32,
    groups: &[u32],
) -> Result<Vec<f32>, WeightsError> {
    let row = NewRow {
        count,
        groups,
        ..NewRow::default()
    };
    weights.new_row(axis, &row)
}

pub(crate) fn random_weights(m: usize, n: usize, seed: u64) -> Dense {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Dense::from_fn(m, n, |u, i| {
        let noise = rng.next_u32() as f32 / u32::MAX as f32;
        0.1 + noise + ((u % 3) * (i % 4)) as f32
    })
}

pub(crate) fn assert_same(x: &MissingWeights, y: &MissingWeights, tolerance: f32) {
    assert_eq!((x.n_users(), x.n_items()), (y.n_users(), y.n_items()));
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

pub(crate) fn popularity(strength: Strength, alpha: f32) -> Scheme {
    Scheme::popularity(strength, alpha)
}
