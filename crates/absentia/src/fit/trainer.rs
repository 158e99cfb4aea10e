//! The state of a run and its sweep: half-sweep P against `S^q`, build `S^p`, half-sweep Q, rebuild `S^q`.

mod learned;

pub(super) use learned::estimate_params;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use super::dense::{DensePair, missing_by_hand, penalties_of, transposed};
use super::error::FitError;
use super::init::Init;
use super::memory::{MemoryPlan, Sizes};
use super::observer::{Cancel, Sweep};
use super::start::start;
use super::state::{Best, Checkpoint};
use super::{Fitted, StopReason, Validation};
use crate::baselines::{self, Neighbours, Pass};
use crate::data::{Entries, FrozenTransform, Interactions, Values};
use crate::error::Axis;
use crate::linalg::Dense;
use crate::linalg::kernels::Kernels;
use crate::model::{Factors, Model, ModelParts};
use crate::params::{Baseline, CheckedParams, Method, Params, Solver};
use crate::solver::block::BlockSolver;
use crate::solver::cache::GramCache;
use crate::solver::cg::CgSolver;
use crate::solver::lane_parallel::ElementSolver;
use crate::solver::objective::{Objective, entry_loss, ridge};
use crate::solver::vanilla::VanillaSolver;
use crate::solver::{EntryLoss, Halt, KEPT_ENTRIES, Side, Tiles, half_sweep};
use crate::weights::{MissingWeights, Scheme};

/// A run between sweeps.
pub(super) struct Trainer<'a> {
    data: Interactions<'a>,
    transform: FrozenTransform,
    weights: MissingWeights,
    /// W as it is and transposed, where a solver takes it without factorising it.
    dense: Option<DensePair<'a>>,
    params: Params,
    plan: MemoryPlan,
    kernels: Kernels,
    tiles: (Tiles, Tiles),
    penalty: (Values<'static>, Values<'static>),
    p: Arc<Dense>,
    q: Arc<Dense>,
    /// Factors before each side's last half-sweep: what a sweep cut short returns to, and after
    /// that the memory of the next one.
    before: (Option<Arc<Dense>>, Option<Arc<Dense>>),
    /// `Σ λ|p|²` of both sides after their last half-sweeps.
    ridge: (f64, f64),
    /// Whether some weight on missing entries may be below zero.
    may_be_negative: bool,
    sq: GramCache,
    history: Vec<Sweep>,
    best: Option<Best>,
    /// Interactions of each user and item.
    counts: (Vec<u32>, Vec<u32>),
    /// What `itemknn` has instead of factors.
    neighbours: Option<Arc<Neighbours>>,
}

impl<'a> Trainer<'a> {
    pub(super) fn new(
        data: &Interactions<'a>,
        scheme: &'a Scheme,
        params: &CheckedParams,
        init: Init,
        resume: Option<Checkpoint>,
        keeps_best: bool,
    ) -> Result<Self, FitError> {
        let plan = MemoryPlan::new(&Sizes::of(data, scheme, keeps_best), params);
        if let Some(limit) = params.memory_limit.filter(|limit| *limit < plan.total()) {
            return Err(FitError::Memory {
                needed: plan.total(),
                limit,
            });
        }
        let transform = data.freeze(params.targets, params.confidence)?;
        let data = data.apply(&transform)?;
        let weights = learned::learn(scheme, &data, params)?.resolve(&data)?;
        if let Method::Baseline(baseline) = params.solver {
            baselines::check(baseline, &data, &weights)?;
        }
        let dense = scheme
            .dense()
            .filter(|_| params.solver == Method::Solver(Solver::EalsVanilla));
        let dense = dense.map(|w| (Cow::Borrowed(w), transposed(w)));
        let (p, q, history, best) = start(&data, &weights, params, init, resume)?;
        let penalty = penalties_of(&data, &weights, dense.as_ref(), params)?;
        let kernels = Kernels::in_use();
        Ok(Self {
            tiles: (
                tiles(params.solver, kernels, data.by_user(), p.stride()),
                tiles(params.solver, kernels, data.by_item(), p.stride()),
            ),
            before: (None, None),
            ridge: (0.0, 0.0),
            may_be_negative: weights.may_be_negative(),
            counts: (data.user_counts(), data.item_counts()),
            neighbours: Neighbours::of_method(params.solver, &data).map(Arc::new),
            sq: GramCache::new(&q, weights.b(), kernels),
            p: Arc::new(p),
            q: Arc::new(q),
            data,
            transform,
            weights,
            dense,
            params: (**params).clone(),
            plan,
            kernels,
            penalty,
            history,
            best,
        })
    }

    pub(super) fn plan(&self) -> &MemoryPlan {
        &self.plan
    }

