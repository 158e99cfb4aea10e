//! From a source that is read twice to compressed rows, without storing anything but the matrix.

use rayon::prelude::*;

use super::build::{RowGroup, row_groups};
use super::entries::{Entries, Values};
use super::error::DataError;
use super::interactions::{self, Interactions};
use crate::error::Axis;

/// Rows that several threads can compute at once, in any order and repeatedly.
pub trait RowSource: Sync {
    /// Scratch memory of one thread.
    type Scratch;

    /// Yields scratch memory.
    fn scratch(&self) -> Self::Scratch;

    /// Number of entries of a user, repeats counted: the first pass.
    fn count(&self, user: u32, scratch: &mut Self::Scratch) -> usize;

    /// Stores the items of a user, in any order, in a slice as long as was counted, and yields how
    /// many there were: the second pass.
    fn fill(&self, user: u32, scratch: &mut Self::Scratch, items: &mut [u32]) -> usize;
}

/// Yields the binary matrix of a source in two passes on all threads, holding nothing but the
/// matrix itself: 8 bytes an entry, 8 a user and 16 an item.
///
/// Repeated pairs are kept once. The result does not depend on the number of threads.
///
/// # Errors
/// Names an index out of range, or a source that changed between the passes.
pub fn from_row_source<S: RowSource>(
    source: &S,
    n_users: usize,
    n_items: usize,
) -> Result<Interactions<'static>, DataError> {
    interactions::check_shape(n_users, n_items)?;
    let mut offsets = vec![0_u64; n_users + 1];
    offsets[1..].par_iter_mut().enumerate().for_each_init(
        || source.scratch(),
        |scratch, (user, count)| *count = source.count(user as u32, scratch) as u64,
    );
    let mut total = 0;
    for end in &mut offsets {
        total += *end;
        *end = total;
    }
    let mut indices = vec![0_u32; total as usize];
    let filled: Vec<Result<bool, DataError>> = row_groups(&mut indices, &offsets)
        .into_par_iter()
        .map_init(
            || source.scratch(),
            |scratch, group| fill_group(source, scratch, group, n_items),
        )
        .collect();
    let mut repeats = false;
    for group in filled {
        repeats |= group?;
    }
    if repeats {
        offsets = keep_once(&mut indices, offsets);
    }
    Ok(binary(n_items, offsets, indices))
}

/// Fills and sorts rows, and yields whether a pair is repeated.
fn fill_group<S: RowSource>(
    source: &S,
    scratch: &mut S::Scratch,
    mut group: RowGroup<'_, u32>,
    n_items: usize,
) -> Result<bool, DataError> {
    let (mut repeats, mut start) = (false, group.ends[0]);
    for (user, row) in group.rows_mut() {
        let stored = source.fill(user as u32, scratch, row);
        if stored != row.len() {
            return Err(DataError::SourceChanged {
                first: row.len() as u64,
                second: stored as u64,
            });
        }
        if let Some(at) = row.iter().position(|&item| item as usize >= n_items) {
            return Err(DataError::OutOfRange {
                entry: start + at as u64,
                axis: Axis::Item,
                index: row[at].into(),
                count: n_items as u64,
            });
        }
        if !row.is_sorted() {
            row.sort_unstable();
        }
        repeats |= row.windows(2).any(|pair| pair[0] == pair[1]);
        start += row.len() as u64;
    }
    Ok(repeats)
}

/// Yields the matrix of sorted rows without repeats.
fn binary(n_items: usize, offsets: Vec<u64>, indices: Vec<u32>) -> Interactions<'static> {
    let by_user = Entries {
        cols: n_items,
        offsets: offsets.into(),
        indices: indices.into(),
        r: Values::Constant(1.0),
        c: Values::Constant(1.0),
    };
    Interactions::from_rows(by_user, None)
}

/// Removes repeats from sorted rows in place and yields the new offsets.
fn keep_once(indices: &mut Vec<u32>, mut offsets: Vec<u64>) -> Vec<u64> {
    let (mut kept, mut start) = (0, 0);
    for end in &mut offsets[1..] {
        let first_kept = kept;
        for at in start..*end as usize {
            if kept == first_kept || indices[kept - 1] != indices[at] {
                indices[kept] = indices[at];
                kept += 1;
            }
        }
        start = *end as usize;
        *end = kept as u64;
    }
    indices.truncate(kept);
    offsets
}
