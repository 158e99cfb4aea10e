//! Sums over rows that have the same bits however the rows are divided among threads or processes.
//!
//! Floating-point sums depend on their order. Here rows are cut into chunks of [`CHUNK_ROWS`] by row
//! number, each chunk is summed on its own, and the sums of chunks are added along a fixed binary
//! tree: node `i` of level `l` covers the chunks from `i·2^l` to `(i+1)·2^l`, and is the sum of its two
//! children on level `l − 1`. No border depends on the number of rows. Threads and processes can hence
//! sum any ranges of chunks; a [`RowSum`] holds the nodes of a range, and merging those of all ranges
//! yields the total to the last bit.

use std::ops::Range;

/// Number of rows of a chunk.
pub const CHUNK_ROWS: usize = 2048;

/// Something that can be added up.
pub trait Summand: Send {
    /// Adds `other`, which comes from later rows.
    fn add(&mut self, other: Self);
}

impl Summand for f64 {
    fn add(&mut self, other: Self) {
        *self += other;
    }
}

impl<const N: usize> Summand for [f64; N] {
    fn add(&mut self, other: Self) {
        for (sum, more) in self.iter_mut().zip(other) {
            *sum += more;
        }
    }
}

impl Summand for Vec<f64> {
    fn add(&mut self, other: Self) {
        for (sum, more) in self.iter_mut().zip(other) {
            *sum += more;
        }
    }
}

/// The sum of the chunks below one node of the tree.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Node<T> {
    level: u32,
    index: usize,
    sum: T,
}

impl<T> Node<T> {
    fn first_chunk(&self) -> usize {
        self.index << self.level
    }

    fn is_left_sibling_of(&self, other: &Self) -> bool {
        self.level == other.level && self.index.is_multiple_of(2) && other.index == self.index + 1
    }
}

/// A sum over some chunks of rows, as the fewest nodes of the tree that cover them.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RowSum<T> {
    /// By chunk; no two are siblings.
    nodes: Vec<Node<T>>,
}

impl<T> Default for RowSum<T> {
    fn default() -> Self {
        Self { nodes: Vec::new() }
    }
}

impl<T: Summand> RowSum<T> {
    /// Yields the sum of one chunk.
    #[must_use]
    pub fn of_chunk(chunk: usize, sum: T) -> Self {
        Self {
            nodes: vec![Node {
                level: 0,
                index: chunk,
                sum,
            }],
        }
    }

    /// Sums a range of chunks of a matrix with this many rows, on all threads of the current pool;
    /// `of_chunk` yields the sum of the rows of a chunk. Up to `grain` chunks are summed by one task.
    pub fn over(
        rows: usize,
        chunks: Range<usize>,
        grain: usize,
        of_chunk: &(impl Fn(Range<usize>) -> T + Sync),
    ) -> Self {
        let chunks = chunks.start..chunks.end.min(rows.div_ceil(CHUNK_ROWS));
        let levels = chunks.end.next_power_of_two().trailing_zeros();
        let job = Job {
            rows,
            chunks,
            grain,
            of_chunk,
        };
        job.node(levels, 0)
    }

    /// Sums `rows` rows that begin with chunk `first` of the whole matrix; `of_chunk` is given the numbers
    /// of rows within these.
    pub fn over_part(
        first: usize,
        rows: usize,
        grain: usize,
        of_chunk: &(impl Fn(Range<usize>) -> T + Sync),
    ) -> Self {
        let before = first * CHUNK_ROWS;
        let of_chunk = |rows: Range<usize>| of_chunk(rows.start - before..rows.end - before);
        Self::over(before + rows, first..usize::MAX, grain, &of_chunk)
    }

    /// Yields the sum over the chunks of both, of which none is in both.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.nodes.extend(other.nodes);
        self.nodes.sort_by_key(Node::first_chunk);
        let mut merged: Vec<Node<T>> = Vec::with_capacity(self.nodes.len());
        for mut node in self.nodes {
            while let Some(mut left) = merged.pop_if(|left| left.is_left_sibling_of(&node)) {
                left.sum.add(node.sum);
                node = Node {
                    level: left.level + 1,
                    index: left.index / 2,
                    sum: left.sum,
                };
            }
            merged.push(node);
        }
        Self { nodes: merged }
    }

    /// Yields the sum of all chunks, or `None` if there are none. The last chunks of the matrix may have
    /// no sibling: their node then takes the place of its parent.
    #[must_use]
    pub fn total(self) -> Option<T> {
        let mut nodes = self.nodes.into_iter().rev();
        let last = nodes.next()?.sum;
        Some(nodes.fold(last, |right, mut left| {
            left.sum.add(right);
            left.sum
        }))
    }
}

