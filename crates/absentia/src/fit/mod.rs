//! A training run: start, sweeps, stopping rules, checkpoints, cancellation.

mod dense;
mod error;
mod init;
mod memory;
mod observer;
mod sketch;
mod start;
mod state;
mod trainer;

pub use error::FitError;
pub use init::Init;
pub use memory::{MemoryPlan, Sizes, default_threads};
pub use observer::{Cancel, Control, Observer, Sweep};
pub use state::{Best, Checkpoint};

use crate::baselines;
use crate::data::Interactions;
use crate::model::Model;
use crate::params::{CheckedParams, Params};
use crate::weights::Scheme;
use trainer::Trainer;

/// Measures a model while it is trained, and ends the run when it no longer improves.
pub struct Validation<'r> {
    /// Yields the metric of a model; larger is better.
    pub metric: Box<dyn FnMut(&Model) -> f64 + 'r>,
    /// Sweeps between measurements.
    pub every: usize,
    /// Measurements without improvement after which the run ends; never, when not given.
    pub patience: Option<usize>,
}

impl Validation<'_> {
    fn is_due(&self, iteration: usize, params: &Params) -> bool {
        iteration.is_multiple_of(self.every.max(1)) || iteration == params.iterations
    }
}

/// How a run starts, is followed and ends; the defaults follow nothing and start from Gaussians.
#[derive(Default)]
pub struct Run<'r> {
    /// Where the run starts.
    pub init: Init,
    /// A run to go on with; its factors are the start.
    pub resume: Option<Checkpoint>,
    /// A metric that chooses the best model and may end the run.
    pub validation: Option<Validation<'r>>,
    /// Who follows the run.
    pub observer: Option<&'r mut dyn Observer>,
    /// A flag that ends the run from another thread.
    pub cancel: Cancel,
    /// Sweeps between checkpoints handed to the observer; none, when not given.
    pub checkpoint_every: Option<usize>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum StopReason {
    /// All sweeps asked for were made.
    Iterations,
    /// The objective changed by less than the tolerance.
    Converged,
    /// The validation metric no longer improved.
    Patience,
    /// The run was cancelled.
    Cancelled,
    /// The observer ended the run.
    Observer,
}

/// A finished run.
#[derive(Debug)]
pub struct Fitted {
    /// The model: the best one where a validation metric chose, the last one otherwise.
    pub model: Model,
    /// Why the run ended.
    pub reason: StopReason,
    /// The sweep the model comes from.
    pub chosen_iteration: usize,
    /// The run as it stood at its end, to go on with later.
    pub checkpoint: Checkpoint,
}

/// Factorises `data` with the weights of `scheme` on its missing entries.
///
/// Entries are taken with their raw values; `params` says how targets and weights follow from them.
///
/// ```
/// use absentia::data::{Duplicates, Triplets};
/// use absentia::fit::{Run, fit};
/// use absentia::weights::Scheme;
/// use absentia::Params;
///
/// let data = Triplets::new(&[0, 0, 1, 1, 2], &[0, 1, 0, 1, 2]).build(3, 3, Duplicates::Error)?;
/// let params = Params::new().factors(2).iterations(30).init_std(0.1).check()?;
/// let fitted = fit(&data, &Scheme::Uniform { weight: 0.1 }, &params, Run::default())?;
/// let scores = fitted.model.scores(&[(0, 1), (0, 2)])?;
/// assert!(scores[0] > scores[1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// See [`FitError`]; nothing large is allocated before sizes and parameters are checked.
pub fn fit(
    data: &Interactions<'_>,
    scheme: &Scheme,
    params: &CheckedParams,
    run: Run<'_>,
) -> Result<Fitted, FitError> {
    let threads = params.threads.unwrap_or_else(default_threads);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|_| FitError::Threads { threads })?;
    // The run's callbacks need not be able to move to another thread: only the sweeps enter the pool.
    fit_in(&pool, data, scheme, params, run)
}

fn fit_in(
    pool: &rayon::ThreadPool,
    data: &Interactions<'_>,
    scheme: &Scheme,
    params: &CheckedParams,
    mut run: Run<'_>,
) -> Result<Fitted, FitError> {
    if data.n_interactions() == 0 {
        return Err(FitError::Empty {
            users: data.n_users(),
            items: data.n_items(),
        });
    }
    let params = &baselines::shaped(params)?;
    let resume = run.resume.take();
    let init = std::mem::take(&mut run.init);
    let keeps_best = run.validation.is_some();
    let mut trainer =
        pool.install(|| Trainer::new(data, scheme, params, init, resume, keeps_best))?;
    if let Some(observer) = &mut run.observer {
        observer.started(trainer.plan());
    }
    let reason = sweeps(pool, &mut trainer, params, &mut run)?;
    Ok(trainer.finish(reason))
}

/// Makes the sweeps and yields why they ended.
fn sweeps(
    pool: &rayon::ThreadPool,
    trainer: &mut Trainer<'_>,
    params: &CheckedParams,
    run: &mut Run<'_>,
) -> Result<StopReason, FitError> {
    let cancel = run.cancel.clone();
    loop {
        if let Some(reason) = trainer.why_over(params, run.validation.as_ref()) {
            return Ok(reason);
        }
        if cancel.is_cancelled() {
            return Ok(StopReason::Cancelled);
        }
        let Some(mut sweep) = pool.install(|| trainer.sweep(&cancel))? else {
            return Ok(StopReason::Cancelled);
        };
        if let Some(validation) = run
            .validation
            .as_mut()
            .filter(|v| v.is_due(sweep.iteration, params))
        {
            sweep.validation = Some((validation.metric)(&trainer.model()));
        }
        trainer.record(sweep.clone());
        let due = run
            .checkpoint_every
            .is_some_and(|every| sweep.iteration.is_multiple_of(every.max(1)));
        if let Some(observer) = &mut run.observer {
            let mut control = observer.swept(&sweep);
            if due && observer.checkpoint(&trainer.checkpoint()) == Control::Stop {
                control = Control::Stop;
            }
            if control == Control::Stop {
                return Ok(StopReason::Observer);
            }
        }
    }
}
