//! One setting after the other is changed in steps, as long as the score rises.

use std::time::Instant;

use absentia::data::Targets;
use absentia::weights::{Presence, Product, Scheme, Strength, Term, TimeFactor};
use absentia::{Params, Solver};

use super::{Request, is_about_weights};
use crate::error::SearchError;
use crate::post_scale::{PostScaling, StepSizes};
use crate::session::Session;
use crate::trial::{Origin, Trial};
use crate::trial_runner::{TrainedFactors, TrialPlan, TrialRunner};
use crate::user_scores::UserScores;

/// Sweeps from random factors, and from those of another trial.
const SWEEPS: usize = 8;
const WARM_SWEEPS: usize = 4;
/// Penalty of a typical row relative to its observed weight: where the search starts, and its range.
const FIRST_PENALTY: f64 = 0.2;
const PENALTIES: (f64, f64) = (0.01, 4.0);
/// Factors by which penalties and strengths of weights are multiplied or divided.
const PENALTY_STEP: f64 = 2.0;
const STRENGTH_STEP: f64 = 4.0;
/// Range of the mean weight on missing entries.
const STRENGTHS: (f32, f32) = (0.0006, 0.7);
/// Sharpness of weights by age: factor of a step and range.
const SHARPNESS_STEP: f64 = 10.0;
const SHARPNESSES: (f32, f32) = (0.005, 20.0);
/// Half-life of counts as a share of the time of the data: where the search starts, its range, and factors of steps.
const FIRST_HALF_LIFE: f64 = 0.03;
const HALF_LIVES: (f64, f64) = (0.001, 0.6);
const HALF_LIFE_STEPS: [f64; 2] = [4.0, 2.0];
/// Share of the score that other targets or weights must gain: less may be luck.
const LEAST_GAIN: f64 = 0.005;
/// Where the search for the post-scaling starts.
const FIRST_POST_SCALE: f32 = 0.1;

/// Targets that do better than others on some data, and the weights that go with them.
pub(super) const OTHER_TARGETS: Targets = Targets::Normalized {
    user: 0.1,
    item: 0.1,
};
const OTHER_WEIGHTS: Scheme = Scheme::popularity(Strength::Mean(0.02), 0.25);

/// Settings to try.
#[derive(Clone)]
struct Candidate {
    /// Penalty of a typical row; `None` stands for the regularization that was given.
    penalty: Option<f64>,
    targets: Targets,
    /// `None` stands for the weights that were given.
    scheme: Option<Scheme>,
    /// Half-life of counts as a share of the time of the data; `None` stands for what was given.
    half_life: Option<f64>,
}

/// Settings that were tried.
pub(super) struct Attempt {
    candidate: Candidate,
    pub(super) trial: Trial,
    factors: TrainedFactors,
    users: UserScores,
}

impl Attempt {
    /// Its weights, where they differ from those given.
    pub(super) fn into_scheme(self) -> Option<Scheme> {
        self.candidate.scheme
    }

    fn score(&self) -> f64 {
        self.trial.score.unwrap_or(f64::NAN)
    }

    /// Whether it is better than another by more than a share of its score.
    fn gains(&self, than: &Self, least: f64) -> bool {
        self.score() > than.score() * (1.0 + least)
    }

    /// A richer attempt if that is better by more than noise, else this one.
    fn unless_beaten(self, richer: Option<Self>) -> Self {
        match richer {
            Some(richer) if richer.users.beats(&self.users) => richer,
            _ => self,
        }
    }
}

/// A candidate with one setting changed by a factor; nothing if that is out of its range.
type ChangedCandidate<'c> = dyn Fn(&Candidate, f64) -> Option<Candidate> + 'c;

/// A search that changes one setting at a time.
pub(super) struct StepSearch<'s> {
    pub(super) request: &'s Request<'s>,
    pub(super) runner: &'s TrialRunner<'s>,
    pub(super) session: Session<'s>,
}

