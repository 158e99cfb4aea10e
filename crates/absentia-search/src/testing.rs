//! Data and trials for the tests of the search.

use crate::trial::{Origin, Trial};
use absentia::Params;
use absentia::data::{Duplicates, Interactions, Triplets};
use absentia::evaluate::TestSet;
use absentia::weights::SchemeSpec;

/// Two tastes: users like items of their own half, the first items more than the last.
fn pairs() -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    for user in 0..60_u32 {
        for item in 0..40_u32 {
            let own = user % 2 == item % 2;
            let hash = (user * 7919 + item * 104_729 + user * item * 31) % 97;
            if own && hash < 70 - item {
                pairs.push((user, item));
            }
        }
    }
    pairs
}

/// All of it.
pub(crate) fn blocks() -> Interactions<'static> {
    build(&pairs())
}

/// All of it, with times that rise with the users.
pub(crate) fn timed_blocks() -> Interactions<'static> {
    let (users, items): (Vec<u32>, Vec<u32>) = pairs().into_iter().unzip();
    let times: Vec<i64> = users.iter().map(|&user| i64::from(user) * 86_400).collect();
    let built = Triplets::new(&users, &items).times(&times);
    let built = built.build(60, 40, Duplicates::Error);
    built.expect("pairs in range").into_owned()
}

/// The same, with the latest rows of every user held out of it.
pub(crate) fn timed_fold() -> (Interactions<'static>, TestSet) {
    let held = timed_blocks().hold_out(0.15, 0);
    let held_out = TestSet::from_pairs(&held.users, &held.items);
    (held.rest, held_out.expect("columns of one length"))
}

/// Every seventh pair held out of the rest.
pub(crate) fn fold() -> (Interactions<'static>, TestSet) {
    fold_from(3)
}

/// The same from another of the first seven pairs on.
pub(crate) fn fold_from(first: usize) -> (Interactions<'static>, TestSet) {
    let (mut train, mut held) = (Vec::new(), Vec::new());
    for (at, pair) in pairs().into_iter().enumerate() {
        if at % 7 == first {
            &mut held
        } else {
            &mut train
        }
        .push(pair);
    }
    let (users, items): (Vec<u32>, Vec<u32>) = held.into_iter().unzip();
    let held_out = TestSet::from_pairs(&users, &items).expect("columns of one length");
    (build(&train), held_out)
}

fn build(pairs: &[(u32, u32)]) -> Interactions<'static> {
    let (users, items): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
    let built = Triplets::new(&users, &items).build(60, 40, Duplicates::Error);
    built.expect("pairs in range").into_owned()
}

/// A trial that was never made.
pub(crate) fn trial(number: usize, point: Vec<f64>, score: f64) -> Trial {
    let weights = SchemeSpec::uniform(0.1);
    Trial {
        number,
        origin: Origin::Random,
        point,
        score: Some(score),
        seconds: 1.0,
        training_seconds: 0.5,
        ..Trial::unmeasured(Some(weights), Params::default())
    }
}
