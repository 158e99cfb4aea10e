//! Steps of an event against those of `eals-vanilla`, the objective, and the exact fold-in.

use absentia::data::{Confidence, Interactions, Targets};
use absentia::fit::{Init, Run, fit};
use absentia::model::{Factors, NewEntry, RowWeights};
use absentia::online::{Event, Online, Operation, WeightMode};
use absentia::weights::{Scheme, Strength};
use absentia::{Axis, Dense, Sides, Solver};

use crate::setup::{Dice, ITEMS, Setup, USERS, event, live_sum, params, rank_three};

/// The row after one step of Algorithm 1, the other side held fixed.
fn vanilla(
    rows: &Interactions<'_>,
    (a, b): (&Dense, &Dense),
    factors: &Sides<Dense>,
    axis: Axis,
    row: u32,
) -> Vec<f32> {
    let params = params()
        .iterations(1)
        .targets(Targets::Raw)
        .confidence(Confidence::Column)
        .solver(Solver::EalsVanilla)
        .check()
        .unwrap();
    let (rows, scheme) = match axis {
        Axis::User => (rows.clone(), Scheme::low_rank(a.clone(), b.clone())),
        Axis::Item => (rows.transposed(), Scheme::low_rank(b.clone(), a.clone())),
    };
    let run = Run {
        init: Init::Given {
            users: Factors::from(factors[axis].clone()),
            items: Factors::from(factors[axis.other()].clone()),
        },
        ..Run::default()
    };
    let model = fit(&rows, &scheme, &params, run).unwrap().model;
    model.user_factors().row(row as usize).to_vec()
}

fn factors(online: &Online) -> Sides<Dense> {
    Sides::from_fn(|axis| online.factors(axis).clone())
}

fn assert_close(found: &[f32], expected: &[f32], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: lengths");
    let size = expected.iter().fold(0.1_f32, |size, x| size.max(x.abs()));
    for (x, y) in found.iter().zip(expected) {
        assert!(
            (x - y).abs() <= 2e-4 * size,
            "{what}: {found:?} {expected:?}"
        );
    }
}

/// Applies the operations to a model that learns and to one that only records the last one; yields
/// both.
fn twins(setup: &Setup, operations: &[Operation], steps: u32) -> (Online, Online) {
    let (last, first) = operations.split_last().unwrap();
    let [mut learned, mut recorded] = [1, 1].map(|steps| setup.with_steps(steps));
    for operation in first {
        learned.apply(operation).unwrap();
        recorded.apply(operation).unwrap();
    }
    for (online, steps) in [(&mut learned, steps), (&mut recorded, 0)] {
        let mut settings = online.settings();
        settings.steps = steps;
        online.apply(&Operation::Settings(settings)).unwrap();
        online.apply(last).unwrap();
    }
    (learned, recorded)
}

/// Inserts, exposures, removals and a click on an exposed pair, on rows with other entries.
fn operations() -> Vec<Operation> {
    let mut dice = Dice::new(11);
    let setup = Setup::new(Scheme::uniform(0.1), WeightMode::Frozen);
    let mut online = setup.online();
    let mut operations = Vec::new();
    for n in 0..12 {
        let new = event(&mut dice, &online);
        let items = online.columns(Axis::User, new.user);
        let next = match n % 4 {
            0 | 1 => Operation::Insert(new),
            2 => Operation::Expose {
                user: new.user,
                item: (0..u32::MAX).find(|item| !items.contains(item)).unwrap(),
                weight: new.weight,
            },
            _ => Operation::Remove {
                user: new.user,
                item: items[0],
                time: None,
                later: None,
            },
        };
        online.apply(&next).unwrap();
        operations.push(next);
    }
    operations.push(Operation::Insert(Event::new(2, 20).value(1.3).weight(0.8)));
    operations
}

fn pair(operation: &Operation) -> (u32, u32) {
    match operation {
        Operation::Insert(event) => (event.user, event.item),
        Operation::Remove { user, item, .. } | Operation::Expose { user, item, .. } => {
            (*user, *item)
        }
        _ => unreachable!("an event"),
    }
}

