//! The loop of a run: when to stop, to report, to write a checkpoint and to cancel.

use std::sync::Arc;
use std::time::Instant;

use super::error::FitError;
use super::observer::{Cancel, Control, Sweep};
use super::problem::Problem;
use super::state::{Best, Checkpoint};
use super::sweeps::Sweeps;
use super::{Fitted, Run, StopReason, Validation};
use crate::model::{Factors, Model, ModelParts, RelatedParts};
use crate::sides::Sides;

/// A run between two sweeps.
pub(super) struct TrainingLoop<'p, S> {
    problem: &'p Problem<'p>,
    sweeps: S,
    history: Vec<Sweep>,
    best: Option<Best>,
    /// Interactions of each user and item.
    counts: Sides<Vec<u32>>,
    /// What items are rescaled by, if recent interactions count more.
    recent_counts: Option<Vec<f32>>,
}

impl<'p, S: Sweeps> TrainingLoop<'p, S> {
    pub(super) fn new(
        problem: &'p Problem<'p>,
        sweeps: S,
        history: Vec<Sweep>,
        best: Option<Best>,
    ) -> Self {
        Self {
            problem,
            sweeps,
            history,
            best,
            counts: problem.counts(),
            recent_counts: None,
        }
    }

    /// Rescales items by counts in which recent interactions count more.
    pub(super) fn scaled_by(mut self, recent_counts: Option<Vec<f32>>) -> Self {
        self.recent_counts = recent_counts;
        self
    }

    /// Makes sweeps until there is a reason to stop, and yields it. Callbacks run on the calling thread
    /// and need not be `Send`: only the sweeps enter the pool.
    pub(super) fn run(
        &mut self,
        pool: &rayon::ThreadPool,
        run: &mut Run<'_>,
    ) -> Result<StopReason, FitError> {
        loop {
            if let Some(reason) = self.why_over(run.validation.as_ref()) {
                return Ok(reason);
            }
            if run.cancel.is_cancelled() {
                return Ok(StopReason::Cancelled);
            }
            let Some(mut sweep) = pool.install(|| self.sweep(&run.cancel))? else {
                return Ok(StopReason::Cancelled);
            };
            if let Some(validation) = &mut run.validation
                && validation.is_due(sweep.iteration, self.problem.params())
            {
                sweep.validation = Some((validation.metric)(&self.model()));
            }
            self.record(sweep.clone());
            if self.report(&sweep, run) == Control::Stop {
                return Ok(StopReason::Observer);
            }
        }
    }

    /// Reports a sweep to the observer, with a checkpoint when one is due.
    fn report(&self, sweep: &Sweep, run: &mut Run<'_>) -> Control {
        let Some(observer) = &mut run.observer else {
            return Control::Continue;
        };
        let mut control = observer.swept(sweep);
        let every = run.checkpoint_every;
        if every.is_some_and(|every| sweep.iteration.is_multiple_of(every.max(1)))
            && observer.checkpoint(&self.checkpoint()) == Control::Stop
        {
            control = Control::Stop;
        }
        control
    }

    /// One sweep over both sides, or `None` if it was cancelled and undone.
    fn sweep(&mut self, cancel: &Cancel) -> Result<Option<Sweep>, FitError> {
        let start = Instant::now();
        let iteration = self.iterations() + 1;
        let Some(objective) = self.sweeps.sweep(iteration, cancel)? else {
            return Ok(None);
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

    fn iterations(&self) -> usize {
        self.history.last().map_or(0, |sweep| sweep.iteration)
    }

    fn record(&mut self, sweep: Sweep) {
        let best = self.best.as_ref();
        let to_beat = best.map_or(f64::NEG_INFINITY, |best| best.score);
        // A tie keeps the earlier model; NaN never wins.
        if let Some(score) = sweep.validation.filter(|&score| score > to_beat) {
            let Sides { users, items } = self.sweeps.factors();
            self.best = Some(Best {
                iteration: sweep.iteration,
                score,
                users,
                items,
            });
        }
        self.history.push(sweep);
    }

    /// The reason to end the run now, if there is one.
    fn why_over(&self, validation: Option<&Validation<'_>>) -> Option<StopReason> {
        let params = self.problem.params();
        if params.solver.is_direct() && !self.history.is_empty() {
            return Some(StopReason::Converged);
        }
        if let (Some(tolerance), [.., before, last]) = (params.tolerance, &self.history[..]) {
            let (before, last) = (before.objective.total(), last.objective.total());
            if (before - last).abs() <= tolerance * before.abs() {
                return Some(StopReason::Converged);
            }
        }
        let patience = validation.and_then(|validation| validation.patience);
        if let (Some(best), Some(patience)) = (&self.best, patience) {
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

    /// The model as it is, sharing its factors.
    fn model(&self) -> Model {
        self.model_with(self.sweeps.factors())
    }

    fn model_with(&self, factors: Sides<Factors>) -> Model {
        let (factors, related) = match self.problem.composed() {
            Some(composed) => {
                let (factors, related) = RelatedParts::split(composed, &factors);
                (factors, Some(Arc::new(related)))
            }
            None => (factors, None),
        };
        Model::new(ModelParts {
            user_factors: factors.users,
            item_factors: factors.items,
            related,
            weights: self.problem.main_weights().clone(),
            transform: *self.problem.transform(),
            user_counts: self.counts.users.clone(),
            item_counts: self.counts.items.clone(),
            recent_counts: self.recent_counts.clone(),
            params: self.problem.params().clone(),
            history: self.history.clone(),
            neighbours: self.sweeps.neighbours(),
        })
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            model: self.model(),
            best: self.best.clone(),
        }
    }

    pub(super) fn finish(self, reason: StopReason) -> Fitted {
        let checkpoint = self.checkpoint();
        let (model, chosen_iteration) = match &self.best {
            Some(best) => {
                let users = best.users.clone();
                let items = best.items.clone();
                (self.model_with(Sides { users, items }), best.iteration)
            }
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
