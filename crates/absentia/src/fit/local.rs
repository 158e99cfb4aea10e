//! Runs whose factors are in this process, and the models made of them.

use std::sync::Arc;

use super::error::FitError;
use super::observer::{Cancel, Control, Observer, Sweep};
use super::problem::Problem;
use super::state::{Best, Checkpoint};
use super::sweeps::Sweeps;
use super::training::{Factorisation, TrainingLoop};
use super::{Fitted, StopReason, Validation};
use crate::model::{Factors, Model, ModelParts, RelatedParts};
use crate::params::Params;
use crate::sides::Sides;
use crate::solver::Objective;

/// A problem, the sweeps over its factors, and the best factors so far.
pub(super) struct LocalFactorisation<'p, S> {
    problem: &'p Problem<'p>,
    sweeps: S,
    best: Option<Best>,
    /// Interactions of each user and item.
    counts: Sides<Vec<u32>>,
    /// What items are rescaled by, if recent interactions count more.
    recent_counts: Option<Vec<f32>>,
}

impl<'p, S: Sweeps> LocalFactorisation<'p, S> {
    pub(super) fn new(
        problem: &'p Problem<'p>,
        sweeps: S,
        best: Option<Best>,
        recent_counts: Option<Vec<f32>>,
    ) -> Self {
        Self {
            problem,
            sweeps,
            best,
            counts: problem.counts(),
            recent_counts,
        }
    }

    /// The model as it is, sharing its factors.
    fn model(&self, history: &[Sweep]) -> Model {
        self.model_with(self.sweeps.factors(), history)
    }

    fn model_with(&self, factors: Sides<Factors>, history: &[Sweep]) -> Model {
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
            history: history.to_vec(),
            neighbours: self.sweeps.neighbours(),
        })
    }

    fn state(&self, history: &[Sweep]) -> Checkpoint {
        Checkpoint {
            model: self.model(history),
            best: self.best.clone(),
        }
    }
}

impl<S: Sweeps> Factorisation for LocalFactorisation<'_, S> {
    fn params(&self) -> &Params {
        self.problem.params()
    }

    fn sweep(&mut self, iteration: usize, cancel: &Cancel) -> Result<Option<Objective>, FitError> {
        self.sweeps.sweep(iteration, cancel)
    }

    fn measure(&self, history: &[Sweep], validation: &mut Validation<'_>) -> f64 {
        (validation.metric)(&self.model(history))
    }

    fn best(&self) -> Option<(usize, f64)> {
        let best = self.best.as_ref();
        best.map(|best| (best.iteration, best.score))
    }

    fn keep_best(&mut self, iteration: usize, score: f64) {
        let Sides { users, items } = self.sweeps.factors();
        self.best = Some(Best {
            iteration,
            score,
            users,
            items,
        });
    }

    fn checkpoint(
        &mut self,
        history: &[Sweep],
        observer: Option<&mut (dyn Observer + '_)>,
    ) -> Result<Control, FitError> {
        Ok(match observer {
            Some(observer) => observer.checkpoint(&self.state(history)),
            None => Control::Continue,
        })
    }
}

impl<S: Sweeps> TrainingLoop<LocalFactorisation<'_, S>> {
    /// The model of a run that has ended.
    pub(super) fn finish(self, reason: StopReason) -> Fitted {
        let (trained, history) = (&self.trained, &self.history);
        let checkpoint = trained.state(history);
        let (model, chosen_iteration) = match &trained.best {
            Some(best) => {
                let users = best.users.clone();
                let items = best.items.clone();
                let factors = Sides { users, items };
                (trained.model_with(factors, history), best.iteration)
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
