//! Events that are undone.

use absentia::data::Duplicates;
use absentia::model::RowWeights;
use absentia::online::{Event, Online, Operation, WeightMode};
use absentia::weights::{Scheme, Strength};
use absentia::{Axis, Sides};

use crate::setup::{Dice, Setup, caches_from_scratch, difference, event, live_sum};

fn remove(user: u32, item: u32) -> Operation {
    Operation::Remove {
        user,
        item,
        time: None,
        later: None,
    }
}

/// Everything that an insert and its removal must restore, whatever the factors learned.
fn assert_restored_weights(online: &Online, before: &absentia::online::OnlineParts) {
    let now = online.parts();
    assert_eq!(now.entries, before.entries);
    for axis in [Axis::User, Axis::Item] {
        assert_eq!(now.weights[axis], before.weights[axis]);
        let sums = (&now.weight_sums[axis], &before.weight_sums[axis]);
        assert!(difference(sums.0, sums.1) <= 1e-9);
    }
    assert!(difference(&now.observed_sums, &before.observed_sums) <= 1e-9);
}

/// The same, and the caches.
fn assert_restored(online: &Online, before: &absentia::online::OnlineParts) {
    assert_restored_weights(online, before);
    for axis in [Axis::User, Axis::Item] {
        assert!(difference(online.cache_sums(axis), &before.cache_sums[axis]) <= 1e-9);
    }
}

#[test]
fn an_insert_and_its_removal_restore_entries_counts_weights_and_caches() {
    for (scheme, mode) in [
        (live_sum(), WeightMode::Live),
        (
            Scheme::popularity(Strength::Mean(0.1), 0.4),
            WeightMode::Frozen,
        ),
    ] {
        // Recorded without steps: factors that learned an event are not those from before it.
        let setup = Setup::new(scheme, mode);
        let mut online = setup.with_steps(0);
        let mut dice = Dice::new(31);
        let scales = online.missing_parts(Axis::User).1.to_vec();
        for _ in 0..200 {
            let (before, counts) = (online.parts(), online.counts(Axis::Item).to_vec());
            let new = event(&mut dice, &online);
            online.apply(&Operation::Insert(new)).unwrap();
            online.apply(&remove(new.user, new.item)).unwrap();
            assert_restored(&online, &before);
            assert_eq!(online.counts(Axis::Item), counts);
            assert!(difference(online.missing_parts(Axis::User).1, &scales) <= 1e-9);
        }
    }
}

#[test]
fn a_removal_after_steps_restores_all_but_the_factors_of_its_rows() {
    for (scheme, mode) in [
        (live_sum(), WeightMode::Live),
        (
            Scheme::popularity(Strength::Mean(0.1), 0.4),
            WeightMode::Frozen,
        ),
    ] {
        let mut online = Setup::new(scheme, mode).online();
        let mut dice = Dice::new(32);
        for _ in 0..100 {
            let before = online.parts();
            let rows = Sides::from_fn(|axis| online.factors(axis).clone());
            let scales = online.missing_parts(Axis::User).1.to_vec();
            let new = event(&mut dice, &online);
            online.apply(&Operation::Insert(new)).unwrap();
            online.apply(&remove(new.user, new.item)).unwrap();
            assert_restored_weights(&online, &before);
            assert!(difference(online.missing_parts(Axis::User).1, &scales) <= 1e-9);
            for (axis, own) in [(Axis::User, new.user), (Axis::Item, new.item)] {
                let (now, then) = (online.factors(axis), &rows[axis]);
                for row in (0..then.rows()).filter(|&row| row != own as usize) {
                    assert_eq!(now.row(row), then.row(row));
                }
                // The rows of the event have learned and forgotten: their sums are those of what they are now.
                let fresh = caches_from_scratch(&online, axis);
                assert!(difference(online.cache_sums(axis), &fresh) <= 1e-9);
            }
        }
    }
}

#[test]
fn a_click_replaces_an_exposure_and_its_removal_restores_it() {
    let setup = Setup::new(live_sum(), WeightMode::Live);
    let mut online = setup.online();
    // (1, 11) was shown in training; another item is shown now, before and after clicks.
    let columns = online.columns(Axis::User, 1);
    let other = (0..u32::MAX).find(|item| !columns.contains(item)).unwrap();
    for (item, is_shown) in [(11, true), (other, false)] {
        let counts = online.counts(Axis::User)[1];
        let expose = |weight| Operation::Expose {
            user: 1,
            item,
            weight,
        };
        if !is_shown {
            online.apply(&expose(0.4)).unwrap();
            online.apply(&expose(0.3)).unwrap();
        }
        let shown = online.to_trained_rows();
        assert_eq!(online.counts(Axis::User)[1], counts);
        online
            .apply(&Operation::Insert(Event::new(1, item)))
            .unwrap();
        assert!(online.seen(1).any(|seen| seen == item));
        assert_eq!(online.counts(Axis::User)[1], counts + 1);
        online.apply(&expose(0.1)).unwrap();
        assert!(online.seen(1).any(|seen| seen == item));
        online.apply(&remove(1, item)).unwrap();
        assert_eq!(online.to_trained_rows(), shown);
        assert!(online.seen(1).all(|seen| seen != item));
    }
    // Shown after the click: the removal leaves the exposure.
    online.apply(&Operation::Insert(Event::new(7, 8))).unwrap();
    online
        .apply(&Operation::Expose {
            user: 7,
            item: 8,
            weight: 0.6,
        })
        .unwrap();
    while online.seen(7).any(|seen| seen == 8) {
        online.apply(&remove(7, 8)).unwrap();
    }
    let at = online.columns(Axis::User, 7).binary_search(&8).unwrap();
    let row = online.to_trained_rows();
    assert_eq!(row.by_user().row(7).c.get(at).to_bits(), 0.6_f32.to_bits());
    assert_eq!(row.by_user().row(7).r.get(at).to_bits(), 0.0_f32.to_bits());
    online.apply(&remove(7, 8)).unwrap();
    assert!(online.apply(&remove(7, 8)).is_err());
}

