//! Splits and filters as properties, against naive versions of themselves.
#![allow(clippy::unwrap_used)]

use std::collections::{HashMap, HashSet};

use absentia::Axis;
use absentia::data::{Core, DataError, EventLog, Part, Pick, Split, SplitReport};
use proptest::prelude::*;

/// User, item, time, value.
type Row = (u32, u32, i64, u8);

fn log(rows: &[Row]) -> EventLog {
    let users = rows.iter().map(|row| row.0).collect();
    let items = rows.iter().map(|row| row.1).collect();
    EventLog::new(users, items)
        .unwrap()
        .times(rows.iter().map(|row| row.2).collect())
        .unwrap()
        .values(rows.iter().map(|row| f32::from(row.3)).collect())
        .unwrap()
}

/// Rows with distinct pairs and times that collide often.
fn rows() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec((0..15_u32, 0..25_u32, 0..6_i64, 0..3_u8), 0..200).prop_map(|rows| {
        let mut pairs = HashSet::new();
        let fresh = |row: &Row| pairs.insert((row.0, row.1));
        rows.into_iter().filter(fresh).collect()
    })
}

fn pick() -> impl Strategy<Value = Pick> {
    prop_oneof![Just(Pick::Latest), Just(Pick::Random), Just(Pick::Drift)]
}

fn splits() -> impl Strategy<Value = Split> {
    prop_oneof![
        (0..3_usize, 0..3_usize, pick()).prop_map(|(test, valid, pick)| Split::HoldOut {
            test,
            valid,
            pick
        }),
        (0.0..0.6_f64, 0.0..0.4_f64, pick()).prop_map(|(test, valid, pick)| Split::Ratio {
            test,
            valid,
            pick
        }),
        (0.0..0.9_f64, pick()).prop_map(|(test, pick)| Split::Share { test, pick }),
        (0..6_i64, prop::option::of(0..6_i64)).prop_map(|(test_from, valid_from)| {
            Split::TimeCut {
                test_from,
                valid_from,
            }
        }),
        (0.0..0.5_f64, 0.0..0.5_f64).prop_map(|(test, valid)| Split::TimeShare { test, valid }),
        (0..3_usize, 0..3_usize, 0.0..1.0_f64, pick()).prop_map(|(test, valid, fold_in, pick)| {
            Split::HeldOutUsers {
                test,
                valid,
                fold_in,
                pick,
            }
        }),
        (any::<bool>(), 0.0..0.6_f64, 0.0..0.4_f64).prop_map(|(items, test, valid)| Split::Cold {
            axis: if items { Axis::Item } else { Axis::User },
            test,
            valid,
        }),
    ]
}

/// Part counts `[train, valid, test, fold-in]` of each user.
fn by_user(rows: &[Row], parts: &[Part]) -> HashMap<u32, [usize; 4]> {
    let mut counts: HashMap<u32, [usize; 4]> = HashMap::new();
    for (row, part) in rows.iter().zip(parts) {
        counts.entry(row.0).or_default()[*part as usize] += 1;
    }
    counts
}

/// What the split promises to one user.
fn promise_held(split: &Split, [train, valid, test, fold_in]: [usize; 4]) -> bool {
    let n = train + valid + test + fold_in;
    match *split {
        Split::HoldOut {
            test: t, valid: v, ..
        } => {
            let held = if t + v < n { (t, v, 0) } else { (0, 0, 0) };
            (test, valid, fold_in) == held
        }
        Split::Ratio { test: t, .. } => {
            let near = test == 0 || (test as f64 - t * n as f64).abs() <= 0.5;
            train >= 1 && fold_in == 0 && near
        }
        Split::Share { test: t, .. } => {
            // One row is kept to be trained on.
            let wanted = ((t * n as f64).round() as usize).max(1);
            (test, valid, fold_in) == (wanted.min(n - 1), 0, 0)
        }
        Split::Cold {
            axis: Axis::User, ..
        } => fold_in == 0 && [train, valid, test].contains(&n),
        Split::TimeCut { .. } | Split::TimeShare { .. } | Split::Cold { .. } => fold_in == 0,
        Split::HeldOutUsers { .. } if train > 0 => valid + test + fold_in == 0,
        Split::HeldOutUsers { .. } => (valid > 0) != (test > 0) && fold_in > 0,
    }
}

