//! A part of a problem, for processes that share the work of a run.
//!
//! A [`Shard`] owns some chunks of the users and some of the items, with their entries, weights and
//! penalties. It makes the half-sweeps of its rows by the solvers of [`Cpu`](super::backend::Cpu), given
//! the rows of the other side that its entries [name](Shard::needs) and the caches of all rows. Every sum
//! over rows comes as a [`RowSum`], so that those of all shards [merge](RowSum::merge) to the bits of one
//! process, whatever their number. It knows nothing of how rows and sums travel.

mod objective;
mod sample;
mod share;
mod waves;

use super::backend::Precision;
use super::cpu;
use super::error::FitError;
use super::init::{Init, gaussian_part};
use super::observer::Cancel;
use super::problem::Problem;
use super::start::check_given;
use crate::data::Entries;
use crate::error::Axis;
use crate::linalg::Dense;
use crate::linalg::kernels::Kernels;
use crate::model::Factors;
use crate::params::{Params, Solver};
use crate::row_sums::RowSum;
use crate::sides::Sides;
use crate::solver::cache::{GramCache, gram_sums};
use crate::solver::in_double::{DoubleCache, double_sums, half_sweep_in_double};
use crate::solver::objective::{
    can_sum_every_entry, entry_losses, losses_at_zero, missing_by_entry, prediction_sizes,
    ridge_sums,
};
use crate::solver::{EntryLoss, Halt, NotConvex};
use std::ops::Range;

pub use objective::{ObjectiveShare, Totals};
pub use sample::{SampledEntry, sizes_of_sample};
use share::Share;
pub use share::{SideParts, rows_of};

/// The caches `S_t` of all rows of one side.
pub struct Caches {
    single: GramCache,
}

