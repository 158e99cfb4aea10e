//! The backend that runs on the processor's cores.

mod sums;

use std::sync::Arc;

use super::backend::{Backend, Device, LocalBackend, ObjectiveSums, Precision};
use super::observer::Cancel;
use super::problem::Problem;
use crate::data::Entries;
use crate::error::Axis;
use crate::linalg::Dense;
use crate::linalg::kernels::Kernels;
use crate::model::Factors;
use crate::params::Solver;
use crate::row_sums::RowSum;
use crate::sides::Sides;
use crate::solver::block::BlockSolver;
use crate::solver::cache::GramCache;
use crate::solver::cg::CgSolver;
use crate::solver::features::SideFeatures;
use crate::solver::in_double::{DoubleCache, Steps, half_sweep_in_double};
use crate::solver::lane_parallel::ElementSolver;
use crate::solver::objective::can_sum_every_entry;
use crate::solver::vanilla::VanillaSolver;
use crate::solver::{EntryLoss, Halt, MAX_STORED_ENTRIES, Side, Tiles, half_sweep};

/// The processor's cores, with the best kernels that they have.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu;

impl Device for Cpu {
    type Backend<'p> = CpuBackend<'p>;

    fn takes_features(&self) -> bool {
        true
    }

    fn backend<'p>(
        &self,
        problem: &'p Problem<'p>,
        solver: Solver,
        start: Sides<Dense>,
    ) -> CpuBackend<'p> {
        CpuBackend::new(problem, solver, start)
    }
}

/// The factors and caches of a run on the processor's cores.
pub struct CpuBackend<'p> {
    problem: &'p Problem<'p>,
    solver: Solver,
    kernels: Kernels,
    tiles: Sides<Tiles>,
    factors: Sides<Arc<Dense>>,
    /// Factors before each side's last half-sweep: what cancellation returns to, and the memory that
    /// the next half-sweep writes to.
    before: Sides<Option<Arc<Dense>>>,
    caches: Sides<Option<GramCache>>,
    /// `Σ λ|p|²` of each side, if its last half-sweep has summed it.
    ridge: Sides<Option<f64>>,
    /// What the entries contribute to the objective, if the last half-sweep measured it.
    loss: Option<EntryLoss>,
    /// `Σ p · Σ_j w x q_j` of each block of features, if the last half-sweep measured it.
    linear: Option<Vec<f64>>,
}

impl<'p> CpuBackend<'p> {
    fn new(problem: &'p Problem<'p>, solver: Solver, start: Sides<Dense>) -> Self {
        let kernels = Kernels::in_use();
        let stride = start.users.stride();
        Self {
            problem,
            solver,
            kernels,
            tiles: Sides::from_fn(|axis| tiles(solver, kernels, problem.entries(axis), stride)),
            factors: start.map(Arc::new),
            before: Sides::default(),
            caches: Sides::default(),
            ridge: Sides::default(),
            loss: None,
            linear: None,
        }
    }

    /// Blocks of features as the rows of one side see them.
    fn features(&self, axis: Axis) -> Vec<SideFeatures<'p>> {
        let fixed = &self.factors[axis.other()];
        let blocks = self.problem.features().iter();
        let seen = |block| SideFeatures::new(block, axis, fixed, self.kernels);
        blocks.map(seen).collect()
    }
}

impl Backend for CpuBackend<'_> {
    fn half_sweep(&mut self, axis: Axis, measured: bool, cancel: &Cancel) -> Result<(), Halt> {
        let features = self.features(axis);
        let (free, side) = side(
            (self.problem, axis),
            (&mut self.factors, &mut self.caches),
            &features,
            (self.kernels, measured, cancel),
        );
        // The factors from before the last half-sweep may be shared with a checkpoint or the best model.
        let spare = self.before[axis].take().and_then(Arc::into_inner);
        let mut after = spare.unwrap_or_else(|| Dense::padded(free.rows(), free.cols()));
        let (tiles, dense) = (&self.tiles[axis], self.problem.dense(axis));
        let loss = improve(self.solver, (free, &mut after), &side, tiles, dense)?;
        let loss = loss.total().unwrap_or_default();
        let linear = |block: &SideFeatures<'_>| block.linear(&after);
        self.linear = measured.then(|| features.iter().map(linear).collect());
        self.before[axis] = Some(std::mem::replace(free, Arc::new(after)));
        self.ridge[axis] = Some(loss.ridge);
        self.loss = measured.then_some(loss);
        Ok(())
    }

    fn half_sweep_in_double(&mut self, axis: Axis, cancel: &Cancel) -> Result<(), Halt> {
        let Some(steps) = double_steps(self.solver, self.factors.users.cols()) else {
            return self.half_sweep(axis, false, cancel);
        };
        let features = self.features(axis);
        let (free, side) = side(
            (self.problem, axis),
            (&mut self.factors, &mut self.caches),
            &features,
            (self.kernels, false, cancel),
        );
        let mut after = Dense::padded(free.rows(), free.cols());
        let cache = DoubleCache::new(side.fixed, side.fixed_weights);
        let by_entry = can_sum_every_entry(free.rows(), side.fixed.rows(), free.cols());
        half_sweep_in_double((steps, by_entry), (free, &mut after), (&side, &cache))?;
        self.before[axis] = Some(std::mem::replace(free, Arc::new(after)));
        self.forget_sums(axis);
        Ok(())
    }

    fn sum_caches(&mut self, axis: Axis) -> Result<(), Halt> {
        // The old ones are freed first, because memory may not suffice for both.
        self.caches[axis] = None;
        let (factors, weights) = (&self.factors[axis], self.problem.weights(axis));
        summed(&mut self.caches[axis], factors, weights, self.kernels);
        Ok(())
    }

    fn undo(&mut self, axis: Axis) -> Result<(), Halt> {
        if let Some(before) = self.before[axis].take() {
            self.factors[axis] = before;
            self.forget_sums(axis);
        }
        Ok(())
    }

    fn objective_sums(&mut self, precision: Precision) -> Result<ObjectiveSums, Halt> {
        Ok(self.sums(precision))
    }
}

