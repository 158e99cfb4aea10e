//! The sweeps of a solver, which a backend carries out, and the passes of a baseline.

use std::sync::Arc;

use super::backend::{Backend, Precision};
use super::error::FitError;
use super::observer::Cancel;
use super::problem::Problem;
use crate::baselines::{self, Neighbours, Pass, PassInput};
use crate::error::Axis;
use crate::linalg::Dense;
use crate::linalg::kernels::Kernels;
use crate::model::Factors;
use crate::params::Baseline;
use crate::sides::Sides;
use crate::solver::cache::GramCache;
use crate::solver::objective::{Objective, entry_loss, missing_part};
use crate::solver::{Halt, ridge};

/// Factors that a sweep improves.
pub(super) trait Sweeps: Send {
    /// Makes a sweep and yields the objective after it, or `None` if it was cancelled and undone.
    fn sweep(&mut self, iteration: usize, cancel: &Cancel) -> Result<Option<Objective>, FitError>;

    /// The factors as they are.
    fn factors(&self) -> Sides<Factors>;

    /// What an `itemknn` model has instead of factors.
    fn neighbours(&self) -> Option<Arc<Neighbours>> {
        None
    }
}

/// The sweeps of a solver: users, their caches, items, their caches, the objective.
pub(super) struct AlternatingSweeps<B>(B);

impl<B: Backend> AlternatingSweeps<B> {
    pub(super) fn new(mut backend: B) -> Self {
        backend.sum_caches(Axis::Item);
        Self(backend)
    }

    fn objective(&mut self) -> Objective {
        let fast = self.0.objective_sums(Precision::Fast);
        if fast.counted_as_missing.abs() <= fast.objective.total() {
            return fast.objective;
        }
        // Close to a perfect fit J is a small difference of large sums: rounding would show.
        self.0.objective_sums(Precision::Exact).objective
    }
}

impl<B: Backend> Sweeps for AlternatingSweeps<B> {
    fn sweep(&mut self, _: usize, cancel: &Cancel) -> Result<Option<Objective>, FitError> {
        for axis in [Axis::User, Axis::Item] {
            // The objective is that after the whole sweep.
            match self.0.half_sweep(axis, axis == Axis::Item, cancel) {
                Ok(()) => self.0.sum_caches(axis),
                Err(Halt::NotConvex(at)) => {
                    return Err(FitError::NotConvex {
                        axis,
                        row: at.row,
                        curvature: at.curvature,
                    });
                }
                Err(Halt::Cancelled) => {
                    // The interrupted half-sweep has changed nothing; the one before it is undone.
                    if axis == Axis::Item {
                        self.0.undo(Axis::User);
                    }
                    return Ok(None);
                }
            }
        }
        Ok(Some(self.objective()))
    }

    fn factors(&self) -> Sides<Factors> {
        self.0.factors()
    }
}

/// The passes of a baseline; J is computed from the factors each pass leaves.
pub(super) struct BaselinePasses<'p> {
    baseline: Baseline,
    problem: &'p Problem<'p>,
    factors: Sides<Arc<Dense>>,
    neighbours: Option<Arc<Neighbours>>,
    kernels: Kernels,
}

impl<'p> BaselinePasses<'p> {
    pub(super) fn new(baseline: Baseline, problem: &'p Problem<'p>, start: Sides<Dense>) -> Self {
        Self {
            baseline,
            problem,
            factors: start.map(Arc::new),
            neighbours: Neighbours::of_baseline(baseline, problem.data()).map(Arc::new),
            kernels: Kernels::in_use(),
        }
    }

    fn objective(&self) -> Objective {
        let (problem, kernels) = (self.problem, self.kernels);
        let (p, q) = (&*self.factors.users, &*self.factors.items);
        let loss = entry_loss(problem.data(), problem.missing_weights(), p, q);
        let cache = |axis| GramCache::new(&self.factors[axis], problem.weights(axis), kernels);
        let (sp, sq) = (cache(Axis::User), cache(Axis::Item));
        Objective {
            observed: loss.observed,
            missing: missing_part(&sp, &sq, &loss, problem.may_be_negative()),
            regularization: ridge(p, problem.penalty(Axis::User))
                + ridge(q, problem.penalty(Axis::Item)),
        }
    }
}

impl Sweeps for BaselinePasses<'_> {
    fn sweep(&mut self, iteration: usize, cancel: &Cancel) -> Result<Option<Objective>, FitError> {
        let input = PassInput {
            data: self.problem.data(),
            weights: self.problem.missing_weights(),
            penalty: Sides::from_fn(|axis| self.problem.penalty(axis)),
            params: self.problem.params(),
            kernels: self.kernels,
            cancelled: cancel.flag(),
        };
        let before = self.factors.clone();
        let p = Arc::make_mut(&mut self.factors.users);
        let q = Arc::make_mut(&mut self.factors.items);
        match baselines::pass(self.baseline, &input, iteration, p, q)? {
            Pass::Cancelled => {
                self.factors = before;
                Ok(None)
            }
            Pass::Own(objective) => Ok(Some(objective)),
            Pass::Objective => Ok(Some(self.objective())),
        }
    }

    fn factors(&self) -> Sides<Factors> {
        let share = |factors: &Arc<Dense>| Factors::share(Arc::clone(factors));
        self.factors.as_ref().map(share)
    }

    fn neighbours(&self) -> Option<Arc<Neighbours>> {
        self.neighbours.clone()
    }
}
