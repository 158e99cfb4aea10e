//! The loop of a search: plan, try, log, until the budget is spent.

pub(crate) mod options;
pub(crate) mod plan;
pub(crate) mod propose;
pub(crate) mod schedule;
mod variations;

use std::collections::BTreeMap;

use crate::error::SearchError;
use crate::evaluator::Evaluator;
use crate::space::Space;
pub use crate::staged::options::{Budget, SearchOptions};
use crate::staged::plan::{PlannedTrial, Planner};
use crate::staged::schedule::{DataSize, sample_sizes};
pub use crate::staged::schedule::{Rung, Schedule};
use crate::trial::{Trial, ranked};
use crate::trial_runner::{Fold, TrainedFactors, TrialRunner};
use absentia::fit::Cancel;

/// Trials of a rung whose factors are kept for the next.
const KEPT: usize = 4;

/// A search ready to be made.
pub struct StagedSearch<'d> {
    folds: Vec<Fold<'d>>,
    space: Space,
    options: SearchOptions,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// Every trial, in order.
    pub trials: Vec<Trial>,
    /// Place of the best one.
    best: usize,
    /// Whether the search was ended before its budget was spent.
    pub interrupted: bool,
}

impl SearchResult {
    /// The trial with the best settings.
    #[must_use]
    pub fn best(&self) -> &Trial {
        &self.trials[self.best]
    }
}

impl<'d> StagedSearch<'d> {
    /// Takes the data, held-out rows and options of a search.
    ///
    /// Several folds are several ways to hold rows out of the same data; scores are means over them.
    ///
    /// # Errors
    /// No held-out row, folds of different shapes, options out of range.
    pub fn new(folds: Vec<Fold<'d>>, mut options: SearchOptions) -> Result<Self, SearchError> {
        options.check()?;
        let first = folds.first().ok_or(SearchError::NothingHeldOut)?;
        let shape = |fold: &Fold<'_>| (fold.train.n_users(), fold.train.n_items());
        let (expected_users, expected_items) = shape(first);
        for (place, fold) in folds.iter().enumerate() {
            let (users, items) = shape(fold);
            if (users, items) != (expected_users, expected_items) {
                return Err(SearchError::Folds {
                    fold: place,
                    users,
                    items,
                    expected_users,
                    expected_items,
                });
            }
        }
        // More factors than rows on the smaller side add nothing.
        options.max_factors = options
            .max_factors
            .min(expected_users.min(expected_items))
            .max(1);
        let space = Space::of(&first.train, options.scope);
        Ok(Self {
            folds,
            space,
            options,
        })
    }

    /// What is searched.
    #[must_use]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// How the search is made, the number of factors cut to what the data can use.
    #[must_use]
    pub fn options(&self) -> &SearchOptions {
        &self.options
    }

    /// The rungs, given the trials so far.
    #[must_use]
    pub fn schedule(&self, trials: &[Trial]) -> Schedule {
        self.planner().schedule(trials)
    }

