//! From a source walked over twice to compressed rows, holding nothing but the matrix itself.

use super::build::sort_rows;
use super::entries::{Entries, Values, offsets_from_counts};
use super::error::DataError;
use super::interactions::{self, Interactions};
use crate::error::Axis;

/// Entries that can be walked over as often as needed, so that they never have to be in memory.
pub trait EntrySource {
    /// Calls `each(user, item)` for every entry; every walk must give the same entries, in any order.
    fn walk(&self, each: &mut dyn FnMut(u32, u32));
}

/// Yields the binary matrix of a source in two walks, holding nothing but the matrix itself.
///
/// Repeated pairs are kept once.
///
/// # Errors
/// Names an index out of range, or a source that changed between the walks.
pub fn from_source(
    source: &dyn EntrySource,
    n_users: usize,
    n_items: usize,
) -> Result<Interactions<'static>, DataError> {
    interactions::check_shape(n_users, n_items)?;
    let (mut counts, mut bad, mut total) = (vec![0_u64; n_users], None, 0_u64);
    source.walk(&mut |user, item| {
        let outside = if user as usize >= n_users {
            Some((Axis::User, user, n_users))
        } else {
            (item as usize >= n_items).then_some((Axis::Item, item, n_items))
        };
        if let Some((axis, index, count)) = outside {
            bad.get_or_insert(DataError::OutOfRange {
                entry: total,
                axis,
                index: index.into(),
                count: count as u64,
            });
        } else {
            counts[user as usize] += 1;
        }
        total += 1;
    });
    if let Some(error) = bad {
        return Err(error);
    }
    let offsets = offsets_from_counts(&counts);
    counts.copy_from_slice(&offsets[..n_users]);
    let mut indices = vec![0_u32; total as usize];
    let mut second = 0_u64;
    source.walk(&mut |user, item| {
        second += 1;
        if let Some(slot) = counts
            .get_mut(user as usize)
            .filter(|slot| **slot < offsets[user as usize + 1])
        {
            indices[*slot as usize] = item.min(n_items as u32 - 1);
            *slot += 1;
        }
    });
    if second != total || (0..n_users).any(|user| counts[user] != offsets[user + 1]) {
        return Err(DataError::SourceChanged {
            first: total,
            second,
        });
    }
    drop(counts);
    sort_rows(&mut indices, &offsets);
    let offsets = keep_once(&mut indices, offsets);
    let by_user = Entries {
        cols: n_items,
        offsets: offsets.into(),
        indices: indices.into(),
        r: Values::Constant(1.0),
        c: Values::Constant(1.0),
    };
    Ok(Interactions::from_rows(by_user, None))
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
