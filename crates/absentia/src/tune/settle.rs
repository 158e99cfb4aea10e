//! The penalty and the post-scaling of a run that was told neither.
//!
//! No λ serves all data: on public sets the best penalties of a typical row lie a factor of ten apart
//! (`docs/accuracy.md`). So a few are tried on rows put aside, up the slope in doublings, each with the
//! post-scaling that serves it best. Where that would take too long, or too few rows could tell, the
//! penalty is a middling one.

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::dimension::three_digits;
use super::error::TuneError;
use super::judge::{Judge, Steps, best_post_scale};
use super::typical::Typical;
use crate::data::Interactions;
use crate::evaluate::{EvaluateError, Metric, MetricName, TestSet};
use crate::fit::{Cancel, FitError, Init, Run, StopReason, default_threads, fit};
use crate::model::Model;
use crate::params::{Params, Solver};
use crate::weights::Scheme;

/// Share of a user's rows put aside, and users measured, at the most and at the least.
const SHARE: f64 = 0.2;
const MOST_USERS: usize = 2000;
const LEAST_USERS: usize = 100;
/// Entries above which nothing is tried.
const MOST_ENTRIES: usize = 10_000_000;
/// Sweeps from random factors, and from those of another penalty.
const SWEEPS: usize = 8;
const WARM_SWEEPS: usize = 4;
/// Penalties of a typical row over its observed weight: where the search starts, what is taken
/// without one, and what is never left.
const START: f64 = 0.2;
const MIDDLING: f64 = 0.15;
const RANGE: (f64, f64) = (0.01, 4.0);
/// Where the search for the post-scaling starts.
const FIRST_RHO: f32 = 0.1;

/// Most models that are trained: the first, one in the wrong direction, and four in the right one.
pub const MOST_TRIED: usize = 6;

/// Which settings a run was not told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// The penalty λ.
    pub regularization: bool,
    /// The exponent ρ of post-scaling.
    pub post_scale: bool,
}

impl Open {
    /// Whether models will be trained to settle something; a copy of the data is made for them.
    #[must_use]
    pub fn needs_models(self, entries: usize, solver: Solver) -> bool {
        self != Self::default() && !solver.is_baseline() && entries <= MOST_ENTRIES
    }
}

/// Parameters with nothing left open.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// The parameters.
    pub params: Params,
    /// How many models were trained to choose them; none where a rule of thumb did.
    pub tried: usize,
    /// Recall@20 of the choice on the rows put aside.
    pub score: Option<f64>,
}

/// Settles what `open` names; everything else is as `params` has it. `follow` hears of every model
/// that was tried, of at most [`MOST_TRIED`].
///
/// The same data, weights and parameters settle it in the same way on any number of threads.
///
/// # Errors
/// Data that cannot be trained on, parameters out of range, a run that was cancelled.
pub fn settle(
    data: &Interactions<'_>,
    scheme: &Scheme,
    params: &Params,
    open: Open,
    cancel: &Cancel,
    follow: &dyn Fn(),
) -> Result<Settled, TuneError> {
    let mut settled = Settled {
        params: params.clone(),
        tried: 0,
        score: None,
    };
    let is_told = params.solver.is_baseline() || open == Open::default();
    // Data without interactions is for the run itself to refuse.
    if is_told || data.n_interactions() == 0 {
        return Ok(settled);
    }
    let pool = pool(params)?;
    // Weights that are approximated take longer to find than a run.
    let is_quick = open.needs_models(data.len(), params.solver) && !is_approximated(scheme);
    let weight = if is_approximated(scheme) {
        0.1
    } else {
        pool.install(|| mean_weight(data, scheme))?
    };
    let row = Typical::of(data);
    let lambda = |penalty| {
        let lambda = row.lambda(penalty, weight, f64::from(params.reg_exponent));
        three_digits(lambda.min(f64::from(f32::MAX))) as f32
    };
    let question = Question {
        scheme,
        params,
        open,
        pool,
        cancel,
        follow,
    };
    let found = if is_quick {
        question.answer(data, lambda)?
    } else {
        None
    };
    if let Some((best, tried)) = found {
        (settled.tried, settled.score) = (tried, Some(best.score));
        settled.params.regularization = best.lambda;
        settled.params.post_scale = best.rho;
    } else if open.regularization {
        settled.params.regularization = lambda(MIDDLING);
    }
    Ok(settled)
}

