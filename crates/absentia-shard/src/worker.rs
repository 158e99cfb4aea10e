//! One worker of a run: its shards, and the rows that it sends to others.

use std::ops::Range;

use absentia::error::Axis;
use absentia::fit::Cancel;
use absentia::fit::backend::{EntryLoss, Halt, NotConvex, RowSum};
use absentia::fit::shard::{Caches, ObjectiveShare, Shard, WholeSide};
use absentia::{Dense, Sides};
use rayon::prelude::*;

use crate::message::{Reply, Request, Sample};
use crate::plan::by_owner;

/// Why a worker did not do what it was asked to.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorkerError {
    /// It has missed steps, or is ahead.
    #[error(
        "worker {worker} has made {made} steps and {waves} waves, and was asked for wave {wave} of step {asked}"
    )]
    OutOfStep {
        /// The worker.
        worker: usize,
        /// Steps that it has made.
        made: u64,
        /// Waves of the next step that it has made.
        waves: usize,
        /// The step that it was asked for.
        asked: u64,
        /// The wave that it was asked for.
        wave: usize,
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

/// A part of a step, for which workers send each other the rows that this part needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wave {
    /// Its number, from 0.
    pub index: usize,
    /// Number of waves of the step.
    pub count: usize,
}

impl Wave {
    /// A step that is made at once.
    pub const ALL: Self = Self { index: 0, count: 1 };

    fn is_last(self) -> bool {
        self.index + 1 >= self.count
    }
}

/// Shards that are one after the other, among those of other workers. A step that reads rows of others is made in
/// waves, one shard in each.
pub struct Worker {
    pub(crate) shards: Vec<Shard>,
    index: usize,
    factors: usize,
    rank: usize,
    /// Which of the rows of each side every worker needs in each of its waves: positions among those of this one.
    outgoing: Sides<Vec<Vec<Vec<u32>>>>,
    /// How many rows each wave of a half-sweep of the other side needs of every worker.
    incoming: Sides<Vec<Vec<usize>>>,
    /// Steps that have changed rows.
    steps: u64,
    last: Option<Reply>,
    /// What the waves so far of the step that is being made have summed.
    waves: Vec<Made>,
    /// The wave whose shard has a row without a minimum, and the row.
    failed: Option<(usize, NotConvex)>,
    /// The rows that the last step read: memory for the next one.
    gathered: Dense,
}

/// Rows that a thread copies at a time.
const COPIED_ROWS: usize = 512;

/// What a wave has summed.
enum Made {
    Changed(RowSum<EntryLoss>),
    Objective(ObjectiveShare),
}

impl Worker {
    /// Takes the shards of worker `index`, one after the other, with `factors` factors and weights of rank `rank`.
    #[must_use]
    pub fn new(shards: Vec<Shard>, index: usize, factors: usize, rank: usize) -> Self {
        Self {
            shards,
            index,
            factors,
            rank,
            outgoing: Sides::default(),
            incoming: Sides::default(),
            steps: 0,
            last: None,
            waves: Vec::new(),
            failed: None,
            gathered: Dense::padded(0, factors),
        }
    }

    /// Its rows of a side.
    #[must_use]
    pub fn rows(&self, side: Axis) -> Range<usize> {
        let rows = |shard: &Shard| shard.rows(side);
        let first = self.shards.first().map_or(0..0, rows);
        first.start..self.shards.last().map_or(0..0, rows).end
    }

    /// Number of factors.
    #[must_use]
    pub fn factors(&self) -> usize {
        self.factors
    }

    /// Number of waves in which it improves a side.
    #[must_use]
    pub fn waves(&self, axis: Axis) -> usize {
        let with_rows = self
            .shards
            .iter()
            .filter(|shard| !shard.rows(axis).is_empty());
        with_rows.count().max(1)
    }

    /// Number of steps that have changed rows.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The rows of a side that it needs of each worker in each wave, as positions among the rows of that worker; `owned`
    /// has the rows of every worker.
    pub fn wanted(&mut self, side: Axis, owned: &[Range<usize>]) -> Vec<Vec<Vec<u32>>> {
        let axis = side.other();
        let mut wanted: Vec<Vec<Vec<u32>>> = vec![Vec::new(); owned.len()];
        for shard in &self.shards[..self.waves(axis)] {
            for (own, rows) in wanted.iter_mut().zip(by_owner(shard.needs(axis), owned)) {
                own.push(rows);
            }
        }
        let counts = |wave: usize| wanted.iter().map(|own| own[wave].len()).collect();
        self.incoming[side] = (0..self.waves(axis)).map(counts).collect();
        wanted
    }

