//! The state is a function of the list of operations.

use absentia::data::{Duplicates, Triplets};
use absentia::online::{Online, Operation, Settings, WeightMode};
use absentia::weights::{Learned, Presence, Scheme, Strength, TimeFactor};
use absentia::{Axis, Dense};

use crate::setup::{Dice, Setup, live_sum, operation, rank_three};

/// Every bit of the state.
fn bits(online: &Online) -> (Vec<u32>, absentia::online::OnlineParts) {
    let factors = [Axis::User, Axis::Item].map(|axis| online.factors(axis));
    let floats = factors.into_iter().flat_map(Dense::as_slice);
    (floats.map(|x| x.to_bits()).collect(), online.parts())
}

/// A list of operations with refits, rebuilds and settings among them.
fn list(setup: &Setup, length: usize) -> Vec<Operation> {
    let mut online = setup.online();
    let mut dice = Dice::new(41);
    let mut operations = Vec::new();
    for n in 0..length {
        let next = match n % 50 {
            17 => Operation::Refit { sweeps: 1 },
            33 => Operation::Rebuild,
            41 => Operation::Settings(Settings {
                steps: dice.below(3) as u32,
                weight_of_new: 1.0 + dice.unit(),
            }),
            _ => operation(&mut dice, &online),
        };
        online.apply(&next).unwrap();
        operations.push(next);
    }
    operations
}

fn replay(mut online: Online, operations: &[Operation]) -> Online {
    for operation in operations {
        online.apply(operation).unwrap();
    }
    online
}

#[test]
fn a_snapshot_at_any_cut_continues_with_the_same_bits() {
    for (scheme, mode) in [
        (live_sum(), WeightMode::Live),
        (rank_three(), WeightMode::Frozen),
        (
            Scheme::popularity(Strength::Mean(0.1), 0.4),
            WeightMode::Frozen,
        ),
    ] {
        continue_from_cuts(&Setup::new(scheme, mode), 34);
    }
}

/// A snapshot with more rows than were trained on has weights by time as columns.
#[test]
fn weights_by_time_continue_from_a_snapshot_with_or_without_their_scheme() {
    let by_time = |factor| Scheme::by_time(Strength::Mean(0.1), Presence::new(factor));
    let learned = Scheme::learned(Learned {
        rank: 2,
        rounds: 1,
        ..Learned::new(0.1)
    });
    for scheme in [
        by_time(TimeFactor::Age),
        by_time(TimeFactor::Available),
        Scheme::sum([live_sum(), by_time(TimeFactor::Age)]),
        learned,
    ] {
        let mut setup = Setup::new(scheme, WeightMode::Frozen);
        continue_from_cuts(&setup, 4);
        setup.options.scheme = None;
        continue_from_cuts(&setup, 4);
    }
}

/// Compares states that are restored at some cuts with one that goes on.
fn continue_from_cuts(setup: &Setup, cuts: usize) {
    let operations = list(setup, 120);
    let end = bits(&replay(setup.online(), &operations));
    let mut dice = Dice::new(42);
    for _ in 0..cuts {
        let cut = dice.below(operations.len() + 1);
        let (before, after) = operations.split_at(cut);
        let online = replay(setup.online(), before);
        assert_eq!(online.sequence(), cut as u64);
        let model = online.to_model().unwrap();
        let scheme = setup.options.scheme.clone();
        let restored = Online::restore(&model, scheme, online.parts()).unwrap();
        assert!(bits(&restored) == bits(&online), "cut at {cut}");
        assert!(bits(&replay(restored, after)) == end, "cut at {cut}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    same_on_any_threads(&Setup::new(live_sum(), WeightMode::Live), 150);
}

/// Sums over rows are made of several chunks here, and the rows of items of several segments.
#[test]
fn the_number_of_threads_changes_nothing_where_threads_share_sums_and_rows() {
    let users = 9_000_u32;
    let pairs = (0..users).flat_map(|user| [(user, 0), (user, 1), (user, 2 + user % 9)]);
    let (users_of, items): (Vec<u32>, Vec<u32>) = pairs.unzip();
    let values: Vec<f32> = (0..items.len()).map(|at| 1.0 + (at % 7) as f32).collect();
    let rows = Triplets::new(&users_of, &items).values(&values);
    let rows = rows.build(users as usize, 11, Duplicates::Error).unwrap();
    let rows = rows.into_owned();
    let setup = Setup::with(rows, live_sum(), WeightMode::Live, &crate::setup::params());
    same_on_any_threads(&setup, 60);
}

fn same_on_any_threads(setup: &Setup, length: usize) {
    let operations = list(setup, length);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let mut online = setup.online();
        online.set_threads(Some(threads));
        pool.install(|| bits(&replay(online, &operations)))
    };
    let one = run(1);
    assert!(run(2) == one);
    assert!(run(7) == one);
}

#[test]
fn a_refit_is_a_run_from_the_present_factors() {
    use absentia::fit::{Init, Run, fit};
    let setup = Setup::new(live_sum(), WeightMode::Live);
    let online = replay(setup.online(), &list(&setup, 30)[..17]);
    let params = crate::setup::params().iterations(3).check().unwrap();
    let model = online.to_model().unwrap();
    let run = Run {
        init: Init::Given {
            users: model.user_factors().clone(),
            items: model.item_factors().clone(),
        },
        ..Run::default()
    };
    let scheme = setup.options.scheme.as_ref().unwrap();
    let trained = fit(&online.to_rows(), scheme, &params, run).unwrap().model;
    let refitted = replay(online, &[Operation::Refit { sweeps: 3 }]);
    for (axis, factors) in [
        (Axis::User, trained.user_factors()),
        (Axis::Item, trained.item_factors()),
    ] {
        for row in 0..factors.rows() {
            assert_eq!(refitted.factors(axis).row(row), factors.row(row));
        }
    }
}

/// Two rows of zeros are a fixed point of every sweep, and a model that only records events has many of them.
#[test]
fn a_refit_learns_rows_that_are_new_on_both_sides() {
    use absentia::model::RowWeights;
    use absentia::online::Event;
    let setup = Setup::new(live_sum(), WeightMode::Live);
    let mut online = setup.with_steps(0);
    let (user, item) = (crate::setup::USERS as u32, crate::setup::ITEMS as u32);
    for (axis, hash) in [(Axis::User, 1), (Axis::Item, 2)] {
        let weights = RowWeights::Frozen;
        let add = Operation::Add {
            axis,
            hash,
            weights,
        };
        online.apply(&add).unwrap();
    }
    let event = Event::new(user, item);
    online.apply(&Operation::Insert(event)).unwrap();
    assert!(online.is_blank(Axis::User, user) && online.is_blank(Axis::Item, item));
    online.apply(&Operation::Refit { sweeps: 5 }).unwrap();
    assert!(
        online.score(user, item) > 0.1,
        "{}",
        online.score(user, item)
    );
}
