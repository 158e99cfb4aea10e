//! The search of `tune`: trials on rungs of growing size, until the budget is spent.

mod options;
mod plan;
pub(crate) mod propose;
mod schedule;
mod simpler;
mod variations;

use std::collections::BTreeMap;
use std::time::Instant;

use absentia::Params;
use absentia::fit::{Cancel, FitError, MemoryPlan, ProblemSize, Sizes, default_threads};
use absentia::memory::Stage;
use absentia::relations::Relations;
use absentia::weights::Scheme;
use rayon::ThreadPool;

use crate::error::SearchError;
use crate::fold::Fold;
use crate::post_scale::{PostScaling, StepSizes};
use crate::session::Session;
use crate::space::{Family, RelationSettings, SearchedRelation, Settings, Space};
use crate::trial::{Trial, ranked};
use crate::trial_runner::{Limits, Scoring, TrainedFactors, TrialPlan, TrialRunner, thread_pool};
use crate::user_scores::UserScores;
pub use options::{Budget, SearchOptions};
use plan::{PlannedTrial, Planner};
use schedule::sample_sizes;
pub use schedule::{Rung, Schedule};

/// Number of trials of the first rung whose factors are kept for the next.
const KEPT: usize = 4;

/// A search over a space of settings.
pub struct StagedSearch<'d> {
    folds: Vec<Fold<'d>>,
    space: Space,
    options: SearchOptions,
    /// Relations that are trained with every trial.
    relations: Option<Relations<'d>>,
}

/// The trials of a finished search.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// Every trial, in order.
    pub trials: Vec<Trial>,
    /// Number of the best one.
    best: usize,
    /// Number of the one with the highest score, where a simpler one is kept.
    highest: Option<usize>,
    /// What the most popular items reach on the same rows.
    pub baselines: Vec<Baseline>,
    /// Whether the search ended before its budget was spent.
    pub interrupted: bool,
}

/// A ranking that is the same for all users, measured as trials are.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// Its name.
    pub name: &'static str,
    /// The metric.
    pub score: f64,
    /// Standard error of the metric over users.
    pub stderr: f64,
}

impl SearchResult {
    /// Trials of a rung that have a score, best first.
    #[must_use]
    pub fn ranked(&self, rung: usize) -> Vec<&Trial> {
        ranked(&self.trials, rung)
    }

    /// The trial with the best settings: the simplest of those that nothing richer beats by more than noise.
    #[must_use]
    pub fn best(&self) -> &Trial {
        &self.trials[self.best]
    }

