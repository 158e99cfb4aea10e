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
use crate::worker::{Received, Wave, Worker, WorkerError};

/// A device that divides every problem among some workers in this process.
#[derive(Clone, Copy, Debug)]
pub struct InProcess {
    /// Number of workers.
    pub workers: usize,
    /// Rows of others that a worker takes at a time, as far as single chunks need no more.
    pub most_rows: usize,
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
            let shard = |parts: ShardParts| {
                let own = Sides::from_fn(|axis| {
                    let (first, rows) = (parts.rows(axis).start, parts.rows(axis).len());
                    let start = &start[axis];
                    Dense::from_fn(rows, start.cols(), |row, f| start.row(first + row)[f])
                });
                Shard::new(parts, solver, own)
            };
            let parts = ShardParts::cut(problem, chunks).in_waves(self.most_rows);
            let (k, z) = (problem.params().factors, problem.weights(Axis::User).cols());
            Worker::new(parts.into_iter().map(shard).collect(), index, k, z)
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
}

impl LocalWorkers {
    /// Makes known to every worker which of its rows others need.
    #[must_use]
    pub fn new(mut workers: Vec<Worker>) -> Self {
        for side in [Axis::User, Axis::Item] {
            let owned: Vec<_> = workers.iter().map(|worker| worker.rows(side)).collect();
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
        Self { workers }
    }

    /// The workers.
    pub fn workers(&mut self) -> &mut [Worker] {
        &mut self.workers
    }

    /// All rows of one side.
    fn whole(&self, side: Axis) -> Dense {
        let cols = self.workers.first().map_or(0, Worker::factors);
        let rows = self.workers.iter().map(|worker| worker.all_rows(side));
        let rows: Vec<f32> = rows.flatten().collect();
        let whole = Dense::from_slice(rows.len() / cols.max(1), cols, &rows);
        whole
            .unwrap_or_else(|| Dense::padded(0, cols))
            .into_padded()
    }

    /// The rows that each worker sends to one of them in a wave.
    fn rows_for(&self, receiver: usize, side: Axis, wave: usize) -> Vec<Vec<f32>> {
        let senders = self.workers.iter().enumerate();
        let rows = senders.map(|(sender, worker)| {
            if sender == receiver {
                Vec::new()
            } else {
                worker.rows_for(side, receiver, wave)
            }
        });
        rows.collect()
    }

    /// One wave of a request: the answers after the last one.
    fn wave(
        &mut self,
        (step, request): (u64, &Request),
        wave: Wave,
        whole: &[(&[f32], &[f32])],
    ) -> Result<Vec<Reply>, Trouble> {
        let mut replies = Vec::new();
        for receiver in 0..self.workers.len() {
            let rows = match request.reads() {
                Some(side) => self.rows_for(receiver, side, wave.index),
                None => Vec::new(),
            };
            let worker = &mut self.workers[receiver];
            let rows: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
            let received = Received { rows: &rows, whole };
            let answered = worker.answer(step, request, wave, received);
            replies.extend(answered.map_err(|error| fatal(&error))?);
        }
        Ok(replies)
    }
}

impl Workers for LocalWorkers {
    fn ask(&mut self, step: u64, request: &Request) -> Result<Vec<Reply>, Trouble> {
        let mut whole: Vec<(Vec<f32>, Vec<f32>)> = Vec::new();
        let mut count = 1;
        if let Some(side) = request.reads() {
            let workers = self.workers.iter();
            if request.reads_whole() {
                let rows = workers
                    .clone()
                    .map(|worker| (worker.all_rows(side), worker.all_weights(side)));
                whole = rows.collect();
            }
            let waves = workers.map(|worker| worker.waves(side.other()));
            count = waves.max().unwrap_or(1);
        }
        let whole: Vec<(&[f32], &[f32])> = whole.iter().map(|(p, a)| (&p[..], &a[..])).collect();
        let mut replies = Vec::new();
        for index in 0..count {
            replies = self.wave((step, request), Wave { index, count }, &whole)?;
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
