//! From triplets to compressed rows.

use rayon::prelude::*;

use super::entries::{Entries, Values, offsets_from_counts};
use super::error::DataError;
use super::interactions::{self, Interactions};
use super::repeats::{Duplicates, MergedRow, Merging, RowColumns};
use crate::error::Axis;

/// Observed entries as parallel columns, in any order.
///
/// ```
/// use absentia::data::{Duplicates, Triplets};
///
/// let data = Triplets::new(&[0, 0, 1], &[2, 0, 1]).build(2, 3, Duplicates::Error)?;
/// assert_eq!(data.by_user().row(0).indices, [0, 2]);
/// assert_eq!(data.by_item().row(1).indices, [1]);
/// # Ok::<(), absentia::data::DataError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Triplets<'t> {
    users: &'t [u32],
    items: &'t [u32],
    values: Option<&'t [f32]>,
    weights: Option<&'t [f32]>,
    times: Option<&'t [i64]>,
}

impl<'t> Triplets<'t> {
    /// Takes user and item of each entry; values and weights are 1 until given.
    #[must_use]
    pub fn new(users: &'t [u32], items: &'t [u32]) -> Self {
        Self {
            users,
            items,
            values: None,
            weights: None,
            times: None,
        }
    }

    /// Takes the value of each entry.
    #[must_use]
    pub fn values(mut self, values: &'t [f32]) -> Self {
        self.values = Some(values);
        self
    }

    /// Takes the weight `c_ui` of each entry.
    #[must_use]
    pub fn weights(mut self, weights: &'t [f32]) -> Self {
        self.weights = Some(weights);
        self
    }

    /// Takes the time of each entry, in any unit.
    #[must_use]
    pub fn times(mut self, times: &'t [i64]) -> Self {
        self.times = Some(times);
        self
    }

    /// Yields the matrix and its transpose.
    ///
    /// # Errors
    /// Names the first entry that is out of range, not finite, negatively weighted or, under
    /// [`Duplicates::Error`], repeated.
    pub fn build(
        self,
        n_users: usize,
        n_items: usize,
        duplicates: Duplicates,
    ) -> Result<Interactions<'static>, DataError> {
        self.check(n_users, n_items)?;
        let (offsets, mut keys) = self.bucket_by_user(n_users);
        sort_rows(&mut keys, &offsets);
        let merged = self.merge(&offsets, &keys, duplicates)?;
        drop(keys);
        let by_user = Entries {
            cols: n_items,
            offsets: merged.offsets.into(),
            indices: merged.indices.into(),
            r: Values::from_vec(merged.values),
            c: Values::from_vec(merged.weights),
        };
        Ok(Interactions::from_rows(by_user, merged.times))
    }

    fn check(&self, n_users: usize, n_items: usize) -> Result<(), DataError> {
        let len = self.users.len();
        check_len("items", len, Some(self.items.len()))?;
        check_len("values", len, self.values.map(<[f32]>::len))?;
        check_len("weights", len, self.weights.map(<[f32]>::len))?;
        check_len("times", len, self.times.map(<[i64]>::len))?;
        if len > u32::MAX as usize {
            return Err(DataError::TooManyTriplets { count: len as u64 });
        }
        interactions::check_shape(n_users, n_items)?;
        check_indices(Axis::User, self.users, n_users)?;
        check_indices(Axis::Item, self.items, n_items)?;
        interactions::check_values(self.values.unwrap_or_default())?;
        interactions::check_weights(self.weights.unwrap_or_default())
    }

    /// Yields row offsets and, by row, `(item, position in the input)`.
    fn bucket_by_user(&self, n_users: usize) -> (Vec<u64>, Vec<(u32, u32)>) {
        let mut counts = vec![0_u64; n_users];
        for &user in self.users {
            counts[user as usize] += 1;
        }
        let offsets = offsets_from_counts(&counts);
        let mut next = counts;
        next.copy_from_slice(&offsets[..n_users]);
        let mut keys = vec![(0, 0); self.users.len()];
        for (position, (&user, &item)) in self.users.iter().zip(self.items).enumerate() {
            let slot = &mut next[user as usize];
            keys[*slot as usize] = (item, position as u32);
            *slot += 1;
        }
        (offsets, keys)
    }

    /// Merges equal neighbours of sorted rows.
    fn merge(
        &self,
        offsets: &[u64],
        keys: &[(u32, u32)],
        duplicates: Duplicates,
    ) -> Result<Merged, DataError> {
        let columns = self.columns();
        let merging = columns.merging(duplicates);
        let counting = merging == Merging::Count && has_repeats(offsets, keys);
        let mut merged = Merged::with_capacity(offsets.len(), keys.len(), self, counting);
        let mut positions = Vec::new();
        for (user, ends) in offsets.windows(2).enumerate() {
            let row = &keys[ends[0] as usize..ends[1] as usize];
            for group in row.chunk_by(|left, right| left.0 == right.0) {
                if group.len() > 1 && merging == Merging::Reject {
                    return Err(DataError::Duplicate {
                        user: user as u32,
                        item: group[0].0,
                    });
                }
                positions.clear();
                positions.extend(group.iter().map(|&(_, position)| position));
                merged.push(group[0].0, &columns.merge(&positions, merging)?);
            }
            merged.offsets.push(merged.indices.len() as u64);
        }
        Ok(merged)
    }

    fn columns(&self) -> RowColumns<'t> {
        RowColumns {
            values: self.values,
            weights: self.weights,
            times: self.times,
        }
    }
}

