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

/// How much of the objective a rise may be before it is more than rounding.
const ROUNDING: f64 = 1e-6;
/// How many times the objective may be counted as missing before its sums are taken in double precision.
const COUNTED: f64 = 8.0;

/// The sweeps of a solver: users, their caches, items, their caches, the objective.
///
/// No sweep raises the objective beyond rounding. One that does, because curvatures cancelled or numbers
/// overflowed in single precision, is undone and made again in double precision; if that does not help,
/// the factors stay as they were.
pub(super) struct AlternatingSweeps<B> {
    backend: B,
    /// The objective that the next sweep must not exceed, where it is known.
    before: Option<Objective>,
    /// The objective of factors that are all 0, which takes its place before the first sweep.
    at_zero: f64,
}

impl<B: Backend> AlternatingSweeps<B> {
    /// `before` is the objective of the factors that the backend starts from, where it is known.
    pub(super) fn new(mut backend: B, problem: &Problem<'_>, before: Option<Objective>) -> Self {
        backend.sum_caches(Axis::Item);
        Self {
            backend,
            before,
            at_zero: at_zero(problem),
        }
    }

    fn objective(&mut self) -> Objective {
        let fast = self.backend.objective_sums(Precision::Fast);
        let (counted, total) = (fast.counted_as_missing.abs(), fast.objective.total());
        if counted <= total {
            return fast.objective;
        }
        // Close to a perfect fit J is a small difference of large sums: rounding would show.
        let exact = self.backend.objective_sums(Precision::Exact);
        if exact.counted_as_missing.abs() <= COUNTED * exact.objective.total() {
            return exact.objective;
        }
        self.in_double()
    }

    fn in_double(&mut self) -> Objective {
        self.backend.objective_sums(Precision::Double).objective
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
    fn retry(&mut self, cancel: &Cancel) -> Result<Option<Objective>, FitError> {
        let spoilt = self.in_double();
        self.undo();
        let before = self.in_double();
        let limit = before.total() + ROUNDING * before.total().abs();
        if spoilt.total() <= limit {
            // The sums were at fault, or the start was far from good: the same sweep once more.
            let made = self.improve(Precision::Fast, cancel)?;
            return Ok(made.then_some(spoilt));
        }
        if !self.improve(Precision::Double, cancel)? {
            return Ok(None);
        }
        let again = self.in_double();
        if again.total() <= limit {
            return Ok(Some(again));
        }
        self.undo();
        Ok(Some(before))
    }
}

impl<B: Backend> Sweeps for AlternatingSweeps<B> {
    fn sweep(&mut self, _: usize, cancel: &Cancel) -> Result<Option<Objective>, FitError> {
        if !self.improve(Precision::Fast, cancel)? {
            return Ok(None);
        }
        let objective = self.objective();
        let before = self.before.map_or(self.at_zero, |before| before.total());
        let made = if objective.total() <= before + ROUNDING * before.abs() {
            Some(objective)
        } else {
            self.retry(cancel)?
        };
        if made.is_some() {
            self.before = made;
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
    sum_rows(entries.rows(), |rows| rows.map(of_row).sum()).unwrap_or(0.0)
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
