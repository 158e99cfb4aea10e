//! The sweeps of a solver, which a backend carries out, and the passes of a baseline.

use std::sync::Arc;

use super::backend::{Backend, LocalBackend, Precision, RemoteBackend};
use super::error::FitError;
use super::observer::{Cancel, Sweep};
use super::problem::Problem;
use crate::baselines::{self, Neighbours, Pass, PassInput};
use crate::error::Axis;
use crate::linalg::Dense;
use crate::linalg::kernels::Kernels;
use crate::model::Factors;
use crate::params::Baseline;
use crate::sides::Sides;
use crate::solver::cache::GramCache;
use crate::solver::objective::{Objective, can_sum_every_entry, entry_loss, missing_of_all};
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

/// How much of the objective a rise may be before it is more than rounding.
const ROUNDING: f64 = 1e-6;
/// The share of the objective by which it may be off before it is summed more exactly.
const OFF: f64 = 2e-6;
/// How many times the rounding of the objective in double precision the rows of a sweep may be off by,
/// all together.
const ROWS: f64 = 100.0;

/// What is known of the factors that a run starts from.
pub(super) enum StartedFrom {
    /// Their objective, from the history of the run.
    Objective(Objective),
    /// They are random; at zero the objective would be this.
    Random {
        /// `Σ_R c r²`.
        at_zero: f64,
    },
    /// They were computed or given.
    Factors,
}

/// The sweeps of a solver: users, their caches, items, their caches, the objective.
///
/// No sweep raises the objective beyond rounding. One that does, because curvatures cancelled or numbers
/// overflowed in single precision, is undone and made again in double precision. If that does not lower
/// the objective either, the factors stay as they were; if it raises it beyond the rounding of double
/// precision, the run ends with an error.
pub(super) struct AlternatingSweeps<B> {
    backend: B,
    /// The objective that the next sweep must not exceed.
    before: f64,
    /// Whether the objective can be summed entry by entry.
    can_sum_every_entry: bool,
}

impl<B: Backend> AlternatingSweeps<B> {
    /// The sweeps of a problem with this many users and items.
    pub(super) fn new(
        mut backend: B,
        shape: Sides<usize>,
        factors: usize,
        start: &StartedFrom,
    ) -> Result<Self, FitError> {
        backend
            .sum_caches(Axis::Item)
            .map_err(FitError::of_device)?;
        let mut sweeps = Self {
            backend,
            before: f64::INFINITY,
            can_sum_every_entry: can_sum_every_entry(shape.users, shape.items, factors),
        };
        sweeps.before = match start {
            StartedFrom::Objective(objective) => objective.total(),
            // Random factors explain about as much of the targets as one entry does.
            StartedFrom::Random { at_zero } => *at_zero,
            StartedFrom::Factors => {
                sweeps
                    .backend
                    .sum_caches(Axis::User)
                    .map_err(FitError::of_device)?;
                sweeps.objective()?.total()
            }
        };
        Ok(sweeps)
    }

    fn objective(&mut self) -> Result<Objective, FitError> {
        self.summed_from(Precision::Fast)
    }

    /// The objective, in the first precision from `least` on that is exact enough.
    fn summed_from(&mut self, least: Precision) -> Result<Objective, FitError> {
        let mut objective = Objective::default();
        let precisions = Precision::ALL.into_iter();
        for precision in precisions.skip_while(|precision| *precision != least) {
            let every = precision == Precision::EveryEntry;
            if every && !(self.can_sum_every_entry && objective.total().is_finite()) {
                break;
            }
            let sums = self
                .backend
                .objective_sums(precision)
                .map_err(FitError::of_device)?;
            objective = sums.objective;
            if sums.rounding <= OFF * objective.total().abs() {
                break;
            }
        }
        Ok(objective)
    }

    /// Improves both sides, or yields `false` if that was cancelled and undone.
    fn improve(&mut self, precision: Precision, cancel: &Cancel) -> Result<bool, FitError> {
        for axis in [Axis::User, Axis::Item] {
            let improved = match precision {
                Precision::Double => self.backend.half_sweep_in_double(axis, cancel),
                // The objective is that after the whole sweep.
                _ => self.backend.half_sweep(axis, axis == Axis::Item, cancel),
            };
            match improved {
                Ok(()) => self.backend.sum_caches(axis).map_err(FitError::of_device)?,
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
                        self.backend.undo(Axis::User).map_err(FitError::of_device)?;
                    }
                    return Ok(false);
                }
                Err(halt @ Halt::Failed(_)) => return Err(FitError::of_device(halt)),
            }
        }
        Ok(true)
    }

    fn undo(&mut self) -> Result<(), FitError> {
        for axis in [Axis::Item, Axis::User] {
            self.backend.undo(axis).map_err(FitError::of_device)?;
            self.backend.sum_caches(axis).map_err(FitError::of_device)?;
        }
        Ok(())
    }

    /// Takes back a sweep that seems to have raised the objective, and makes it again if it has.
    fn retry(&mut self, iteration: usize, cancel: &Cancel) -> Result<Option<Objective>, FitError> {
        let spoilt = self.summed_from(Precision::Double)?.total();
        self.undo()?;
        let before = self.summed_from(Precision::Double)?;
        let limit = before.total() + ROUNDING * before.total().abs();
        if spoilt <= limit {
            // The sums were at fault, or the start was far from good: the same sweep once more.
            let made = self.improve(Precision::Fast, cancel)?;
            return if made {
                Ok(Some(self.objective()?))
            } else {
                Ok(None)
            };
        }
        if !self.improve(Precision::Double, cancel)? {
            return Ok(None);
        }
        let again = self.summed_from(Precision::Double)?;
        if again.total() <= limit {
            return Ok(Some(again));
        }
        self.undo()?;
        let sums = self.backend.objective_sums(Precision::Double);
        let rounding = sums.map_err(FitError::of_device)?.rounding;
        if again.total() > before.total() + ROWS * rounding {
            return Err(FitError::Rises {
                iteration,
                before: before.total(),
                after: again.total(),
            });
        }
        Ok(Some(before))
    }
}

impl<B: RemoteBackend> AlternatingSweeps<B> {
    /// Stores the state of the run after its last sweep.
    pub(super) fn checkpoint(&mut self, history: &[Sweep]) -> Result<(), FitError> {
        self.backend
            .checkpoint(history)
            .map_err(FitError::of_device)
    }
}

impl<B: Backend> AlternatingSweeps<B> {
    /// Makes a sweep and yields the objective after it, or `None` if it was cancelled and undone.
    pub(super) fn make(
        &mut self,
        iteration: usize,
        cancel: &Cancel,
    ) -> Result<Option<Objective>, FitError> {
        if !self.improve(Precision::Fast, cancel)? {
            return Ok(None);
        }
        let objective = self.objective()?;
        let made = if objective.total() <= self.before + ROUNDING * self.before.abs() {
            Some(objective)
        } else {
            self.retry(iteration, cancel)?
        };
        if let Some(objective) = made {
            self.before = objective.total();
        }
        Ok(made)
    }
}

impl<B: LocalBackend> Sweeps for AlternatingSweeps<B> {
    fn sweep(&mut self, iteration: usize, cancel: &Cancel) -> Result<Option<Objective>, FitError> {
        self.make(iteration, cancel)
    }

    fn factors(&self) -> Sides<Factors> {
        self.backend.factors()
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
            missing: missing_of_all(sp.inner(&sq), &loss, problem.may_be_negative()),
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
