//! One trial: settings trained on every fold and measured on its held-out rows.
//!
//! Both searches train and measure here, so that they share one rule for warm starts, for stopping
//! early, for threads and memory, and for scores.

use std::time::Instant;

use absentia::Params;
use absentia::evaluate::MetricName;
use absentia::fit::backend::Cpu;
use absentia::fit::{
    Cancel, Checkpoint, FitError, Init, MemoryPlan, Run, Sizes, StopReason, default_threads,
    fit_related,
};
use absentia::model::{Factors, Model};
use absentia::relations::Relations;
use absentia::weights::Scheme;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::SearchError;
use crate::evaluator::{Evaluator, Measured, popularity_scorers};
use crate::fold::Fold;
use crate::post_scale::{PostScaling, StepSizes, best_post_scale};
use crate::trial::Measurement;
use crate::user_scores::UserScores;

/// A trial stops early when its metric rises by no more than this share.
const LEAST_RISE: f64 = 5e-4;

/// Factors of a trained model, one pair of matrices per fold.
pub(crate) type TrainedFactors = Vec<(Factors, Factors)>;

/// How trials are measured.
#[derive(Clone, Copy)]
pub(crate) struct Scoring<'s> {
    pub(crate) metric: MetricName,
    /// Number of held-out users of each sample.
    pub(crate) sample_sizes: &'s [usize],
    /// Seed of the samples.
    pub(crate) seed: u64,
    /// Whether only items without a row in training are ranked.
    pub(crate) among_new: bool,
}

/// The threads and the memory that a trial may use; they do not change the result.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Number of threads; what the machine or container allows if `None`.
    pub(crate) threads: Option<usize>,
    /// Bytes a run may take.
    pub(crate) memory: Option<u64>,
}

/// Trains and measures trials.
pub(crate) struct TrialRunner<'r> {
    folds: &'r [Fold<'r>],
    evaluators: Vec<Evaluator<'r>>,
    limits: Limits,
    /// Threads of its own: those of the caller may be gone after a fork.
    pool: &'r ThreadPool,
    cancel: &'r Cancel,
}

/// How to train and to measure some settings.
pub(crate) struct TrialPlan<'p> {
    pub(crate) scheme: &'p Scheme,
    pub(crate) params: Params,
    /// Relations that are trained with every fold.
    pub(crate) relations: Option<&'p Relations<'p>>,
    /// Numbers of sweeps after which the model is measured; training continues while the metric rises.
    pub(crate) sweeps: &'p [usize],
    pub(crate) post_scaling: PostScaling,
    /// Which sample of users the score is measured on.
    pub(crate) sample: usize,
}

/// What a trial gave.
#[derive(Default)]
pub(crate) struct TrialResult {
    pub(crate) score: f64,
    pub(crate) stderr: f64,
    /// The scores of users with these sweeps.
    pub(crate) users: UserScores,
    /// Sweeps with the best score.
    pub(crate) iterations: usize,
    pub(crate) post_scale: f32,
    pub(crate) curve: Vec<Measurement>,
    /// Why training could not continue after the last measurement.
    pub(crate) failure: Option<FitError>,
    /// None if training could not continue.
    pub(crate) factors: TrainedFactors,
    pub(crate) training_seconds: f64,
}

