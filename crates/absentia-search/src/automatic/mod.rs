//! Settings that a run was not given: regularization, post-scaling, targets and weights.
//!
//! No λ suits all data: on public data sets the best penalties of a typical row differ by a factor of
//! ten (`docs/accuracy.md`). So a few are tried on held-out rows, doubled or halved while the score
//! rises, each with the post-scaling that suits it best; then, for a run without given targets and
//! weights, other targets and other strengths of the weights on missing entries. Where that would take
//! too long, or too few rows could be held out, the penalty is a typical one.
//!
//! Where the data has times, weights by age and a post-scaling by recent counts are tried after that. Each is kept only
//! if it is better than the model without it by more than noise (`user_scores`): no data set may lose by it.
//!
//! Weights that are given for users and items say how much was shown to whom. Held-out rows share the bias of
//! what was shown, so that a post-scaling chosen by them would undo such weights: it is left as it was.

mod step_search;

use absentia::data::Interactions;
use absentia::evaluate::{Metric, MetricName};
use absentia::fit::{Cancel, FitError, MemoryPlan, Sizes};
use absentia::memory::Stage;
use absentia::relations::Relations;
use absentia::weights::{Scheme, SchemeSpec};
use absentia::{Method, Params, Solver};
use rayon::ThreadPool;

use crate::error::SearchError;
use crate::fold::Fold;
use crate::session::Session;
use crate::space::{DataFacts, three_digits};
use crate::trial_runner::{Limits, Scoring, TrialRunner, thread_pool};
use step_search::{Attempt, StepSearch};

/// Share of each user's rows that is held out.
const SHARE: f64 = 0.2;
/// Number of users that are measured to choose a post-scaling, to compare models, and at least.
const MOST_USERS: usize = 2000;
const MOST_COMPARED: usize = 10_000;
const LEAST_USERS: usize = 100;
/// Number of entries above which nothing is tried.
const MOST_ENTRIES: usize = 10_000_000;
/// The relative regularization that is used without a search.
const TYPICAL_PENALTY: f64 = 0.15;
/// The metric that models are compared by.
const RECALL_AT_20: MetricName = MetricName {
    metric: Metric::Recall,
    cutoff: Some(20),
};

/// Which settings of a run are chosen automatically.
// One answer for each setting: they are not states of one thing.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Automatic {
    /// The regularization λ.
    pub regularization: bool,
    /// The exponent ρ of post-scaling.
    pub post_scale: bool,
    /// The targets and the weights on missing entries; the search starts from those given.
    pub recipe: bool,
    /// Weights by age and the half-life of post-scaling, where the data has times; only with all of the others.
    pub by_time: bool,
}

impl Automatic {
    /// The largest number of models that are trained; usually it is half of them.
    ///
    /// For the regularization: the first, one in the wrong direction, and four in the right one. For
    /// targets and weights: one with other targets, five with other strengths of the weights, and
    /// eight with other regularization after that. For times: one with weights by age, as many as before with other
    /// strengths and regularization, four with another sharpness, and nine with half-lives.
    #[must_use]
    pub fn max_models(self) -> usize {
        let recipe = if self.recipe { 1 + 5 + 8 } else { 0 };
        let by_time = if self.by_time { 1 + 5 + 8 + 4 + 9 } else { 0 };
        6 + recipe + by_time
    }

    /// Whether models will be trained to choose something; a copy of the data is made for them.
    #[must_use]
    pub fn trains_models(self, entries: usize, solver: Method) -> bool {
        self != Self::default() && !solver.is_baseline() && entries <= MOST_ENTRIES
    }

