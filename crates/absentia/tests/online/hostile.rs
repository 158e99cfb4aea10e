//! Events that cannot be learned, and events that cost much.

use absentia::Axis;
use absentia::data::{Confidence, Duplicates, Interactions, Targets, Triplets};
use absentia::fit::Cancel;
use absentia::model::RowWeights;
use absentia::online::{
    Event, MAX_EVENTS, Online, OnlineError, Operation, Options, PairEvent, PairFault, Settings,
    WeightMode,
};
use absentia::weights::{Scheme, Strength};

use crate::setup::{ITEMS, Setup, USERS, caches_from_scratch, difference, live_sum, params, rows};

fn refused(online: &mut Online, operation: &Operation) -> OnlineError {
    let before = online.parts();
    let error = online.apply(operation).unwrap_err();
    assert_eq!(online.parts(), before, "{operation:?}");
    error
}

/// What is wrong with an operation on a pair.
fn fault(online: &mut Online, operation: &Operation) -> PairFault {
    match refused(online, operation) {
        OnlineError::Pair { fault, .. } => fault,
        error => panic!("{error}"),
    }
}

#[test]
fn what_cannot_be_learned_is_refused_and_changes_nothing() {
    let setup = Setup::new(live_sum(), WeightMode::Live);
    let mut online = setup.online();
    let event = Event::new(1, 2);
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let found = fault(&mut online, &Operation::Insert(event.value(value)));
        assert!(matches!(found, PairFault::NotFinite { what: "value", .. }));
        let found = fault(&mut online, &Operation::Insert(event.weight(value)));
        assert!(matches!(found, PairFault::NotFinite { what: "weight", .. }));
        let expose = Operation::Expose {
            user: 1,
            item: 2,
            weight: value,
        };
        refused(&mut online, &expose);
    }
    let found = fault(&mut online, &Operation::Insert(event.weight(-1.0)));
    assert_eq!(found, PairFault::NegativeWeight { got: -1.0 });
    let expose = Operation::Expose {
        user: 1,
        item: 2,
        weight: -0.1,
    };
    let found = fault(&mut online, &expose);
    assert_eq!(found, PairFault::NegativeWeight { got: -0.1 });
    let (user, item) = (
        online.n_rows(Axis::User) as u32,
        online.n_rows(Axis::Item) as u32,
    );
    for unknown in [
        Event::new(user, 0),
        Event::new(0, item),
        Event::new(u32::MAX, u32::MAX),
    ] {
        let error = refused(&mut online, &Operation::Insert(unknown));
        assert!(matches!(error, OnlineError::Unknown { .. }), "{error}");
    }
    refused(&mut online, &Operation::Erase { user });
    let nothing = Operation::Remove {
        user: 1,
        item: 2,
        time: Some(3),
        later: None,
    };
    let found = fault(&mut online, &nothing);
    assert_eq!(found, PairFault::NoEvent { time: Some(3) });
    for settings in [
        Settings {
            steps: 1001,
            ..Settings::default()
        },
        Settings {
            weight_of_new: f32::NAN,
            ..Settings::default()
        },
        Settings {
            weight_of_new: -1.0,
            ..Settings::default()
        },
    ] {
        let error = refused(&mut online, &Operation::Settings(settings));
        assert!(matches!(error, OnlineError::Setting { .. }));
    }
    refused(&mut online, &Operation::Refit { sweeps: 0 });
    for weights in [
        RowWeights::Given(vec![1.0]),
        RowWeights::Like(99),
        RowWeights::Given(vec![f32::NAN; 3]),
    ] {
        let add = Operation::Add {
            axis: Axis::User,
            hash: 0,
            weights,
        };
        refused(&mut online, &add);
    }
}

#[test]
fn values_whose_sum_or_target_is_not_finite_are_refused() {
    let setup = Setup::new(Scheme::uniform(0.1), WeightMode::Frozen);
    let mut online = setup.online();
    let large = Operation::Insert(Event::new(1, 2).value(3e38));
    online.apply(&large).unwrap();
    refused(&mut online, &large);
    let params = params()
        .targets(Targets::Log)
        .confidence(Confidence::default());
    let setup = Setup::with(rows(), Scheme::uniform(0.1), WeightMode::Frozen, &params);
    let mut online = setup.online();
    let negative = Operation::Insert(Event::new(1, 2).value(-2.0));
    let found = fault(&mut online, &negative);
    let is_target =
        |fault| matches!(fault, PairFault::Value { what: "target", value, .. } if value < 0.0);
    assert!(is_target(found), "{found}");
}

