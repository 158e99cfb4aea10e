//! What goes into a matrix, what is refused, and how values are transformed.
#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::Arc;

use absentia::Axis;
use absentia::data::{
    Confidence, DataError, Duplicates, Interactions, RowSource, Storage, Targets, Triplets, Values,
    from_row_source,
};
use proptest::prelude::*;

fn targets(data: &Interactions<'_>) -> Vec<f32> {
    (0..data.len())
        .map(|at| data.by_user().targets().get(at))
        .collect()
}

fn weights(data: &Interactions<'_>) -> Vec<f32> {
    (0..data.len())
        .map(|at| data.by_user().weights().get(at))
        .collect()
}

#[test]
fn binary_data_takes_eight_bytes_an_entry() {
    let users: Vec<u32> = (0..10_000).map(|n| n / 100).collect();
    let items: Vec<u32> = (0..10_000).map(|n| n % 100).collect();
    let data = Triplets::new(&users, &items)
        .build(100, 100, Duplicates::Error)
        .unwrap();
    let offsets = 2 * 101 * 8;
    assert_eq!(data.bytes(), 8 * 10_000 + offsets);
    let same = Triplets::new(&users, &items)
        .values(&vec![3.0; 10_000])
        .build(100, 100, Duplicates::Error)
        .unwrap();
    assert_eq!(same.bytes(), data.bytes());
    let vary: Vec<f32> = (0..10_000).map(|n| n as f32).collect();
    let varying = Triplets::new(&users, &items)
        .values(&vary)
        .build(100, 100, Duplicates::Error)
        .unwrap();
    assert_eq!(varying.bytes(), 16 * 10_000 + offsets);
}

#[test]
fn repeated_pairs_follow_the_policy() {
    let (users, items) = ([0, 1, 0, 0], [0, 1, 0, 0]);
    let (values, times) = ([2.0, 1.0, 5.0, 3.0], [30, 10, 20, 10]);
    let build = |duplicates| {
        Triplets::new(&users, &items)
            .values(&values)
            .times(&times)
            .build(2, 2, duplicates)
    };
    let check = |duplicates, value: f32, time: i64| {
        let data = build(duplicates).unwrap();
        assert_eq!(targets(&data), [value, 1.0]);
        assert_eq!(data.times().unwrap(), [time, 10]);
    };
    check(Duplicates::Sum, 10.0, 30);
    // The first row is the latest.
    check(Duplicates::Last, 2.0, 30);
    check(Duplicates::Auto, 2.0, 30);
    check(Duplicates::Max, 5.0, 20);
    assert_eq!(
        build(Duplicates::Error),
        Err(DataError::Duplicate { user: 0, item: 0 })
    );
    // Events without a value count one each.
    let counted = Triplets::new(&users, &items)
        .build(2, 2, Duplicates::Sum)
        .unwrap();
    assert_eq!(targets(&counted), [3.0, 1.0]);
    let once = Triplets::new(&users, &items)
        .build(2, 2, Duplicates::Last)
        .unwrap();
    assert_eq!(once.by_user().targets(), &Values::Constant(1.0));
}

#[test]
fn what_cannot_be_taken_in_is_named() {
    let build = |users: &[u32], items: &[u32], values: &[f32], weights: &[f32]| {
        Triplets::new(users, items)
            .values(values)
            .weights(weights)
            .build(2, 3, Duplicates::Error)
            .unwrap_err()
    };
    let error = build(&[0, 2], &[0, 1], &[1.0; 2], &[1.0; 2]);
    assert_eq!(
        error,
        DataError::OutOfRange {
            entry: 1,
            axis: Axis::User,
            index: 2,
            count: 2
        }
    );
    let error = build(&[0, 1], &[7, 1], &[1.0; 2], &[1.0; 2]);
    assert_eq!(
        error,
        DataError::OutOfRange {
            entry: 0,
            axis: Axis::Item,
            index: 7,
            count: 3
        }
    );
    assert!(
        build(&[0, 1], &[0, 1], &[1.0, f32::NAN], &[1.0; 2])
            .to_string()
            .contains("entry 1: value is NaN")
    );
    assert!(
        build(&[0, 1], &[0, 1], &[1.0; 2], &[f32::INFINITY, 1.0])
            .to_string()
            .contains("entry 0: weight is inf")
    );
    assert_eq!(
        build(&[0, 1], &[0, 1], &[1.0; 2], &[1.0, -2.0]),
        DataError::NegativeWeight {
            entry: 1,
            value: -2.0
        }
    );
    let short = Triplets::new(&[0, 1], &[0, 1])
        .values(&[1.0])
        .build(2, 3, Duplicates::Error);
    assert_eq!(
        short,
        Err(DataError::Length {
            what: "values",
            expected: 2,
            got: 1
        })
    );
    let many = Triplets::new(&[], &[]).build(u32::MAX as usize + 1, 3, Duplicates::Error);
    assert_eq!(
        many,
        Err(DataError::TooMany {
            axis: Axis::User,
            count: u64::from(u32::MAX) + 1
        })
    );
}