proptest! {
    #[test]
    fn the_order_of_the_rows_does_not_change_a_split(
        rows in rows(), split in splits(), seed in 0..50_u64, turn in 0..200_usize,
    ) {
        let mut moved = rows.clone();
        moved.reverse();
        moved.rotate_left(turn % rows.len().max(1));
        match (log(&rows).split(&split, seed), log(&moved).split(&split, seed)) {
            (Ok(a), Ok(b)) => {
                let a: HashSet<_> = rows.iter().zip(a).collect();
                let b: HashSet<_> = moved.iter().zip(b).collect();
                prop_assert_eq!(a, b);
            }
            (a, b) => prop_assert_eq!(a, b),
        }
    }

    #[test]
    fn every_user_gets_what_the_split_promises(
        rows in rows(), split in splits(), seed in 0..50_u64,
    ) {
        let Ok(parts) = log(&rows).split(&split, seed) else {
            let held_out = matches!(split, Split::HeldOutUsers { .. });
            prop_assert!(held_out);
            return Ok(());
        };
        let users = by_user(&rows, &parts);
        for (user, counts) in &users {
            prop_assert!(promise_held(&split, *counts), "user {user}: {counts:?}");
        }
        if let Split::HeldOutUsers { test, valid, .. } = split {
            prop_assert_eq!(users.values().filter(|parts| parts[2] > 0).count(), test);
            prop_assert_eq!(users.values().filter(|parts| parts[1] > 0).count(), valid);
        }
        let report = SplitReport::of(&parts);
        let total = report.train + report.valid + report.test + report.fold_in;
        prop_assert_eq!(total, rows.len());
    }

    #[test]
    fn the_latest_is_held_out_by_time_then_value_then_item(rows in rows()) {
        let parts = log(&rows).split(&Split::leave_one_out(Pick::Latest, true), 0).unwrap();
        let key = |row: &Row| (row.2, row.3, row.1);
        let place = |part: Part| match part { Part::Test => 2, Part::Valid => 1, _ => 0 };
        for (a, part_a) in rows.iter().zip(&parts) {
            for (b, part_b) in rows.iter().zip(&parts) {
                if a.0 == b.0 && place(*part_a) > place(*part_b) {
                    prop_assert!(key(a) > key(b));
                }
            }
        }
    }

    #[test]
    fn the_core_is_the_one_found_by_repeated_filtering(
        rows in prop::collection::vec((0..15_u32, 0..20_u32), 0..150),
        user in 0..6_u32, item in 0..6_u32,
    ) {
        let mut left = rows.clone();
        loop {
            let users = |u: u32| left.iter().filter(|row| row.0 == u).count() as u32;
            let items = |i: u32| left.iter().filter(|row| row.1 == i).count() as u32;
            let rich = |row: &(u32, u32)| users(row.0) >= user && items(row.1) >= item;
            let kept: Vec<_> = left.iter().copied().filter(rich).collect();
            if kept.len() == left.len() {
                break;
            }
            left = kept;
        }
        let (users, items) = rows.iter().copied().unzip();
        let mut log = EventLog::new(users, items).unwrap();
        let report = log.keep_core(Core { user, item });
        let got: Vec<_> = log.user().iter().copied().zip(log.item().iter().copied()).collect();
        prop_assert_eq!((report.before, report.after), (rows.len(), left.len()));
        prop_assert_eq!(got, left);
    }
}

#[test]
fn another_seed_is_another_split() {
    let rows: Vec<Row> = (0..400).map(|at| (at % 20, at / 20, 0, 0)).collect();
    let random = Split::leave_one_out(Pick::Random, false);
    let split = |seed| log(&rows).split(&random, seed).unwrap();
    assert_eq!(split(1), split(1));
    assert_ne!(split(1), split(2));
}

#[test]
fn a_split_by_time_holds_out_the_latest_and_counts_what_is_unknown() {
    // Times rise with the row; from row 16 on there are a new user and a new item.
    let rows: Vec<Row> = (0..20)
        .map(|at| {
            (
                if at == 17 { 9 } else { at % 3 },
                if at == 18 { 9 } else { at % 4 },
                at as i64,
                0,
            )
        })
        .collect();
    let split = |test, valid| {
        let rule = Split::TimeShare { test, valid };
        assert!(rule.is_by_time());
        log(&rows).split(&rule, 0).unwrap()
    };
    let parts = split(0.2, 0.1);
    let expected = |at: usize| match at {
        16.. => Part::Test,
        14..16 => Part::Valid,
        _ => Part::Train,
    };
    assert!((0..20).all(|at| parts[at] == expected(at)), "{parts:?}");
    let (known, unknown) = log(&rows).known(&parts);
    assert_eq!(
        (unknown.of, unknown.rows, unknown.users, unknown.items),
        (6, 2, 1, 1)
    );
    assert!(!known[17] && !known[18] && known[16] && known[19]);
    assert!(split(0.0, 0.0).iter().all(|part| *part == Part::Train));
    assert!(split(1.0, 0.0).iter().all(|part| *part == Part::Test));
    let refused = log(&rows).split(
        &Split::TimeShare {
            test: 0.7,
            valid: 0.4,
        },
        0,
    );
    assert!(matches!(refused, Err(DataError::Parameter { .. })));
}

#[test]
fn splits_that_cannot_be_made_are_refused() {
    let rows = EventLog::new(vec![0, 0, 1], vec![0, 1, 0]).unwrap();
    let cut = Split::TimeCut {
        test_from: 0,
        valid_from: None,
    };
    for timed in [Split::leave_one_out(Pick::Latest, false), cut] {
        let refused = rows.split(&timed, 0);
        assert!(matches!(refused, Err(DataError::Lacks { .. })));
    }
    let ratio = Split::Ratio {
        test: 0.7,
        valid: 0.4,
        pick: Pick::Random,
    };
    let crowd = Split::HeldOutUsers {
        test: 2,
        valid: 0,
        fold_in: 0.8,
        pick: Pick::Random,
    };
    for unreachable in [ratio, crowd] {
        let refused = rows.split(&unreachable, 0);
        assert!(matches!(refused, Err(DataError::Parameter { .. })));
    }
}