    /// The best of some trials.
    #[must_use]
    pub fn best<'t>(&self, trials: &'t [Trial]) -> Option<&'t Trial> {
        self.planner().best(trials)
    }

    /// Makes the search, runs on from logged trials; `follow` sees every new trial with those
    /// before it, and ends the search by yielding `false`.
    ///
    /// # Errors
    /// Trials of another search, data that cannot be trained on or measured, no trial that gave a
    /// model.
    pub fn search(
        &self,
        mut trials: Vec<Trial>,
        cancel: &Cancel,
        follow: &mut dyn FnMut(&[Trial]) -> bool,
    ) -> Result<SearchResult, SearchError> {
        self.check_log(&trials)?;
        let evaluators = self.evaluators()?;
        let runner = TrialRunner {
            folds: &self.folds,
            evaluators: &evaluators,
            space: &self.space,
            options: &self.options,
            cancel,
        };
        let mut kept = BTreeMap::new();
        let mut interrupted = false;
        while let Some(step) = self.planner().next(&trials) {
            let Some(trial) = self.make(&runner, &step, &trials, &mut kept)? else {
                interrupted = true;
                break;
            };
            trials.push(trial);
            if !follow(&trials) {
                interrupted = true;
                break;
            }
        }
        self.found(trials, interrupted)
    }

    fn found(&self, trials: Vec<Trial>, interrupted: bool) -> Result<SearchResult, SearchError> {
        let best = self.best(&trials).map(|trial| trial.number);
        match (best, trials.first()) {
            (Some(best), _) => Ok(SearchResult {
                trials,
                best,
                interrupted,
            }),
            (None, None) => Err(SearchError::Cancelled),
            (None, Some(first)) => Err(SearchError::AllFailed {
                trials: trials.len(),
                first: first.failure.clone().unwrap_or_default(),
            }),
        }
    }

    /// Makes one trial, its parent's factors trained again where they were not kept.
    fn make(
        &self,
        runner: &TrialRunner<'_>,
        step: &PlannedTrial,
        trials: &[Trial],
        kept: &mut BTreeMap<usize, TrainedFactors>,
    ) -> Result<Option<Trial>, SearchError> {
        let schedule = self.schedule(trials);
        if let Some(parent) = step.parent.filter(|parent| !kept.contains_key(parent)) {
            let again = again(&trials[parent]);
            let Some((_, factors)) =
                runner.run(parent, &again, &schedule.rungs[again.rung], None)?
            else {
                return Ok(None);
            };
            kept.insert(parent, factors);
        }
        let start = step.parent.and_then(|parent| kept.get(&parent));
        let start = start.filter(|factors| !factors.is_empty());
        let made = runner.run(trials.len(), step, &schedule.rungs[step.rung], start)?;
        let Some((trial, factors)) = made else {
            return Ok(None);
        };
        if step.rung == 0 && schedule.last() > 1 && trial.score.is_some() {
            kept.insert(trial.number, factors);
            let mut all = trials.to_vec();
            all.push(trial.clone());
            let best: Vec<usize> = ranked(&all, 0)
                .iter()
                .take(KEPT)
                .map(|t| t.number)
                .collect();
            kept.retain(|number, _| best.contains(number));
        }
        Ok(Some(trial))
    }

    fn evaluators(&self) -> Result<Vec<Evaluator<'_>>, SearchError> {
        let sizes = sample_sizes(self.folds.len());
        let (name, seed) = (self.options.metric, self.options.seed);
        let mut evaluators = Vec::with_capacity(self.folds.len());
        for fold in &self.folds {
            let evaluator = Evaluator::new(&fold.train, &fold.held_out, name, &sizes, seed)?;
            evaluators.push(evaluator);
        }
        Ok(evaluators)
    }

    fn planner(&self) -> Planner<'_> {
        let train = &self.folds[0].train;
        Planner {
            space: &self.space,
            options: &self.options,
            work: DataSize {
                users: train.n_users() as f64,
                items: train.n_items() as f64,
                entries: train.len() as f64,
            },
        }
    }

    /// Refuses a log that this search would not have written.
    fn check_log(&self, trials: &[Trial]) -> Result<(), SearchError> {
        for (place, trial) in trials.iter().enumerate() {
            let what = if trial.number != place {
                "the order of the trials"
            } else if trial.point.len() != self.space.dimensions().len() {
                "what is searched"
            } else if self.space.settings(&trial.point).weights != trial.weights
                || trial.params.seed != self.options.seed
            {
                "the data, the seed or the version of the search"
            } else {
                continue;
            };
            return Err(SearchError::Log {
                number: trial.number,
                what,
            });
        }
        // Under a budget of trials every step is known in advance.
        if let (Budget::Trials(_), Some(last)) = (self.options.budget, trials.len().checked_sub(1))
        {
            let planned = self.planner().next(&trials[..last]);
            let made = again(&trials[last]);
            let is_other = |step: PlannedTrial| {
                step.point != made.point || (step.rung, step.factors) != (made.rung, made.factors)
            };
            if planned.is_some_and(is_other) {
                return Err(SearchError::Log {
                    number: last,
                    what: "the number of trials or the most factors",
                });
            }
        }
        Ok(())
    }
}

/// The step that a trial was.
fn again(trial: &Trial) -> PlannedTrial {
    PlannedTrial {
        rung: trial.rung,
        origin: trial.origin,
        point: trial.point.clone(),
        parent: None,
        factors: trial.params.factors,
        post_scale: trial.params.post_scale,
    }
}

#[cfg(test)]
mod tests;