#[test]
fn compressed_rows_are_borrowed_or_shared_without_a_copy() {
    let (offsets, indices) = (vec![0_u64, 2, 3], vec![1_u32, 2, 0]);
    let values = [1.0_f32, 2.0, 3.0];
    let borrowed = Interactions::from_csr(
        3,
        &offsets[..],
        &indices[..],
        Values::Each(Storage::Borrowed(&values)),
    )
    .unwrap();
    assert_eq!(borrowed.by_user().indices().as_ptr(), indices.as_ptr());
    assert_eq!(borrowed.by_user().offsets().as_ptr(), offsets.as_ptr());
    assert_eq!(borrowed.by_item().row(2).indices, [0]);
    assert!((borrowed.by_item().row(0).r.get(0) - 3.0).abs() < 1e-9);
    // Anything that shows a slice can be kept: a mapped file, another language's buffer.
    let owner: Arc<dyn AsRef<[u32]> + Send + Sync> = Arc::new(indices.clone());
    let at = (*owner).as_ref().as_ptr();
    let shared = Interactions::from_csr(
        3,
        offsets.clone(),
        Storage::Shared(owner),
        Values::Constant(1.0),
    )
    .unwrap();
    assert_eq!(shared.by_user().indices().as_ptr(), at);
    assert_eq!(shared.clone().into_owned().by_user().indices().as_ptr(), at);
}

#[test]
fn inconsistent_rows_are_refused() {
    let csr = |offsets: &[u64], indices: &[u32]| {
        Interactions::from_csr(3, offsets.to_vec(), indices.to_vec(), Values::Constant(1.0))
            .unwrap_err()
    };
    assert_eq!(csr(&[], &[]), DataError::Offsets { row: 0 });
    assert_eq!(csr(&[1, 2], &[0, 1]), DataError::Offsets { row: 0 });
    assert_eq!(csr(&[0, 2, 1], &[0, 1]), DataError::Offsets { row: 1 });
    assert_eq!(csr(&[0, 1], &[0, 1]), DataError::Offsets { row: 1 });
    assert_eq!(csr(&[0, u64::MAX], &[0, 1]), DataError::Offsets { row: 0 });
    assert_eq!(
        csr(&[0, 2], &[1, 1]),
        DataError::Unsorted { row: 0, entry: 1 }
    );
    assert_eq!(
        csr(&[0, 1], &[3]),
        DataError::OutOfRange {
            entry: 0,
            axis: Axis::Item,
            index: 3,
            count: 3
        }
    );
}