    /// Takes what every worker wants of its rows of a side in each wave.
    ///
    /// # Errors
    /// Rows that it does not have.
    pub fn set_wanted(
        &mut self,
        side: Axis,
        wanted: Vec<Vec<Vec<u32>>>,
    ) -> Result<(), WorkerError> {
        let rows = self.rows(side).len();
        let all = wanted.iter().flatten().flatten();
        if let Some(row) = all.clone().find(|row| **row as usize >= rows) {
            let reason = format!("row {row} of its {rows} is wanted");
            return Err(self.failed(reason));
        }
        self.outgoing[side] = wanted;
        Ok(())
    }

    /// The rows of a side that a worker needs in one of its waves, one after the other.
    #[must_use]
    pub fn rows_for(&self, side: Axis, receiver: usize, wave: usize) -> Vec<f32> {
        let mut rows = vec![0.0; self.count_for(side, receiver, wave)];
        self.copy_for(side, (receiver, wave), &mut rows);
        rows
    }

    /// How many numbers these rows have.
    #[must_use]
    pub fn count_for(&self, side: Axis, receiver: usize, wave: usize) -> usize {
        self.wanted_by(side, receiver, wave).len() * self.factors
    }

    /// Copies these rows to memory of [this length](Self::count_for).
    pub fn copy_for(&self, side: Axis, (receiver, wave): (usize, usize), to: &mut [f32]) {
        let wanted = self.wanted_by(side, receiver, wave);
        copy_rows(to, self.factors, |at| self.own_row(side, wanted[at]));
    }

    /// The most waves in which another worker takes its rows of a side.
    #[must_use]
    pub fn waves_of_others(&self, side: Axis) -> usize {
        self.outgoing[side].iter().map(Vec::len).max().unwrap_or(0)
    }

    fn wanted_by(&self, side: Axis, receiver: usize, wave: usize) -> &[u32] {
        let wanted = self.outgoing[side].get(receiver);
        wanted
            .and_then(|waves| waves.get(wave))
            .map_or(&[], Vec::as_slice)
    }

    /// The factors of one of its rows, by its position among them.
    fn own_row(&self, side: Axis, position: u32) -> &[f32] {
        let row = self.rows(side).start + position as usize;
        let before = |shard: &Shard| shard.rows(side).end <= row;
        let shard = &self.shards[self.shards.partition_point(before)];
        shard.factors(side).row(row - shard.rows(side).start)
    }

    /// All of its rows of a side, one after the other.
    #[must_use]
    pub fn all_rows(&self, side: Axis) -> Vec<f32> {
        compact(self.shards.iter().map(|shard| shard.factors(side)))
    }

    /// Its rows of the weights on missing entries, one after the other.
    #[must_use]
    pub fn all_weights(&self, side: Axis) -> Vec<f32> {
        compact(self.shards.iter().map(|shard| shard.weights(side)))
    }

    /// Goes back, or forward, to the rows after some step.
    ///
    /// # Errors
    /// Numbers that are not those of its rows.
    pub fn restore(&mut self, steps: u64, rows: Sides<&[f32]>) -> Result<(), WorkerError> {
        for axis in [Axis::User, Axis::Item] {
            let expected = self.rows(axis).len() * self.factors;
            let got = rows[axis].len();
            if got != expected {
                return Err(self.failed(format!("got {got} numbers, expected {expected}")));
            }
            let mut rest = rows[axis];
            for shard in &mut self.shards {
                let own = shard.rows(axis).len();
                let (here, after) = rest.split_at(own * self.factors);
                if let Some(factors) = Dense::from_slice(own, self.factors, here) {
                    shard.set_factors(axis, factors);
                }
                rest = after;
            }
        }
        (self.steps, self.last) = (steps, None);
        self.waves.clear();
        self.failed = None;
        Ok(())
    }