    /// The stages of choosing on this data, matrix included; none where no models are trained.
    #[must_use]
    pub fn stages(self, data: &Interactions<'_>, scheme: &Scheme, params: &Params) -> Vec<Stage> {
        if !self.trains_models(data.len(), params.solver) || scheme.is_approximated() {
            return Vec::new();
        }
        let (holding_out, rest) = data.bytes_to_hold_out(SHARE);
        let matrix = ("matrix and transpose", data.bytes());
        // Other targets differ from entry to entry.
        let targets = if self.recipe {
            step_search::OTHER_TARGETS
        } else {
            params.targets
        };
        let params = Params {
            solver: Solver::Eals.into(),
            targets,
            ..params.clone()
        };
        let sizes = Sizes {
            data: rest,
            entries: (data.len() as f64 * (1.0 - SHARE)) as usize,
            ..Sizes::of(data, scheme, &params, false)
        };
        // The best two models, while the next is trained.
        let rows = (sizes.users + sizes.items) as u64;
        let models = 2 * 4 * rows * params.factors.next_multiple_of(16) as u64;
        let held_out = 4 * (data.len() - sizes.entries) as u64 + 12 * sizes.users as u64;
        let fit = MemoryPlan::new(&sizes, &params);
        vec![
            Stage::new("holding rows out to choose settings")
                .with_all([matrix])
                .with("rows without those held out", holding_out),
            Stage::new("choosing settings")
                .with_all([matrix])
                .with("rows held out", held_out)
                .with("best models so far", models)
                .with("model that is tried", fit.total()),
        ]
    }
}

/// Parameters with nothing left to choose.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenSettings {
    /// The parameters.
    pub params: Params,
    /// The weights on missing entries, where they differ from those given.
    pub scheme: Option<Scheme>,
    /// Number of models trained to choose them; 0 if a rule of thumb was used.
    pub tried: usize,
    /// Recall@20 of the choice on the held-out rows.
    pub score: Option<f64>,
    /// Whether the weights on missing entries are given for users and items, so that the post-scaling, which
    /// could undo them, was left as it was.
    pub states_exposure: bool,
}

impl ChosenSettings {
    /// Parameters that were given, with nothing to choose.
    #[must_use]
    pub fn given(params: Params) -> Self {
        Self {
            params,
            scheme: None,
            tried: 0,
            score: None,
            states_exposure: false,
        }
    }

    /// The text form of the weights on missing entries, where they differ from those given.
    #[must_use]
    pub fn weights(&self) -> Option<SchemeSpec> {
        self.scheme.as_ref().and_then(Scheme::spec)
    }
}

/// Chooses the settings that `automatic` names; everything else is as `params` has it. `observer` is
/// called after every model, of at most [`Automatic::max_models`]. Relations are trained together with the data.
///
/// The same data, weights and parameters give the same choice on any number of threads.
///
/// # Errors
/// Data that cannot be trained on, parameters out of range, relations that do not fit, a run that was cancelled.
pub fn choose_settings(
    (data, relations): (&Interactions<'_>, Option<&Relations<'_>>),
    scheme: &Scheme,
    params: &Params,
    automatic: Automatic,
    cancel: &Cancel,
    observer: &dyn Fn(),
) -> Result<ChosenSettings, SearchError> {
    let mut chosen = ChosenSettings::given(params.clone());
    chosen.states_exposure = scheme.states_exposure();
    let automatic = Automatic {
        post_scale: automatic.post_scale && !chosen.states_exposure,
        by_time: automatic.by_time && automatic.recipe && data.times().is_some(),
        ..automatic
    };
    let is_given = params.solver.is_baseline() || automatic == Automatic::default();
    // The run itself rejects data without interactions.
    if is_given || data.n_interactions() == 0 {
        return Ok(chosen);
    }
    let pool = thread_pool(params.threads)?;
    let mean_weight = pool.install(|| mean_weight(data, scheme))?;
    let request = Request {
        data,
        facts: DataFacts::of(data),
        scheme,
        mean_weight,
        relations,
        params,
        automatic,
        pool: &pool,
        cancel,
    };
    // Weights that must be approximated first take longer than a run.
    let is_quick = automatic.trains_models(data.len(), params.solver) && !scheme.is_approximated();
    let best = if is_quick {
        request.search(observer)?
    } else {
        None
    };
    // Where nothing scores, nothing is better than another.
    let best = best.filter(|(best, _)| best.trial.score.is_some_and(|score| score > 0.0));
    if let Some((best, tried)) = best {
        (chosen.tried, chosen.score) = (tried, best.trial.score);
        chosen.params.regularization = best.trial.params.regularization;
        chosen.params.post_scale = best.trial.params.post_scale;
        chosen.params.post_scale_half_life = best.trial.params.post_scale_half_life;
        chosen.params.targets = best.trial.params.targets;
        chosen.scheme = best.into_scheme();
    } else if automatic.regularization {
        chosen.params.regularization = request.lambda(None, TYPICAL_PENALTY)?;
    }
    Ok(chosen)
}

