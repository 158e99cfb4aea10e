//! Learned weights: P and Q are fitted to the weights, and the weights estimated from P and Q, in turn.

use std::borrow::Cow;

use super::Trainer;
use crate::data::{Confidence, Interactions, Targets};
use crate::fit::{Cancel, FitError, Init};
use crate::model::Factors;
use crate::params::{CheckedParams, Params, Solver};
use crate::weights::{Exposure, Learned, Scheme};

/// Sweeps before each estimate.
const SWEEPS: usize = 4;
/// The most factors that estimates are made with: exposures need no finer taste.
const FACTORS: usize = 32;

/// Yields the scheme with every estimate it asks for, for data whose targets and weights are final.
pub(super) fn learn<'s>(
    scheme: &'s Scheme,
    data: &Interactions<'_>,
    params: &CheckedParams,
) -> Result<Cow<'s, Scheme>, FitError> {
    match scheme {
        Scheme::Learned {
            learned,
            exposure: None,
        } if learned.rounds > 0 => {
            learned.check()?;
            Ok(Cow::Owned(Scheme::Learned {
                learned: *learned,
                exposure: Some(alternate(learned, data, params)?),
            }))
        }
        Scheme::Sum(terms) if scheme.rank_to_estimate() > 0 => {
            let terms = terms
                .iter()
                .map(|term| learn(term, data, params).map(Cow::into_owned));
            Ok(Cow::Owned(Scheme::Sum(terms.collect::<Result<_, _>>()?)))
        }
        _ => Ok(Cow::Borrowed(scheme)),
    }
}

/// Parameters of the runs between estimates, whose data is already as it is trained on.
pub(in crate::fit) fn estimate_params(params: &Params) -> Params {
    Params {
        factors: params.factors.min(FACTORS),
        iterations: SWEEPS,
        solver: Solver::Eals.into(),
        targets: Targets::Raw,
        confidence: Confidence::Column,
        memory_limit: None,
        ..params.clone()
    }
}

fn alternate(
    learned: &Learned,
    data: &Interactions<'_>,
    params: &CheckedParams,
) -> Result<Exposure, FitError> {
    let params = estimate_params(params).check()?;
    let mut exposure = Exposure::of_observed(data, learned.rank, learned.seed);
    let mut init = Init::Gaussian;
    for round in 0..learned.rounds {
        let scheme = Scheme::Learned {
            learned: *learned,
            exposure: Some(exposure.clone()),
        };
        let mut trainer = Trainer::new(data, &scheme, &params, init, None, false)?;
        for _ in 0..SWEEPS {
            trainer.sweep(&Cancel::new())?;
        }
        let score = |user: u32, item: u32| -> f32 {
            let (p, q) = (trainer.p.row(user as usize), trainer.q.row(item as usize));
            p.iter().zip(q).map(|(p, q)| p * q).sum()
        };
        exposure.estimate(data, score, learned.seed.wrapping_add(round as u64))?;
        init = Init::Given {
            users: Factors::share(trainer.p),
            items: Factors::share(trainer.q),
        };
    }
    Ok(exposure)
}
