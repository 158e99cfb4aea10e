//! The shards of a run in one process: the same messages as between machines, without the machines.

use absentia::error::Axis;
use absentia::fit::Cancel;
use absentia::fit::backend::{
    Backend, Device, EntryLoss, Halt, ObjectiveSums, Precision, Problem, RowSum,
};
use absentia::fit::shard::{Caches, ObjectiveShare, Shard, Totals, WholeSide};
use absentia::model::Factors;
use absentia::{Dense, Sides, Solver};

use crate::plan::{Exchange, Plan};

/// A device that divides every problem among some shards.
#[derive(Clone, Copy, Debug)]
pub struct InProcess {
    /// Number of shards.
    pub workers: usize,
}

impl Device for InProcess {
    type Backend<'p> = Sharded<'p>;

    fn backend<'p>(
        &self,
        problem: &'p Problem<'p>,
        solver: Solver,
        start: Sides<Dense>,
    ) -> Sharded<'p> {
        Sharded::new(problem, &Plan::new(problem, self.workers), solver, &start)
    }
}

/// The shards of one problem.
pub struct Sharded<'p> {
    problem: &'p Problem<'p>,
    shards: Vec<Shard>,
    /// The rows that travel before a half-sweep of a side.
    exchanges: Sides<Exchange>,
    caches: Sides<Option<Caches>>,
    ridge: Sides<Option<f64>>,
    loss: Option<EntryLoss>,
    /// Rows that have left their shard so far.
    sent: usize,
}

impl<'p> Sharded<'p> {
    fn new(problem: &'p Problem<'p>, plan: &Plan, solver: Solver, start: &Sides<Dense>) -> Self {
        let shards: Vec<Shard> = plan
            .workers()
            .iter()
            .map(|chunks| Shard::new(problem, chunks, solver, start))
            .collect();
        let exchanges = Sides::from_fn(|axis: Axis| {
            let needs: Vec<&[u32]> = shards.iter().map(|shard| shard.needs(axis)).collect();
            let owned: Vec<_> = shards
                .iter()
                .map(|shard| shard.rows(axis.other()))
                .collect();
            Exchange::new(&needs, &owned)
        });
        Self {
            problem,
            shards,
            exchanges,
            caches: Sides::default(),
            ridge: Sides::default(),
            loss: None,
            sent: 0,
        }
    }

    /// The rows of the other side that a shard reads in a half-sweep of this side.
    fn gathered(&mut self, axis: Axis, receiver: usize) -> Dense {
        let parts = self.exchanges[axis].to(receiver);
        let rows = parts.iter().map(Vec::len).sum();
        let mut gathered = Dense::padded(rows, self.problem.params().factors);
        let mut at = 0;
        for (sender, rows) in parts.iter().enumerate() {
            let factors = self.shards[sender].factors(axis.other());
            for &row in rows {
                gathered
                    .row_mut(at)
                    .copy_from_slice(factors.row(row as usize));
                at += 1;
            }
            if sender != receiver {
                self.sent += rows.len();
            }
        }
        gathered
    }

    /// Number of rows that have left their shard since the start.
    #[must_use]
    pub fn rows_sent(&self) -> usize {
        self.sent
    }

    /// All rows of one side.
    fn whole(&self, axis: Axis) -> Dense {
        let mut whole = Dense::padded(
            self.problem.entries(axis).rows(),
            self.problem.params().factors,
        );
        for shard in &self.shards {
            for (at, row) in shard.rows(axis).enumerate() {
                whole
                    .row_mut(row)
                    .copy_from_slice(shard.factors(axis).row(at));
            }
        }
        whole
    }

    fn merged<T: absentia::fit::backend::Summand>(
        &self,
        sum: impl Fn(&Shard) -> RowSum<T>,
    ) -> RowSum<T> {
        let parts = self.shards.iter().map(sum);
        parts.fold(RowSum::default(), RowSum::merge)
    }

    fn ensure_caches(&mut self, axis: Axis) {
        if self.caches[axis].is_none() {
            self.sum_caches(axis);
        }
    }
}

