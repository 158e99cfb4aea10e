//! Settings that a run was not given: regularization, post-scaling, targets and weights.
//!
//! No λ suits all data: on public data sets the best penalties of a typical row differ by a factor of
//! ten (`docs/accuracy.md`). So a few are tried on held-out rows, doubled or halved while the score
//! rises, each with the post-scaling that suits it best; then, for a run without given targets and
//! weights, other targets and other strengths of the weights on missing entries. Where that would take
//! too long, or too few rows could be held out, the penalty is a typical one.

mod step_search;

use absentia::data::Interactions;
use absentia::evaluate::{Metric, MetricName};
use absentia::fit::{Cancel, FitError, Sizes};
use absentia::weights::{Scheme, SchemeSpec};
use absentia::{Method, Params};
use rayon::ThreadPool;

use crate::error::SearchError;
use crate::fold::Fold;
use crate::session::Session;
use crate::space::{TypicalRow, three_digits};
use crate::trial_runner::{Limits, Scoring, TrialRunner, thread_pool};
use step_search::{Attempt, StepSearch};

/// Share of each user's rows that is held out.
const SHARE: f64 = 0.2;
/// Number of users that are measured, at most and at least.
const MOST_USERS: usize = 2000;
const LEAST_USERS: usize = 100;
/// Number of entries above which nothing is tried.
const MOST_ENTRIES: usize = 10_000_000;
/// Penalty of a typical row relative to its observed weight that is taken without a search.
const TYPICAL_PENALTY: f64 = 0.15;
/// What models are compared by.
const RECALL_AT_20: MetricName = MetricName {
    metric: Metric::Recall,
    cutoff: Some(20),
};

/// Which settings of a run are chosen automatically.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Automatic {
    /// The regularization λ.
    pub regularization: bool,
    /// The exponent ρ of post-scaling.
    pub post_scale: bool,
    /// The targets and the weights on missing entries; the search starts from those given.
    pub recipe: bool,
}

impl Automatic {
    /// The largest number of models that are trained; usually it is half of them.
    ///
    /// For the regularization: the first, one in the wrong direction, and four in the right one. For
    /// targets and weights: one with other targets, five with other strengths of the weights, and
    /// eight with other regularization after that.
    #[must_use]
    pub fn max_models(self) -> usize {
        6 + if self.recipe { 1 + 5 + 8 } else { 0 }
    }

    /// Whether models will be trained to choose something; a copy of the data is made for them.
    #[must_use]
    pub fn trains_models(self, entries: usize, solver: Method) -> bool {
        self != Self::default() && !solver.is_baseline() && entries <= MOST_ENTRIES
    }

    /// Bytes that choosing takes beside the run itself; 0 where no models are trained.
    #[must_use]
    pub fn memory(self, sizes: &Sizes, params: &Params) -> u64 {
        if !self.trains_models(sizes.entries, params.solver) {
            return 0;
        }
        // The rows that are not held out, and the best two models while the next is trained.
        let factors = params.factors.next_multiple_of(16) as u64;
        let models = 2 * 4 * (sizes.users + sizes.items) as u64 * factors;
        // Other targets differ from entry to entry.
        let targets = 16 * sizes.entries as u64 * u64::from(self.recipe);
        sizes.data.saturating_add(models).saturating_add(targets)
    }
}

/// Parameters with nothing left to choose.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenSettings {
    /// The parameters.
    pub params: Params,
    /// The weights on missing entries, where they differ from those given.
    pub scheme: Option<Scheme>,
    /// Number of models trained to choose them; 0 where a rule of thumb did.
    pub tried: usize,
    /// Recall@20 of the choice on the held-out rows.
    pub score: Option<f64>,
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
        }
    }

    /// The text form of the weights on missing entries, where they differ from those given.
    #[must_use]
    pub fn weights(&self) -> Option<SchemeSpec> {
        self.scheme.as_ref().and_then(Scheme::spec)
    }
}