    /// The trial with the highest score, if it is not the best: it is richer, and better by no more than noise.
    #[must_use]
    pub fn not_kept(&self) -> Option<&Trial> {
        let highest = self.highest.map(|highest| &self.trials[highest]);
        highest.filter(|trial| trial.score > self.best().score)
    }
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
        Ok(Self {
            folds,
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

    /// The space of settings.
    #[must_use]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The options, with the number of factors limited to what the data can use.
    #[must_use]
    pub fn options(&self) -> &SearchOptions {
        &self.options
    }

    /// The memory of the largest trial of the rungs beside the folds: folds that are trained at the same time, the models
    /// of those that have been, and the factors that trials can start from.
    #[must_use]
    pub fn stage(&self) -> Stage {
        let schedule = self.schedule(&[]);
        let warm = (0..schedule.rungs.len()).rfind(|&rung| schedule.starts_warm(rung));
        let warm = warm.map(|rung| self.trial_stage(schedule.rungs[rung].factors));
        let kept = (KEPT as u64 + 1) * self.factor_bytes(schedule.rungs[0].factors);
        let warm = warm.map(|stage| stage.with("factors of the best trials", kept));
        let full = self.trial_stage(schedule.rungs[schedule.last()].factors);
        match warm {
            Some(warm) if warm.total() > full.total() => warm,
            _ => full,
        }
    }

    /// The memory of the trial that comes after these, if it has more factors than any rung: whether there is such
    /// a trial depends on those before it.
    #[must_use]
    pub fn larger_stage(&self, trials: &[Trial]) -> Option<Stage> {
        let schedule = self.schedule(trials);
        let next = self.planner().next(trials)?;
        let is_larger = next.factors > schedule.rungs[schedule.last()].factors;
        is_larger.then(|| self.trial_stage(next.factors))
    }

    /// The memory of a trial with this many factors.
    ///
    /// Folds take about the same time, so that they are trained in groups of as many as there are threads. The peak is
    /// in the first group or in the last, beside the models of all groups before it.
    fn trial_stage(&self, factors: usize) -> Stage {
        let threads = self.options.threads.unwrap_or_else(default_threads);
        let folds = self.folds.len();
        let at_once = folds.min(threads).max(1);
        let params = Params {
            targets: self.space.largest_targets(),
            confidence: self.space.largest_confidence(),
            factors,
            threads: Some(threads.div_ceil(at_once)),
            ..Params::default()
        };
        let sizes = Sizes {
            data: 0,
            orders_times: self.folds[0].train.times().is_some(),
            ..Sizes::of(&self.folds[0].train, &Scheme::uniform(0.0), &params, false)
        };
        let run = MemoryPlan::new(&sizes.stacked(self.relations.as_ref()), &params).total();
        let model = self.factor_bytes(factors) / folds as u64;
        let in_last_group = (folds - 1) % at_once + 1;
        let groups = [(at_once, 0), (in_last_group, folds - in_last_group)];
        let bytes = |&(running, done): &(usize, usize)| {
            run.saturating_mul(running as u64)
                .saturating_add(model.saturating_mul(done as u64))
        };
        let (running, done) = groups.into_iter().max_by_key(bytes).unwrap_or((at_once, 0));
        Stage::new("searching")
            .with("folds at the same time", run.saturating_mul(running as u64))
            .with(
                "models of the other folds",
                model.saturating_mul(done as u64),
            )
            .with("scores of users", self.score_bytes())
    }

    /// Bytes of the factors of a trial, of all folds.
    fn factor_bytes(&self, factors: usize) -> u64 {
        let train = &self.folds[0].train;
        let mut rows = train.n_users() + train.n_items();
        if let Some(relations) = &self.relations {
            rows += relations
                .entities
                .iter()
                .skip(2)
                .map(|e| e.count)
                .sum::<usize>();
        }
        4 * (rows * factors.next_multiple_of(16) * self.folds.len()) as u64
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
        self.check_log(&trials)?;
        let pool = thread_pool(self.options.threads)?;
        let runner = self.runner(&pool, cancel)?;
        let mut session = Session::new(trials, observer);
        let mut kept = Kept::default();
        let mut interrupted = false;
        while let Some(planned) = self.planner().next(session.trials()) {
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

    fn result(&self, trials: Vec<Trial>, interrupted: bool) -> Result<SearchResult, SearchError> {
        let best = self.best(&trials).map(|trial| trial.number);
        let scores = || trials.iter().filter_map(|trial| trial.score);
        if best.is_some() && scores().all(|score| score <= 0.0) {
            return Err(SearchError::NothingScored {
                metric: self.options.metric.to_string(),
                trials: trials.len(),
            });
        }
        match (best, trials.first()) {
            (Some(best), _) => Ok(SearchResult {
                trials,
                best,
                highest: None,
                baselines: Vec::new(),
                interrupted,
            }),
            (None, None) => Err(SearchError::Cancelled),
            (None, Some(first)) => Err(SearchError::AllFailed {
                trials: trials.len(),
                first: first.failure.clone().unwrap_or_default(),
            }),
        }
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
        let schedule = self.schedule(trials);
        if let Some(parent) = planned
            .parent
            .filter(|parent| !kept.factors.contains_key(parent))
        {
            let again = PlannedTrial::of(&trials[parent]);
            let made = self.run(runner, &again, &schedule.rungs[again.rung], None)?;
            let Some((_, trained, _)) = made else {
                return Ok(None);
            };
            kept.keep_best(trials);
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
            self.keep_compared(kept, trials.iter().chain([&trial]), planned.rung);
        }
        if planned.rung == 0 && schedule.last() > 1 && trial.score.is_some() {
            kept.factors.insert(trial.number, trained);
            kept.keep_best(trials.iter().chain([&trial]));
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
        } = self.space.settings(&planned.point);
        let related = self.relations(&relations);
        let params = Params {
            factors: planned.factors,
            seed: self.options.seed,
            ..params
        };
        let mut trial = Trial {
            rung: planned.rung,
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
        let is_uniform = self.space.is_within(Family::Uniform, &planned.point);
        if !self.space.rescales() || (is_uniform && !Family::Uniform.rescales()) {
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

    fn planner(&self) -> Planner<'_> {
        let train = &self.folds[0].train;
        Planner {
            space: &self.space,
            options: &self.options,
            data: ProblemSize {
                users: train.n_users() as f64,
                items: train.n_items() as f64,
                entries: train.len() as f64,
                rank: 1.0,
            },
        }
    }

    /// Rejects a log that this search would not have written.
    fn check_log(&self, trials: &[Trial]) -> Result<(), SearchError> {
        for (place, trial) in trials.iter().enumerate() {
            let what = if trial.number != place {
                "the order of the trials"
            } else if trial.point.len() != self.space.dimensions().len() {
                "what is searched"
            } else if Some(self.space.settings(&trial.point).weights) != trial.weights
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
        // With a budget of trials, the next trial is known in advance.
        if let (Budget::Trials(_), Some(last)) = (self.options.budget, trials.len().checked_sub(1))
        {
            let planned = self.planner().next(&trials[..last]);
            let made = PlannedTrial::of(&trials[last]);
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

#[cfg(test)]
mod tests;
