//! The workers of a run in one process: the same messages as between machines, without the machines.

use absentia::error::Axis;
use absentia::fit::backend::{Device, LocalBackend, Problem};
use absentia::fit::shard::{Shard, ShardParts};
use absentia::fit::{Outline, Sweep};
use absentia::model::Factors;
use absentia::{Dense, Sides, Solver};

use crate::message::{Reply, Request};
use crate::plan::Plan;
use crate::sharded::{Sharded, Trouble, Workers};
use crate::worker::{Received, Worker, WorkerError};

/// A device that divides every problem among some workers in this process.
#[derive(Clone, Copy, Debug)]
pub struct InProcess {
    /// Number of workers.
    pub workers: usize,
}

impl Device for InProcess {
    type Backend<'p> = Sharded<LocalWorkers>;

    fn backend<'p>(
        &self,
        problem: &'p Problem<'p>,
        solver: Solver,
        start: Sides<Dense>,
    ) -> Self::Backend<'p> {
        let plan = Plan::new(problem, self.workers);
        let workers = plan.workers().iter().enumerate().map(|(index, chunks)| {
            let parts = ShardParts::cut(problem, chunks);
            let own = Sides::from_fn(|axis| {
                let (first, rows) = (parts.rows(axis).start, parts.rows(axis).len());
                let start = &start[axis];
                Dense::from_fn(rows, start.cols(), |row, f| start.row(first + row)[f])
            });
            let (k, z) = (problem.params().factors, problem.weights(Axis::User).cols());
            Worker::new(Shard::new(parts, solver, own), index, k, z)
        });
        let workers = LocalWorkers::new(workers.collect());
        // The start is known to this run, and random ones are measured by it.
        Sharded::new(workers, outline(problem), problem.params(), 0)
    }
}

fn outline(problem: &Problem<'_>) -> Outline {
    Outline {
        shape: problem.shape(),
        entries: problem.data().len(),
        rank: problem.weights(Axis::User).cols(),
        may_be_negative: problem.may_be_negative(),
        at_zero: f64::NAN,
    }
}

/// Workers in this process.
pub struct LocalWorkers {
    workers: Vec<Worker>,
    /// Rows that have left their worker so far.
    sent: usize,
}

impl LocalWorkers {
    /// Makes known to every worker which of its rows others need.
    #[must_use]
    pub fn new(mut workers: Vec<Worker>) -> Self {
        for side in [Axis::User, Axis::Item] {
            let owned: Vec<_> = workers
                .iter()
                .map(|worker| worker.shard().rows(side))
                .collect();
            let wanted: Vec<_> = workers
                .iter_mut()
                .map(|worker| worker.wanted(side, &owned))
                .collect();
            for (owner, worker) in workers.iter_mut().enumerate() {
                let of_owner = wanted.iter().map(|wanted| wanted[owner].clone()).collect();
                // Wanted rows are those that the owner has.
                let _ = worker.set_wanted(side, of_owner);
            }
        }
        Self { workers, sent: 0 }
    }

    /// The workers.
    pub fn workers(&mut self) -> &mut [Worker] {
        &mut self.workers
    }

    /// Number of rows that have left their worker.
    #[must_use]
    pub fn rows_sent(&self) -> usize {
        self.sent
    }

    /// All rows of one side.
    fn whole(&self, side: Axis) -> Dense {
        let factors = self
            .workers
            .iter()
            .map(|worker| worker.shard().factors(side));
        let cols = factors.clone().next().map_or(0, Dense::cols);
        let mut whole = Dense::padded(factors.clone().map(Dense::rows).sum(), cols);
        let rows = factors.flat_map(|part| (0..part.rows()).map(|row| part.row(row)));
        for (at, row) in rows.enumerate() {
            whole.row_mut(at).copy_from_slice(row);
        }
        whole
    }
}

impl Workers for LocalWorkers {
    fn ask(&mut self, step: u64, request: &Request) -> Result<Vec<Reply>, Trouble> {
        let count = self.workers.len();
        let sent = |receiver: usize, side: Axis| -> Vec<Vec<f32>> {
            let others = self.workers.iter().enumerate();
            let rows = others.map(|(sender, worker)| {
                if sender == receiver {
                    Vec::new()
                } else {
                    worker.rows_for(side, receiver)
                }
            });
            rows.collect()
        };
        let sent: Vec<Vec<Vec<f32>>> = (0..count)
            .map(|receiver| {
                request
                    .reads()
                    .map_or_else(Vec::new, |side| sent(receiver, side))
            })
            .collect();
        let whole: Vec<(Vec<f32>, Vec<f32>)> =
            match request.reads().filter(|_| request.reads_whole()) {
                Some(side) => {
                    let workers = self.workers.iter();
                    workers
                        .map(|worker| (worker.all_rows(side), worker.all_weights(side)))
                        .collect()
                }
                None => Vec::new(),
            };
        let whole: Vec<(&[f32], &[f32])> = whole.iter().map(|(p, a)| (&p[..], &a[..])).collect();
        let mut replies = Vec::with_capacity(count);
        for (worker, rows) in self.workers.iter_mut().zip(&sent) {
            let rows: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
            let received = Received {
                rows: &rows,
                whole: &whole,
            };
            replies.push(
                worker
                    .answer(step, request, received)
                    .map_err(|error| fatal(&error))?,
            );
            let k = worker.shard().factors(Axis::User).cols();
            self.sent += rows.iter().map(|rows| rows.len() / k).sum::<usize>();
        }
        Ok(replies)
    }

    fn recover(&mut self) -> Result<(), Trouble> {
        Err(Trouble::Fatal(
            "workers of this process are not lost".to_owned(),
        ))
    }

    fn store(&mut self, _: u64, _: &[Sweep]) -> Result<(), Trouble> {
        // The run has the factors of its workers.
        Ok(())
    }
}

fn fatal(error: &WorkerError) -> Trouble {
    Trouble::Fatal(error.to_string())
}

impl LocalBackend for Sharded<LocalWorkers> {
    fn factors(&self) -> Sides<Factors> {
        Sides::from_fn(|axis| Factors::from(self.workers.whole(axis)))
    }
}