/// Chooses the settings that `automatic` names; everything else is as `params` has it. `observer` is
/// called after every model, of at most [`Automatic::max_models`].
///
/// The same data, weights and parameters give the same choice on any number of threads.
///
/// # Errors
/// Data that cannot be trained on, parameters out of range, a run that was cancelled.
pub fn choose_settings(
    data: &Interactions<'_>,
    scheme: &Scheme,
    params: &Params,
    automatic: Automatic,
    cancel: &Cancel,
    observer: &dyn Fn(),
) -> Result<ChosenSettings, SearchError> {
    let mut chosen = ChosenSettings::given(params.clone());
    let is_given = params.solver.is_baseline() || automatic == Automatic::default();
    // The run itself refuses data without interactions.
    if is_given || data.n_interactions() == 0 {
        return Ok(chosen);
    }
    let pool = thread_pool(params.threads)?;
    let request = Request {
        data,
        row: TypicalRow::of(data),
        scheme,
        mean_weight: pool.install(|| mean_weight(data, scheme))?,
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
    if let Some((best, tried)) = best {
        (chosen.tried, chosen.score) = (tried, best.trial.score);
        chosen.params.regularization = best.trial.params.regularization;
        chosen.params.post_scale = best.trial.params.post_scale;
        chosen.params.targets = best.trial.params.targets;
        chosen.scheme = best.into_scheme();
    } else if automatic.regularization {
        chosen.params.regularization = request.lambda(None, TYPICAL_PENALTY)?;
    }
    Ok(chosen)
}

/// The mean weight on missing entries; a typical one where it would take long to compute.
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
    row: TypicalRow,
    scheme: &'q Scheme,
    /// The mean weight on missing entries by `scheme`.
    mean_weight: f64,
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
        let lambda = self.row.lambda(penalty, weight, exponent);
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
            sample_sizes: &[MOST_USERS],
            seed,
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
            FitError::NotConvex { .. } | FitError::RowWeight { .. } | FitError::Diverged { .. }
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use absentia::data::{Duplicates, Triplets, mix};
    use absentia::weights::Strength;

    const WEIGHTS: Scheme = Scheme::popularity(Strength::Mean(0.02), 0.25);
    const BOTH: Automatic = Automatic {
        regularization: true,
        post_scale: true,
        recipe: false,
    };

    /// Users of forty tastes who take what is to their taste, mostly, or whatever is popular.
    fn data(users: u32, has_taste: bool) -> Interactions<'static> {
        let (mut rows, mut cols) = (Vec::new(), Vec::new());
        for user in 0..users {
            for draw in 0..24 {
                let random = mix(1, u64::from(user), draw);
                let unit = (random >> 40) as f64 / (1 << 24) as f64;
                let item = if has_taste && draw % 3 > 0 {
                    (20.0 * unit) as u32 * 40 + user % 40
                } else {
                    (800.0 * unit * unit) as u32
                };
                rows.push(user);
                cols.push(item);
            }
        }
        let built = Triplets::new(&rows, &cols).build(users as usize, 800, Duplicates::Sum);
        built.unwrap().into_owned()
    }

    fn chosen(data: &Interactions<'_>, params: &Params, automatic: Automatic) -> ChosenSettings {
        let count = std::cell::Cell::new(0);
        let observer = || count.set(count.get() + 1);
        let chosen =
            choose_settings(data, &WEIGHTS, params, automatic, &Cancel::new(), &observer).unwrap();
        assert_eq!(chosen.tried, count.get());
        assert!(chosen.tried <= automatic.max_models());
        chosen
    }

    #[test]
    fn too_weak_and_too_strong_penalties_are_left_behind() {
        let params = Params::new().factors(32);
        let told = |data: &Interactions<'_>, lambda: f32| {
            let automatic = Automatic {
                regularization: false,
                ..BOTH
            };
            let params = params.clone().regularization(lambda);
            chosen(data, &params, automatic).score.unwrap()
        };
        let (taste, noise) = (data(600, true), data(600, false));
        let (found, weak) = (chosen(&noise, &params, BOTH), told(&noise, 0.005));
        assert!(
            found.tried > 1 && found.score > Some(1.1 * weak),
            "{weak} {found:?}"
        );
        let (found, strong) = (chosen(&taste, &params, BOTH), told(&taste, 2.0));
        assert!(
            found.tried > 1 && found.score > Some(1.1 * strong),
            "{strong} {found:?}"
        );
    }

    #[test]
    fn what_was_given_is_kept_and_the_rest_does_not_depend_on_threads() {
        let (data, params) = (
            data(300, false),
            Params::new().factors(8).regularization(0.3),
        );
        let automatic = Automatic {
            regularization: false,
            ..BOTH
        };
        let one = chosen(&data, &params.clone().threads(1), automatic);
        let two = chosen(&data, &params.clone().threads(2), automatic);
        assert_eq!(one.params.regularization.to_bits(), 0.3_f32.to_bits());
        assert_eq!(
            one.params.post_scale.to_bits(),
            two.params.post_scale.to_bits()
        );
        assert_eq!((one.tried, one.score), (1, two.score));
        let told = chosen(&data, &params, Automatic::default());
        assert_eq!((told.params, told.tried), (params.clone(), 0));
        let baseline = params.solver(absentia::Baseline::Bpr);
        assert_eq!(chosen(&data, &baseline, BOTH).params, baseline);
    }

    /// A recipe is only left for one that does better.
    #[test]
    fn a_recipe_is_found_that_does_no_worse_and_does_not_depend_on_threads() {
        let automatic = Automatic {
            recipe: true,
            ..BOTH
        };
        for has_taste in [false, true] {
            let data = data(300, has_taste);
            let params = Params::new().factors(8);
            let given = chosen(&data, &params, BOTH);
            let one = chosen(&data, &params.clone().threads(1), automatic);
            let two = chosen(&data, &params.clone().threads(2), automatic);
            assert!(one.score >= given.score && one.tried >= given.tried + 3);
            assert_eq!((&one.scheme, one.score), (&two.scheme, two.score));
            assert_eq!(one.params.targets, two.params.targets);
            // What was found is the whole of it: told so, the same penalties do as well again.
            let scheme = one.scheme.unwrap_or(WEIGHTS);
            let only = Automatic {
                post_scale: true,
                ..Automatic::default()
            };
            let again = choose_settings(&data, &scheme, &one.params, only, &Cancel::new(), &|| {});
            let again = again.unwrap().score.unwrap();
            assert!(again > 0.8 * one.score.unwrap(), "{again} {:?}", one.score);
        }
        // Weights that no single number makes stronger stay as they are, or give way as a whole.
        let uniform = Scheme::uniform(0.05);
        let (data, params) = (data(300, true), Params::new().factors(8));
        let found =
            choose_settings(&data, &uniform, &params, automatic, &Cancel::new(), &|| {}).unwrap();
        let is_other = found.params.targets != params.targets;
        assert_eq!(found.scheme.is_some(), is_other);
    }

    /// Weights so far below zero that no model of four fifths of the rows can be trained.
    #[test]
    fn weights_below_zero_leave_the_choice_to_a_rule_of_thumb() {
        let data = data(300, true);
        let column = |rows, value| absentia::Dense::from_fn(rows, 1, |_, _| value);
        let scheme = Scheme::low_rank(column(data.n_users(), -1.0), column(data.n_items(), 1.0));
        let params = Params::new().factors(4).reg_exponent(0.0);
        let found = choose_settings(&data, &scheme, &params, BOTH, &Cancel::new(), &|| {}).unwrap();
        assert_eq!((found.tried, found.score), (0, None));
        let none = Triplets::new(&[], &[])
            .build(3, 3, Duplicates::Error)
            .unwrap();
        assert_eq!(chosen(&none, &params, BOTH).params, params);
    }

    #[test]
    fn few_users_can_tell_nothing() {
        let found = chosen(&data(50, true), &Params::new(), BOTH);
        assert_eq!((found.tried, found.score), (0, None));
        assert!(found.params.regularization > 0.0 && found.params.post_scale == 0.0);
    }
}
