//! The loop of a search: plan, try, log, until the budget is spent.

use std::collections::BTreeMap;

use super::error::TuneError;
use super::judge::Judge;
use super::ladder::{Ladder, Work, sample_sizes};
use super::options::{Budget, Options};
use super::plan::{Planner, Step};
use super::run::{Fold, Kept, Runner};
use super::space::Space;
use super::trial::{Trial, ranked};
use absentia::fit::Cancel;

/// Trials of a rung whose factors are kept for the next.
const KEPT: usize = 4;

/// A search ready to be made.
pub struct Tuner<'d> {
    folds: Vec<Fold<'d>>,
    space: Space,
    options: Options,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Every trial, in order.
    pub trials: Vec<Trial>,
    /// Place of the best one.
    best: usize,
    /// Whether the search was ended before its budget was spent.
    pub interrupted: bool,
}

impl Found {
    /// The trial with the best settings.
    #[must_use]
    pub fn best(&self) -> &Trial {
        &self.trials[self.best]
    }
}

impl<'d> Tuner<'d> {
    /// Takes the data, held-out rows and options of a search.
    ///
    /// Several folds are several ways to hold rows out of the same data; scores are means over them.
    ///
    /// # Errors
    /// No held-out row, folds of different shapes, options out of range.
    pub fn new(folds: Vec<Fold<'d>>, mut options: Options) -> Result<Self, TuneError> {
        options.check()?;
        let first = folds.first().ok_or(TuneError::NothingHeldOut)?;
        let shape = |fold: &Fold<'_>| (fold.train.n_users(), fold.train.n_items());
        let (expected_users, expected_items) = shape(first);
        for (place, fold) in folds.iter().enumerate() {
            let (users, items) = shape(fold);
            if (users, items) != (expected_users, expected_items) {
                return Err(TuneError::Folds {
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
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The rungs, given the trials so far.
    #[must_use]
    pub fn ladder(&self, trials: &[Trial]) -> Ladder {
        self.planner().ladder(trials)
    }

    /// The best of some trials.
    #[must_use]
    pub fn best<'t>(&self, trials: &'t [Trial]) -> Option<&'t Trial> {
        self.planner().best(trials)
    }

    /// Makes the search, going on from logged trials; `follow` sees every new trial with those
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
    ) -> Result<Found, TuneError> {
        self.check_log(&trials)?;
        let judges = self.judges()?;
        let runner = Runner {
            folds: &self.folds,
            judges: &judges,
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

    fn found(&self, trials: Vec<Trial>, interrupted: bool) -> Result<Found, TuneError> {
        let best = self.best(&trials).map(|trial| trial.number);
        match (best, trials.first()) {
            (Some(best), _) => Ok(Found {
                trials,
                best,
                interrupted,
            }),
            (None, None) => Err(TuneError::Cancelled),
            (None, Some(first)) => Err(TuneError::AllFailed {
                trials: trials.len(),
                first: first.failure.clone().unwrap_or_default(),
            }),
        }
    }

    /// Makes one trial, its parent's factors trained again where they were not kept.
    fn make(
        &self,
        runner: &Runner<'_>,
        step: &Step,
        trials: &[Trial],
        kept: &mut BTreeMap<usize, Kept>,
    ) -> Result<Option<Trial>, TuneError> {
        let ladder = self.ladder(trials);
        if let Some(parent) = step.parent.filter(|parent| !kept.contains_key(parent)) {
            let again = again(&trials[parent]);
            let Some((_, factors)) = runner.run(parent, &again, &ladder.rungs[again.rung], None)?
            else {
                return Ok(None);
            };
            kept.insert(parent, factors);
        }
        let start = step.parent.and_then(|parent| kept.get(&parent));
        let start = start.filter(|factors| !factors.is_empty());
        let made = runner.run(trials.len(), step, &ladder.rungs[step.rung], start)?;
        let Some((trial, factors)) = made else {
            return Ok(None);
        };
        if step.rung == 0 && ladder.last() > 1 && trial.score.is_some() {
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

    fn judges(&self) -> Result<Vec<Judge<'_>>, TuneError> {
        let sizes = sample_sizes(self.folds.len());
        let (name, seed) = (self.options.metric, self.options.seed);
        let mut judges = Vec::with_capacity(self.folds.len());
        for fold in &self.folds {
            let judge = Judge::new(&fold.train, &fold.held_out, name, &sizes, seed)?;
            judges.push(judge);
        }
        Ok(judges)
    }

    fn planner(&self) -> Planner<'_> {
        let train = &self.folds[0].train;
        Planner {
            space: &self.space,
            options: &self.options,
            work: Work {
                users: train.n_users() as f64,
                items: train.n_items() as f64,
                entries: train.len() as f64,
            },
        }
    }

    /// Refuses a log that this search would not have written.
    fn check_log(&self, trials: &[Trial]) -> Result<(), TuneError> {
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
            return Err(TuneError::Log {
                number: trial.number,
                what,
            });
        }
        // Under a budget of trials every step is known in advance.
        if let (Budget::Trials(_), Some(last)) = (self.options.budget, trials.len().checked_sub(1))
        {
            let planned = self.planner().next(&trials[..last]);
            let made = again(&trials[last]);
            let is_other = |step: Step| {
                step.point != made.point || (step.rung, step.factors) != (made.rung, made.factors)
            };
            if planned.is_some_and(is_other) {
                return Err(TuneError::Log {
                    number: last,
                    what: "the number of trials or the most factors",
                });
            }
        }
        Ok(())
    }
}

/// The step that a trial was.
fn again(trial: &Trial) -> Step {
    Step {
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
