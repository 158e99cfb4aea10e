//! A part of a problem, for processes that share the work of a run.
//!
//! A [`Shard`] owns some chunks of the users and some of the items, with their entries, weights and
//! penalties. It makes the half-sweeps of its rows by the solvers of [`Cpu`](super::backend::Cpu), given
//! the rows of the other side that its entries [name](Shard::needs) and the caches of all rows. Every sum
//! over rows comes as a [`RowSum`], so that those of all shards [merge](RowSum::merge) to the bits of one
//! process, whatever their number. It knows nothing of how rows and sums travel.

mod objective;
mod share;

use super::backend::Precision;
use super::cpu;
use super::observer::Cancel;
use super::problem::Problem;
use crate::data::Entries;
use crate::error::Axis;
use crate::linalg::Dense;
use crate::linalg::kernels::Kernels;
use crate::params::Solver;
use crate::row_sums::RowSum;
use crate::sides::Sides;
use crate::solver::cache::{GramCache, gram_sums};
use crate::solver::in_double::{DoubleCache, double_sums, half_sweep_in_double};
use crate::solver::objective::{
    entry_losses, has_few_entries, missing_by_entry, prediction_sizes, ridge_sums,
};
use crate::solver::{EntryLoss, Halt, NotConvex};
use std::ops::Range;

pub use objective::{ObjectiveShare, Totals};
use share::Share;

/// The caches `S_t` of all rows of one side.
pub struct Caches {
    single: GramCache,
}

impl Caches {
    /// Takes the sums of all rows, with `factors` factors and weights of rank `rank`.
    #[must_use]
    pub fn new(factors: usize, rank: usize, sums: RowSum<Vec<f64>>) -> Self {
        let stride = Dense::padded(0, factors).stride();
        Self {
            single: GramCache::of_sums(stride, rank, sums.total()),
        }
    }
}

/// All rows of one side, where a sum or a half-sweep visits every entry of the matrix.
#[derive(Clone, Copy)]
pub struct WholeSide<'a> {
    /// Its factors.
    pub factors: &'a Dense,
    /// Its rows of the weights on missing entries.
    pub weights: &'a Dense,
}

/// Some chunks of rows of both sides, with their factors.
pub struct Shard {
    solver: Solver,
    kernels: Kernels,
    may_be_negative: bool,
    /// Users and items of the whole problem.
    shape: Sides<usize>,
    /// Observed entries of the whole problem, and those of users before the shard's.
    entries: (usize, usize),
    sides: Sides<Share>,
}

impl Shard {
    /// Takes a part of a problem: ranges of chunks of [`CHUNK_ROWS`](super::backend::CHUNK_ROWS) rows of
    /// each side, which may be empty, and their rows of the factors to start from. A dense W, which only
    /// the slow algorithm takes, is not cut into parts.
    #[must_use]
    pub fn new(
        problem: &Problem<'_>,
        chunks: &Sides<Range<usize>>,
        solver: Solver,
        start: &Sides<Dense>,
    ) -> Self {
        let kernels = Kernels::in_use();
        let sides = Sides::from_fn(|axis| {
            let tiles =
                |entries: &Entries<'_>, stride| cpu::tiles(solver, kernels, entries, stride);
            Share::new((problem, axis), chunks[axis].clone(), &start[axis], tiles)
        });
        let by_user = problem.entries(Axis::User);
        let first = sides.users.rows().start;
        Self {
            solver,
            kernels,
            may_be_negative: problem.may_be_negative(),
            shape: Sides::from_fn(|axis| problem.entries(axis).rows()),
            entries: (by_user.len(), by_user.offsets()[first] as usize),
            sides,
        }
    }

    /// The rows of one side that it owns.
    #[must_use]
    pub fn rows(&self, axis: Axis) -> Range<usize> {
        self.sides[axis].rows()
    }

    /// The rows of the other side that a half-sweep of this side reads, rising.
    #[must_use]
    pub fn needs(&self, axis: Axis) -> &[u32] {
        &self.sides[axis].needs
    }

    /// The factors of its rows.
    #[must_use]
    pub fn factors(&self, axis: Axis) -> &Dense {
        &self.sides[axis].factors
    }

    /// Improves its rows of one side. `fixed` has the rows of the other side that it
    /// [needs](Self::needs), in their order.
    ///
    /// # Errors
    /// A row without a minimum, or cancellation; the factors are then those from before the call.
    pub fn half_sweep(
        &mut self,
        axis: Axis,
        (fixed, caches): (&Dense, &Caches),
        measured: bool,
        cancel: &Cancel,
    ) -> Result<RowSum<EntryLoss>, Halt> {
        let share = &self.sides[axis];
        let side = share.side((fixed, &caches.single), self.kernels, cancel);
        let side = crate::solver::Side {
            wants_loss: measured,
            may_be_negative: self.may_be_negative,
            ..side
        };
        let mut after = Dense::padded(share.factors.rows(), share.factors.cols());
        let (before, tiles) = (&share.factors, &share.tiles);
        let improved = cpu::improve(self.solver, (before, &mut after), &side, tiles, None);
        let loss = improved.map_err(|halt| in_whole(halt, share.rows().start))?;
        self.sides[axis].replace(after);
        Ok(loss)
    }

