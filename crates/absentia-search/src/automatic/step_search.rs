//! The search itself: one setting after the other, each up the slope.

use super::{Question, is_of_the_weights};
use crate::error::SearchError;
use crate::evaluator::{Evaluator, Steps, best_post_scale};
use absentia::data::{Interactions, Targets};
use absentia::fit::{FitError, Init, Run, StopReason, fit};
use absentia::model::Model;
use absentia::weights::{Popularity, Scheme, Strength, Term};
use absentia::{Params, Solver};

/// Sweeps from random factors, and from those of another model.
const SWEEPS: usize = 8;
const WARM_SWEEPS: usize = 4;
/// Penalties of a typical row over its observed weight: where the search starts, and what is never
/// left.
const START: f64 = 0.2;
const PENALTIES: (f64, f64) = (0.01, 4.0);
/// By how much penalties, and the strengths of weights, are multiplied or divided.
const PENALTY_STEP: f64 = 2.0;
const STRENGTH_STEP: f64 = 4.0;
/// Mean weights on missing entries that are never left.
const STRENGTHS: (f32, f32) = (0.0006, 0.7);
/// By how much of its score another recipe is to be better: a little may be luck.
const LEAST_GAIN: f64 = 0.005;
/// Where the search for the post-scaling starts.
const FIRST_RHO: f32 = 0.1;

/// Targets that do better than others on some data, and the weights that go with them.
const OTHER_TARGETS: Targets = Targets::Normalized {
    user: 0.1,
    item: 0.1,
};
const OTHER_WEIGHTS: Scheme = Scheme::popularity(Strength::Mean(0.02), 0.25);

/// The question with rows put aside to answer it by.
pub(crate) struct Search<'s> {
    pub(crate) question: &'s Question<'s>,
    pub(crate) train: &'s Interactions<'s>,
    pub(crate) evaluator: Evaluator<'s>,
}

/// Settings that are tried.
#[derive(Clone)]
pub(crate) struct Point {
    /// Of a typical row; as told where there is none.
    penalty: Option<f64>,
    pub(crate) targets: Targets,
    /// As given where there are none.
    pub(crate) scheme: Option<Scheme>,
}

/// A point that was tried, with the post-scaling that served it best.
pub(crate) struct Attempt {
    pub(crate) point: Point,
    pub(crate) lambda: f32,
    pub(crate) rho: f32,
    pub(crate) score: f64,
    model: Model,
}