impl StepSearch<'_> {
    /// The best attempt.
    pub(super) fn best(&mut self) -> Result<Attempt, SearchError> {
        let automatic = self.request.automatic;
        let first = Candidate {
            penalty: automatic.regularization.then_some(FIRST_PENALTY),
            targets: self.request.params.targets,
            scheme: None,
            half_life: None,
        };
        let mut best = self.attempt(first, None)?;
        if automatic.regularization {
            best = self.step(best, PENALTY_STEP, 0.0, &other_penalty)?;
        }
        if automatic.recipe {
            best = self.other_recipe(best)?;
        }
        if automatic.by_time {
            let by_age = self.by_age(&best)?;
            best = best.unless_beaten(by_age);
            let recent = self.recent(&best)?;
            best = best.unless_beaten(recent);
        }
        Ok(best)
    }

    /// The best weights that are those of an attempt times the age of items; nothing if they are no product.
    fn by_age(&mut self, simpler: &Attempt) -> Result<Option<Attempt>, SearchError> {
        let scheme = simpler.candidate.scheme.as_ref();
        let Some(scheme) = with_age(scheme.unwrap_or(self.request.scheme)) else {
            return Ok(None);
        };
        let candidate = Candidate {
            scheme: Some(scheme),
            ..simpler.candidate.clone()
        };
        let Some(mut best) = self.attempt_next_to(candidate, simpler)? else {
            return Ok(None);
        };
        let changes: [(f64, &ChangedCandidate<'_>); 3] = [
            (STRENGTH_STEP, &|candidate, factor| {
                other_strength(candidate, candidate.scheme.as_ref()?, factor)
            }),
            (PENALTY_STEP, &other_penalty),
            (SHARPNESS_STEP, &other_sharpness),
        ];
        for (factor, other) in changes {
            best = self.step(best, factor, LEAST_GAIN, other)?;
        }
        Ok(Some(best))
    }

    /// An attempt with the half-life of counts that suits it best.
    fn recent(&mut self, simpler: &Attempt) -> Result<Option<Attempt>, SearchError> {
        let candidate = Candidate {
            half_life: Some(FIRST_HALF_LIFE),
            ..simpler.candidate.clone()
        };
        let Some(mut best) = self.attempt_next_to(candidate, simpler)? else {
            return Ok(None);
        };
        for factor in HALF_LIFE_STEPS {
            best = self.step(best, factor, 0.0, &other_half_life)?;
        }
        Ok(Some(best))
    }

    /// Tries other targets with other weights, then stronger and weaker weights; where the weights
    /// change, other penalties once more.
    fn other_recipe(&mut self, mut best: Attempt) -> Result<Attempt, SearchError> {
        let other = Candidate {
            targets: OTHER_TARGETS,
            scheme: Some(OTHER_WEIGHTS),
            ..best.candidate.clone()
        };
        let other = self.attempt_next_to(other, &best)?;
        if let Some(other) = other.filter(|other| other.gains(&best, LEAST_GAIN)) {
            best = other;
        }
        let given = self.request.scheme;
        let other_strength = |candidate: &Candidate, factor| {
            let scheme = candidate.scheme.as_ref().unwrap_or(given);
            other_strength(candidate, scheme, factor)
        };
        let before = best.candidate.scheme.clone();
        best = self.step(best, STRENGTH_STEP, LEAST_GAIN, &other_strength)?;
        if best.candidate.scheme != before {
            best = self.step(best, PENALTY_STEP, LEAST_GAIN, &other_penalty)?;
        }
        Ok(best)
    }

    /// Tries a step up and a step down, and continues in the better direction while that gains enough.
    ///
    /// Both are tried because the score changes little where a penalty is far too large: more of it may
    /// seem to help although less would help much more.
    fn step(
        &mut self,
        mut best: Attempt,
        factor: f64,
        least_gain: f64,
        other: &ChangedCandidate<'_>,
    ) -> Result<Attempt, SearchError> {
        let mut neighbours = Vec::new();
        for factor in [factor, 1.0 / factor] {
            if let Some(candidate) = other(&best.candidate, factor) {
                let attempt = self.attempt_next_to(candidate, &best)?;
                neighbours.extend(attempt.map(|attempt| (factor, attempt)));
            }
        }
        let by_score = |a: &(f64, Attempt), b: &(f64, Attempt)| a.1.score().total_cmp(&b.1.score());
        let Some((factor, mut next)) = neighbours.into_iter().max_by(by_score) else {
            return Ok(best);
        };
        while next.gains(&best, least_gain) {
            best = next;
            let Some(candidate) = other(&best.candidate, factor) else {
                break;
            };
            let Some(further) = self.attempt_next_to(candidate, &best)? else {
                break;
            };
            next = further;
        }
        Ok(best)
    }

    /// An attempt; nothing if the weights allow no model with this penalty, or if other targets or
    /// weights do not suit this data.
    fn attempt_next_to(
        &mut self,
        candidate: Candidate,
        neighbour: &Attempt,
    ) -> Result<Option<Attempt>, SearchError> {
        let has_other_weights = candidate.scheme.is_some();
        match self.attempt(candidate, Some(neighbour)) {
            Err(error) if is_about_weights(&error) => Ok(None),
            Err(SearchError::Fit(_)) if has_other_weights => Ok(None),
            attempt => attempt.map(Some),
        }
    }

    /// Trains and measures. The run starts from the factors of `neighbour`, except under a smaller
    /// penalty: columns that a larger one has shrunk to zero would stay zero.
    fn attempt(
        &mut self,
        candidate: Candidate,
        neighbour: Option<&Attempt>,
    ) -> Result<Attempt, SearchError> {
        let started = Instant::now();
        let request = self.request;
        let lambda = match candidate.penalty {
            Some(penalty) => request.lambda(candidate.scheme.as_ref(), penalty)?,
            None => request.params.regularization,
        };
        let start = neighbour.filter(|other| other.candidate.penalty <= candidate.penalty);
        let sweeps = if start.is_some() { WARM_SWEEPS } else { SWEEPS };
        let params = Params {
            regularization: lambda,
            targets: candidate.targets,
            // All solvers have the same objective; this one is the fastest.
            solver: Solver::Eals.into(),
            tolerance: None,
            post_scale: 0.0,
            post_scale_half_life: match candidate.half_life {
                Some(share) => request.facts.half_life(share),
                None => request.params.post_scale_half_life,
            },
            ..request.params.clone()
        };
        let plan = TrialPlan {
            scheme: candidate.scheme.as_ref().unwrap_or(request.scheme),
            params: params.clone(),
            relations: request.relations,
            sweeps: &[sweeps.min(request.params.iterations)],
            post_scaling: post_scaling(request, &candidate, neighbour),
            sample: 1,
        };
        let result = self.runner.run(&plan, start.map(|other| &other.factors))?;
        let weights = candidate.scheme.as_ref().and_then(Scheme::spec);
        let mut trial = Trial {
            number: self.session.trials().len(),
            origin: neighbour.map_or(Origin::Recipe, |_| Origin::Neighbour),
            parent: start.map(|other| other.trial.number),
            ..Trial::unmeasured(weights, params)
        };
        let (factors, users) = trial.record(result);
        trial.seconds = started.elapsed().as_secs_f64();
        self.session.add(trial.clone());
        Ok(Attempt {
            candidate,
            trial,
            factors,
            users,
        })
    }
}