impl Backend for Sharded<'_> {
    fn half_sweep(&mut self, axis: Axis, measured: bool, cancel: &Cancel) -> Result<(), Halt> {
        self.ensure_caches(axis.other());
        let mut total = RowSum::default();
        for worker in 0..self.shards.len() {
            let fixed = self.gathered(axis, worker);
            let Some(caches) = &self.caches[axis.other()] else {
                continue;
            };
            match self.shards[worker].half_sweep(axis, (&fixed, caches), measured, cancel) {
                Ok(loss) => total = total.merge(loss),
                Err(halt) => {
                    // Those before it have new factors.
                    for shard in &mut self.shards[..worker] {
                        shard.undo(axis);
                    }
                    return Err(halt);
                }
            }
        }
        let loss = total.total().unwrap_or_default();
        self.ridge[axis] = Some(loss.ridge);
        self.loss = measured.then_some(loss);
        Ok(())
    }

    fn half_sweep_in_double(&mut self, axis: Axis, cancel: &Cancel) -> Result<(), Halt> {
        let other = axis.other();
        let sums = self.merged(|shard| shard.double_sums(other));
        let by_entry = self.shards.first().is_some_and(Shard::visits_every_entry);
        let whole = by_entry.then(|| self.whole(other));
        let problem = self.problem;
        for worker in 0..self.shards.len() {
            let fixed = self.gathered(axis, worker);
            let whole = whole.as_ref().map(|factors| WholeSide {
                factors,
                weights: problem.weights(other),
            });
            let shard = &mut self.shards[worker];
            match shard.half_sweep_in_double(axis, (&fixed, &sums), whole, cancel) {
                Ok(true) => {}
                // Its steps always are in double precision.
                Ok(false) => return self.half_sweep(axis, false, cancel),
                Err(halt) => {
                    for shard in &mut self.shards[..worker] {
                        shard.undo(axis);
                    }
                    return Err(halt);
                }
            }
        }
        (self.ridge[axis], self.loss) = (None, None);
        Ok(())
    }

    fn sum_caches(&mut self, axis: Axis) {
        let sums = self.merged(|shard| shard.cache_sums(axis));
        let (factors, rank) = (
            self.problem.params().factors,
            self.problem.weights(axis).cols(),
        );
        self.caches[axis] = Some(Caches::new(factors, rank, sums));
    }

    fn undo(&mut self, axis: Axis) {
        for shard in &mut self.shards {
            shard.undo(axis);
        }
        (self.ridge[axis], self.loss) = (None, None);
    }

    fn objective_sums(&mut self, precision: Precision) -> ObjectiveSums {
        self.ensure_caches(Axis::User);
        self.ensure_caches(Axis::Item);
        let every = precision == Precision::EveryEntry;
        let items = every.then(|| self.whole(Axis::Item));
        let mut share = ObjectiveShare::default();
        for worker in 0..self.shards.len() {
            let needed = self.gathered(Axis::User, worker);
            let whole = items.as_ref().map(|factors| WholeSide {
                factors,
                weights: self.problem.weights(Axis::Item),
            });
            share = share.merge(self.shards[worker].objective_share(precision, &needed, whole));
        }
        let double = (precision == Precision::Double)
            .then(|| Sides::from_fn(|axis| self.merged(|shard| shard.double_sums(axis))));
        let (Some(users), Some(items)) = (&self.caches.users, &self.caches.items) else {
            return ObjectiveSums::default();
        };
        let totals = Totals {
            precision,
            measured: self.loss,
            ridge: self.ridge,
            caches: Sides { users, items },
            double,
            entries: self.problem.data().len(),
            factors: self.problem.params().factors,
            rank: self.problem.weights(Axis::User).cols(),
            may_be_negative: self.problem.may_be_negative(),
        };
        totals.objective(share)
    }

    fn factors(&self) -> Sides<Factors> {
        Sides::from_fn(|axis| Factors::from(self.whole(axis)))
    }
}
