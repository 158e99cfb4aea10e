//! One worker of a run: its shard, and the rows that it sends to others.

use std::ops::Range;

use absentia::error::Axis;
use absentia::fit::Cancel;
use absentia::fit::backend::Halt;
use absentia::fit::shard::{Caches, Shard, WholeSide};
use absentia::{Dense, Sides};

use crate::message::{Reply, Request};
use crate::plan::by_owner;

/// Why a worker did not do what it was asked to.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorkerError {
    /// It has missed steps, or is ahead.
    #[error("worker {worker} has made {made} steps and was asked for step {asked}")]
    OutOfStep {
        /// The worker.
        worker: usize,
        /// Steps that it has made.
        made: u64,
        /// The step that it was asked for.
        asked: u64,
    },
    /// Rows came in another number than it needs.
    #[error("worker {worker} got {got} numbers of worker {sender}, expected {expected}")]
    Rows {
        /// The worker.
        worker: usize,
        /// Who sent them.
        sender: usize,
        /// Numbers that came.
        got: usize,
        /// Numbers that were expected.
        expected: usize,
    },
    /// It cannot do this step.
    #[error("worker {worker}: {reason}")]
    Failed {
        /// The worker.
        worker: usize,
        /// Why.
        reason: String,
    },
}

/// What reaches a worker with a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Received<'a> {
    /// The rows that it needs of each worker, of itself none.
    pub rows: &'a [&'a [f32]],
    /// All rows of each worker and their weights, where every entry of the matrix is visited.
    pub whole: &'a [(&'a [f32], &'a [f32])],
}

/// A shard among others.
pub struct Worker {
    shard: Shard,
    index: usize,
    factors: usize,
    rank: usize,
    /// Which of the rows of each side every worker needs: positions among those of this one.
    outgoing: Sides<Vec<Vec<u32>>>,
    /// How many rows a half-sweep of each side needs of every worker.
    incoming: Sides<Vec<usize>>,
    /// Steps that have changed rows.
    steps: u64,
    last: Option<Reply>,
}

impl Worker {
    /// Takes the shard of worker `index`, with `factors` factors and weights of rank `rank`.
    #[must_use]
    pub fn new(shard: Shard, index: usize, factors: usize, rank: usize) -> Self {
        Self {
            shard,
            index,
            factors,
            rank,
            outgoing: Sides::default(),
            incoming: Sides::default(),
            steps: 0,
            last: None,
        }
    }

    /// Its shard.
    #[must_use]
    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    /// Number of steps that have changed rows.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The rows of a side that it needs of each worker, as positions among the rows of that worker; `owned` has
    /// the rows of every worker.
    pub fn wanted(&mut self, side: Axis, owned: &[Range<usize>]) -> Vec<Vec<u32>> {
        let wanted = by_owner(self.shard.needs(side.other()), owned);
        self.incoming[side] = wanted.iter().map(Vec::len).collect();
        wanted
    }

    /// Takes what every worker wants of its rows of a side.
    ///
    /// # Errors
    /// Rows that it does not have.
    pub fn set_wanted(&mut self, side: Axis, wanted: Vec<Vec<u32>>) -> Result<(), WorkerError> {
        let rows = self.shard.rows(side).len();
        let beyond = wanted.iter().flatten().find(|row| **row as usize >= rows);
        if let Some(row) = beyond {
            let reason = format!("row {row} of its {rows} is wanted");
            return Err(self.failed(reason));
        }
        self.outgoing[side] = wanted;
        Ok(())
    }

    /// The rows of a side that a worker needs, one after the other.
    #[must_use]
    pub fn rows_for(&self, side: Axis, receiver: usize) -> Vec<f32> {
        let wanted = self.outgoing[side].get(receiver);
        let factors = self.shard.factors(side);
        let mut rows = Vec::with_capacity(wanted.map_or(0, Vec::len) * self.factors);
        for &row in wanted.into_iter().flatten() {
            rows.extend_from_slice(factors.row(row as usize));
        }
        rows
    }

    /// All of its rows of a side, one after the other.
    #[must_use]
    pub fn all_rows(&self, side: Axis) -> Vec<f32> {
        compact(self.shard.factors(side))
    }

    /// Its rows of the weights on missing entries, one after the other.
    #[must_use]
    pub fn all_weights(&self, side: Axis) -> Vec<f32> {
        compact(self.shard.weights(side))
    }

    /// Goes back, or forward, to the rows after some step.
    ///
    /// # Errors
    /// Numbers that are not those of its rows.
    pub fn restore(&mut self, steps: u64, rows: Sides<&[f32]>) -> Result<(), WorkerError> {
        let factors = Sides {
            users: self.matrix(Axis::User, rows.users)?,
            items: self.matrix(Axis::Item, rows.items)?,
        };
        self.shard.set_factors(Axis::User, factors.users);
        self.shard.set_factors(Axis::Item, factors.items);
        (self.steps, self.last) = (steps, None);
        Ok(())
    }

    fn matrix(&self, side: Axis, rows: &[f32]) -> Result<Dense, WorkerError> {
        let own = self.shard.rows(side).len();
        Dense::from_slice(own, self.factors, rows).ok_or_else(|| {
            let expected = own * self.factors;
            self.failed(format!("got {} numbers, expected {expected}", rows.len()))
        })
    }