fn post_scaling(
    request: &Request<'_>,
    candidate: &Candidate,
    neighbour: Option<&Attempt>,
) -> PostScaling {
    if !request.automatic.post_scale {
        return PostScaling::Fixed(request.params.post_scale);
    }
    let (guess, steps) = neighbour.map_or((FIRST_POST_SCALE, StepSizes::WIDE), |other| {
        // Exponents of counts of one kind say little about those of another.
        let is_same_kind = other.candidate.half_life.is_some() == candidate.half_life.is_some();
        let steps = if is_same_kind {
            StepSizes::MEDIUM
        } else {
            StepSizes::WIDE
        };
        (other.trial.params.post_scale, steps)
    });
    PostScaling::Search {
        guess,
        steps,
        refine: false,
    }
}

fn other_penalty(candidate: &Candidate, factor: f64) -> Option<Candidate> {
    let penalty = candidate.penalty? * factor;
    let (least, most) = PENALTIES;
    (least..=most).contains(&penalty).then(|| Candidate {
        penalty: Some(penalty),
        ..candidate.clone()
    })
}

fn other_strength(candidate: &Candidate, scheme: &Scheme, factor: f64) -> Option<Candidate> {
    let Scheme::One(Term::Product(product)) = scheme else {
        return None;
    };
    let Strength::Mean(mean) = product.strength else {
        return None;
    };
    let (mean, (least, most)) = (mean * factor as f32, STRENGTHS);
    (least..=most).contains(&mean).then(|| Candidate {
        scheme: Some(Scheme::One(Term::Product(Product {
            strength: Strength::Mean(mean),
            ..product.clone()
        }))),
        ..candidate.clone()
    })
}

/// A product with the age of items; nothing if the scheme is none.
fn with_age(scheme: &Scheme) -> Option<Scheme> {
    let product = match scheme {
        Scheme::One(Term::Product(product)) if product.presence.is_none() => product.clone(),
        Scheme::One(Term::Uniform(uniform)) => {
            Product::new(Strength::Mean(uniform.weight), None, None)
        }
        _ => return None,
    };
    Some(Scheme::One(Term::Product(Product {
        presence: Some(Presence::new(TimeFactor::Age)),
        ..product
    })))
}

fn other_sharpness(candidate: &Candidate, factor: f64) -> Option<Candidate> {
    let Some(Scheme::One(Term::Product(product))) = &candidate.scheme else {
        return None;
    };
    let presence = product.presence.as_ref()?;
    let (sharpness, (least, most)) = (presence.sharpness * factor as f32, SHARPNESSES);
    let presence = Presence {
        sharpness,
        ..presence.clone()
    };
    (least..=most).contains(&sharpness).then(|| Candidate {
        scheme: Some(Scheme::One(Term::Product(Product {
            presence: Some(presence),
            ..product.clone()
        }))),
        ..candidate.clone()
    })
}

fn other_half_life(candidate: &Candidate, factor: f64) -> Option<Candidate> {
    let half_life = candidate.half_life? * factor;
    let (least, most) = HALF_LIVES;
    (least..=most).contains(&half_life).then(|| Candidate {
        half_life: Some(half_life),
        ..candidate.clone()
    })
}
