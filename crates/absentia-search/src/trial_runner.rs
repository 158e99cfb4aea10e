//! One trial: a setting trained on every fold and measured on the way.

use std::time::Instant;

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use crate::error::SearchError;
use crate::evaluator::{Evaluator, Measured, Steps, best_post_scale};
use crate::space::{Settings, Space};
use crate::staged::options::SearchOptions;
use crate::staged::plan::PlannedTrial;
use crate::staged::schedule::{LAST_SWEEPS, Rung, SWEEPS, WARM_SWEEPS};
use crate::trial::{Measurement, Trial};
use absentia::Params;
use absentia::data::Interactions;
use absentia::evaluate::TestSet;
use absentia::fit::{
    Cancel, Checkpoint, FitError, Init, MemoryPlan, Run, Sizes, StopReason, default_threads, fit,
};
use absentia::model::{Factors, Model};
use absentia::weights::Scheme;

/// A rise smaller than this share of the metric is not worth more sweeps.
const WORTH_IT: f64 = 5e-4;

/// A matrix to train on and the rows held out of it.
#[derive(Clone, Debug)]
pub struct Fold<'d> {
    /// What is trained on.
    pub train: Interactions<'d>,
    /// What settings are chosen by.
    pub held_out: TestSet,
}

/// Factors of one fold, kept for trials of the next rung.
pub(crate) type TrainedFactors = Vec<(Factors, Factors)>;

/// Trains and measures trials.
pub(crate) struct TrialRunner<'r> {
    pub(crate) folds: &'r [Fold<'r>],
    pub(crate) evaluators: &'r [Evaluator<'r>],
    pub(crate) space: &'r Space,
    pub(crate) options: &'r SearchOptions,
    pub(crate) cancel: &'r Cancel,
}

/// A trial on its way: one run a fold.
struct FoldRuns<'r> {
    runner: &'r TrialRunner<'r>,
    scheme: Scheme,
    params: Params,
    runs: Vec<Checkpoint>,
    starts: Vec<Init>,
    training_seconds: f64,
}

impl TrialRunner<'_> {
    /// Makes a trial; a run that fails gives a trial without a score, and a cancelled one nothing.
    pub(crate) fn run(
        &self,
        number: usize,
        step: &PlannedTrial,
        rung: &Rung,
        start: Option<&TrainedFactors>,
    ) -> Result<Option<(Trial, TrainedFactors)>, SearchError> {
        let started = Instant::now();
        let Settings { weights, params } = self.space.settings(&step.point);
        let params = Params {
            factors: step.factors,
            seed: self.options.seed,
            ..params
        };
        let mut trial = Trial {
            number,
            rung: step.rung,
            origin: step.origin,
            point: step.point.clone(),
            parent: step.parent,
            weights,
            params,
            score: None,
            stderr: 0.0,
            curve: Vec::new(),
            failure: None,
            seconds: 0.0,
            training_seconds: 0.0,
        };
        let kept = match self.measured(&mut trial, step, rung, start) {
            Ok(kept) => kept,
            Err(SearchError::Cancelled) => return Ok(None),
            // A setting under which training fails is a bad setting, not the end of the search.
            Err(SearchError::Fit(error)) if !matches!(error, FitError::Empty { .. }) => {
                trial.failure = Some(error.to_string());
                TrainedFactors::new()
            }
            Err(error) => return Err(error),
        };
        trial.seconds = started.elapsed().as_secs_f64();
        Ok(Some((trial, kept)))
    }

    /// Trains, measures and fills in the trial; yields the factors.
    fn measured(
        &self,
        trial: &mut Trial,
        step: &PlannedTrial,
        rung: &Rung,
        start: Option<&TrainedFactors>,
    ) -> Result<TrainedFactors, SearchError> {
        let scheme = trial.weights.scheme().unwrap_or(Scheme::uniform(0.0));
        let mut runs = FoldRuns::new(self, scheme, trial.params.clone(), start);
        let sweeps: &[usize] = match (rung.is_last, start.is_some()) {
            (true, _) => &LAST_SWEEPS,
            (false, true) => &[WARM_SWEEPS],
            (false, false) => &[SWEEPS],
        };
        let mut rho = 0.0;
        for (at, &sweeps) in sweeps.iter().enumerate() {
            runs.sweep_to(sweeps)?;
            if at == 0 {
                rho = self.post_scale(&runs.runs, step, rung)?;
            }
            let found = self.measure(&runs.runs, rho, rung.sample)?;
            let before = trial.score.unwrap_or(f64::MIN);
            trial.curve.push(Measurement {
                iterations: sweeps,
                post_scale: rho,
                score: found.score,
            });
            if at > 0 && found.score <= before + WORTH_IT * before.abs() {
                break;
            }
            (trial.score, trial.stderr) = (Some(found.score), found.stderr);
            (trial.params.iterations, trial.params.post_scale) = (sweeps, rho);
        }
        trial.training_seconds = runs.training_seconds;
        Ok(runs.into_factors())
    }

    /// The post-scaling that serves some factors best; nothing is trained again.
    fn post_scale(
        &self,
        runs: &[Checkpoint],
        step: &PlannedTrial,
        rung: &Rung,
    ) -> Result<f32, SearchError> {
        if !self.space.rescales() {
            return Ok(0.0);
        }
        let by = |sample| move |rho| Ok(self.measure(runs, rho, sample)?.score);
        let steps = if step.rung > 0 {
            Steps::NEAR
        } else {
            Steps::WIDE
        };
        let rho = best_post_scale(step.post_scale, steps, by(0))?;
        if rung.is_last && rung.sample > 1 {
            best_post_scale(rho, Steps::FINE, by(1))
        } else {
            Ok(rho)
        }
    }

    fn measure(
        &self,
        runs: &[Checkpoint],
        rho: f32,
        sample: usize,
    ) -> Result<Measured, SearchError> {
        let mut total = Measured {
            score: 0.0,
            stderr: 0.0,
        };
        let folds = runs
            .par_iter()
            .zip(self.evaluators)
            .map(|(run, evaluator)| {
                let model: Model = run.model.clone().with_post_scale(rho);
                evaluator.measure(&model, sample)
            });
        let folds: Vec<Result<Measured, SearchError>> = folds.collect();
        for found in folds {
            let found = found?;
            total.score += found.score / runs.len() as f64;
            total.stderr += (found.stderr / runs.len() as f64).powi(2);
        }
        total.stderr = total.stderr.sqrt();
        Ok(total)
    }
}

