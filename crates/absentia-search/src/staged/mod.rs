//! The search of `tune`: trials on rungs of growing size, until the budget is spent.

mod families;
mod log_check;
mod memory;
mod options;
mod phases;
mod plan;
pub(crate) mod propose;
mod result;
mod schedule;
mod simpler;
mod variations;

use std::collections::BTreeMap;
use std::time::Instant;

use absentia::Params;
use absentia::fit::{Cancel, FitError, ProblemSize};
use absentia::relations::Relations;
use absentia::weights::Scheme;
use rayon::ThreadPool;

use crate::error::SearchError;
use crate::fold::Fold;
use crate::post_scale::{PostScaling, StepSizes};
use crate::session::Session;
use crate::space::{Family, RelationSettings, Scope, SearchedRelation, Settings, Space};
use crate::trial::{Trial, ranked};
use crate::trial_runner::{Limits, Scoring, TrainedFactors, TrialPlan, TrialRunner, thread_pool};
use crate::user_scores::UserScores;
pub use options::{Budget, SearchOptions};
use plan::PlannedTrial;
pub use result::{Baseline, SearchResult};
use schedule::sample_sizes;
pub use schedule::{Rung, Schedule};

/// Number of trials of the first rung whose factors are kept for the next.
const KEPT: usize = 4;

/// A search over a space of settings.
pub struct StagedSearch<'d> {
    folds: Vec<Fold<'d>>,
    /// Uniform weights, which a first phase can search; nothing if they are the whole space.
    uniform: Option<Space>,
    space: Space,
    options: SearchOptions,
    /// Relations that are trained with every trial.
    relations: Option<Relations<'d>>,
}

/// What is kept of trials while a search goes on.
#[derive(Default)]
struct Kept {
    /// Factors of the best trials of the first rung.
    factors: BTreeMap<usize, TrainedFactors>,
    /// Scores of users in the best trials of the last rung.
    users: BTreeMap<usize, UserScores>,
}

impl Kept {
    /// Drops the factors of all but the best trials of the first rung: they would add up over a long search.
    fn keep_best<'t>(&mut self, trials: impl IntoIterator<Item = &'t Trial>) {
        let best = ranked(trials, 0).into_iter().take(KEPT);
        let best: Vec<usize> = best.map(|trial| trial.number).collect();
        self.factors.retain(|number, _| best.contains(number));
    }
}

/// What running a trial gave.
type Made = (Trial, TrainedFactors, UserScores);