    /// Does what it is asked to. A step that it has made already is not made again: the answer is the one
    /// that it gave. Steps that change rows are numbered from 1; `step` is not looked at for others.
    ///
    /// # Errors
    /// A step that does not follow the last one, rows that are not those it needs.
    pub fn answer(
        &mut self,
        step: u64,
        request: &Request,
        received: Received<'_>,
    ) -> Result<Reply, WorkerError> {
        let changes = request.writes().is_some();
        if changes
            && step == self.steps
            && let Some(reply) = &self.last
        {
            return Ok(reply.clone());
        }
        if changes && step != self.steps + 1 {
            return Err(WorkerError::OutOfStep {
                worker: self.index,
                made: self.steps,
                asked: step,
            });
        }
        let fixed = match request.reads() {
            Some(side) => self.gathered(side, received.rows)?,
            None => Dense::padded(0, self.factors),
        };
        let whole = match request.reads().filter(|_| request.reads_whole()) {
            Some(_) => Some(self.whole(received.whole)?),
            None => None,
        };
        let whole = whole
            .as_ref()
            .map(|(factors, weights)| WholeSide { factors, weights });
        let reply = self.carry_out(request, &fixed, whole)?;
        if changes {
            self.steps = step;
            self.last = Some(reply.clone());
        }
        Ok(reply)
    }

    fn carry_out(
        &mut self,
        request: &Request,
        fixed: &Dense,
        whole: Option<WholeSide<'_>>,
    ) -> Result<Reply, WorkerError> {
        let cancel = Cancel::new();
        let halted = match request {
            Request::HalfSweep {
                axis,
                measured,
                caches,
            } => {
                let caches = Caches::new(self.factors, self.rank, caches.clone());
                let swept = self
                    .shard
                    .half_sweep(*axis, (fixed, &caches), *measured, &cancel);
                match swept {
                    Ok(loss) => {
                        let caches = self.shard.cache_sums(*axis);
                        return Ok(Reply::Changed { loss, caches });
                    }
                    Err(halt) => halt,
                }
            }
            Request::HalfSweepInDouble { axis, caches, .. } => {
                let swept = self
                    .shard
                    .half_sweep_in_double(*axis, (fixed, caches), whole, &cancel);
                match swept {
                    Ok(true) => return Ok(self.changed(*axis)),
                    Ok(false) => {
                        let reason = "the solver has no steps in double precision".to_owned();
                        return Err(self.failed(reason));
                    }
                    Err(halt) => halt,
                }
            }
            Request::Undo { axis } => {
                self.shard.undo(*axis);
                return Ok(self.changed(*axis));
            }
            Request::SumCaches { axis } => return Ok(Reply::Sums(self.shard.cache_sums(*axis))),
            Request::SumInDouble { axis } => return Ok(Reply::Sums(self.shard.double_sums(*axis))),
            Request::SumObjective {
                precision,
                measured,
            } => {
                let share = self
                    .shard
                    .objective_share(*precision, *measured, fixed, whole);
                return Ok(Reply::Objective(share));
            }
        };
        match halted {
            Halt::NotConvex(at) => Ok(Reply::NotConvex(at)),
            Halt::Cancelled => Err(self.failed("a step was cancelled".to_owned())),
            Halt::Failed(reason) => Err(self.failed(reason)),
        }
    }

    /// The answer after rows have changed without being measured.
    fn changed(&self, axis: Axis) -> Reply {
        Reply::Changed {
            loss: absentia::fit::backend::RowSum::default(),
            caches: self.shard.cache_sums(axis),
        }
    }

    /// The rows of a side that it needs, from those that every worker sent and its own.
    fn gathered(&self, side: Axis, rows: &[&[f32]]) -> Result<Dense, WorkerError> {
        let counts = &self.incoming[side];
        let mut gathered = Dense::padded(counts.iter().sum(), self.factors);
        let mut at = 0;
        for (sender, &count) in counts.iter().enumerate() {
            let own;
            let sent: &[f32] = if sender == self.index {
                own = self.rows_for(side, sender);
                &own
            } else {
                rows.get(sender).copied().unwrap_or_default()
            };
            if sent.len() != count * self.factors {
                return Err(WorkerError::Rows {
                    worker: self.index,
                    sender,
                    got: sent.len(),
                    expected: count * self.factors,
                });
            }
            for row in sent.chunks_exact(self.factors) {
                gathered.row_mut(at).copy_from_slice(row);
                at += 1;
            }
        }
        Ok(gathered)
    }

    /// All rows of a side and their weights, from those of every worker.
    fn whole(&self, parts: &[(&[f32], &[f32])]) -> Result<(Dense, Dense), WorkerError> {
        let joined = |cols: usize, all: Vec<f32>| {
            let matrix = Dense::from_slice(all.len() / cols.max(1), cols, &all);
            matrix.ok_or_else(|| self.failed("rows of a side are not whole".to_owned()))
        };
        let factors: Vec<&[f32]> = parts.iter().map(|(factors, _)| *factors).collect();
        let weights: Vec<&[f32]> = parts.iter().map(|(_, weights)| *weights).collect();
        let factors = joined(self.factors, factors.concat())?;
        let weights = joined(self.rank, weights.concat())?;
        Ok((factors.into_padded(), weights))
    }

    fn failed(&self, reason: String) -> WorkerError {
        WorkerError::Failed {
            worker: self.index,
            reason,
        }
    }
}

/// The numbers of a matrix without padding.
fn compact(matrix: &Dense) -> Vec<f32> {
    (0..matrix.rows())
        .flat_map(|row| matrix.row(row))
        .copied()
        .collect()
}
