//! What stays as it was between refits: the counts behind normalised targets and post-scaling, and the `now`
//! of decaying weights.

use absentia::data::{Confidence, FrozenTransform, Targets};
use absentia::model::RowWeights;
use absentia::online::{Event, Online, Operation, WeightMode};
use absentia::weights::Scheme;
use absentia::{Axis, Sides};

use crate::setup::{Dice, ITEMS, Setup, USERS, event, params, rows};

fn setup() -> Setup {
    let params = params()
        .targets(Targets::Normalized {
            user: 0.5,
            item: 0.4,
        })
        .confidence(Confidence::Decay {
            half_life: 100.0,
            now: None,
        })
        .post_scale(0.5);
    Setup::with(rows(), Scheme::uniform(0.1), WeightMode::Frozen, &params)
}

/// Every target and weight is that of a transform with some counts.
fn assert_targets(online: &Online, transform: &FrozenTransform, counts: &Sides<Vec<u32>>) {
    let (raw, trained) = (online.to_rows(), online.to_trained_rows());
    let times = raw.times().unwrap();
    for user in 0..raw.n_users() {
        let (given, learned) = (raw.by_user().row(user), trained.by_user().row(user));
        for (at, &item) in given.indices.iter().enumerate() {
            let position = raw.by_user().range(user).start + at;
            let (value, weight) = (given.r.get(at), given.c.get(at));
            let (r, c) = if raw.is_exposed(position) {
                (0.0, weight)
            } else {
                let n = (counts.users[user], counts.items[item as usize]);
                let r = transform.target(value, n.0, n.1);
                (r, transform.weight(value, weight, times[position]))
            };
            let found = (learned.r.get(at).to_bits(), learned.c.get(at).to_bits());
            assert_eq!(found, (r.to_bits(), c.to_bits()), "{user} {item}");
        }
    }
}

fn assert_scales(online: &Online, counts: &Sides<Vec<u32>>) {
    let scales = online.item_scales().unwrap();
    for (scale, &count) in scales.iter().zip(&counts.items) {
        let expected = f64::from(count).sqrt() as f32;
        assert!((scale - expected).abs() <= 1e-6 * expected);
    }
}

/// The counts at training, and those of a user and an item that are new: the median of their side.
fn counts_with_new_rows(setup: &Setup) -> Sides<Vec<u32>> {
    let counts = Sides {
        users: setup.rows.user_counts(),
        items: setup.rows.item_counts(),
    };
    counts.map(|mut counts| {
        let mut sorted = counts.clone();
        sorted.sort_unstable();
        counts.push(sorted[(sorted.len() - 1) / 2]);
        counts
    })
}

#[test]
fn targets_scales_and_the_age_of_events_are_frozen_until_a_refit() {
    let setup = setup();
    let mut online = setup.online();
    for axis in [Axis::User, Axis::Item] {
        let (hash, weights) = (7, RowWeights::Frozen);
        let add = Operation::Add {
            axis,
            hash,
            weights,
        };
        online.apply(&add).unwrap();
    }
    let (user, item) = (USERS as u32, ITEMS as u32);
    let mut dice = Dice::new(61);
    for _ in 0..150 {
        let next = event(&mut dice, &online);
        online.apply(&Operation::Insert(next)).unwrap();
    }
    for pair in [(user, item), (user, 3), (5, item)] {
        let next = Event::new(pair.0, pair.1).time(2300);
        online.apply(&Operation::Insert(next)).unwrap();
    }
    let (frozen, counts) = (setup.model.parts().transform, counts_with_new_rows(&setup));
    assert_ne!(online.counts(Axis::Item), counts.items);
    assert_targets(&online, &frozen, &counts);
    assert_scales(&online, &counts);
    // The count of a new item is not 0, which would give the largest target of all.
    let largest = frozen.target(1.0, counts.users[5], 1);
    let trained = online.to_trained_rows();
    let at = online.columns(Axis::User, 5).binary_search(&item).unwrap();
    let ratio = trained.by_user().row(5).r.get(at) / online.to_rows().by_user().row(5).r.get(at);
    assert!(ratio < largest, "{ratio} {largest}");

    online.apply(&Operation::Refit { sweeps: 1 }).unwrap();
    let again = online.to_model().unwrap().parts().transform;
    assert!((again.now, frozen.now) == (2300, 1499), "{again:?}");
    let counts = Sides::from_fn(|axis| online.counts(axis).to_vec());
    assert_targets(&online, &again, &counts);
    assert_scales(&online, &counts);
}