#[test]
fn an_event_makes_the_steps_of_the_slow_solver_on_its_rows() {
    let setups = [
        Setup::new(
            Scheme::popularity(Strength::C0(4.0), 0.4),
            WeightMode::Frozen,
        ),
        Setup::new(rank_three(), WeightMode::Frozen),
        Setup::new(
            Scheme::popularity(Strength::Mean(0.1), 0.4),
            WeightMode::Live,
        ),
        Setup::new(live_sum(), WeightMode::Live),
    ];
    let operations = operations();
    for setup in &setups {
        for last in 1..=operations.len() {
            let steps = 1 + last as u32 % 2;
            let (learned, recorded) = twins(setup, &operations[..last], steps);
            let rows = recorded.to_trained_rows();
            assert_eq!(rows, learned.to_trained_rows());
            let weights = recorded.missing_weights().unwrap();
            let mut factors = factors(&recorded);
            let (user, item) = pair(&operations[last - 1]);
            for _ in 0..steps {
                for (axis, row) in [(Axis::User, user), (Axis::Item, item)] {
                    let step = vanilla(&rows, (weights.a(), weights.b()), &factors, axis, row);
                    factors[axis].row_mut(row as usize).copy_from_slice(&step);
                }
            }
            for (axis, row) in [(Axis::User, user), (Axis::Item, item)] {
                let found = learned.factors(axis);
                for other in 0..found.rows() {
                    if other == row as usize {
                        assert_close(found.row(other), factors[axis].row(other), "the row");
                    } else {
                        assert_eq!(found.row(other), factors[axis].row(other));
                    }
                }
            }
        }
    }
}

#[test]
fn steps_do_not_raise_the_objective_at_the_weights_after_the_event() {
    let operations = operations();
    for (scheme, mode) in [
        (rank_three(), WeightMode::Frozen),
        (live_sum(), WeightMode::Live),
    ] {
        let setup = Setup::new(scheme, mode);
        for last in 1..=operations.len() {
            for steps in [1, 3] {
                let (learned, recorded) = twins(&setup, &operations[..last], steps);
                let before = recorded.objective().unwrap().total();
                let after = learned.objective().unwrap().total();
                assert!(after <= before * (1.0 + 1e-7), "{after} from {before}");
            }
        }
    }
}

#[test]
fn the_objective_is_that_of_a_sweep_over_the_same_rows() {
    let setup = Setup::new(live_sum(), WeightMode::Live);
    let mut online = setup.online();
    for operation in operations() {
        online.apply(&operation).unwrap();
    }
    let (rows, weights) = (online.to_trained_rows(), online.missing_weights().unwrap());
    let mut total = 0.0;
    for user in 0..rows.n_users() {
        let row = rows.by_user().row(user);
        for item in 0..rows.n_items() {
            let (p, q) = (online.factors(Axis::User), online.factors(Axis::Item));
            let score: f64 = p
                .row(user)
                .iter()
                .zip(q.row(item))
                .map(|(p, q)| f64::from(*p) * f64::from(*q))
                .sum();
            total += match row.indices.iter().position(|&index| index as usize == item) {
                Some(at) => f64::from(row.c.get(at)) * (f64::from(row.r.get(at)) - score).powi(2),
                None => f64::from(weights.weight(user as u32, item as u32)) * score * score,
            };
        }
    }
    let objective = online.objective().unwrap();
    let parts = objective.observed + objective.missing;
    assert!((parts - total).abs() <= 1e-5 * total, "{parts}, {total}");
}