/// A sum in progress.
struct Job<'j, F> {
    rows: usize,
    chunks: Range<usize>,
    grain: usize,
    of_chunk: &'j F,
}

impl<T: Summand, F: Fn(Range<usize>) -> T + Sync> Job<'_, F> {
    /// The chunks below a node of the tree, as far as they are in the range.
    fn node(&self, level: u32, index: usize) -> RowSum<T> {
        let (first, end) = (index << level, (index + 1) << level);
        if end <= self.chunks.start || first >= self.chunks.end {
            return RowSum::default();
        }
        if level == 0 {
            let rows = first * CHUNK_ROWS..self.rows.min(end * CHUNK_ROWS);
            return RowSum::of_chunk(first, (self.of_chunk)(rows));
        }
        let left = || self.node(level - 1, 2 * index);
        let right = || self.node(level - 1, 2 * index + 1);
        let (left, right) = if end - first > self.grain {
            rayon::join(left, right)
        } else {
            (left(), right())
        };
        left.merge(right)
    }
}

/// Sums over all rows, or yields `None` if there are none; `of_chunk` yields the sum of a range of rows.
pub(crate) fn sum_rows<T: Summand>(
    rows: usize,
    of_chunk: impl Fn(Range<usize>) -> T + Sync,
) -> Option<T> {
    RowSum::over(rows, 0..usize::MAX, 1, &of_chunk).total()
}

/// Yields the sum of one number for each row.
pub(crate) fn sum_values(values: &[f64]) -> f64 {
    sum_rows(values.len(), |rows| values[rows].iter().sum()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Numbers whose sum depends on the order.
    fn value(row: usize) -> f64 {
        let x = (row as f64 * 0.618).fract() - 0.3;
        x * 10_f64.powf((row % 23) as f64 - 11.0)
    }

    fn of_chunk(rows: Range<usize>) -> f64 {
        rows.map(value).sum()
    }

    #[test]
    fn the_tree_is_that_of_the_chunk_numbers() {
        let rows = 6 * CHUNK_ROWS - 5;
        let chunk = |n: usize| of_chunk(n * CHUNK_ROWS..rows.min((n + 1) * CHUNK_ROWS));
        let by_hand = ((chunk(0) + chunk(1)) + (chunk(2) + chunk(3))) + (chunk(4) + chunk(5));
        assert_eq!(sum_rows(rows, of_chunk), Some(by_hand));
        assert_eq!(sum_rows(0, of_chunk), None);
    }

    #[test]
    fn more_rows_do_not_change_the_nodes_of_the_rows_before_them() {
        let small = RowSum::over(8 * CHUNK_ROWS, 0..8, 1, &of_chunk);
        let large = RowSum::over(100 * CHUNK_ROWS, 0..8, 1, &of_chunk);
        assert_eq!(small, large);
    }

    proptest! {
        #[test]
        fn any_cut_and_any_number_of_threads_give_the_same_bits(
            rows in 1_usize..40 * CHUNK_ROWS,
            mut cuts in prop::collection::vec(0_usize..42, 0..6),
            threads in 1_usize..5,
            grain in 1_usize..9,
            first in 0_usize..7,
        ) {
            let total = sum_rows(rows, of_chunk).unwrap();
            cuts.extend([0, 42]);
            cuts.sort_unstable();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut parts: Vec<RowSum<f64>> = cuts
                .windows(2)
                .map(|cut| pool.install(|| RowSum::over(rows, cut[0]..cut[1], grain, &of_chunk)))
                .collect();
            // They arrive in any order.
            let parts_len = parts.len();
            parts.rotate_left(first % parts_len);
            let merged = parts.into_iter().fold(RowSum::default(), RowSum::merge);
            prop_assert_eq!(merged.total().unwrap().to_bits(), total.to_bits());
        }
    }
}
