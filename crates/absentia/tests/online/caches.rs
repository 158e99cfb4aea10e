//! Caches after many operations against sums from scratch.

use absentia::Axis;
use absentia::online::WeightMode;
use absentia::weights::{Scheme, Strength};

use crate::setup::{Dice, Setup, caches_from_scratch, difference, live_sum, rank_three, run};

fn drift(setup: &Setup, operations: usize) -> f64 {
    let mut online = setup.online();
    run(&mut online, &mut Dice::new(5), operations);
    let of_axis = |axis| difference(online.cache_sums(axis), &caches_from_scratch(&online, axis));
    of_axis(Axis::User).max(of_axis(Axis::Item))
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
