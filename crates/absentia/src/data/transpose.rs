//! The transposed matrix by counting: no sort, and no memory besides the result but a number per column.

use std::ops::Range;

use rayon::prelude::*;

use super::entries::{Entries, Values, offsets_from_counts};

/// Most parts that are counted apart, each with a number per column.
const COUNTED_APART: usize = 8;

impl Entries<'_> {
    /// Yields the transposed matrix: one pass over the entries to count, one to store.
    #[must_use]
    pub fn transposed(&self) -> Entries<'static> {
        let offsets = offsets_from_counts(&count_columns(&self.indices, self.cols));
        Entries {
            cols: self.rows(),
            indices: self.scatter(&offsets, |row, _| row as u32).into(),
            r: self.moved_to_transpose(&self.r, &offsets),
            c: self.moved_to_transpose(&self.c, &offsets),
            offsets: offsets.into(),
        }
    }

    /// Yields `values`, given in this matrix's order, in the order of the transpose, whose row
    /// offsets are `offsets`.
    pub(super) fn moved_to_transpose(
        &self,
        values: &Values<'_>,
        offsets: &[u64],
    ) -> Values<'static> {
        match values {
            Values::Constant(value) => Values::Constant(*value),
            Values::Each(each) => Values::Each(self.move_each(each, offsets).into()),
        }
    }

    /// The same for anything that goes with the entries.
    pub(super) fn move_each<T: Copy + Default + Send + Sync>(
        &self,
        each: &[T],
        offsets: &[u64],
    ) -> Vec<T> {
        self.scatter(offsets, |_, at| each[at])
    }

    /// Yields `value(row, position)` of every entry in the order of the transpose.
    ///
    /// Threads share out the columns, so that each writes to a part of its own; the result is one
    /// and the same however they do.
    fn scatter<T: Copy + Default + Send>(
        &self,
        offsets: &[u64],
        value: impl Fn(usize, usize) -> T + Sync,
    ) -> Vec<T> {
        let mut moved = vec![T::default(); self.len()];
        let (mut rest, mut parts) = (&mut moved[..], Vec::new());
        for columns in share_columns(offsets, rayon::current_num_threads()) {
            let size = offsets[columns.end] - offsets[columns.start];
            let (part, tail) = rest.split_at_mut(size as usize);
            parts.push((columns, part));
            rest = tail;
        }
        parts.into_par_iter().for_each(|(columns, part)| {
            let start = offsets[columns.start];
            let mut next: Vec<u64> = offsets[columns.clone()]
                .iter()
                .map(|at| at - start)
                .collect();
            for row in 0..self.rows() {
                for at in self.positions_within(row, &columns) {
                    let slot = &mut next[self.indices[at] as usize - columns.start];
                    part[*slot as usize] = value(row, at);
                    *slot += 1;
                }
            }
        });
        moved
    }

    /// Positions of the entries of a row whose column is in a range.
    fn positions_within(&self, row: usize, columns: &Range<usize>) -> Range<usize> {
        let range = self.range(row);
        if columns.len() == self.cols {
            return range;
        }
        let indices = &self.indices[range.clone()];
        let below = |end: usize| indices.partition_point(|&column| (column as usize) < end);
        range.start + below(columns.start)..range.start + below(columns.end)
    }
}

/// Cuts the columns into ranges of about as many entries each.
fn share_columns(offsets: &[u64], shares: usize) -> Vec<Range<usize>> {
    let (columns, total) = (offsets.len() - 1, offsets[offsets.len() - 1]);
    let border = |share: usize| match share {
        share if share == shares => columns,
        share => {
            let before = (u128::from(total) * share as u128 / shares as u128) as u64;
            offsets.partition_point(|&at| at < before).min(columns)
        }
    };
    (0..shares)
        .map(|share| border(share)..border(share + 1))
        .filter(|range| !range.is_empty())
        .collect()
}

fn count_columns(indices: &[u32], cols: usize) -> Vec<u64> {
    // A set of counts per part pays off only where entries outnumber columns by far.
    let most = rayon::current_num_threads().min(COUNTED_APART);
    let parts = (indices.len() / (4 * cols).max(1)).clamp(1, most);
    indices
        .par_chunks(indices.len().div_ceil(parts).max(1))
        .map(|part| {
            let mut counts = vec![0_u64; cols];
            for &column in part {
                counts[column as usize] += 1;
            }
            counts
        })
        .reduce_with(|mut counts, more| {
            counts.iter_mut().zip(more).for_each(|(n, more)| *n += more);
            counts
        })
        .unwrap_or_else(|| vec![0; cols])
}