/// The mean weight on missing entries; a typical one where the weights would take long to compute.
fn mean_weight(data: &Interactions<'_>, scheme: &Scheme) -> Result<f64, SearchError> {
    if scheme.is_approximated() {
        return Ok(0.1);
    }
    let weights = scheme.resolve(data).map_err(FitError::from)?;
    Ok(weights.mean_missing(data).max(0.0))
}

/// What is to be chosen, and for which run.
struct Request<'q> {
    data: &'q Interactions<'q>,
    facts: DataFacts,
    scheme: &'q Scheme,
    /// The mean weight on missing entries by `scheme`.
    mean_weight: f64,
    /// Relations that are trained with the data.
    relations: Option<&'q Relations<'q>>,
    params: &'q Params,
    automatic: Automatic,
    pool: &'q ThreadPool,
    cancel: &'q Cancel,
}

impl Request<'_> {
    /// λ that gives a typical row this penalty, relative to its observed weight, with other weights on
    /// missing entries or with those given.
    fn lambda(&self, other: Option<&Scheme>, penalty: f64) -> Result<f32, SearchError> {
        let weight = match other {
            Some(scheme) => self.pool.install(|| mean_weight(self.data, scheme))?,
            None => self.mean_weight,
        };
        let exponent = f64::from(self.params.reg_exponent);
        let lambda = self.facts.row.lambda(penalty, weight, exponent);
        Ok(three_digits(lambda.min(f64::from(f32::MAX))) as f32)
    }

    /// The best attempt and the number of attempts; nothing where too few users have held-out rows, or
    /// where models cannot be trained without the held-out rows.
    fn search(&self, observer: &dyn Fn()) -> Result<Option<(Attempt, usize)>, SearchError> {
        let seed = self.params.seed;
        let fold = self
            .pool
            .install(|| Fold::of_matrix(self.data, SHARE, seed))?;
        if fold.held_out.users().len() < LEAST_USERS {
            return Ok(None);
        }
        let scoring = Scoring {
            metric: RECALL_AT_20,
            sample_sizes: &[MOST_USERS, MOST_COMPARED],
            seed,
            among_new: false,
        };
        let limits = Limits {
            threads: self.params.threads,
            memory: self.params.memory_limit,
        };
        let folds = [fold];
        let runner = TrialRunner::new(&folds, scoring, limits, self.pool, self.cancel)?;
        let mut observer = |_: &[crate::trial::Trial]| {
            observer();
            true
        };
        let mut search = StepSearch {
            request: self,
            runner: &runner,
            session: Session::new(Vec::new(), &mut observer),
        };
        match search.best() {
            Err(error) if is_about_weights(&error) => Ok(None),
            best => Ok(Some((best?, search.session.trials().len()))),
        }
    }
}

/// Whether a model could not be trained because some weights are below zero: with another
/// regularization, or with all rows, it may be possible.
fn is_about_weights(error: &SearchError) -> bool {
    matches!(
        error,
        SearchError::Fit(
            FitError::NotConvex { .. }
                | FitError::RowWeight { .. }
                | FitError::Diverged { .. }
                | FitError::Rises { .. }
        )
    )
}

#[cfg(test)]
mod tests;