/// Rows after merging; a column that the input lacks stays empty.
struct Merged {
    offsets: Vec<u64>,
    indices: Vec<u32>,
    values: Vec<f32>,
    weights: Vec<f32>,
    times: Option<Vec<i64>>,
    has_values: bool,
    has_weights: bool,
}

impl Merged {
    fn with_capacity(rows: usize, len: usize, from: &Triplets<'_>, counting: bool) -> Self {
        let has_values = from.values.is_some() || counting;
        let has_weights = from.weights.is_some();
        let mut offsets = Vec::with_capacity(rows);
        offsets.push(0);
        Self {
            offsets,
            indices: Vec::with_capacity(len),
            values: Vec::with_capacity(if has_values { len } else { 0 }),
            weights: Vec::with_capacity(if has_weights { len } else { 0 }),
            times: from.times.map(|_| Vec::with_capacity(len)),
            has_values,
            has_weights,
        }
    }

    fn push(&mut self, item: u32, row: &MergedRow) {
        self.indices.push(item);
        if self.has_values {
            self.values.push(row.value);
        }
        if self.has_weights {
            self.weights.push(row.weight);
        }
        if let Some(times) = &mut self.times {
            times.push(row.time);
        }
    }
}

/// Whole rows that are worked on together.
pub(super) struct RowGroup<'g, T> {
    /// Number of the first row.
    pub(super) first: usize,
    /// Where the rows start and the last one ends, counted over the whole matrix.
    pub(super) ends: &'g [u64],
    entries: &'g mut [T],
}

impl<T> RowGroup<'_, T> {
    /// Yields each row with its number.
    pub(super) fn rows_mut(&mut self) -> impl Iterator<Item = (usize, &mut [T])> {
        let mut rest = &mut *self.entries;
        let first = self.first;
        self.ends.windows(2).enumerate().map(move |(at, ends)| {
            let (row, tail) = std::mem::take(&mut rest).split_at_mut((ends[1] - ends[0]) as usize);
            rest = tail;
            (first + at, row)
        })
    }
}

/// Yields the rows in groups of about as many entries, so that threads share the work evenly.
pub(super) fn row_groups<'g, T>(entries: &'g mut [T], offsets: &'g [u64]) -> Vec<RowGroup<'g, T>> {
    const GROUP: u64 = 1 << 16;
    let mut groups = Vec::new();
    let (mut rest, mut first) = (entries, 0);
    for row in 1..offsets.len() {
        if offsets[row] - offsets[first] >= GROUP || row + 1 == offsets.len() {
            let (entries, tail) = rest.split_at_mut((offsets[row] - offsets[first]) as usize);
            groups.push(RowGroup {
                first,
                ends: &offsets[first..=row],
                entries,
            });
            (rest, first) = (tail, row);
        }
    }
    groups
}

/// Sorts each row.
pub(super) fn sort_rows<T: Ord + Send>(keys: &mut [T], offsets: &[u64]) {
    row_groups(keys, offsets)
        .into_par_iter()
        .for_each(|mut group| {
            for (_, row) in group.rows_mut() {
                if !row.is_sorted() {
                    row.sort_unstable();
                }
            }
        });
}

fn has_repeats(offsets: &[u64], keys: &[(u32, u32)]) -> bool {
    offsets.windows(2).any(|ends| {
        keys[ends[0] as usize..ends[1] as usize]
            .windows(2)
            .any(|pair| pair[0].0 == pair[1].0)
    })
}

fn check_len(what: &'static str, expected: usize, got: Option<usize>) -> Result<(), DataError> {
    match got {
        Some(got) if got != expected => Err(DataError::Length {
            what,
            expected,
            got,
        }),
        _ => Ok(()),
    }
}

fn check_indices(axis: Axis, indices: &[u32], count: usize) -> Result<(), DataError> {
    match indices.iter().position(|&index| index as usize >= count) {
        Some(entry) => Err(DataError::OutOfRange {
            entry: entry as u64,
            axis,
            index: indices[entry].into(),
            count: count as u64,
        }),
        None => Ok(()),
    }
}
