//! What a run was not told: the penalty, the post-scaling, and the recipe.
//!
//! No λ serves all data: on public sets the best penalties of a typical row lie a factor of ten apart
//! (`docs/accuracy.md`). So a few are tried on rows put aside, up the slope in doublings, each with the
//! post-scaling that serves it best; then, for a run that was told nothing at all, other targets and
//! other strengths of the weights on missing entries. Where that would take too long, or too few rows
//! could tell, the penalty is a middling one.

mod step_search;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::SearchError;
use crate::evaluator::Evaluator;
use crate::space::TypicalRow;
use crate::space::three_digits;
use absentia::data::Interactions;
use absentia::evaluate::{EvaluateError, Metric, MetricName, TestSet};
use absentia::fit::{Cancel, FitError, default_threads};
use absentia::weights::{Scheme, SchemeSpec};
use absentia::{Method, Params};
use step_search::{Attempt, Search};

/// Share of a user's rows put aside, and users measured, at the most and at the least.
const SHARE: f64 = 0.2;
const MOST_USERS: usize = 2000;
const LEAST_USERS: usize = 100;
/// Entries above which nothing is tried.
const MOST_ENTRIES: usize = 10_000_000;
/// The penalty of a typical row over its observed weight that is taken without a search.
const MIDDLING: f64 = 0.15;

/// Which settings a run was not told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Automatic {
    /// The penalty λ.
    pub regularization: bool,
    /// The exponent ρ of post-scaling.
    pub post_scale: bool,
    /// The targets and the weights on missing entries: those given are where the search starts.
    pub recipe: bool,
}

impl Automatic {
    /// Most models that are trained, mostly it is half of them: for the penalty the first, one in the
    /// wrong direction, and four in the right one; for the recipe one with other targets, five with
    /// other strengths of the weights, and eight with other penalties after that.
    #[must_use]
    pub fn max_models(self) -> usize {
        6 + if self.recipe { 1 + 5 + 8 } else { 0 }
    }

    /// Whether models will be trained to settle something; a copy of the data is made for them.
    #[must_use]
    pub fn trains_models(self, entries: usize, solver: Method) -> bool {
        self != Self::default() && !solver.is_baseline() && entries <= MOST_ENTRIES
    }
}

/// Parameters with nothing left open.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenSettings {
    /// The parameters.
    pub params: Params,
    /// The weights on missing entries, where they are others than those given.
    pub scheme: Option<Scheme>,
    /// How many models were trained to choose them; none where a rule of thumb did.
    pub tried: usize,
    /// Recall@20 of the choice on the rows put aside.
    pub score: Option<f64>,
}

impl ChosenSettings {
    /// Parameters that were settled from the start.
    #[must_use]
    pub fn given(params: Params) -> Self {
        Self {
            params,
            scheme: None,
            tried: 0,
            score: None,
        }
    }

    /// The weights on missing entries, where they are others than those given, as they are written.
    #[must_use]
    pub fn weights(&self) -> Option<SchemeSpec> {
        self.scheme.as_ref().and_then(Scheme::spec)
    }
}

/// Settles what `open` names; everything else is as `params` has it. `follow` hears of every model
/// that was tried, of at most [`Automatic::max_models`].
///
/// The same data, weights and parameters settle it in the same way on any number of threads.
///
/// # Errors
/// Data that cannot be trained on, parameters out of range, a run that was cancelled.
pub fn choose_settings(
    data: &Interactions<'_>,
    scheme: &Scheme,
    params: &Params,
    open: Automatic,
    cancel: &Cancel,
    follow: &dyn Fn(),
) -> Result<ChosenSettings, SearchError> {
    let mut settled = ChosenSettings::given(params.clone());
    let is_told = params.solver.is_baseline() || open == Automatic::default();
    // Data without interactions is for the run itself to refuse.
    if is_told || data.n_interactions() == 0 {
        return Ok(settled);
    }
    let pool = pool(params)?;
    let question = Question {
        data,
        row: TypicalRow::of(data),
        scheme,
        weight: pool.install(|| mean_weight(data, scheme))?,
        params,
        open,
        pool,
        cancel,
        follow,
    };
    // Weights that are approximated take longer to find than a run.
    let is_quick = open.trains_models(data.len(), params.solver) && !scheme.is_approximated();
    let found = if is_quick { question.answer()? } else { None };
    if let Some((best, tried)) = found {
        (settled.tried, settled.score) = (tried, Some(best.score));
        settled.params.regularization = best.lambda;
        settled.params.post_scale = best.rho;
        settled.params.targets = best.point.targets;
        settled.scheme = best.point.scheme;
    } else if open.regularization {
        settled.params.regularization = question.lambda(None, MIDDLING)?;
    }
    Ok(settled)
}

/// What models are compared by.
const RECALL_AT_20: MetricName = MetricName {
    metric: Metric::Recall,
    cutoff: Some(20),
};

/// Threads of the run's own: a caller's may be none of its business, or dead after a fork.
fn pool(params: &Params) -> Result<ThreadPool, SearchError> {
    let threads = params.threads.unwrap_or_else(default_threads);
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|_| FitError::Threads { threads }.into())
}

/// The mean weight on missing entries; a middling one where it would take long to find.
fn mean_weight(data: &Interactions<'_>, scheme: &Scheme) -> Result<f64, SearchError> {
    if scheme.is_approximated() {
        return Ok(0.1);
    }
    let weights = scheme.resolve(data).map_err(FitError::from)?;
    Ok(weights.mean_missing(data).max(0.0))
}