/// Whether W, or a part of it, is factorised first.
fn is_approximated(scheme: &Scheme) -> bool {
    match scheme {
        Scheme::Dense { .. } | Scheme::Function { .. } => true,
        Scheme::Sum(terms) => terms.iter().any(is_approximated),
        _ => false,
    }
}

/// What models are compared by.
const RECALL_AT_20: MetricName = MetricName {
    metric: Metric::Recall,
    cutoff: Some(20),
};

/// Threads of the run's own: a caller's may be none of its business, or dead after a fork.
fn pool(params: &Params) -> Result<ThreadPool, TuneError> {
    let threads = params.threads.unwrap_or_else(default_threads);
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|_| FitError::Threads { threads }.into())
}

fn mean_weight(data: &Interactions<'_>, scheme: &Scheme) -> Result<f64, TuneError> {
    let weights = scheme.resolve(data).map_err(FitError::from)?;
    Ok(weights.mean_missing(data).max(0.0))
}

/// What is to be settled, and for what run.
struct Question<'q> {
    scheme: &'q Scheme,
    params: &'q Params,
    open: Open,
    pool: ThreadPool,
    cancel: &'q Cancel,
    follow: &'q dyn Fn(),
}

/// The question with rows put aside to answer it by.
struct Search<'s> {
    question: &'s Question<'s>,
    train: &'s Interactions<'s>,
    judge: Judge<'s>,
}

/// One penalty that was tried, with the post-scaling that served it best.
struct Attempt {
    lambda: f32,
    rho: f32,
    score: f64,
    model: Model,
}

impl Question<'_> {
    /// The best attempt and how many were made; nothing where too few rows can tell, or where models
    /// of fewer rows than the run will have cannot be trained.
    fn answer(
        &self,
        data: &Interactions<'_>,
        lambda: impl Fn(f64) -> f32,
    ) -> Result<Option<(Attempt, usize)>, TuneError> {
        let seed = self.params.seed;
        let held = self.pool.install(|| data.hold_out(SHARE, seed));
        let test = TestSet::from_pairs(&held.users, &held.items).map_err(EvaluateError::from)?;
        if test.users().len() < LEAST_USERS {
            return Ok(None);
        }
        let search = Search {
            question: self,
            train: &held.rest,
            judge: Judge::new(&held.rest, &test, RECALL_AT_20, &[MOST_USERS], seed)?,
        };
        let found = if self.open.regularization {
            search.climb(lambda)
        } else {
            let told = self.params.regularization;
            search.attempt(told, None).map(|attempt| (attempt, 1))
        };
        match found {
            Err(error) if is_of_the_weights(&error) => Ok(None),
            found => found.map(Some),
        }
    }
}

/// Whether a model could not be trained because some weights are below zero: another penalty, or
/// more rows, may mend that.
fn is_of_the_weights(error: &TuneError) -> bool {
    matches!(
        error,
        TuneError::Fit(
            FitError::NotConvex { .. } | FitError::RowWeight { .. } | FitError::Diverged { .. }
        )
    )
}