#[test]
fn exceptions_count_in_the_objective_and_nowhere_else() {
    let data = Triplets::new(&[0, 1], &[0, 1])
        .build(2, 3, Duplicates::Error)
        .unwrap();
    // Shown twice with different weights; shown and taken; shown once.
    let shown = data
        .with_exposed(&[0, 0, 1, 1], &[2, 2, 1, 0], &[0.5, 0.7, 9.0, 0.3])
        .unwrap();
    assert_eq!((shown.len(), shown.n_interactions()), (4, 2));
    assert_eq!(shown.by_user().row(0).indices, [0, 2]);
    assert_eq!(targets(&shown), [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(weights(&shown), [1.0, 0.7, 0.3, 1.0]);
    assert_eq!(
        (shown.user_counts(), shown.item_counts()),
        (vec![1, 1], vec![1, 1, 0])
    );
    assert_eq!(shown.seen(1).collect::<Vec<_>>(), [1]);
    let transformed = shown
        .transform(Targets::Binary, Confidence::Constant { weight: 4.0 })
        .unwrap();
    assert_eq!(weights(&transformed), [4.0, 0.7, 0.3, 4.0]);
    assert_eq!(targets(&transformed), [1.0, 0.0, 0.0, 1.0]);
    assert!(data.with_exposed(&[0], &[2], &[-1.0]).is_err());
    // Shown again: the larger weight. Seen from the items' side: still exceptions.
    let again = shown.with_exposed(&[0, 1], &[2, 0], &[0.2, 0.9]).unwrap();
    assert_eq!(weights(&again), [1.0, 0.7, 0.9, 1.0]);
    let crossed = shown.transposed();
    assert_eq!(crossed.n_interactions(), 2);
    assert_eq!(
        (crossed.user_counts(), crossed.item_counts()),
        (vec![1, 1, 0], vec![1, 1])
    );
    assert_eq!(crossed.transposed(), shown);
    let binary = crossed
        .transform(Targets::Binary, Confidence::Column)
        .unwrap();
    assert_eq!(targets(&binary), [1.0, 0.0, 1.0, 0.0]);
}

#[test]
fn transforms_follow_their_formulas() {
    let data = Triplets::new(&[0, 0, 1], &[0, 1, 1])
        .values(&[1.0, 3.0, 7.0])
        .weights(&[0.1, 0.2, 0.3])
        .times(&[0, 50, 100])
        .build(2, 2, Duplicates::Error)
        .unwrap();
    let close = |got: Vec<f32>, want: [f32; 3]| {
        assert!(
            got.iter()
                .zip(want)
                .all(|(got, want)| (got - want).abs() < 1e-6),
            "{got:?} instead of {want:?}"
        );
    };
    let r = |choice| targets(&data.transform(choice, Confidence::Column).unwrap());
    close(r(Targets::Raw), [1.0, 3.0, 7.0]);
    close(r(Targets::Binary), [1.0; 3]);
    close(r(Targets::Log), [2.0_f32.ln(), 4.0_f32.ln(), 8.0_f32.ln()]);
    // n_u = 2, 1; n_i = 1, 2.
    let raw = [2.0_f32.powf(-0.5), 2.0_f32.powf(-0.5) * 0.5, 0.5];
    let mean: f32 = raw.iter().sum::<f32>() / 3.0;
    close(
        r(Targets::Normalized {
            user: 0.5,
            item: 1.0,
        }),
        raw.map(|x| x / mean),
    );
    let c = |choice| weights(&data.transform(Targets::Raw, choice).unwrap());
    close(c(Confidence::Constant { weight: 2.0 }), [2.0; 3]);
    close(c(Confidence::Column), [0.1, 0.2, 0.3]);
    close(c(Confidence::Linear { alpha: 2.0 }), [3.0, 7.0, 15.0]);
    close(
        c(Confidence::Log {
            alpha: 1.0,
            epsilon: 1.0,
        }),
        [1.0 + 2.0_f32.ln(), 1.0 + 4.0_f32.ln(), 1.0 + 8.0_f32.ln()],
    );
    close(
        c(Confidence::Decay {
            half_life: 50.0,
            now: None,
        }),
        [0.25, 0.5, 1.0],
    );
    close(
        c(Confidence::Decay {
            half_life: 50.0,
            now: Some(150),
        }),
        [0.125, 0.25, 0.5],
    );
}

#[test]
fn transforms_that_make_no_sense_are_refused() {
    let data = Triplets::new(&[0, 1], &[0, 1])
        .values(&[-3.0, 1.0])
        .build(2, 2, Duplicates::Error)
        .unwrap();
    let error = |targets, confidence| data.transform(targets, confidence).unwrap_err().to_string();
    assert!(error(Targets::Log, Confidence::default()).contains("entry 0"));
    assert!(
        error(Targets::Raw, Confidence::Linear { alpha: 1.0 })
            .contains("entry 0: weight -2 is negative")
    );
    assert!(error(Targets::Raw, Confidence::Linear { alpha: -1.0 }).contains("alpha is -1"));
    assert!(
        error(
            Targets::Raw,
            Confidence::Decay {
                half_life: 1.0,
                now: None
            }
        )
        .contains("time")
    );
    assert!(
        error(
            Targets::Normalized {
                user: f32::NAN,
                item: 0.0
            },
            Confidence::default()
        )
        .contains("exponent")
    );
    assert!(
        error(Targets::Raw, Confidence::Constant { weight: -1.0 }).contains("confidence is -1")
    );
}

/// Makes a user's row by searching for it; a user it lies about changes between the passes.
struct Rows<'p> {
    pairs: &'p [(u32, u32)],
    lies_about: Option<u32>,
}

impl Rows<'_> {
    fn row(&self, user: u32) -> impl Iterator<Item = u32> {
        let own = self.pairs.iter().filter(move |pair| pair.0 == user);
        own.map(|pair| pair.1)
    }
}

