//! Runs whose factors are in other processes.
//!
//! The loop is that of every run. It knows the problem by its [`Outline`] alone: neither entries nor
//! factors are in the process that drives it.

use super::backend::RemoteBackend;
use super::error::FitError;
use super::observer::{Cancel, Control, Observer, Sweep};
use super::sweeps::{AlternatingSweeps, StartedFrom};
use super::training::{Factorisation, TrainingLoop};
use super::{Run, StopReason, Validation};
use crate::params::{CheckedParams, Params};
use crate::sides::Sides;
use crate::solver::Objective;

/// What a run knows of a problem whose entries are elsewhere.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Outline {
    /// Number of users and of items.
    pub shape: Sides<usize>,
    /// Number of observed entries.
    pub entries: usize,
    /// Rank of the weights on missing entries.
    pub rank: usize,
    /// Whether some weight on missing entries may be below zero.
    pub may_be_negative: bool,
    /// `Σ_R c r²`, the objective where all factors are zero.
    pub at_zero: f64,
}

/// The factors that a run in other processes starts from.
#[derive(Clone, Debug, PartialEq)]
pub enum RemoteStart {
    /// Random ones.
    Random,
    /// Given ones.
    Given,
    /// Those of a run that has made these sweeps.
    Resumed(Vec<Sweep>),
}

/// A run that has ended; its factors are where they were trained.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RemoteRun {
    /// Its sweeps.
    pub history: Vec<Sweep>,
    /// Why it ended.
    pub reason: StopReason,
}

/// Trains factors that are in other processes. Of `run`, the observer, the flag that cancels and the
/// number of sweeps between checkpoints are used; there are no models to validate.
///
/// # Errors
/// A sweep that fails or raises the objective, hardware that fails.
pub fn fit_remote<B: RemoteBackend>(
    backend: B,
    outline: &Outline,
    params: &CheckedParams,
    start: &RemoteStart,
    mut run: Run<'_>,
) -> Result<RemoteRun, FitError> {
    let history = match start {
        RemoteStart::Resumed(history) => history.clone(),
        RemoteStart::Random | RemoteStart::Given => Vec::new(),
    };
    let from = match (start, history.last()) {
        (RemoteStart::Random, _) => StartedFrom::Random {
            at_zero: outline.at_zero,
        },
        (_, Some(sweep)) => StartedFrom::Objective(sweep.objective),
        (_, None) => StartedFrom::Factors,
    };
    let pool = super::pool(params)?;
    let sweeps =
        pool.install(|| AlternatingSweeps::new(backend, outline.shape, params.factors, &from))?;
    let mut training = TrainingLoop {
        trained: RemoteFactorisation { sweeps, params },
        history,
    };
    let reason = training.run(&pool, &mut run)?;
    Ok(RemoteRun {
        history: training.history,
        reason,
    })
}

/// Factors in other processes.
struct RemoteFactorisation<'p, B> {
    sweeps: AlternatingSweeps<B>,
    params: &'p Params,
}

impl<B: RemoteBackend> Factorisation for RemoteFactorisation<'_, B> {
    fn params(&self) -> &Params {
        self.params
    }

    fn sweep(&mut self, iteration: usize, cancel: &Cancel) -> Result<Option<Objective>, FitError> {
        self.sweeps.make(iteration, cancel)
    }

    fn measure(&self, _: &[Sweep], _: &mut Validation<'_>) -> f64 {
        // No model is made, so that none is ever the best.
        f64::NAN
    }

    fn best(&self) -> Option<(usize, f64)> {
        None
    }

    fn keep_best(&mut self, _: usize, _: f64) {}

    fn checkpoint(
        &mut self,
        history: &[Sweep],
        _: Option<&mut (dyn Observer + '_)>,
    ) -> Result<Control, FitError> {
        self.sweeps.checkpoint(history)?;
        Ok(Control::Continue)
    }
}