impl<'r> TrialRunner<'r> {
    pub(crate) fn new(
        folds: &'r [Fold<'r>],
        scoring: Scoring<'_>,
        limits: Limits,
        pool: &'r ThreadPool,
        cancel: &'r Cancel,
    ) -> Result<Self, SearchError> {
        let evaluator = |fold: &'r Fold<'r>| Evaluator::new(&fold.train, &fold.held_out, scoring);
        Ok(Self {
            folds,
            evaluators: folds.iter().map(evaluator).collect::<Result<_, _>>()?,
            limits,
            pool,
            cancel,
        })
    }

    /// Trains and measures, starting from the factors of another trial or from random ones.
    pub(crate) fn run(
        &self,
        plan: &TrialPlan<'_>,
        start: Option<&TrainedFactors>,
    ) -> Result<TrialResult, SearchError> {
        let mut runs = FoldRuns::new(self, plan, start);
        let mut result = TrialResult::default();
        for (at, &iterations) in plan.sweeps.iter().enumerate() {
            match runs.sweep_to(iterations) {
                Err(SearchError::Fit(error)) if at > 0 => {
                    result.failure = Some(error);
                    return Ok(result);
                }
                swept => swept?,
            }
            let before = (at > 0).then_some(result.post_scale);
            let rho = self.post_scale(&runs.checkpoints, plan, before)?;
            let measured = self.measure(&runs.checkpoints, rho, plan.sample)?;
            result.curve.push(Measurement {
                iterations,
                post_scale: rho,
                score: measured.score,
            });
            if at > 0 && measured.score <= result.score + LEAST_RISE * result.score.abs() {
                break;
            }
            (result.score, result.stderr) = (measured.score, measured.stderr);
            (result.users, result.post_scale) = (measured.users, rho);
            result.iterations = iterations;
        }
        result.training_seconds = runs.training_seconds;
        result.factors = runs.into_factors();
        Ok(result)
    }

    /// The post-scaling of trained factors. After more sweeps it is searched near that of `before`: the more a model
    /// has learned of who takes what, the less its items need to be scaled.
    fn post_scale(
        &self,
        runs: &[Checkpoint],
        plan: &TrialPlan<'_>,
        before: Option<f32>,
    ) -> Result<f32, SearchError> {
        let score_on = |sample| move |rho| Ok(self.measure(runs, rho, sample)?.score);
        let half_life = plan.params.post_scale_half_life;
        match (plan.post_scaling, before) {
            (PostScaling::Fixed(rho), _) => Ok(rho),
            (PostScaling::Search { .. }, Some(before)) => {
                best_post_scale((before, half_life), StepSizes::WIDE, score_on(0))
            }
            (
                PostScaling::Search {
                    guess,
                    steps,
                    refine,
                },
                None,
            ) => {
                let rho = best_post_scale((guess, half_life), steps, score_on(0))?;
                if refine {
                    best_post_scale((rho, half_life), StepSizes::FINE, score_on(1))
                } else {
                    Ok(rho)
                }
            }
        }
    }

    /// The mean of the metric over the folds.
    fn measure(
        &self,
        runs: &[Checkpoint],
        rho: f32,
        sample: usize,
    ) -> Result<Measured, SearchError> {
        let measure = |(run, evaluator): (&Checkpoint, &Evaluator<'_>)| {
            let model: Model = run.model.clone().with_post_scale(rho);
            evaluator.measure(&model, sample)
        };
        let folds: Vec<Result<Measured, SearchError>> = self.pool.install(|| {
            let pairs = runs.par_iter().zip(&self.evaluators);
            pairs.map(measure).collect()
        });
        mean_over_folds(folds)
    }

    /// What the most popular items reach on the largest sample, with the names of the rankings: every model should do
    /// better.
    pub(crate) fn popularity(&self) -> Result<Vec<(&'static str, Measured)>, SearchError> {
        let last = usize::MAX;
        let mut by_name: Vec<(&'static str, Vec<Result<Measured, SearchError>>)> = Vec::new();
        for (fold, evaluator) in self.folds.iter().zip(&self.evaluators) {
            for (place, (name, scorer)) in popularity_scorers(&fold.train).into_iter().enumerate() {
                let measure = || evaluator.measure_scorer(&scorer, last);
                let measured = self.pool.install(measure);
                match by_name.get_mut(place) {
                    Some((_, folds)) => folds.push(measured),
                    None => by_name.push((name, vec![measured])),
                }
            }
        }
        let mean = |(name, folds)| Ok((name, mean_over_folds(folds)?));
        by_name.into_iter().map(mean).collect()
    }
}

fn mean_over_folds(folds: Vec<Result<Measured, SearchError>>) -> Result<Measured, SearchError> {
    let (mut mean, count) = (Measured::default(), folds.len() as f64);
    let mut users = Vec::with_capacity(folds.len());
    for measured in folds {
        let measured = measured?;
        mean.score += measured.score / count;
        mean.stderr += (measured.stderr / count).powi(2);
        users.push(measured.users);
    }
    mean.stderr = mean.stderr.sqrt();
    mean.users = UserScores::mean_of(users);
    Ok(mean)
}

