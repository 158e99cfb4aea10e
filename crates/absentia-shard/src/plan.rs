//! Who owns which rows, and which rows each worker needs of each other one.

use std::ops::Range;

use absentia::Sides;
use absentia::error::Axis;
use absentia::fit::backend::{CHUNK_ROWS, Problem};

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
        let workers = workers.max(1);
        let cuts = Sides::from_fn(|axis| {
            let entries = problem.entries(axis);
            let chunks = entries.rows().div_ceil(CHUNK_ROWS);
            // A row costs about as much as a few dozen entries.
            let work = |chunk: usize| {
                let (first, end) = (chunk * CHUNK_ROWS, (chunk + 1) * CHUNK_ROWS);
                let (first, end) = (first.min(entries.rows()), end.min(entries.rows()));
                entries.offsets()[end] - entries.offsets()[first] + 32 * (end - first) as u64
            };
            cuts(&(0..chunks).map(work).collect::<Vec<u64>>(), workers)
        });
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
        let chunks = &self.workers[worker][axis];
        let row_of = |chunk: usize| (chunk * CHUNK_ROWS).min(rows);
        row_of(chunks.start)..row_of(chunks.end)
    }
}

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

/// The rows that travel before the half-sweeps of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// For each receiver, what it gets of each sender: positions among the sender's rows.
    rows: Vec<Vec<Vec<u32>>>,
}

impl Exchange {
    /// Finds the owners of the rows that each worker needs; `owned` has the rows of each worker.
    #[must_use]
    pub fn new(needs: &[&[u32]], owned: &[Range<usize>]) -> Self {
        let of_receiver = |needs: &&[u32]| -> Vec<Vec<u32>> {
            let of_sender = |owned: &Range<usize>| {
                let below = |end: usize| needs.partition_point(|row| (*row as usize) < end);
                let own = &needs[below(owned.start)..below(owned.end)];
                own.iter().map(|row| row - owned.start as u32).collect()
            };
            owned.iter().map(of_sender).collect()
        };
        Self {
            rows: needs.iter().map(of_receiver).collect(),
        }
    }

    /// What a worker gets of each other one, as positions among the sender's rows. Senders own rising
    /// ranges of rows, so that one after the other gives the rows in their order.
    #[must_use]
    pub fn to(&self, receiver: usize) -> &[Vec<u32>] {
        &self.rows[receiver]
    }

    /// Number of rows that leave their worker.
    #[must_use]
    pub fn travelling(&self) -> usize {
        let of_receiver = |(receiver, senders): (usize, &Vec<Vec<u32>>)| -> usize {
            let others = senders.iter().enumerate();
            let others = others.filter(|(sender, _)| *sender != receiver);
            others.map(|(_, rows)| rows.len()).sum()
        };
        self.rows.iter().enumerate().map(of_receiver).sum()
    }
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
        let exchange = Exchange::new(&[&[0, 3, 4, 9], &[1, 2, 8]], &[0..4, 4..10]);
        assert_eq!(exchange.to(0), [vec![0, 3], vec![0, 5]]);
        assert_eq!(exchange.to(1), [vec![1, 2], vec![4]]);
        assert_eq!(exchange.travelling(), 4);
    }
}
