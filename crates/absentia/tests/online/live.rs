//! Live weights against the scheme resolved again.

use absentia::online::{Online, WeightMode};
use absentia::weights::{Decomposition, Learned, Presence, Rank, Scheme, Strength, TimeFactor};
use absentia::{Axis, Dense};

use crate::setup::{Dice, ITEMS, Setup, USERS, live_sum, operation};

/// The weight of a missing entry as the steps use it.
fn weight(online: &Online, user: usize, item: usize) -> f64 {
    let (users, scales) = online.missing_parts(Axis::User);
    let (items, _) = online.missing_parts(Axis::Item);
    let columns = scales
        .iter()
        .zip(users.row(user).iter().zip(items.row(item)));
    columns
        .map(|(s, (a, b))| s * f64::from(*a) * f64::from(*b))
        .sum()
}

#[test]
fn live_weights_are_those_of_the_scheme_resolved_after_every_event() {
    for scheme in [
        Scheme::popularity(Strength::C0(4.0), 0.4),
        Scheme::popularity(Strength::Mean(0.1), 0.4),
        Scheme::activity(Strength::Mean(0.2), 0.5),
        Scheme::popularity_activity(Strength::Mean(0.1), 0.4, 0.5),
        Scheme::popularity_activity(Strength::C0(40.0), 0.0, 1.2),
        Scheme::sum([live_sum(), Scheme::uniform(0.01)]),
    ] {
        let setup = Setup::new(scheme.clone(), WeightMode::Live);
        let mut online = setup.online();
        let mut dice = Dice::new(21);
        for _ in 0..300 {
            let next = operation(&mut dice, &online);
            online.apply(&next).unwrap();
            let again = scheme.resolve(&online.to_rows()).unwrap();
            let largest = f64::from(again.weight(0, 0)).max(1e-3);
            for _ in 0..20 {
                let user = dice.below(online.n_rows(Axis::User));
                let item = dice.below(online.n_rows(Axis::Item));
                let (now, then) = (
                    weight(&online, user, item),
                    f64::from(again.weight(user as u32, item as u32)),
                );
                // A row of a single float: two roundings of the scheme, two of the online weights.
                let off = (now - then).abs();
                assert!(off <= 1e-6 * then.max(largest), "{scheme:?}: {now}, {then}");
            }
        }
    }
}

#[test]
fn frozen_weights_of_known_rows_do_not_change() {
    let scheme = Scheme::popularity(Strength::Mean(0.1), 0.4);
    let setup = Setup::new(scheme, WeightMode::Frozen);
    let mut online = setup.online();
    let mut dice = Dice::new(22);
    for _ in 0..300 {
        let next = operation(&mut dice, &online);
        online.apply(&next).unwrap();
    }
    let weights = online.missing_weights().unwrap();
    for item in 0..ITEMS as u32 {
        let before = setup.model.weights().b().row(item as usize);
        assert_eq!(weights.b().row(item as usize), before);
    }
}

#[test]
fn other_weights_stay_as_they_were_when_rows_are_added() {
    let age = || Scheme::by_time(Strength::Mean(0.1), Presence::new(TimeFactor::Age));
    let available = Scheme::by_time(Strength::Mean(0.1), Presence::new(TimeFactor::Available));
    let popular = Scheme::popularity(Strength::Mean(0.1), 0.4);
    let product = popular.times(crate::setup::rank_three()).unwrap();
    let learned = Scheme::learned(Learned {
        rank: 2,
        rounds: 1,
        ..Learned::new(0.1)
    });
    let full = Dense::from_fn(USERS, ITEMS, |user, item| 0.1 + (user * item % 5) as f32);
    let dense = Scheme::dense(full, Rank::Fixed(2), Decomposition::NonNegative);
    for scheme in [
        age(),
        available,
        product,
        learned,
        dense,
        Scheme::sum([age(), live_sum()]),
    ] {
        let setup = Setup::new(scheme, WeightMode::Live);
        let mut online = setup.online();
        let mut dice = Dice::new(23);
        for _ in 0..300 {
            let next = operation(&mut dice, &online);
            online.apply(&next).unwrap();
        }
        assert!(online.n_rows(Axis::Item) > ITEMS);
        let weights = online.missing_weights().unwrap();
        let before = setup.model.weights();
        assert_eq!(weights.rank(), before.rank());
        for item in 0..ITEMS {
            assert_eq!(
                weights.b().row(item)[0].to_bits(),
                before.b().row(item)[0].to_bits()
            );
        }
    }
}

#[test]
fn a_new_item_has_the_mean_weight_of_all_from_its_first_interaction() {
    use absentia::model::RowWeights;
    use absentia::online::{Event, Operation};
    let scheme = Scheme::popularity(Strength::Mean(0.1), 0.4);
    let setup = Setup::new(scheme, WeightMode::Frozen);
    let mut online = setup.online();
    online
        .apply(&Operation::Add {
            axis: Axis::Item,
            hash: 1,
            weights: RowWeights::Frozen,
        })
        .unwrap();
    let (item, b) = (ITEMS, setup.model.weights().b());
    assert!(weight(&online, 0, item) == 0.0);
    online
        .apply(&Operation::Insert(Event::new(0, item as u32)))
        .unwrap();
    let mean: f32 = b.as_slice().iter().sum::<f32>() / item as f32;
    let (items, _) = online.missing_parts(Axis::Item);
    assert!((items.row(item)[0] - mean).abs() <= 1e-6 * mean);
}
