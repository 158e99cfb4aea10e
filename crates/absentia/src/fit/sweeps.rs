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
use crate::row_sums::sum_rows;
use crate::sides::Sides;
use crate::solver::cache::GramCache;
use crate::solver::objective::{Objective, entry_loss, has_few_entries, missing_of_all};
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
    /// They are random.
    Random,
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
    has_few_entries: bool,
}

impl<B: Backend> AlternatingSweeps<B> {
    pub(super) fn new(mut backend: B, problem: &Problem<'_>, start: &StartedFrom) -> Self {
        backend.sum_caches(Axis::Item);
        let (data, k) = (problem.data(), problem.params().factors);
        let mut sweeps = Self {
            backend,
            before: f64::INFINITY,
            has_few_entries: has_few_entries(data.n_users(), data.n_items(), k),
        };
        sweeps.before = match start {
            StartedFrom::Objective(objective) => objective.total(),
            // Random factors explain about as much of the targets as one entry does.
            StartedFrom::Random => at_zero(problem),
            StartedFrom::Factors => {
                sweeps.backend.sum_caches(Axis::User);
                sweeps.objective().total()
            }
        };
        sweeps
    }

    fn objective(&mut self) -> Objective {
        self.summed_from(Precision::Fast)
    }

    /// The objective, in the first precision from `least` on that is exact enough.
    fn summed_from(&mut self, least: Precision) -> Objective {
        let mut objective = Objective::default();
        let precisions = Precision::ALL.into_iter();
        for precision in precisions.skip_while(|precision| *precision != least) {
            let every = precision == Precision::EveryEntry;
            if every && !(self.has_few_entries && objective.total().is_finite()) {
                break;
            }
            let sums = self.backend.objective_sums(precision);
            objective = sums.objective;
            if sums.rounding <= OFF * objective.total().abs() {
                break;
            }
        }
        objective
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
                Ok(()) => self.backend.sum_caches(axis),
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
                        self.backend.undo(Axis::User);
                    }
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn undo(&mut self) {
        for axis in [Axis::Item, Axis::User] {
            self.backend.undo(axis);
            self.backend.sum_caches(axis);
        }
    }

    /// Takes back a sweep that seems to have raised the objective, and makes it again if it has.
    fn retry(&mut self, iteration: usize, cancel: &Cancel) -> Result<Option<Objective>, FitError> {
        let spoilt = self.summed_from(Precision::Double).total();
        self.undo();
        let before = self.summed_from(Precision::Double);
        let limit = before.total() + ROUNDING * before.total().abs();
        if spoilt <= limit {
            // The sums were at fault, or the start was far from good: the same sweep once more.
            let made = self.improve(Precision::Fast, cancel)?;
            return Ok(made.then(|| self.objective()));
        }
        if !self.improve(Precision::Double, cancel)? {
            return Ok(None);
        }
        let again = self.summed_from(Precision::Double);
        if again.total() <= limit {
            return Ok(Some(again));
        }
        self.undo();
        let rounding = self.backend.objective_sums(Precision::Double).rounding;
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

impl<B: Backend> Sweeps for AlternatingSweeps<B> {
    fn sweep(&mut self, iteration: usize, cancel: &Cancel) -> Result<Option<Objective>, FitError> {
        if !self.improve(Precision::Fast, cancel)? {
            return Ok(None);
        }
        let objective = self.objective();
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

    fn factors(&self) -> Sides<Factors> {
        self.backend.factors()
    }
}

/// `Σ_R c r²`.
fn at_zero(problem: &Problem<'_>) -> f64 {
    let entries = problem.entries(Axis::User);
    let of_row = |row: usize| -> f64 {
        let row = entries.row(row);
        let square = |n: usize| f64::from(row.c.get(n)) * f64::from(row.r.get(n)).powi(2);
        (0..row.indices.len()).map(square).sum()
    };
    let features = problem.features().iter().map(|block| block.at_zero);
    sum_rows(entries.rows(), |rows| rows.map(of_row).sum()).unwrap_or(0.0) + features.sum::<f64>()
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