    /// One sweep over both sides, or `None` if it was cancelled and undone.
    pub(super) fn sweep(&mut self, cancel: &Cancel) -> Result<Option<Sweep>, FitError> {
        let start = Instant::now();
        let iteration = self.iterations() + 1;
        let solver = match self.params.solver {
            Method::Solver(solver) => solver,
            Method::Baseline(baseline) => {
                return self.baseline_pass(baseline, iteration, start, cancel);
            }
        };
        let sp = match self.half_sweep(solver, Axis::User, None, cancel) {
            Ok(_) => GramCache::new(&self.p, self.weights.a(), self.kernels),
            Err(halt) => return self.halted(Axis::User, halt),
        };
        let loss = match self.half_sweep(solver, Axis::Item, Some(&sp), cancel) {
            Ok(loss) => loss,
            Err(halt) => return self.halted(Axis::Item, halt),
        };
        self.sq = GramCache::new(&self.q, self.weights.b(), self.kernels);
        let objective = self.objective(&sp, loss);
        if !objective.total().is_finite() {
            return Err(FitError::Diverged { iteration });
        }
        let seconds = start.elapsed().as_secs_f64();
        Ok(Some(Sweep {
            iteration,
            objective,
            seconds,
            validation: None,
        }))
    }

    /// Improves one side; solving Q reads `S^p`, solving P the `S^q` kept from the sweep before.
    fn half_sweep(
        &mut self,
        solver: Solver,
        axis: Axis,
        sp: Option<&GramCache>,
        cancel: &Cancel,
    ) -> Result<EntryLoss, Halt> {
        // The objective is that after the whole sweep.
        self.advance(solver, axis, sp, cancel, axis == Axis::Item)
    }

    fn advance(
        &mut self,
        solver: Solver,
        axis: Axis,
        sp: Option<&GramCache>,
        cancel: &Cancel,
        wants_loss: bool,
    ) -> Result<EntryLoss, Halt> {
        let (a, b) = (self.weights.a(), self.weights.b());
        let (observed, own_weights, fixed_weights, penalty, tiles) = match axis {
            Axis::User => (self.data.by_user(), a, b, &self.penalty.0, &self.tiles.0),
            Axis::Item => (self.data.by_item(), b, a, &self.penalty.1, &self.tiles.1),
        };
        let (free, fixed, before, ridge) = match axis {
            Axis::User => (&mut self.p, &*self.q, &mut self.before.0, &mut self.ridge.0),
            Axis::Item => (&mut self.q, &*self.p, &mut self.before.1, &mut self.ridge.1),
        };
        let side = Side {
            observed,
            own_weights,
            fixed_weights,
            fixed,
            cache: sp.unwrap_or(&self.sq),
            penalty,
            may_be_negative: self.may_be_negative,
            wants_loss,
            kernels: self.kernels,
            cancelled: cancel.flag(),
        };
        let dense = self.dense.as_ref().map(|(w, transposed)| match axis {
            Axis::User => &**w,
            Axis::Item => transposed,
        });
        // What was there before the last sweep may be shared with a checkpoint or the best model.
        let spare = before.take().and_then(Arc::into_inner);
        let mut after = spare.unwrap_or_else(|| Dense::padded(free.rows(), free.cols()));
        let loss = improve(solver, (free, &mut after), &side, tiles, dense)?;
        *before = Some(std::mem::replace(free, Arc::new(after)));
        *ridge = loss.ridge;
        Ok(loss)
    }

    /// One pass of a method that is no row solver; J is worked out from the factors it leaves.
    fn baseline_pass(
        &mut self,
        baseline: Baseline,
        iteration: usize,
        start: Instant,
        cancel: &Cancel,
    ) -> Result<Option<Sweep>, FitError> {
        let problem = baselines::Problem {
            data: &self.data,
            weights: &self.weights,
            penalty: (&self.penalty.0, &self.penalty.1),
            params: &self.params,
            kernels: self.kernels,
            cancelled: cancel.flag(),
        };
        let before = (Arc::clone(&self.p), Arc::clone(&self.q));
        let (p, q) = (Arc::make_mut(&mut self.p), Arc::make_mut(&mut self.q));
        let objective = match baselines::pass(baseline, &problem, iteration, p, q)? {
            Pass::Cancelled => {
                (self.p, self.q) = before;
                return Ok(None);
            }
            Pass::Own(objective) => objective,
            Pass::Objective => {
                let loss = entry_loss(&self.data, &self.weights, p, q);
                self.ridge = (ridge(p, &self.penalty.0), ridge(q, &self.penalty.1));
                let sp = GramCache::new(&self.p, self.weights.a(), self.kernels);
                self.sq = GramCache::new(&self.q, self.weights.b(), self.kernels);
                self.objective_of(&sp, loss)
            }
        };
        if !objective.total().is_finite() {
            return Err(FitError::Diverged { iteration });
        }
        Ok(Some(Sweep {
            iteration,
            objective,
            seconds: start.elapsed().as_secs_f64(),
            validation: None,
        }))
    }