    /// Does what [`half_sweep`](Self::half_sweep) does in double precision, with the caches of all rows
    /// of the other side as [`double_sums`](Self::double_sums) has them. With the whole other side,
    /// whether a row improves is seen from all of its entries; see [`visits_every_entry`](Self::visits_every_entry).
    /// Yields `false` for solvers whose steps always are in double precision.
    ///
    /// # Errors
    /// Those of [`half_sweep`](Self::half_sweep).
    pub fn half_sweep_in_double(
        &mut self,
        axis: Axis,
        (fixed, sums): (&Dense, &RowSum<Vec<f64>>),
        whole: Option<WholeSide<'_>>,
        cancel: &Cancel,
    ) -> Result<bool, Halt> {
        let share = &self.sides[axis];
        let (k, z) = (share.factors.cols(), share.own_weights.cols());
        let Some(steps) = cpu::double_steps(self.solver, k) else {
            return Ok(false);
        };
        let cache = DoubleCache::of_sums(k, z, sums.clone().total());
        // Not read in double precision.
        let single = GramCache::of_sums(share.factors.stride(), z, None);
        let columns = self.shape[axis.other()];
        let entries = whole.map(|_| share.entries.with_columns(&share.needs, columns));
        let mut side = share.side((fixed, &single), self.kernels, cancel);
        side.may_be_negative = self.may_be_negative;
        if let (Some(whole), Some(entries)) = (whole, &entries) {
            side.observed = entries;
            side.fixed = whole.factors;
            side.fixed_weights = whole.weights;
        }
        let mut after = Dense::padded(share.factors.rows(), k);
        let steps = (steps, whole.is_some());
        half_sweep_in_double(steps, (&share.factors, &mut after), (&side, &cache))?;
        self.sides[axis].replace(after);
        Ok(true)
    }

    /// Whether exact sums and half-sweeps of a problem of this size visit every entry of the matrix.
    #[must_use]
    pub fn visits_every_entry(&self) -> bool {
        let k = self.sides.users.factors.cols();
        has_few_entries(self.shape.users, self.shape.items, k)
    }

    /// Restores the factors that a side had before its last half-sweep.
    pub fn undo(&mut self, axis: Axis) {
        self.sides[axis].undo();
    }

    /// What its rows of one side add to the caches.
    #[must_use]
    pub fn cache_sums(&self, axis: Axis) -> RowSum<Vec<f64>> {
        let share = &self.sides[axis];
        let first = share.chunks.start;
        gram_sums(&share.factors, &share.own_weights, self.kernels, first)
    }

    /// What its rows of one side add to the caches in double precision.
    #[must_use]
    pub fn double_sums(&self, axis: Axis) -> RowSum<Vec<f64>> {
        let share = &self.sides[axis];
        double_sums(&share.factors, &share.own_weights, share.chunks.start)
    }

    /// What its users and items add to the objective. `items` has the items that its users
    /// [need](Self::needs); `whole` has all items where the precision is that of every entry.
    #[must_use]
    pub fn objective_share(
        &self,
        precision: Precision,
        items: &Dense,
        whole: Option<WholeSide<'_>>,
    ) -> ObjectiveShare {
        let users = &self.sides.users;
        let (p, first) = (&users.factors, users.chunks.start);
        let weights = (&users.own_weights, &users.fixed_weights);
        let (all, before) = self.entries;
        let sample = super::sums::SAMPLE;
        let every = whole.filter(|_| precision == Precision::EveryEntry);
        let missing = every.map(|whole| {
            let entries = users.entries.with_columns(&users.needs, self.shape.items);
            let weight = |user: usize, item: usize| {
                let (a, b) = (users.own_weights.row(user), whole.weights.row(item));
                crate::solver::objective::dot(a, b)
            };
            missing_by_entry(&entries, weight, (p, whole.factors), first)
        });
        ObjectiveShare {
            loss: entry_losses(&users.entries, weights, (p, items), first),
            ridge: self
                .sides
                .as_ref()
                .map(|share| ridge_sums(&share.factors, &share.penalty, share.chunks.start)),
            sizes: vec![(
                before,
                prediction_sizes(&users.entries, (p, items), (before, all), sample),
            )],
            missing: missing.unwrap_or_default(),
        }
    }
}

/// The same halt with the number that a row has in the whole matrix.
fn in_whole(halt: Halt, first: usize) -> Halt {
    match halt {
        Halt::NotConvex(at) => Halt::NotConvex(NotConvex {
            row: first + at.row,
            ..at
        }),
        Halt::Cancelled => Halt::Cancelled,
    }
}