/// The runs of a trial, one per fold.
struct FoldRuns<'r> {
    runner: &'r TrialRunner<'r>,
    plan: &'r TrialPlan<'r>,
    checkpoints: Vec<Checkpoint>,
    starts: Vec<Init>,
    training_seconds: f64,
}

impl<'r> FoldRuns<'r> {
    fn new(
        runner: &'r TrialRunner<'r>,
        plan: &'r TrialPlan<'r>,
        start: Option<&TrainedFactors>,
    ) -> Self {
        let starts = start.map(|start| start.iter().map(|fold| warm_start(fold, &plan.params)));
        Self {
            runner,
            plan,
            checkpoints: Vec::new(),
            starts: starts.map(Iterator::collect).unwrap_or_default(),
            training_seconds: 0.0,
        }
    }

    /// Trains every fold up to a number of sweeps.
    ///
    /// Folds are trained in parallel: several folds are used where the data is small, and small data
    /// does not keep all threads busy.
    fn sweep_to(&mut self, iterations: usize) -> Result<(), SearchError> {
        let Limits { threads, memory } = self.runner.limits;
        let threads = threads.unwrap_or_else(default_threads);
        let params = Params {
            iterations,
            threads: Some(1),
            memory_limit: memory,
            ..self.plan.params.clone()
        };
        let at_once = threads.min(self.folds_in_memory(&params)).max(1);
        let params = params.threads(threads / at_once);
        let checked = params.check().map_err(FitError::from)?;
        let mut before = std::mem::take(&mut self.checkpoints).into_iter();
        let mut starts = std::mem::take(&mut self.starts).into_iter();
        let folds = self.runner.folds.iter();
        let folds: Vec<_> = folds
            .map(|fold| (fold, starts.next().unwrap_or_default(), before.next()))
            .collect();
        let (scheme, cancel) = (self.plan.scheme, self.runner.cancel);
        let relations = self.plan.relations;
        let train = |(fold, init, resume): (&Fold<'_>, Init, Option<Checkpoint>)| {
            let run = Run {
                init,
                resume,
                cancel: cancel.clone(),
                ..Run::default()
            };
            fit_related(&Cpu, (&fold.train, scheme), relations, &checked, run)
        };
        let started = Instant::now();
        let fitted: Vec<_> = if at_once == 1 {
            folds.into_iter().map(train).collect()
        } else {
            thread_pool(Some(at_once))?.install(|| folds.into_par_iter().map(train).collect())
        };
        self.training_seconds += started.elapsed().as_secs_f64();
        for fitted in fitted {
            let fitted = fitted?;
            if fitted.reason == StopReason::Cancelled {
                return Err(SearchError::Cancelled);
            }
            self.checkpoints.push(fitted.checkpoint);
        }
        Ok(())
    }

    /// Number of folds that memory has room for at once.
    fn folds_in_memory(&self, params: &Params) -> usize {
        let folds = self.runner.folds;
        let (Some(limit), Some(fold)) = (params.memory_limit, folds.first()) else {
            return folds.len();
        };
        let sizes = Sizes::of(&fold.train, self.plan.scheme, params, false);
        let sizes = sizes.stacked(self.plan.relations);
        let plan = MemoryPlan::new(&sizes, params);
        folds.len().min((limit / plan.total().max(1)) as usize)
    }

    fn into_factors(self) -> TrainedFactors {
        let factors = |run: Checkpoint| {
            let model = run.model;
            (model.user_factors().clone(), model.item_factors().clone())
        };
        self.checkpoints.into_iter().map(factors).collect()
    }
}

/// Initial factors from trained ones, with random columns added if the run has more factors.
fn warm_start((users, items): &(Factors, Factors), params: &Params) -> Init {
    if users.cols() == params.factors {
        return Init::Given {
            users: users.clone(),
            items: items.clone(),
        };
    }
    Init::grown(users, items, params.factors, params.init_std, params.seed)
}

/// As many threads as requested, or as the machine or container allows.
pub(crate) fn thread_pool(threads: Option<usize>) -> Result<ThreadPool, SearchError> {
    let threads = threads.unwrap_or_else(default_threads);
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|_| FitError::Threads { threads }.into())
}