#[test]
fn repeated_steps_converge_to_the_exact_fold_in() {
    for (scheme, mode) in [
        (rank_three(), WeightMode::Frozen),
        (live_sum(), WeightMode::Live),
    ] {
        let setup = Setup::new(scheme, mode);
        let (learned, _) = twins(&setup, &operations(), 1000);
        let model = learned.to_model().unwrap();
        let rows = learned.to_rows();
        let entries = |entries: &absentia::data::Entries<'_>, row: u32, is_user: bool| {
            let columns = entries.row(row as usize);
            let entry = |at: usize| {
                let index = columns.indices[at];
                let (user, item) = if is_user { (row, index) } else { (index, row) };
                let position = rows.by_user().range(user as usize).start
                    + rows
                        .by_user()
                        .row(user as usize)
                        .indices
                        .binary_search(&item)
                        .unwrap();
                NewEntry {
                    index,
                    value: columns.r.get(at),
                    weight: columns.c.get(at),
                    time: None,
                    exposed: rows.is_exposed(position),
                }
            };
            (0..columns.len()).map(entry).collect::<Vec<_>>()
        };
        let fold = model.fold_in(Axis::User);
        let exact = fold
            .solve(&entries(rows.by_user(), 2, true), &RowWeights::Like(2))
            .unwrap();
        assert_close(learned.factors(Axis::User).row(2), &exact, "the user");
        let fold = model.fold_in(Axis::Item);
        let exact = fold
            .solve(&entries(rows.by_item(), 20, false), &RowWeights::Like(20))
            .unwrap();
        assert_close(learned.factors(Axis::Item).row(20), &exact, "the item");
    }
}

fn add(axis: Axis, hash: u64) -> Operation {
    Operation::Add {
        axis,
        hash,
        weights: RowWeights::Frozen,
    }
}

/// The row that is added next.
fn next(axis: Axis) -> u32 {
    match axis {
        Axis::User => USERS as u32,
        Axis::Item => ITEMS as u32,
    }
}

#[test]
fn a_new_row_is_folded_in_exactly_before_its_steps() {
    for (scheme, mode) in [
        (
            Scheme::popularity(Strength::C0(4.0), 0.4),
            WeightMode::Frozen,
        ),
        (rank_three(), WeightMode::Frozen),
        (live_sum(), WeightMode::Live),
    ] {
        let setup = Setup::new(scheme, mode);
        for axis in [Axis::User, Axis::Item] {
            let (new, known) = (next(axis), 3);
            let (user, item) = match axis {
                Axis::User => (new, known),
                Axis::Item => (known, new),
            };
            let event = Event::new(user, item).value(1.4).weight(0.6);
            let operations = [add(axis, 5), Operation::Insert(event)];
            let (learned, recorded) = twins(&setup, &operations, 1);
            let entry = NewEntry {
                value: event.value,
                weight: event.weight,
                ..NewEntry::new(known)
            };
            let model = recorded.to_model().unwrap();
            let exact = model
                .fold_in(axis)
                .solve(&[entry], &RowWeights::Like(new))
                .unwrap();
            let mut factors = factors(&recorded);
            let row = factors[axis].row_mut(new as usize);
            row.copy_from_slice(&exact);
            let (rows, weights) = (
                recorded.to_trained_rows(),
                recorded.missing_weights().unwrap(),
            );
            for (axis, row) in [(Axis::User, user), (Axis::Item, item)] {
                let step = vanilla(&rows, (weights.a(), weights.b()), &factors, axis, row);
                factors[axis].row_mut(row as usize).copy_from_slice(&step);
                let found = learned.factors(axis).row(row as usize);
                assert_close(found, &step, "a row of the event");
            }
            let (before, after) = (recorded.objective(), learned.objective());
            let (before, after) = (before.unwrap().total(), after.unwrap().total());
            assert!(after < before, "{after} from {before}");
        }
    }
}

#[test]
fn two_new_rows_start_from_the_hash_of_the_item() {
    let setup = Setup::new(
        Scheme::popularity(Strength::C0(4.0), 0.4),
        WeightMode::Frozen,
    );
    let (user, item) = (next(Axis::User), next(Axis::Item));
    let both = |hashes: (u64, u64)| {
        let operations = [
            add(Axis::User, hashes.0),
            add(Axis::Item, hashes.1),
            Operation::Insert(Event::new(user, item)),
        ];
        let (learned, recorded) = twins(&setup, &operations, 1);
        assert!(learned.score(user, item) > 0.0);
        let (before, after) = (recorded.objective(), learned.objective());
        assert!(after.unwrap().total() < before.unwrap().total());
        learned.factors(Axis::Item).row(item as usize).to_vec()
    };
    assert_eq!(both((1, 1)), both((2, 1)));
    assert_ne!(both((1, 1)), both((1, 2)));
}