impl<'r> FoldRuns<'r> {
    fn new(
        runner: &'r TrialRunner<'r>,
        scheme: Scheme,
        params: Params,
        start: Option<&TrainedFactors>,
    ) -> Self {
        let grown = |(users, items): &(Factors, Factors)| {
            Init::grown(users, items, params.factors, params.init_std, params.seed)
        };
        Self {
            runner,
            scheme,
            starts: start
                .map(|kept| kept.iter().map(grown).collect())
                .unwrap_or_default(),
            params,
            runs: Vec::new(),
            training_seconds: 0.0,
        }
    }

    /// Goes on with every fold until so many sweeps are made.
    ///
    /// Folds are trained side by side: data that is held out of in several ways is small, and does
    /// not keep all threads busy by itself.
    fn sweep_to(&mut self, iterations: usize) -> Result<(), SearchError> {
        // What the machine allows decides no bits, and has no place in a log.
        let options = self.runner.options;
        let threads = options.threads.unwrap_or_else(default_threads);
        let params = Params {
            iterations,
            threads: Some(1),
            memory_limit: options.memory_limit,
            ..self.params.clone()
        };
        let at_once = threads.min(self.fitting(&params)).max(1);
        let params = params.threads(threads / at_once);
        let checked = params.check().map_err(FitError::from)?;
        let mut before = std::mem::take(&mut self.runs).into_iter();
        let mut starts = std::mem::take(&mut self.starts).into_iter();
        let folds = self.runner.folds.iter();
        let folds: Vec<_> = folds
            .map(|fold| (fold, starts.next().unwrap_or_default(), before.next()))
            .collect();
        let (scheme, cancel) = (&self.scheme, self.runner.cancel);
        let train = |(fold, init, resume): (&Fold<'_>, Init, Option<Checkpoint>)| {
            let run = Run {
                init,
                resume,
                cancel: cancel.clone(),
                ..Run::default()
            };
            fit(&fold.train, scheme, &checked, run)
        };
        let started = Instant::now();
        let fitted: Vec<_> = if at_once == 1 {
            folds.into_iter().map(train).collect()
        } else {
            let pool = ThreadPoolBuilder::new().num_threads(at_once).build();
            let pool = pool.map_err(|_| FitError::Threads { threads: at_once })?;
            pool.install(|| folds.into_par_iter().map(train).collect())
        };
        self.training_seconds += started.elapsed().as_secs_f64();
        for fitted in fitted {
            let fitted = fitted?;
            if fitted.reason == StopReason::Cancelled {
                return Err(SearchError::Cancelled);
            }
            self.runs.push(fitted.checkpoint);
        }
        Ok(())
    }

    /// How many folds memory has room for at once.
    fn fitting(&self, params: &Params) -> usize {
        let folds = self.runner.folds;
        let (Some(limit), Some(fold)) = (params.memory_limit, folds.first()) else {
            return folds.len();
        };
        let plan = MemoryPlan::new(&Sizes::of(&fold.train, &self.scheme, false), params);
        folds.len().min((limit / plan.total().max(1)) as usize)
    }

    fn into_factors(self) -> TrainedFactors {
        let factors = |run: Checkpoint| {
            let model = run.model;
            (model.user_factors().clone(), model.item_factors().clone())
        };
        self.runs.into_iter().map(factors).collect()
    }
}