impl<'d> StagedSearch<'d> {
    /// Takes the folds and options of a search.
    ///
    /// Several folds hold different rows out of the same data; scores are means over the folds.
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
        // More factors than users or items add nothing.
        options.max_factors = options
            .max_factors
            .min(expected_users.min(expected_items))
            .max(1);
        let space = Space::of(&first.train, options.scope);
        let has_more = options.scope != Scope::Uniform;
        let uniform = has_more.then(|| Space::of(&first.train, Scope::Uniform));
        Ok(Self {
            folds,
            uniform,
            space,
            options,
            relations: None,
        })
    }

    /// Trains these relations with every trial, and searches settings of each.
    #[must_use]
    pub fn with_relations(
        mut self,
        relations: Option<Relations<'d>>,
        searched: Vec<SearchedRelation>,
    ) -> Self {
        self.relations = relations;
        let uniform = self.uniform.take();
        self.uniform = uniform.map(|space| space.with_relations(searched.clone()));
        self.space = self.space.with_relations(searched);
        self
    }

    /// The relations with the settings of a trial.
    #[must_use]
    pub fn relations(&self, settings: &[RelationSettings]) -> Option<Relations<'d>> {
        let mut relations = self.relations.clone()?;
        for (relation, settings) in relations.relations.iter_mut().zip(settings) {
            settings.apply(relation);
        }
        Some(relations)
    }

    /// The whole space of settings.
    #[must_use]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The space that a phase of this scope searches.
    fn space_of(&self, scope: Scope) -> &Space {
        let uniform = self.uniform.as_ref();
        uniform
            .filter(|space| space.scope() == scope)
            .unwrap_or(&self.space)
    }

    /// A trial as a point of one of the spaces of the search: settings that its phase did not search are switched off.
    #[must_use]
    pub fn in_space(&self, space: &Space, trial: &Trial) -> Trial {
        Trial {
            scope: space.scope(),
            point: space.point_from(self.space_of(trial.scope), &trial.point),
            ..trial.clone()
        }
    }

    /// The options, with the number of factors limited to what the data can use.
    #[must_use]
    pub fn options(&self) -> &SearchOptions {
        &self.options
    }

    /// Makes the search, continuing after logged trials. `observer` gets every new trial, with those
    /// before it, and ends the search by yielding `false`.
    ///
    /// # Errors
    /// Trials of another search, data that cannot be trained on or measured, no trial that gave a
    /// model.
    pub fn search(
        &self,
        trials: Vec<Trial>,
        cancel: &Cancel,
        observer: &mut dyn FnMut(&[Trial]) -> bool,
    ) -> Result<SearchResult, SearchError> {
        if let Some((number, what)) = self.difference(&trials) {
            return Err(SearchError::Log { number, what });
        }
        let pool = thread_pool(self.options.threads)?;
        let runner = self.runner(&pool, cancel)?;
        let mut session = Session::new(trials, observer);
        let mut kept = Kept::default();
        let mut interrupted = false;
        while let Some(planned) = self.next(session.trials()) {
            let trial = self.make(&runner, &planned, session.trials(), &mut kept)?;
            interrupted = trial.is_none();
            if let Some(trial) = trial {
                session.add(trial);
                interrupted = session.is_ended();
            }
            if interrupted {
                break;
            }
        }
        let mut result = self.result(session.into_trials(), interrupted)?;
        self.keep_simpler(&runner, &mut result, &mut kept)?;
        result.baselines = simpler::baselines(&runner)?;
        Ok(result)
    }

    fn runner<'r>(
        &'r self,
        pool: &'r ThreadPool,
        cancel: &'r Cancel,
    ) -> Result<TrialRunner<'r>, SearchError> {
        let scoring = Scoring {
            metric: self.options.metric,
            sample_sizes: &sample_sizes(self.folds.len()),
            seed: self.options.seed,
            among_new: self.options.among_new,
        };
        let limits = Limits {
            threads: self.options.threads,
            memory: self.options.memory_limit,
        };
        TrialRunner::new(&self.folds, scoring, limits, pool, cancel)
    }

    /// Makes a planned trial. Its parent's factors are trained again where they were not kept.
    ///
    /// Yields nothing if the search was cancelled.
    fn make(
        &self,
        runner: &TrialRunner<'_>,
        planned: &PlannedTrial,
        trials: &[Trial],
        kept: &mut Kept,
    ) -> Result<Option<Trial>, SearchError> {
        let phase = self.phases(trials).of(planned.scope);
        let schedule = phase.schedule();
        if let Some(parent) = planned
            .parent
            .filter(|parent| !kept.factors.contains_key(parent))
        {
            let again = PlannedTrial::of(&trials[parent]);
            let made = self.run(runner, &again, schedule.rung_of(&trials[parent]), None)?;
            let Some((_, trained, _)) = made else {
                return Ok(None);
            };
            kept.keep_best(phase.trials);
            kept.factors.insert(parent, trained);
        }
        if planned.rung > 0 && !schedule.starts_warm(planned.rung) {
            kept.factors.clear();
        }
        let start = planned.parent;
        let start = start.and_then(|parent| kept.factors.get(&parent));
        let start = start.filter(|trained| !trained.is_empty());
        let made = self.run(runner, planned, &schedule.rungs[planned.rung], start)?;
        let Some((mut trial, trained, own_users)) = made else {
            return Ok(None);
        };
        trial.number = trials.len();
        if schedule.rungs[planned.rung].is_last {
            kept.users.insert(trial.number, own_users);
            self.keep_compared(kept, trials, &trial);
        }
        if planned.rung == 0 && schedule.last() > 1 && trial.score.is_some() {
            kept.factors.insert(trial.number, trained);
            kept.keep_best(phase.trials.iter().chain([&trial]));
        }
        Ok(Some(trial))
    }

    /// Runs a trial; one that cannot be trained has no score, and a cancelled one is nothing.
    fn run(
        &self,
        runner: &TrialRunner<'_>,
        planned: &PlannedTrial,
        rung: &Rung,
        start: Option<&TrainedFactors>,
    ) -> Result<Option<Made>, SearchError> {
        let started = Instant::now();
        let Settings {
            weights,
            params,
            relations,
        } = self.space_of(planned.scope).settings(&planned.point);
        let related = self.relations(&relations);
        let params = Params {
            factors: planned.factors,
            seed: self.options.seed,
            ..params
        };
        let mut trial = Trial {
            rung: planned.rung,
            scope: planned.scope,
            origin: planned.origin,
            point: planned.point.clone(),
            parent: planned.parent,
            relations,
            ..Trial::unmeasured(Some(weights), params.clone())
        };
        let plan = TrialPlan {
            scheme: &trial.scheme().unwrap_or(Scheme::uniform(0.0)),
            params,
            relations: related.as_ref(),
            sweeps: rung.sweeps(start.is_some()),
            post_scaling: self.post_scaling(planned, rung),
            sample: rung.sample,
        };
        let (trained, users) = match runner.run(&plan, start) {
            Ok(result) => trial.record(result),
            Err(SearchError::Cancelled) => return Ok(None),
            // Settings that cannot be trained are bad settings, not the end of the search.
            Err(SearchError::Fit(error)) if !matches!(error, FitError::Empty { .. }) => {
                trial.failure = Some(error.to_string());
                (TrainedFactors::new(), UserScores::default())
            }
            Err(error) => return Err(error),
        };
        trial.seconds = started.elapsed().as_secs_f64();
        Ok(Some((trial, trained, users)))
    }

    fn post_scaling(&self, planned: &PlannedTrial, rung: &Rung) -> PostScaling {
        let space = self.space_of(planned.scope);
        let is_uniform = space.is_within(Family::Uniform, &planned.point);
        if !space.rescales() || (is_uniform && !Family::Uniform.rescales()) {
            return PostScaling::Fixed(0.0);
        }
        PostScaling::Search {
            guess: planned.post_scale,
            steps: if planned.rung > 0 {
                StepSizes::MEDIUM
            } else {
                StepSizes::WIDE
            },
            refine: rung.is_last && rung.sample > 1,
        }
    }

    fn problem_size(&self) -> ProblemSize {
        let train = &self.folds[0].train;
        ProblemSize {
            users: train.n_users() as f64,
            items: train.n_items() as f64,
            entries: train.len() as f64,
            rank: 1.0,
        }
    }
}

#[cfg(test)]
mod tests;