    /// Does a wave of what it is asked to, and yields its answer after the last one. A step that it has made already
    /// is not made again: the answer is the one that it gave. Steps that change rows are numbered from 1; `step` is not
    /// looked at for others.
    ///
    /// # Errors
    /// A step or a wave that does not follow the last one, rows that are not those it needs.
    pub fn answer(
        &mut self,
        step: u64,
        request: &Request,
        wave: Wave,
        received: Received<'_>,
    ) -> Result<Option<Reply>, WorkerError> {
        let changes = request.writes().is_some();
        if changes
            && step == self.steps
            && let Some(reply) = &self.last
        {
            return Ok(wave.is_last().then(|| reply.clone()));
        }
        if (changes && step != self.steps + 1) || wave.index != self.waves.len() {
            return Err(WorkerError::OutOfStep {
                worker: self.index,
                made: self.steps,
                waves: self.waves.len(),
                asked: step,
                wave: wave.index,
            });
        }
        let reply = match request.reads() {
            None => self.at_once(request)?,
            Some(side) => {
                let fixed = self.gathered(side, wave.index, received.rows)?;
                let whole = if request.reads_whole() {
                    Some(self.whole(received.whole)?)
                } else {
                    None
                };
                let whole = whole
                    .as_ref()
                    .map(|(factors, weights)| WholeSide { factors, weights });
                let made = self.make(request, wave, &fixed, whole)?;
                self.waves.push(made);
                // Between waves, rows on their way may need the memory.
                if wave.count == 1 {
                    self.gathered = fixed;
                }
                if !wave.is_last() {
                    return Ok(None);
                }
                self.joined(request)
            }
        };
        if changes {
            self.steps = step;
            self.last = Some(reply.clone());
        }
        Ok(Some(reply))
    }

    /// Answers a request that reads no rows of others.
    fn at_once(&mut self, request: &Request) -> Result<Reply, WorkerError> {
        Ok(match request {
            Request::SumCaches { axis } => Reply::Sums(self.cache_sums(*axis)),
            Request::SumInDouble { axis } => {
                let sums = self.shards.iter().map(|shard| shard.double_sums(*axis));
                Reply::Sums(sums.fold(RowSum::default(), RowSum::merge))
            }
            Request::Undo { axis } => {
                // A half-sweep without a minimum has changed nothing.
                if !matches!(self.last, Some(Reply::NotConvex(_))) {
                    self.shards.iter_mut().for_each(|shard| shard.undo(*axis));
                }
                self.changed(*axis, RowSum::default(), Sample::default())
            }
            _ => return Err(self.failed("rows of others are needed".to_owned())),
        })
    }

    /// Makes a wave of a request.
    fn make(
        &mut self,
        request: &Request,
        wave: Wave,
        fixed: &Dense,
        whole: Option<WholeSide<'_>>,
    ) -> Result<Made, WorkerError> {
        let cancel = Cancel::new();
        let (factors, rank) = (self.factors, self.rank);
        let swept = match request {
            Request::HalfSweep { axis, .. } | Request::HalfSweepInDouble { axis, .. }
                if self.failed.is_some() || wave.index >= self.waves(*axis) =>
            {
                Ok(RowSum::default())
            }
            Request::HalfSweep {
                axis,
                measured,
                caches,
                ..
            } => {
                let caches = Caches::new(factors, rank, caches.clone());
                let shard = &mut self.shards[wave.index];
                shard.half_sweep(*axis, (fixed, &caches), *measured, &cancel)
            }
            Request::HalfSweepInDouble { axis, caches, .. } => {
                let shard = &mut self.shards[wave.index];
                match shard.half_sweep_in_double(*axis, (fixed, caches), whole, &cancel) {
                    Ok(true) => Ok(RowSum::default()),
                    Ok(false) => {
                        let reason = "the solver has no steps in double precision".to_owned();
                        return Err(self.failed(reason));
                    }
                    Err(halt) => Err(halt),
                }
            }
            _ => return Ok(Made::Objective(self.objective(request, wave, fixed, whole))),
        };
        match swept {
            Ok(loss) => Ok(Made::Changed(loss)),
            Err(Halt::NotConvex(at)) => {
                self.failed = Some((wave.index, at));
                Ok(Made::Changed(RowSum::default()))
            }
            Err(Halt::Cancelled) => Err(self.failed("a step was cancelled".to_owned())),
            Err(Halt::Failed(reason)) => Err(self.failed(reason)),
        }
    }

    /// What the shard of a wave adds to the objective; in the last one, those without users as well.
    fn objective(
        &self,
        request: &Request,
        wave: Wave,
        fixed: &Dense,
        whole: Option<WholeSide<'_>>,
    ) -> ObjectiveShare {
        let Request::SumObjective {
            precision,
            measured,
        } = request
        else {
            return ObjectiveShare::default();
        };
        let of_users = self.waves(Axis::User);
        let end = if wave.is_last() {
            self.shards.len()
        } else {
            of_users.min(wave.index + 1)
        };
        let nothing = Dense::padded(0, self.factors);
        let mut share = ObjectiveShare::default();
        for (at, shard) in self.shards.iter().enumerate().take(end).skip(wave.index) {
            let items = if at == wave.index && at < of_users {
                fixed
            } else {
                &nothing
            };
            share = share.merge(shard.objective_share(*precision, *measured, items, whole));
        }
        share
    }