#[test]
fn a_second_interaction_of_a_pair_is_refused_where_the_rule_rejects_it() {
    let mut setup = Setup::new(Scheme::uniform(0.1), WeightMode::Frozen);
    setup.options.duplicates = Duplicates::Error;
    let mut online = setup.online();
    let item = online.columns(Axis::User, 4)[0];
    let again = Operation::Insert(Event::new(4, item));
    assert_eq!(fault(&mut online, &again), PairFault::Repeated);
}

#[test]
fn times_from_the_future_have_the_weight_of_now() {
    let decay = Confidence::Decay {
        half_life: 100.0,
        now: None,
    };
    let params = params().confidence(decay);
    let setup = Setup::with(rows(), Scheme::uniform(0.1), WeightMode::Frozen, &params);
    let mut online = setup.online();
    for (item, time, expected) in [(2, i64::MAX, 1.0), (13, i64::MIN, 0.0)] {
        while online.seen(1).any(|seen| seen == item) {
            let remove = Operation::Remove {
                user: 1,
                item,
                time: None,
                later: None,
            };
            online.apply(&remove).unwrap();
        }
        online
            .apply(&Operation::Insert(Event::new(1, item).time(time)))
            .unwrap();
        let rows = online.to_trained_rows();
        let at = online.columns(Axis::User, 1).binary_search(&item).unwrap();
        assert_eq!(
            rows.by_user().row(1).c.get(at).to_bits(),
            f32::to_bits(expected)
        );
    }
}

#[test]
fn many_events_on_one_pair_keep_a_bounded_history() {
    keep_a_bounded_history(5_000, 0);
}

#[test]
#[ignore = "takes minutes"]
fn a_million_events_on_one_pair_keep_a_bounded_history() {
    keep_a_bounded_history(1_000_000, 1);
}

fn keep_a_bounded_history(events: u32, steps: u32) {
    let mut setup = Setup::new(
        Scheme::popularity(Strength::Mean(0.1), 0.4),
        WeightMode::Live,
    );
    setup.options.settings.steps = steps;
    let mut online = setup.online();
    let before = online.to_rows();
    let at = before.by_user().row(4).indices[0];
    let value = before.by_user().row(4).r.get(0);
    let bytes = online.bytes();
    for _ in 0..events {
        online.apply(&Operation::Insert(Event::new(4, at))).unwrap();
    }
    assert_eq!(online.counts(Axis::User)[4], before.user_counts()[4]);
    let now = online.to_rows().by_user().row(4).r.get(0);
    assert!((now - value - events as f32).abs() < 1.0, "{now}");
    let history = (2 * MAX_EVENTS * size_of::<PairEvent>()) as u64;
    assert!(online.bytes() <= bytes + history + 1024);
    assert!(online.objective().unwrap().total().is_finite());
    let parts = online.parts();
    assert_eq!(parts.entries.histories.len(), 1);
    assert_eq!(parts.entries.histories[0].2.events.len(), MAX_EVENTS);
}

#[test]
fn a_user_with_every_item_can_still_learn() {
    let setup = Setup::new(live_sum(), WeightMode::Live);
    let mut online = setup.online();
    for item in 0..3_000_u32 {
        if item as usize >= online.n_rows(Axis::Item) {
            let add = Operation::Add {
                axis: Axis::Item,
                hash: item.into(),
                weights: RowWeights::Frozen,
            };
            online.apply(&add).unwrap();
        }
        online
            .apply(&Operation::Insert(Event::new(6, item)))
            .unwrap();
    }
    assert_eq!(online.columns(Axis::User, 6).len(), 3_000);
    assert!(
        online
            .factors(Axis::User)
            .row(6)
            .iter()
            .all(|x| x.is_finite())
    );
    assert!(online.objective().unwrap().total().is_finite());
}