    fn halted(&mut self, axis: Axis, halt: Halt) -> Result<Option<Sweep>, FitError> {
        match halt {
            Halt::NotConvex(at) => Err(FitError::NotConvex {
                axis,
                row: at.row,
                curvature: at.curvature,
            }),
            Halt::Cancelled => {
                // The half-sweep cut short has changed nothing; the one before it is undone.
                if let (Axis::Item, Some(before)) = (axis, self.before.0.take()) {
                    self.p = before;
                }
                Ok(None)
            }
        }
    }

    fn objective(&self, sp: &GramCache, loss: EntryLoss) -> Objective {
        let objective = self.objective_of(sp, loss);
        if loss.counted_as_missing.abs() <= objective.total() {
            return objective;
        }
        // Close to a perfect fit J is a small difference of large sums: rounding would show.
        let exact = entry_loss(&self.data, &self.weights, &self.p, &self.q);
        self.objective_of(sp, exact)
    }

    fn objective_of(&self, sp: &GramCache, loss: EntryLoss) -> Objective {
        let missing = if let Some((w, _)) = &self.dense {
            missing_by_hand(&self.data, w, &self.p, &self.q)
        } else {
            let missing = sp.inner(&self.sq) - loss.counted_as_missing;
            // Where weights are not negative, only rounding can be.
            if self.may_be_negative {
                missing
            } else {
                missing.max(0.0)
            }
        };
        Objective {
            observed: loss.observed,
            missing,
            regularization: self.ridge.0 + self.ridge.1,
        }
    }

    fn iterations(&self) -> usize {
        self.history.last().map_or(0, |sweep| sweep.iteration)
    }

    pub(super) fn record(&mut self, sweep: Sweep) {
        if let Some(score) = sweep.validation {
            // A tie keeps the earlier model; NaN never wins.
            if score
                > self
                    .best
                    .as_ref()
                    .map_or(f64::NEG_INFINITY, |best| best.score)
            {
                self.best = Some(Best {
                    iteration: sweep.iteration,
                    score,
                    users: Factors::share(Arc::clone(&self.p)),
                    items: Factors::share(Arc::clone(&self.q)),
                });
            }
        }
        self.history.push(sweep);
    }

    /// Why the run should make no further sweep, if so.
    pub(super) fn why_over(
        &self,
        params: &Params,
        validation: Option<&Validation<'_>>,
    ) -> Option<StopReason> {
        if self.params.solver.is_direct() && !self.history.is_empty() {
            return Some(StopReason::Converged);
        }
        if let (Some(tolerance), [.., before, last]) = (params.tolerance, &self.history[..]) {
            let (before, last) = (before.objective.total(), last.objective.total());
            if (before - last).abs() <= tolerance * before.abs() {
                return Some(StopReason::Converged);
            }
        }
        if let (Some(best), Some(patience)) = (
            &self.best,
            validation.and_then(|validation| validation.patience),
        ) {
            let later = self
                .history
                .iter()
                .filter(|sweep| sweep.iteration > best.iteration && sweep.validation.is_some());
            if later.count() >= patience {
                return Some(StopReason::Patience);
            }
        }
        (self.iterations() >= params.iterations).then_some(StopReason::Iterations)
    }

    /// The model as it stands, sharing its factors.
    pub(super) fn model(&self) -> Model {
        self.model_with(
            Factors::share(Arc::clone(&self.p)),
            Factors::share(Arc::clone(&self.q)),
        )
    }

    fn model_with(&self, user_factors: Factors, item_factors: Factors) -> Model {
        Model::new(ModelParts {
            user_factors,
            item_factors,
            weights: self.weights.clone(),
            transform: self.transform,
            user_counts: self.counts.0.clone(),
            item_counts: self.counts.1.clone(),
            params: self.params.clone(),
            history: self.history.clone(),
            neighbours: self.neighbours.clone(),
        })
    }

    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            model: self.model(),
            best: self.best.clone(),
        }
    }

    pub(super) fn finish(self, reason: StopReason) -> Fitted {
        let checkpoint = self.checkpoint();
        let (model, chosen_iteration) = match &self.best {
            Some(best) => (
                self.model_with(best.users.clone(), best.items.clone()),
                best.iteration,
            ),
            None => (checkpoint.model.clone(), self.iterations()),
        };
        Fitted {
            model,
            reason,
            chosen_iteration,
            checkpoint,
        }
    }
}

/// Tiles as the solver wants them.
fn tiles(method: Method, kernels: Kernels, observed: &Entries<'_>, stride: usize) -> Tiles {
    match method {
        Method::Solver(Solver::Eals) if kernels.uses_lane_parallel() => {
            Tiles::sorted(observed, stride, KEPT_ENTRIES)
        }
        Method::Solver(_) | Method::Baseline(_) => Tiles::new(observed, stride),
    }
}

fn improve(
    solver: Solver,
    (before, after): (&Dense, &mut Dense),
    side: &Side<'_>,
    tiles: &Tiles,
    dense: Option<&Dense>,
) -> Result<EntryLoss, Halt> {
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
mod long_row;
#[cfg(test)]
mod tests;