impl RowSource for Rows<'_> {
    type Scratch = ();

    fn scratch(&self) {}

    fn count(&self, user: u32, (): &mut ()) -> usize {
        self.row(user).count() + usize::from(self.lies_about == Some(user))
    }

    fn fill(&self, user: u32, (): &mut (), items: &mut [u32]) -> usize {
        self.row(user)
            .zip(items)
            .map(|(item, slot)| *slot = item)
            .count()
    }
}

#[test]
fn a_source_of_rows_that_is_wrong_is_refused() {
    let pairs = [(0, 1), (2, 5), (2, 4)];
    let rows = |lies_about| Rows {
        pairs: &pairs,
        lies_about,
    };
    let outside = from_row_source(&rows(None), 3, 5).unwrap_err();
    assert!(
        matches!(
            outside,
            DataError::OutOfRange {
                entry: 1,
                index: 5,
                ..
            }
        ),
        "{outside}"
    );
    let changed = from_row_source(&rows(Some(1)), 3, 6).unwrap_err();
    assert_eq!(
        changed,
        DataError::SourceChanged {
            first: 1,
            second: 0
        }
    );
}

#[test]
fn rows_of_many_entries_are_built_alike_on_any_number_of_threads() {
    let pairs: Vec<(u32, u32)> = (0..200_000_u32)
        .map(|n| (n % 7, n.wrapping_mul(2_654_435_761) >> 16))
        .collect();
    let (users, items): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
    let held = Triplets::new(&users, &items)
        .build(7, 1 << 16, Duplicates::Last)
        .unwrap();
    for threads in [1, 3, 8] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let rows = Rows {
            pairs: &pairs,
            lies_about: None,
        };
        let built = pool.install(|| from_row_source(&rows, 7, 1 << 16)).unwrap();
        assert_eq!(built, held, "{threads} threads");
    }
}

proptest! {
    #[test]
    fn both_orientations_hold_the_same_entries(pairs in prop::collection::vec((0_u32..20, 0_u32..15), 0..200)) {
        let (users, items): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
        let values: Vec<f32> = (0..pairs.len()).map(|n| n as f32).collect();
        let data = Triplets::new(&users, &items).values(&values).build(20, 15, Duplicates::Last).unwrap();
        let mut last = std::collections::BTreeMap::new();
        for (n, pair) in pairs.iter().enumerate() {
            last.insert(*pair, n as f32);
        }
        prop_assert_eq!(data.len(), last.len());
        for (&(user, item), &value) in &last {
            for (rows, row, column) in [(data.by_user(), user, item), (data.by_item(), item, user)] {
                let row = rows.row(row as usize);
                let n = row.indices.binary_search(&column).unwrap();
                prop_assert!((row.r.get(n) - value).abs() < 1e-9);
            }
        }
        // Passing over a source twice gives the same pattern as holding triplets.
        let pattern = Triplets::new(&users, &items).build(20, 15, Duplicates::Last).unwrap();
        let rows = Rows { pairs: &pairs, lies_about: None };
        prop_assert_eq!(from_row_source(&rows, 20, 15).unwrap(), pattern);
    }
}