impl Search<'_> {
    /// The best attempt, and how many were made.
    pub(crate) fn best(&self) -> Result<(Attempt, usize), SearchError> {
        let (open, params) = (self.question.open, self.question.params);
        let first = Point {
            penalty: open.regularization.then_some(START),
            targets: params.targets,
            scheme: None,
        };
        let (mut best, mut tried) = (self.attempt(first, None)?, 1);
        if open.regularization {
            best = self.climb(best, PENALTY_STEP, 0.0, &other_penalty, &mut tried)?;
        }
        if open.recipe {
            let other = Point {
                targets: OTHER_TARGETS,
                scheme: Some(OTHER_WEIGHTS),
                ..best.point.clone()
            };
            let other = self.attempt_beside(other, &best, &mut tried)?;
            if let Some(other) = other.filter(|other| gains(other, &best, LEAST_GAIN)) {
                best = other;
            }
            let other_strength = |point: &Point, by| {
                let scheme = point.scheme.as_ref().unwrap_or(self.question.scheme);
                other_strength(point, scheme, by)
            };
            let before = best.point.scheme.clone();
            best = self.climb(best, STRENGTH_STEP, LEAST_GAIN, &other_strength, &mut tried)?;
            if best.point.scheme != before {
                best = self.climb(best, PENALTY_STEP, LEAST_GAIN, &other_penalty, &mut tried)?;
            }
        }
        Ok((best, tried))
    }

    /// Tries a step up and a step down, and goes on in the better direction while that gains enough.
    ///
    /// Both are tried, for a penalty that is far too large has little slope: more of it may seem to
    /// help where less would by much.
    fn climb(
        &self,
        mut best: Attempt,
        step: f64,
        least_gain: f64,
        other: &dyn Fn(&Point, f64) -> Option<Point>,
        tried: &mut usize,
    ) -> Result<Attempt, SearchError> {
        let mut beside = Vec::new();
        for step in [step, 1.0 / step] {
            if let Some(point) = other(&best.point, step) {
                let attempt = self.attempt_beside(point, &best, tried)?;
                beside.extend(attempt.map(|attempt| (step, attempt)));
            }
        }
        let better = |a: &(f64, Attempt), b: &(f64, Attempt)| a.1.score.total_cmp(&b.1.score);
        let Some((step, mut next)) = beside.into_iter().max_by(better) else {
            return Ok(best);
        };
        while gains(&next, &best, least_gain) {
            best = next;
            let Some(point) = other(&best.point, step) else {
                break;
            };
            let Some(further) = self.attempt_beside(point, &best, tried)? else {
                break;
            };
            next = further;
        }
        Ok(best)
    }

    /// An attempt, unless the weights do not allow for one with this penalty, or another recipe cannot
    /// be followed here at all: it is none of the run's business then.
    fn attempt_beside(
        &self,
        point: Point,
        near: &Attempt,
        tried: &mut usize,
    ) -> Result<Option<Attempt>, SearchError> {
        let is_other = point.scheme.is_some();
        match self.attempt(point, Some(near)) {
            Err(error) if is_of_the_weights(&error) => Ok(None),
            Err(SearchError::Fit(_)) if is_other => Ok(None),
            attempt => {
                *tried += 1;
                attempt.map(Some)
            }
        }
    }

    /// Trains and measures; the run goes on from the factors of `near`, but not under a smaller
    /// penalty, where columns that had shrunk to nothing would stay so.
    fn attempt(&self, point: Point, near: Option<&Attempt>) -> Result<Attempt, SearchError> {
        let question = self.question;
        let scheme = point.scheme.as_ref().unwrap_or(question.scheme);
        let lambda = match point.penalty {
            Some(penalty) => question.lambda(point.scheme.as_ref(), penalty)?,
            None => question.params.regularization,
        };
        let start = near.filter(|near| near.point.penalty <= point.penalty);
        let sweeps = if start.is_some() { WARM_SWEEPS } else { SWEEPS };
        let params = Params {
            regularization: lambda,
            targets: point.targets,
            iterations: sweeps.min(question.params.iterations),
            // All row solvers have the same objective; this one is the quickest.
            solver: Solver::Eals.into(),
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
        let fitted = fit(self.train, scheme, &params, run)?;
        if fitted.reason == StopReason::Cancelled {
            return Err(SearchError::Cancelled);
        }
        let model = fitted.model;
        let (evaluator, pool) = (&self.evaluator, &question.pool);
        let measure = |rho| {
            let scaled = model.clone().with_post_scale(rho);
            Ok(pool.install(|| evaluator.measure(&scaled, 0))?.score)
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
            point,
            lambda,
            rho,
            score,
            model,
        })
    }
}

/// Whether one attempt is better than another by more than so much of its score.
fn gains(attempt: &Attempt, than: &Attempt, least: f64) -> bool {
    attempt.score > than.score * (1.0 + least)
}

fn other_penalty(point: &Point, by: f64) -> Option<Point> {
    let penalty = point.penalty? * by;
    let (least, most) = PENALTIES;
    (least..=most).contains(&penalty).then(|| Point {
        penalty: Some(penalty),
        ..point.clone()
    })
}

fn other_strength(point: &Point, scheme: &Scheme, by: f64) -> Option<Point> {
    let &Scheme::One(Term::Popularity(Popularity {
        strength: Strength::Mean(mean),
        alpha,
    })) = scheme
    else {
        return None;
    };
    let (mean, (least, most)) = (mean * by as f32, STRENGTHS);
    (least..=most).contains(&mean).then(|| Point {
        scheme: Some(Scheme::popularity(Strength::Mean(mean), alpha)),
        ..point.clone()
    })
}
