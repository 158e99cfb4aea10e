//! Who owns which rows, and which rows each worker needs of each other one.

use std::ops::Range;

use absentia::Sides;
use absentia::error::Axis;
use absentia::fit::backend::{CHUNK_ROWS, Problem};
use absentia::fit::shard::rows_of;

/// The chunks that each worker owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    workers: Vec<Sides<Range<usize>>>,
}

impl Plan {
    /// Divides a problem among some workers, so that each has about as many rows and entries. A worker
    /// may be left without rows of a side that has few chunks.
    #[must_use]
    pub fn new(problem: &Problem<'_>, workers: usize) -> Self {
        let work = Sides::from_fn(|axis| {
            let entries = problem.entries(axis);
            let chunks = entries.rows().div_ceil(CHUNK_ROWS);
            let work = |chunk: usize| {
                let rows = rows_of(&(chunk..chunk + 1), entries.rows());
                let entries = entries.offsets()[rows.end] - entries.offsets()[rows.start];
                chunk_work(rows.len(), entries)
            };
            (0..chunks).map(work).collect()
        });
        Self::of_work(&work, workers)
    }

    /// Divides chunks of this much [work](chunk_work).
    #[must_use]
    pub fn of_work(work: &Sides<Vec<u64>>, workers: usize) -> Self {
        let workers = workers.max(1);
        let cuts = work.as_ref().map(|work| cuts(work, workers));
        let range = |cuts: &[usize], worker: usize| cuts[worker]..cuts[worker + 1];
        let of_worker = |worker: usize| cuts.as_ref().map(|cuts| range(cuts, worker));
        Self {
            workers: (0..workers).map(of_worker).collect(),
        }
    }

    /// The chunks of each worker.
    #[must_use]
    pub fn workers(&self) -> &[Sides<Range<usize>>] {
        &self.workers
    }

    /// The rows of one side that a worker owns, of `rows` in all.
    #[must_use]
    pub fn rows(&self, worker: usize, axis: Axis, rows: usize) -> Range<usize> {
        rows_of(&self.workers[worker][axis], rows)
    }
}

/// The work of a chunk of rows with this many entries. A row costs about as much as a few dozen entries. Those of long rows
/// cost up to twice as much as others, as what is kept for them leaves the processor's caches.
#[must_use]
pub fn chunk_work(rows: usize, entries: u64) -> u64 {
    let long = LONG * rows.max(1) as u64;
    entries + entries * entries.min(long) / long + 32 * rows as u64
}

/// Entries of a long row.
const LONG: u64 = 512;

/// Where to cut a row of tasks so that every part has about the same work.
fn cuts(work: &[u64], parts: usize) -> Vec<usize> {
    let total: u64 = work.iter().sum();
    let mut cuts = vec![0];
    let (mut done, mut at) = (0, 0);
    for part in 1..parts {
        let wanted = total * part as u64 / parts as u64;
        while at < work.len() && done + work[at] / 2 < wanted {
            done += work[at];
            at += 1;
        }
        cuts.push(at);
    }
    cuts.push(work.len());
    cuts
}

/// The rows that a worker needs of each owner, as positions among the owner's rows; `owned` has the rows of each
/// worker. Owners have rising ranges of rows, so that one after the other gives the rows in their order.
pub(crate) fn by_owner(needs: &[u32], owned: &[Range<usize>]) -> Vec<Vec<u32>> {
    let of_owner = |owned: &Range<usize>| {
        let below = |end: usize| needs.partition_point(|row| (*row as usize) < end);
        let own = &needs[below(owned.start)..below(owned.end)];
        own.iter().map(|row| row - owned.start as u32).collect()
    };
    owned.iter().map(of_owner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_divided_evenly_and_whole() {
        assert_eq!(cuts(&[1, 1, 1, 1], 2), [0, 2, 4]);
        assert_eq!(cuts(&[9, 1, 1, 1], 2), [0, 1, 4]);
        assert_eq!(cuts(&[5], 3).last(), Some(&1));
        assert_eq!(cuts(&[], 2), [0, 0, 0]);
        let cut = cuts(&[3; 20], 7);
        assert!(cut.is_sorted() && cut.len() == 8);
    }

    #[test]
    fn rows_come_from_their_owners_in_order() {
        let owned = [0..4, 4..10];
        assert_eq!(by_owner(&[0, 3, 4, 9], &owned), [vec![0, 3], vec![0, 5]]);
        assert_eq!(by_owner(&[1, 2, 8], &owned), [vec![1, 2], vec![4]]);
    }
}