    /// The answer to a request from all of its waves.
    fn joined(&mut self, request: &Request) -> Reply {
        let (mut loss, mut share) = (RowSum::default(), ObjectiveShare::default());
        for made in std::mem::take(&mut self.waves) {
            match made {
                Made::Changed(part) => loss = loss.merge(part),
                Made::Objective(part) => share = share.merge(part),
            }
        }
        let Some(axis) = request.writes() else {
            return Reply::Objective(share);
        };
        if let Some((wave, at)) = self.failed.take() {
            let changed = self.shards.iter_mut().take(wave);
            changed.for_each(|shard| shard.undo(axis));
            return Reply::NotConvex(at);
        }
        let sample = match request {
            Request::HalfSweep { axis, sampled, .. } => self.sample(*axis, sampled),
            _ => Sample::default(),
        };
        self.changed(axis, loss, sample)
    }

    /// What it knows of the sample of entries after a half-sweep.
    fn sample(&self, axis: Axis, items: &[u32]) -> Sample {
        let shards = self.shards.iter();
        match axis {
            Axis::User => Sample {
                entries: shards.flat_map(Shard::sampled_entries).collect(),
                items: Vec::new(),
            },
            Axis::Item => Sample {
                entries: Vec::new(),
                items: shards
                    .flat_map(|shard| shard.rows_among(Axis::Item, items))
                    .collect(),
            },
        }
    }

    fn cache_sums(&self, axis: Axis) -> RowSum<Vec<f64>> {
        let sums = self.shards.iter().map(|shard| shard.cache_sums(axis));
        sums.fold(RowSum::default(), RowSum::merge)
    }

    /// The answer after rows have changed.
    fn changed(&self, axis: Axis, loss: RowSum<EntryLoss>, sample: Sample) -> Reply {
        Reply::Changed {
            loss,
            caches: self.cache_sums(axis),
            sample,
        }
    }

    /// The rows of a side that a wave needs, from those that every worker sent and its own.
    fn gathered(&mut self, side: Axis, wave: usize, rows: &[&[f32]]) -> Result<Dense, WorkerError> {
        let memory = std::mem::replace(&mut self.gathered, Dense::padded(0, self.factors));
        let counts = self.incoming[side].get(wave);
        let counts = counts.map(Vec::as_slice).unwrap_or_default();
        let mut gathered = memory.with_rows(counts.iter().sum());
        let stride = gathered.stride();
        let mut rest = gathered.as_mut_slice();
        for (sender, &count) in counts.iter().enumerate() {
            let (to, after) = rest.split_at_mut(count * stride);
            rest = after;
            if sender == self.index {
                let own = self.wanted_by(side, sender, wave);
                copy_rows(to, stride, |at| self.own_row(side, own[at]));
                continue;
            }
            let sent = rows.get(sender).copied().unwrap_or_default();
            if sent.len() != count * self.factors {
                return Err(WorkerError::Rows {
                    worker: self.index,
                    sender,
                    got: sent.len(),
                    expected: count * self.factors,
                });
            }
            let row = |at: usize| &sent[at * self.factors..(at + 1) * self.factors];
            copy_rows(to, stride, row);
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

/// Copies rows to places that are `stride` numbers apart, on all threads of the current pool.
fn copy_rows<'a>(to: &mut [f32], stride: usize, row: impl Fn(usize) -> &'a [f32] + Sync) {
    let blocks = to.par_chunks_mut(COPIED_ROWS * stride.max(1));
    blocks.enumerate().for_each(|(block, to)| {
        for (at, to) in to.chunks_exact_mut(stride.max(1)).enumerate() {
            let row = row(block * COPIED_ROWS + at);
            to[..row.len()].copy_from_slice(row);
        }
    });
}

/// The numbers of matrices without padding, one after the other.
fn compact<'a>(matrices: impl Iterator<Item = &'a Dense>) -> Vec<f32> {
    let rows = matrices.flat_map(|matrix| (0..matrix.rows()).map(|row| matrix.row(row)));
    let mut numbers = Vec::new();
    rows.for_each(|row| numbers.extend_from_slice(row));
    numbers
}