impl Search<'_> {
    /// Tries twice the penalty and half of it, and goes on in the better direction while the score
    /// rises; yields the best attempt and how many were made.
    ///
    /// Both are tried, for a penalty that is far too large has little slope: more of it may seem to
    /// help where less would by much.
    fn climb(&self, lambda: impl Fn(f64) -> f32) -> Result<(Attempt, usize), TuneError> {
        let mut best = self.attempt(lambda(START), None)?;
        let mut tried = 1;
        let mut beside = Vec::new();
        for step in [2.0, 0.5] {
            if let Some(attempt) = self.attempt_beside(lambda(START * step), &best)? {
                tried += 1;
                beside.push((step, attempt));
            }
        }
        let better = |a: &(f64, Attempt), b: &(f64, Attempt)| a.1.score.total_cmp(&b.1.score);
        let Some((step, mut next)) = beside.into_iter().max_by(better) else {
            return Ok((best, tried));
        };
        let mut penalty = START * step;
        while next.score > best.score {
            best = next;
            penalty *= step;
            if !(RANGE.0..=RANGE.1).contains(&penalty) {
                break;
            }
            let Some(further) = self.attempt_beside(lambda(penalty), &best)? else {
                break;
            };
            tried += 1;
            next = further;
        }
        Ok((best, tried))
    }

    /// An attempt, unless the weights do not allow for one with this penalty.
    fn attempt_beside(&self, lambda: f32, near: &Attempt) -> Result<Option<Attempt>, TuneError> {
        match self.attempt(lambda, Some(near)) {
            Err(error) if is_of_the_weights(&error) => Ok(None),
            attempt => attempt.map(Some),
        }
    }

    /// Trains and measures; under a larger penalty the run goes on from the factors of `near`, while
    /// under a smaller one columns that had shrunk to nothing would stay so.
    fn attempt(&self, lambda: f32, near: Option<&Attempt>) -> Result<Attempt, TuneError> {
        let question = self.question;
        let start = near.filter(|near| near.lambda < lambda);
        let sweeps = if start.is_some() { WARM_SWEEPS } else { SWEEPS };
        let params = Params {
            regularization: lambda,
            iterations: sweeps.min(question.params.iterations),
            // All row solvers have the same objective; this one is the quickest.
            solver: Solver::Eals,
            tolerance: None,
            post_scale: 0.0,
            ..question.params.clone()
        };
        let run = Run {
            init: start.map_or(Init::Gaussian, |near| Init::Given {
                users: near.model.user_factors().clone(),
                items: near.model.item_factors().clone(),
            }),
            cancel: question.cancel.clone(),
            ..Run::default()
        };
        let params = params.check().map_err(FitError::from)?;
        let fitted = fit(self.train, question.scheme, &params, run)?;
        if fitted.reason == StopReason::Cancelled {
            return Err(TuneError::Cancelled);
        }
        let model = fitted.model;
        let (judge, pool) = (&self.judge, &question.pool);
        let measure = |rho| {
            let scaled = model.clone().with_post_scale(rho);
            Ok(pool.install(|| judge.measure(&scaled, 0))?.score)
        };
        let rho = if question.open.post_scale {
            let (guess, steps) =
                near.map_or((FIRST_RHO, Steps::WIDE), |near| (near.rho, Steps::NEAR));
            best_post_scale(guess, steps, measure)?
        } else {
            question.params.post_scale
        };
        let score = measure(rho)?;
        (question.follow)();
        Ok(Attempt {
            lambda,
            rho,
            score,
            model,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Duplicates, Triplets, mix};
    use crate::weights::Strength;

    const WEIGHTS: Scheme = Scheme::Popularity {
        strength: Strength::Mean(0.02),
        alpha: 0.25,
    };
    const BOTH: Open = Open {
        regularization: true,
        post_scale: true,
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

    fn settled(data: &Interactions<'_>, params: &Params, open: Open) -> Settled {
        let count = std::cell::Cell::new(0);
        let follow = || count.set(count.get() + 1);
        let settled = settle(data, &WEIGHTS, params, open, &Cancel::new(), &follow).unwrap();
        assert_eq!(settled.tried, count.get());
        assert!(settled.tried <= MOST_TRIED);
        settled
    }

    #[test]
    fn too_weak_and_too_strong_penalties_are_left_behind() {
        let params = Params::new().factors(32);
        let told = |data: &Interactions<'_>, lambda: f32| {
            let open = Open {
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
    fn what_was_told_is_kept_and_the_rest_does_not_depend_on_threads() {
        let (data, params) = (
            data(300, false),
            Params::new().factors(8).regularization(0.3),
        );
        let open = Open {
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
        let told = settled(&data, &params, Open::default());
        assert_eq!((told.params, told.tried), (params.clone(), 0));
        let baseline = params.solver(Solver::Bpr);
        assert_eq!(settled(&data, &baseline, BOTH).params, baseline);
    }

    /// Weights so far below zero that no model of four fifths of the rows can be trained.
    #[test]
    fn weights_below_zero_leave_the_choice_to_a_rule_of_thumb() {
        let data = data(300, true);
        let column = |rows, value| crate::linalg::Dense::from_fn(rows, 1, |_, _| value);
        let scheme = Scheme::LowRank {
            a: column(data.n_users(), -1.0),
            b: column(data.n_items(), 1.0),
        };
        let params = Params::new().factors(4).reg_exponent(0.0);
        let found = settle(&data, &scheme, &params, BOTH, &Cancel::new(), &|| {}).unwrap();
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