impl Caches {
    /// Takes the sums over all rows, with `factors` factors and weights of rank `rank`; `None` if there are no
    /// rows.
    ///
    /// # Panics
    /// If the sums are those of another number of factors or another rank.
    #[must_use]
    pub fn new(factors: usize, rank: usize, sums: Option<Vec<f64>>) -> Self {
        let stride = Dense::padded(0, factors).stride();
        Self {
            single: GramCache::of_sums(stride, rank, sums),
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

/// A part of a problem: what a shard is made of, but for its factors.
pub struct ShardParts {
    /// Its rows of each side.
    pub sides: Sides<SideParts>,
    /// Users and items of the whole problem.
    pub shape: Sides<usize>,
    /// Observed entries of the whole problem, and those of users before the shard's.
    pub entries: (usize, usize),
    /// Whether some weight on missing entries may be below zero.
    pub may_be_negative: bool,
}

impl ShardParts {
    /// Cuts ranges of chunks of [`CHUNK_ROWS`](super::backend::CHUNK_ROWS) rows of each side, which may be
    /// empty, out of a problem. A dense W, which only the slow algorithm takes, is not cut into parts.
    #[must_use]
    pub fn cut(problem: &Problem<'_>, chunks: &Sides<Range<usize>>) -> Self {
        let by_user = problem.entries(Axis::User);
        let first = rows_of(&chunks.users, by_user.rows()).start;
        Self {
            sides: Sides::from_fn(|axis| SideParts::cut((problem, axis), chunks[axis].clone())),
            shape: problem.shape(),
            entries: (by_user.len(), by_user.offsets()[first] as usize),
            may_be_negative: problem.may_be_negative(),
        }
    }

    /// Cuts the same out of two problems: one whose entries are those of the users, and one whose entries are
    /// those of the items, each a [part](crate::data::WholeMatrix) of the same matrix. `before` is the number of
    /// entries of users before these, `entries` that of all.
    #[must_use]
    pub fn join(
        users: &Problem<'_>,
        items: SideParts,
        chunks: Range<usize>,
        (entries, before): (usize, usize),
    ) -> Self {
        Self {
            sides: Sides {
                users: SideParts::cut((users, Axis::User), chunks),
                items,
            },
            shape: users.shape(),
            entries: (entries, before),
            may_be_negative: users.may_be_negative(),
        }
    }

    /// The rows of one side.
    #[must_use]
    pub fn rows(&self, axis: Axis) -> Range<usize> {
        rows_of(&self.sides[axis].chunks, self.shape[axis])
    }

    /// `Σ_R c r²` of its users, the objective where all factors are zero.
    #[must_use]
    pub fn at_zero(&self) -> RowSum<f64> {
        losses_at_zero(&self.sides.users.entries, self.sides.users.chunks.start)
    }
}

/// Whether exact sums and half-sweeps of a problem with `k` factors visit every entry of the matrix.
#[must_use]
pub fn visits_every_entry(users: usize, items: usize, k: usize) -> bool {
    can_sum_every_entry(users, items, k)
}

/// Some rows of the random factors that a run starts from; the first one begins a chunk.
#[must_use]
pub fn random_rows(params: &Params, axis: Axis, rows: Range<usize>) -> Dense {
    let side = match axis {
        Axis::User => 0,
        Axis::Item => 1,
    };
    gaussian_part(rows, params.factors, params.init_std, params.seed, side)
}

impl ShardParts {
    /// The factors that its rows start from: random ones, or its rows of given ones. A sketch, which needs all
    /// entries, is not made; random factors take its place.
    ///
    /// # Errors
    /// Given factors that are not finite or of another shape.
    pub fn start(&self, init: &Init, params: &Params) -> Result<Sides<Dense>, FitError> {
        let given = |axis: Axis, factors: &Factors| {
            check_given(axis, factors, (self.shape[axis], params.factors))?;
            let (first, rows) = (self.rows(axis).start, self.rows(axis).len());
            let value = |row: usize, f: usize| factors.row(first + row)[f];
            Ok::<_, FitError>(Dense::from_fn(rows, params.factors, value))
        };
        Ok(match init {
            Init::Given { users, items } => Sides {
                users: given(Axis::User, users)?,
                items: given(Axis::Item, items)?,
            },
            Init::Gaussian | Init::Sketch { .. } => {
                Sides::from_fn(|axis| random_rows(params, axis, self.rows(axis)))
            }
        })
    }
}

impl Shard {
    /// Takes a part of a problem and the factors of its rows to start from.
    #[must_use]
    pub fn new(parts: ShardParts, solver: Solver, start: Sides<Dense>) -> Self {
        let kernels = Kernels::in_use();
        let tiles = |entries: &Entries<'_>, stride| cpu::tiles(solver, kernels, entries, stride);
        let ShardParts { sides, shape, .. } = parts;
        Self {
            solver,
            kernels,
            may_be_negative: parts.may_be_negative,
            shape,
            entries: parts.entries,
            sides: Sides {
                users: Share::new(sides.users, shape.users, start.users, tiles),
                items: Share::new(sides.items, shape.items, start.items, tiles),
            },
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
        &self.sides[axis].parts.needs
    }

    /// The factors of its rows.
    #[must_use]
    pub fn factors(&self, axis: Axis) -> &Dense {
        &self.sides[axis].factors
    }

    /// Its rows of the weights on missing entries.
    #[must_use]
    pub fn weights(&self, axis: Axis) -> &Dense {
        &self.sides[axis].parts.own_weights
    }

    /// Replaces the factors of its rows, by those of a checkpoint for instance. Half-sweeps before it cannot be
    /// undone.
    ///
    /// # Panics
    /// If the matrix has another shape.
    pub fn set_factors(&mut self, axis: Axis, factors: Dense) {
        let own = &self.sides[axis].factors;
        let shape = (own.rows(), own.cols());
        assert_eq!((factors.rows(), factors.cols()), shape);
        self.sides[axis].set(factors);
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
        let mut after = self.sides[axis].spare();
        let share = &self.sides[axis];
        let side = share.side((fixed, &caches.single), self.kernels, cancel);
        let side = crate::solver::Side {
            wants_loss: measured,
            may_be_negative: self.may_be_negative,
            ..side
        };
        let (before, tiles) = (&share.factors, &share.tiles);
        let improved = cpu::improve(self.solver, (before, &mut after), &side, tiles, None);
        let loss = improved.map_err(|halt| in_whole(halt, share.rows().start))?;
        self.sides[axis].replace(after);
        Ok(loss)
    }

    /// Does what [`half_sweep`](Self::half_sweep) does in double precision, with the caches of all rows
    /// of the other side as [`double_sums`](Self::double_sums) has them. With the whole other side,
    /// whether a row improves is seen from all of its entries; see [`visits_every_entry`].
    /// Yields `false` for solvers whose steps always are in double precision.
    ///
    /// # Errors
    /// Those of [`half_sweep`](Self::half_sweep).
    pub fn half_sweep_in_double(
        &mut self,
        axis: Axis,
        (fixed, sums): (&Dense, &Option<Vec<f64>>),
        whole: Option<WholeSide<'_>>,
        cancel: &Cancel,
    ) -> Result<bool, Halt> {
        let share = &self.sides[axis];
        let (k, z) = (share.factors.cols(), share.parts.own_weights.cols());
        let Some(steps) = cpu::double_steps(self.solver, k) else {
            return Ok(false);
        };
        let cache = DoubleCache::of_sums(k, z, sums.as_deref());
        // Not read in double precision.
        let single = GramCache::of_sums(share.factors.stride(), z, None);
        let columns = self.shape[axis.other()];
        let entries = whole.map(|_| {
            let parts = &share.parts;
            parts.entries.with_columns(&parts.needs, columns)
        });
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

    /// Restores the factors that a side had before its last half-sweep.
    pub fn undo(&mut self, axis: Axis) {
        self.sides[axis].undo();
    }

    /// What its rows of one side add to the caches.
    #[must_use]
    pub fn cache_sums(&self, axis: Axis) -> RowSum<Vec<f64>> {
        let Share { parts, factors, .. } = &self.sides[axis];
        gram_sums(
            factors,
            &parts.own_weights,
            self.kernels,
            parts.chunks.start,
        )
    }

    /// What its rows of one side add to the caches in double precision.
    #[must_use]
    pub fn double_sums(&self, axis: Axis) -> RowSum<Vec<f64>> {
        let Share { parts, factors, .. } = &self.sides[axis];
        double_sums(factors, &parts.own_weights, parts.chunks.start)
    }

    /// What its users and items add to the objective. `items` has the items that its users
    /// [need](Self::needs); `whole` has all items where the precision is that of every entry. `measured`
    /// says that the last half-sweep has summed the loss of the entries and both penalties.
    #[must_use]
    pub fn objective_share(
        &self,
        precision: Precision,
        measured: bool,
        items: &Dense,
        whole: Option<WholeSide<'_>>,
    ) -> ObjectiveShare {
        let (users, p) = (&self.sides.users.parts, &self.sides.users.factors);
        let first = users.chunks.start;
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
        let is_summed = measured && precision == Precision::Fast;
        let loss = || entry_losses(&users.entries, weights, (p, items), first);
        let ridge = |share: &Share| {
            let parts = &share.parts;
            ridge_sums(&share.factors, &parts.penalty, parts.chunks.start)
        };
        let ridge = || self.sides.as_ref().map(ridge);
        ObjectiveShare {
            loss: if is_summed { RowSum::default() } else { loss() },
            ridge: if is_summed { Sides::default() } else { ridge() },
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
        halt @ (Halt::Cancelled | Halt::Failed(_)) => halt,
    }
}