impl LocalBackend for CpuBackend<'_> {
    fn factors(&self) -> Sides<Factors> {
        let share = |factors: &Arc<Dense>| Factors::share(Arc::clone(factors));
        self.factors.as_ref().map(share)
    }
}

/// The factors that a half-sweep of one side replaces, and what it reads.
fn side<'s>(
    (problem, axis): (&'s Problem<'_>, Axis),
    (factors, caches): (&'s mut Sides<Arc<Dense>>, &'s mut Sides<Option<GramCache>>),
    features: &'s [SideFeatures<'s>],
    (kernels, wants_loss, cancel): (Kernels, bool, &'s Cancel),
) -> (&'s mut Arc<Dense>, Side<'s>) {
    let (free, fixed) = factors.own_and_other(axis);
    let fixed_weights = problem.weights(axis.other());
    let side = Side {
        observed: problem.entries(axis),
        own_weights: problem.weights(axis),
        fixed_weights,
        fixed,
        cache: summed(&mut caches[axis.other()], fixed, fixed_weights, kernels),
        penalty: problem.penalty(axis),
        features,
        may_be_negative: problem.may_be_negative(),
        wants_loss,
        kernels,
        cancelled: cancel.flag(),
    };
    (free, side)
}

/// The caches of one side, summed now if they have not been.
fn summed<'c>(
    cache: &'c mut Option<GramCache>,
    factors: &Dense,
    weights: &Dense,
    kernels: Kernels,
) -> &'c GramCache {
    cache.get_or_insert_with(|| GramCache::new(factors, weights, kernels))
}

/// Rows cut into tiles as the solver reads them.
pub(super) fn tiles(
    solver: Solver,
    kernels: Kernels,
    observed: &Entries<'_>,
    stride: usize,
) -> Tiles {
    match solver {
        Solver::Eals if kernels.uses_lane_parallel() => {
            Tiles::sorted(observed, stride, MAX_STORED_ENTRIES)
        }
        Solver::Eals
        | Solver::EalsVanilla
        | Solver::Subspace { .. }
        | Solver::Als
        | Solver::AlsCg { .. } => Tiles::new(observed, stride),
    }
}

/// The steps of a solver when they are made in double precision; `None` if they always are.
pub(super) fn double_steps(solver: Solver, k: usize) -> Option<Steps> {
    match solver {
        Solver::Eals => Some(Steps::Blocks(1)),
        Solver::Subspace { block } => Some(Steps::Blocks(block)),
        Solver::Als => Some(Steps::Blocks(k)),
        Solver::AlsCg { steps } => Some(Steps::Conjugate(steps)),
        Solver::EalsVanilla => None,
    }
}

/// Improves rows by the steps of the solver.
pub(super) fn improve(
    solver: Solver,
    (before, after): (&Dense, &mut Dense),
    side: &Side<'_>,
    tiles: &Tiles,
    dense: Option<&Dense>,
) -> Result<RowSum<EntryLoss>, Halt> {
    let in_blocks =
        |block, after: &mut Dense| half_sweep(&BlockSolver { block }, before, after, side, tiles);
    match solver {
        Solver::Eals if side.kernels.uses_lane_parallel() => {
            half_sweep(&ElementSolver, before, after, side, tiles)
        }
        Solver::Eals => in_blocks(1, after),
        Solver::Subspace { block } => in_blocks(block, after),
        Solver::Als => in_blocks(side.fixed.stride(), after),
        Solver::AlsCg { steps } => half_sweep(&CgSolver { steps }, before, after, side, tiles),
        Solver::EalsVanilla => half_sweep(&VanillaSolver { dense }, before, after, side, tiles),
    }
}

#[cfg(test)]
mod tests;