/// What is to be settled, and for what run.
struct Question<'q> {
    data: &'q Interactions<'q>,
    /// Its typical row.
    row: TypicalRow,
    scheme: &'q Scheme,
    /// The mean weight on missing entries by it.
    weight: f64,
    params: &'q Params,
    open: Automatic,
    pool: ThreadPool,
    cancel: &'q Cancel,
    follow: &'q dyn Fn(),
}

impl Question<'_> {
    /// λ that penalises a typical row by so much of its observed weight, with other weights on missing
    /// entries or with those given.
    fn lambda(&self, other: Option<&Scheme>, penalty: f64) -> Result<f32, SearchError> {
        let weight = match other {
            Some(scheme) => self.pool.install(|| mean_weight(self.data, scheme))?,
            None => self.weight,
        };
        let exponent = f64::from(self.params.reg_exponent);
        let lambda = self.row.lambda(penalty, weight, exponent);
        Ok(three_digits(lambda.min(f64::from(f32::MAX))) as f32)
    }

    /// The best attempt and how many were made; nothing where too few rows can tell, or where models
    /// of fewer rows than the run will have cannot be trained.
    fn answer(&self) -> Result<Option<(Attempt, usize)>, SearchError> {
        let seed = self.params.seed;
        let held = self.pool.install(|| self.data.hold_out(SHARE, seed));
        let test = TestSet::from_pairs(&held.users, &held.items).map_err(EvaluateError::from)?;
        if test.users().len() < LEAST_USERS {
            return Ok(None);
        }
        let search = Search {
            question: self,
            train: &held.rest,
            evaluator: Evaluator::new(&held.rest, &test, RECALL_AT_20, &[MOST_USERS], seed)?,
        };
        match search.best() {
            Err(error) if is_of_the_weights(&error) => Ok(None),
            found => found.map(Some),
        }
    }
}

/// Whether a model could not be trained because some weights are below zero: another penalty, or
/// more rows, may mend that.
fn is_of_the_weights(error: &SearchError) -> bool {
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

    fn settled(data: &Interactions<'_>, params: &Params, open: Automatic) -> ChosenSettings {
        let count = std::cell::Cell::new(0);
        let follow = || count.set(count.get() + 1);
        let settled =
            choose_settings(data, &WEIGHTS, params, open, &Cancel::new(), &follow).unwrap();
        assert_eq!(settled.tried, count.get());
        assert!(settled.tried <= open.max_models());
        settled
    }

    #[test]
    fn too_weak_and_too_strong_penalties_are_left_behind() {
        let params = Params::new().factors(32);
        let told = |data: &Interactions<'_>, lambda: f32| {
            let open = Automatic {
                regularization: false,
                ..BOTH
            };
            let params = params.clone().regularization(lambda);
            settled(data, &params, open).score.unwrap()
        };
        let (taste, noise) = (data(600, true), data(600, false));
        let (found, weak) = (settled(&noise, &params, BOTH), told(&noise, 0.005));
        assert!(
            found.tried > 1 && found.score > Some(1.1 * weak),
            "{weak} {found:?}"
        );
        let (found, strong) = (settled(&taste, &params, BOTH), told(&taste, 2.0));
        assert!(
            found.tried > 1 && found.score > Some(1.1 * strong),
            "{strong} {found:?}"
        );
    }

    #[test]
    fn what_wgiven_is_kept_and_the_rest_does_not_depend_on_threads() {
        let (data, params) = (
            data(300, false),
            Params::new().factors(8).regularization(0.3),
        );
        let open = Automatic {
            regularization: false,
            ..BOTH
        };
        let one = settled(&data, &params.clone().threads(1), open);
        let two = settled(&data, &params.clone().threads(2), open);
        assert_eq!(one.params.regularization.to_bits(), 0.3_f32.to_bits());
        assert_eq!(
            one.params.post_scale.to_bits(),
            two.params.post_scale.to_bits()
        );
        assert_eq!((one.tried, one.score), (1, two.score));
        let told = settled(&data, &params, Automatic::default());
        assert_eq!((told.params, told.tried), (params.clone(), 0));
        let baseline = params.solver(absentia::Baseline::Bpr);
        assert_eq!(settled(&data, &baseline, BOTH).params, baseline);
    }

    /// A recipe is only left for one that does better.
    #[test]
    fn a_recipe_is_found_that_does_no_worse_and_does_not_depend_on_threads() {
        let open = Automatic {
            recipe: true,
            ..BOTH
        };
        for has_taste in [false, true] {
            let data = data(300, has_taste);
            let params = Params::new().factors(8);
            let given = settled(&data, &params, BOTH);
            let one = settled(&data, &params.clone().threads(1), open);
            let two = settled(&data, &params.clone().threads(2), open);
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
            choose_settings(&data, &uniform, &params, open, &Cancel::new(), &|| {}).unwrap();
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
        assert_eq!(settled(&none, &params, BOTH).params, params);
    }

    #[test]
    fn few_users_can_tell_nothing() {
        let found = settled(&data(50, true), &Params::new(), BOTH);
        assert_eq!((found.tried, found.score), (0, None));
        assert!(found.params.regularization > 0.0 && found.params.post_scale == 0.0);
    }
}