/// Entries of a row of a million items are learned by a few events: each costs what the row costs, and no
/// more. Erasing the user steps every item once.
#[test]
#[ignore = "takes minutes"]
fn a_user_with_a_million_items_is_learned_and_erased() {
    let items = 1_000_000_u32;
    let setup = Setup::new(Scheme::uniform(0.1), WeightMode::Frozen);
    let mut online = setup.with_steps(0);
    let bytes = online.bytes();
    // Values that vary late: what looks for the first that differs looks at half of the row.
    let value = |item: u32| if item < items / 2 { 1.0 } else { 2.0 };
    for item in 0..items {
        if item as usize >= online.n_rows(Axis::Item) {
            let add = Operation::Add {
                axis: Axis::Item,
                hash: item.into(),
                weights: RowWeights::Frozen,
            };
            online.apply(&add).unwrap();
        }
        online
            .apply(&Operation::Insert(Event::new(6, item).value(value(item))))
            .unwrap();
    }
    // Each item is a row of its own: its factors and what holds its entry, and no more than that.
    let row = u64::from(items) * (4 * 32 + 256);
    assert!(online.bytes() <= bytes + row, "{}", online.bytes());
    let settings = Settings::default();
    online.apply(&Operation::Settings(settings)).unwrap();
    for user in 0..20 {
        let event = Event::new(user, items - 1 - user);
        online.apply(&Operation::Insert(event)).unwrap();
        online
            .apply(&Operation::Insert(Event::new(6, user)))
            .unwrap();
    }
    assert_eq!(online.columns(Axis::User, 6).len(), items as usize);
    assert!(
        online
            .factors(Axis::User)
            .row(6)
            .iter()
            .all(|x| x.is_finite())
    );
    online.apply(&Operation::Erase { user: 6 }).unwrap();
    assert!(online.columns(Axis::User, 6).is_empty());
    for axis in [Axis::User, Axis::Item] {
        let off = difference(online.cache_sums(axis), &caches_from_scratch(&online, axis));
        assert!(off <= 1e-9, "{off}");
    }
}

#[test]
fn rows_that_cannot_be_those_of_the_model_are_refused() {
    let setup = Setup::new(Scheme::uniform(0.1), WeightMode::Frozen);
    let start = |rows: &Interactions<'_>| Online::new(&setup.model, rows, Options::default());
    assert!(start(&setup.rows).is_ok());
    let (mut users, mut items) = (Vec::new(), Vec::new());
    for user in 0..USERS as u32 {
        for item in setup.rows.seen(user) {
            users.push(user);
            items.push(item);
        }
    }
    let built = |users: &[u32], items: &[u32], shape: (usize, usize)| {
        let rows = Triplets::new(users, items).build(shape.0, shape.1, Duplicates::Sum);
        start(&rows.unwrap()).unwrap_err()
    };
    let error = built(&users, &items, (USERS, ITEMS + 1));
    assert!(matches!(
        error,
        OnlineError::OtherRows { what: "items", .. }
    ));
    let last = users.len() - 1;
    let error = built(&users[..last], &items[..last], (USERS, ITEMS));
    let expected = setup.rows.user_counts()[USERS - 1];
    let found = OnlineError::OtherCounts {
        axis: Axis::User,
        row: USERS as u32 - 1,
        expected,
        got: expected - 1,
    };
    assert_eq!(error, found);
    // The same counts of users, and other items.
    let other = (0..ITEMS as u32).find(|&item| !setup.rows.seen(users[last]).any(|i| i == item));
    items[last] = other.unwrap();
    let error = built(&users, &items, (USERS, ITEMS));
    assert!(
        matches!(
            error,
            OnlineError::OtherCounts {
                axis: Axis::Item,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn rows_of_other_times_are_refused_where_weights_decay() {
    let decay = Confidence::Decay {
        half_life: 100.0,
        now: None,
    };
    let params = params().confidence(decay);
    let setup = Setup::with(rows(), Scheme::uniform(0.1), WeightMode::Frozen, &params);
    let (mut users, mut items) = (Vec::new(), Vec::new());
    for user in 0..USERS as u32 {
        for item in setup.rows.seen(user) {
            users.push(user);
            items.push(item);
        }
    }
    let times: Vec<i64> = users.iter().map(|_| 7).collect();
    let rows = Triplets::new(&users, &items).times(&times);
    let rows = rows.build(USERS, ITEMS, Duplicates::Error).unwrap();
    let error = Online::new(&setup.model, &rows, Options::default()).unwrap_err();
    assert!(
        matches!(error, OnlineError::OtherTimes { got: 7, .. }),
        "{error}"
    );
}

#[test]
fn a_refit_that_is_cancelled_changes_nothing() {
    let setup = Setup::new(live_sum(), WeightMode::Live);
    let mut online = setup.online();
    online.apply(&Operation::Insert(Event::new(1, 2))).unwrap();
    let (parts, factors) = (online.parts(), online.factors(Axis::User).clone());
    let cancel = Cancel::new();
    cancel.cancel();
    let refit = Operation::Refit { sweeps: 3 };
    let error = online.apply_unless(&refit, &cancel).unwrap_err();
    assert_eq!(error, OnlineError::Cancelled);
    assert_eq!(online.parts(), parts);
    assert_eq!(online.factors(Axis::User).as_slice(), factors.as_slice());
    assert!(online.apply(&refit).is_ok());
}
