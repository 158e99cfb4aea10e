//! Caches after many operations against sums from scratch.

use absentia::Axis;
use absentia::online::{Operation, WeightMode};
use absentia::weights::{Scheme, Strength};

use crate::setup::{Dice, Setup, caches_from_scratch, difference, live_sum, rank_three, run};

/// How far the caches, each of the Z of a side for itself, and the scales of the weights are off.
fn drift(setup: &Setup, operations: usize) -> f64 {
    let mut online = setup.online();
    run(&mut online, &mut Dice::new(5), operations);
    let of_axis = |axis| {
        let fresh = caches_from_scratch(&online, axis);
        let matrix = online.factors(axis).cols().pow(2);
        let pairs = online
            .cache_sums(axis)
            .chunks(matrix)
            .zip(fresh.chunks(matrix));
        pairs.fold(0.0, |most: f64, (sum, fresh)| {
            most.max(difference(sum, fresh))
        })
    };
    let caches = of_axis(Axis::User).max(of_axis(Axis::Item));
    let scales = online.missing_parts(Axis::User).1.to_vec();
    online.apply(&Operation::Rebuild).unwrap();
    caches.max(difference(&scales, online.missing_parts(Axis::User).1))
}

#[test]
fn caches_follow_twenty_thousand_operations() {
    let popularity = Scheme::popularity(Strength::Mean(0.1), 0.4);
    for (scheme, mode) in [
        (rank_three(), WeightMode::Frozen),
        (popularity, WeightMode::Live),
    ] {
        let off = drift(&Setup::new(scheme, mode), 10_000);
        assert!(off <= 1e-9, "{off}");
    }
}

#[test]
#[ignore = "takes minutes"]
fn caches_follow_a_million_operations() {
    for (scheme, mode) in [
        (live_sum(), WeightMode::Live),
        (rank_three(), WeightMode::Frozen),
    ] {
        let off = drift(&Setup::new(scheme, mode), 1_000_000);
        assert!(off <= 1e-9, "{off}");
    }
}
