//! The stage of a run that estimates learned weights: P and Q are fitted to the weights, and the
//! weights estimated from P and Q, in turn.
//!
//! It ends early when the run is cancelled or the observer stops it; the weights are then those
//! estimated so far.

use std::borrow::Cow;

use super::backend::Device;
use super::error::FitError;
use super::init::Init;
use super::observer::{Control, Estimate};
use super::problem::Problem;
use super::start::start;
use super::sweeps::{AlternatingSweeps, Sweeps};
use super::{Run, StopReason};
use crate::data::{Confidence, Interactions, Targets};
use crate::params::{CheckedParams, Params, Solver};
use crate::weights::{ExposureRates, InMemory, Learned, Scheme, Term};

/// Sweeps before each estimate.
const SWEEPS: usize = 4;
/// The maximum number of factors of the runs between estimates: exposures need no more.
const FACTORS: usize = 32;

/// Parameters of the runs between estimates; targets and weights of their data are final.
pub(super) fn estimate_params(params: &Params) -> Params {
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

/// The stage: its inputs, its observer and its cancellation flag.
pub(super) struct EstimateStage<'e, 'r, D> {
    pub(super) device: &'e D,
    pub(super) pool: &'e rayon::ThreadPool,
    pub(super) run: &'e mut Run<'r>,
    /// Why the stage ended early, if it did.
    pub(super) stopped: Option<StopReason>,
}

impl<D: Device> EstimateStage<'_, '_, D> {
    /// Yields the scheme with every estimate that it needs, for data whose targets and weights are
    /// final.
    pub(super) fn learn<'s>(
        &mut self,
        scheme: &'s Scheme,
        data: &Interactions<'_>,
        params: &CheckedParams,
    ) -> Result<Cow<'s, Scheme>, FitError> {
        if scheme.rank_to_estimate() == 0 {
            return Ok(Cow::Borrowed(scheme));
        }
        let estimated = scheme.try_map(|term| match term.to_estimate() {
            Some(learned) => {
                learned.check()?;
                let exposure = self.alternate(term, learned, data, params)?;
                Ok::<_, FitError>(term.with_exposure(&exposure))
            }
            None => Ok(term.clone()),
        });
        estimated.map(Cow::Owned)
    }

    fn alternate(
        &mut self,
        term: &Term<InMemory>,
        learned: &Learned,
        data: &Interactions<'_>,
        params: &CheckedParams,
    ) -> Result<ExposureRates, FitError> {
        let (pool, params) = (self.pool, estimate_params(params).check()?);
        let cancel = self.run.cancel.clone();
        let keep_going = || !cancel.is_cancelled();
        let first = || ExposureRates::of_observed(data, learned.rank, learned.seed, keep_going);
        let mut exposure = pool.install(first);
        let mut init = Init::Gaussian;
        for round in 0..learned.rounds {
            let scheme = Scheme::One(term.with_exposure(&exposure));
            let problem = pool.install(|| Problem::of_data(data, &scheme, &params))?;
            let begin = std::mem::take(&mut init);
            let start = pool.install(|| start(&problem, begin, None))?;
            let backend = pool.install(|| {
                let backend = self.device.backend(&problem, Solver::Eals, start.factors);
                AlternatingSweeps::new(backend, problem.shape(), params.factors, &start.from)
            })?;
            let Some(sweeps) = self.sweeps(backend, (round, learned.rounds))? else {
                return Ok(exposure);
            };
            let factors = sweeps.factors();
            let score = |user: u32, item: u32| -> f32 {
                let p = factors.users.row(user as usize);
                let q = factors.items.row(item as usize);
                p.iter().zip(q).map(|(p, q)| p * q).sum()
            };
            let seed = learned.seed.wrapping_add(round as u64);
            pool.install(|| exposure.estimate(data, score, seed, keep_going))?;
            init = Init::Given {
                users: factors.users,
                items: factors.items,
            };
        }
        Ok(exposure)
    }

    /// Makes the sweeps of a round, or yields `None` if the stage is to end.
    fn sweeps<S: Sweeps>(
        &mut self,
        mut sweeps: S,
        (round, rounds): (usize, usize),
    ) -> Result<Option<S>, FitError> {
        for sweep in 1..=SWEEPS {
            let cancel = &self.run.cancel;
            let made = if self.stopped.is_some() || cancel.is_cancelled() {
                None
            } else {
                self.pool.install(|| sweeps.sweep(sweep, cancel))?
            };
            let Some(objective) = made else {
                self.stopped.get_or_insert(StopReason::Cancelled);
                return Ok(None);
            };
            if !objective.total().is_finite() {
                return Err(FitError::Diverged { iteration: sweep });
            }
            let estimate = Estimate {
                done: round * SWEEPS + sweep,
                total: rounds * SWEEPS,
            };
            if let Some(observer) = &mut self.run.observer
                && observer.estimating(&estimate) == Control::Stop
            {
                self.stopped = Some(StopReason::Observer);
            }
        }
        Ok(Some(sweeps))
    }
}