#[test]
fn events_of_a_pair_are_merged_by_the_rule_and_removed_by_their_time() {
    for (duplicates, values) in [
        (Duplicates::Sum, [2.0, 5.0, 6.0]),
        (Duplicates::Last, [2.0, 3.0, 1.0]),
        (Duplicates::Max, [2.0, 3.0, 3.0]),
    ] {
        let mut setup = Setup::new(Scheme::uniform(0.1), WeightMode::Frozen);
        setup.options.duplicates = duplicates;
        let mut online = setup.online();
        online
            .apply(&Operation::Add {
                axis: Axis::User,
                hash: 0,
                weights: RowWeights::Frozen,
            })
            .unwrap();
        let user = crate::setup::USERS as u32;
        let value = |online: &Online| online.to_rows().by_user().row(user as usize).r.get(0);
        for (n, expected) in values.into_iter().enumerate() {
            let event = Event::new(user, 4)
                .value([2.0, 3.0, 1.0][n])
                .time(5000 + n as i64);
            online.apply(&Operation::Insert(event)).unwrap();
            assert_eq!(
                value(&online).to_bits(),
                f32::to_bits(expected),
                "{duplicates:?}"
            );
        }
        assert_eq!(online.counts(Axis::User)[user as usize], 1);
        let at = |time| Operation::Remove {
            user,
            item: 4,
            time: Some(time),
            later: None,
        };
        assert!(online.apply(&at(4999)).is_err());
        online.apply(&at(5001)).unwrap();
        let rest = match duplicates {
            Duplicates::Sum => 3.0_f32,
            Duplicates::Last => 1.0,
            _ => 2.0,
        };
        assert_eq!(value(&online).to_bits(), rest.to_bits(), "{duplicates:?}");
        online.apply(&at(5000)).unwrap();
        online.apply(&at(5002)).unwrap();
        assert!(online.columns(Axis::User, user).is_empty());
        // A row without entries is 0 again, as if it had just been added.
        assert!(
            online
                .factors(Axis::User)
                .row(user as usize)
                .iter()
                .all(|&x| x == 0.0)
        );
    }
}

#[test]
fn one_of_several_interactions_at_the_same_time_is_removed() {
    // The value that is left after one of 2, 3 and 4 was removed, by how many were learned after it.
    for (later, expected) in [
        (None, 5.0_f32),
        (Some(0), 5.0),
        (Some(1), 6.0),
        (Some(2), 7.0),
    ] {
        let mut setup = Setup::new(Scheme::uniform(0.1), WeightMode::Frozen);
        setup.options.duplicates = Duplicates::Sum;
        let mut online = setup.online();
        let item = (0..crate::setup::ITEMS as u32)
            .find(|item| !online.columns(Axis::User, 6).contains(item))
            .unwrap();
        let meant = |time, later| Operation::Remove {
            user: 6,
            item,
            time,
            later,
        };
        for value in [2.0, 3.0, 4.0] {
            let event = Event::new(6, item).value(value).time(5000);
            online.apply(&Operation::Insert(event)).unwrap();
        }
        assert!(online.apply(&meant(Some(5000), Some(3))).is_err());
        assert!(online.apply(&meant(Some(4000), Some(1))).is_err());
        online.apply(&meant(Some(5000), later)).unwrap();
        let place = online.columns(Axis::User, 6).binary_search(&item).unwrap();
        let left = online.to_rows().by_user().row(6).r.get(place);
        assert_eq!(left.to_bits(), expected.to_bits(), "{later:?}");
    }
}

#[test]
fn an_erased_user_leaves_no_entry_and_no_factors() {
    let setup = Setup::new(live_sum(), WeightMode::Live);
    let mut online = setup.online();
    online.apply(&Operation::Insert(Event::new(3, 9))).unwrap();
    online.apply(&Operation::Insert(Event::new(3, 9))).unwrap();
    let items = online.columns(Axis::User, 3).to_vec();
    let before = online.factors(Axis::Item).clone();
    online.apply(&Operation::Erase { user: 3 }).unwrap();
    assert!(online.columns(Axis::User, 3).is_empty());
    assert_eq!(online.counts(Axis::User)[3], 0);
    assert!(online.factors(Axis::User).row(3).iter().all(|&x| x == 0.0));
    let parts = online.parts();
    assert!(parts.entries.histories.iter().all(|(user, ..)| *user != 3));
    for item in 0..online.n_rows(Axis::Item) as u32 {
        assert!(!online.columns(Axis::Item, item).contains(&3));
        let same = online.factors(Axis::Item).row(item as usize) == before.row(item as usize);
        assert_eq!(
            same,
            !items.contains(&item),
            "items that the user touched are stepped"
        );
    }
    // The row can be used again.
    online.apply(&Operation::Insert(Event::new(3, 9))).unwrap();
    assert!(online.score(3, 9) > 0.0);
}
