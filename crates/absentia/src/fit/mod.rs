//! A training run: start, sweeps, stopping rules, checkpoints, cancellation.

pub mod backend;
mod cost;
mod cpu;
mod error;
mod init;
mod learned;
mod local;
mod memory;
mod observer;
mod problem;
mod remote;
#[doc(hidden)]
pub mod shard;
mod sketch;
mod start;
mod state;
mod sums;
mod sweeps;
mod training;

pub use cost::ProblemSize;
pub use error::FitError;
pub use init::Init;
pub(crate) use init::start_row;
pub use memory::{MemoryPlan, Sizes, default_threads};
pub use observer::{Cancel, Control, Estimate, Observer, Sweep};
#[doc(hidden)]
pub use remote::{Outline, RemoteRun, RemoteStart, fit_remote};
pub use state::{Best, Checkpoint};

use crate::baselines;
use crate::data::Interactions;
use crate::model::Model;
use crate::params::{CheckedParams, Method, Params};
use crate::relations::{RelationError, Relations};
use crate::weights::Scheme;
use backend::{Cpu, Device, Problem, ProblemParts};
use learned::EstimateStage;
use local::LocalFactorisation;
use start::{Start, start};
use sweeps::{AlternatingSweeps, BaselinePasses, Sweeps};
use training::TrainingLoop;

/// Measures a model while it is trained, and ends the run when it no longer improves.
pub struct Validation<'r> {
    /// Yields the metric of a model; larger is better.
    pub metric: Box<dyn FnMut(&Model) -> f64 + 'r>,
    /// Sweeps between measurements.
    pub every: usize,
    /// Number of measurements without improvement after which the run ends; never if `None`.
    pub patience: Option<usize>,
}

impl Validation<'_> {
    fn is_due(&self, iteration: usize, params: &Params) -> bool {
        iteration.is_multiple_of(self.every.max(1)) || iteration == params.iterations
    }
}

/// How a run starts, is observed and ends. By default it starts from Gaussian factors, without observer.
#[derive(Default)]
pub struct Run<'r> {
    /// Where the run starts.
    pub init: Init,
    /// The checkpoint to resume from; it replaces the initial factors.
    pub resume: Option<Checkpoint>,
    /// A metric that chooses the best model and may end the run.
    pub validation: Option<Validation<'r>>,
    /// Is notified of the progress of the run.
    pub observer: Option<&'r mut dyn Observer>,
    /// A flag that ends the run from another thread.
    pub cancel: Cancel,
    /// Number of sweeps between checkpoints, which the observer gets; no checkpoints if `None`.
    pub checkpoint_every: Option<usize>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum StopReason {
    /// The requested number of sweeps was made.
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
#[non_exhaustive]
pub struct Fitted {
    /// The model: the best one if there is a validation metric, the last one otherwise.
    pub model: Model,
    /// Why the run ended.
    pub reason: StopReason,
    /// The sweep the model comes from.
    pub chosen_iteration: usize,
    /// The state of the run at its end, from which it can be resumed.
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
/// let fitted = fit(&data, &Scheme::uniform(0.1), &params, Run::default())?;
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
    fit_on(&Cpu, data, scheme, params, run)
}

/// Does what [`fit`] does, with the solvers running on `device`.
///
/// # Errors
/// Those of [`fit`].
pub fn fit_on<D: Device>(
    device: &D,
    data: &Interactions<'_>,
    scheme: &Scheme,
    params: &CheckedParams,
    run: Run<'_>,
) -> Result<Fitted, FitError> {
    fit_related(device, (data, scheme), None, params, run)
}

/// Does what [`fit_on`] does for a main relation and others that are trained with it.
///
/// # Errors
/// Those of [`fit`], and relations that do not fit each other.
pub fn fit_related<D: Device>(
    device: &D,
    (data, scheme): (&Interactions<'_>, &Scheme),
    relations: Option<&Relations<'_>>,
    params: &CheckedParams,
    mut run: Run<'_>,
) -> Result<Fitted, FitError> {
    if data.n_interactions() == 0 {
        return Err(FitError::Empty {
            users: data.n_users(),
            items: data.n_items(),
        });
    }
    if let Some(relations) = relations
        && let Some(relation) = relations.with_features().next()
        && !device.takes_features()
    {
        let relation = relations.name(relation);
        return Err(RelationError::Device { relation }.into());
    }
    let params = &baselines::shaped(params)?;
    let plan = planned((data, scheme), relations, params, &run)?;
    let pool = &pool(params)?;
    if let Some(observer) = &mut run.observer {
        observer.started(&plan);
    }
    let (mut transform, data) = pool.install(|| {
        let transform = data.freeze(params.targets, params.confidence)?;
        data.apply(&transform).map(|data| (transform, data))
    })?;
    let recent = params.post_scale_half_life;
    let recent = recent.map(|half_life| data.recent_item_counts(half_life));
    let recent = recent.transpose()?;
    if recent.is_some() {
        transform.now = data.latest_time().unwrap_or_default();
    }
    let mut stage = EstimateStage {
        device,
        pool,
        run: &mut run,
        stopped: None,
    };
    let learned = stage.learn(scheme, &data, params)?;
    let stopped = stage.stopped;
    let (init, resume) = (std::mem::take(&mut run.init), run.resume.take());
    let (problem, start) = pool.install(|| {
        let parts = ProblemParts {
            weights: learned.resolve(&data)?,
            data,
            transform,
            dense: scheme.full_weights(),
            params: (**params).clone(),
        };
        let problem = match relations {
            Some(relations) => Problem::with_relations(parts, relations)?,
            None => Problem::new(parts)?,
        };
        let start = start(&problem, init, resume)?;
        Ok::<_, FitError>((problem, start))
    })?;
    let Start {
        factors,
        history,
        best,
        from,
    } = start;
    match params.solver {
        Method::Solver(solver) => {
            let sweeps = pool.install(|| {
                let backend = device.backend(&problem, solver, factors);
                AlternatingSweeps::new(backend, problem.shape(), params.factors, &from)
            })?;
            let trained = LocalFactorisation::new(&problem, sweeps, best, recent);
            finished(TrainingLoop { trained, history }, stopped, pool, &mut run)
        }
        Method::Baseline(baseline) => {
            let passes = pool.install(|| BaselinePasses::new(baseline, &problem, factors));
            let trained = LocalFactorisation::new(&problem, passes, best, recent);
            finished(TrainingLoop { trained, history }, stopped, pool, &mut run)
        }
    }
}

/// Makes the sweeps, unless the run was stopped before them.
fn finished<S: Sweeps>(
    mut training: TrainingLoop<LocalFactorisation<'_, S>>,
    stopped: Option<StopReason>,
    pool: &rayon::ThreadPool,
    run: &mut Run<'_>,
) -> Result<Fitted, FitError> {
    let reason = match stopped {
        Some(reason) => reason,
        None => training.run(pool, run)?,
    };
    Ok(training.finish(reason))
}

/// The memory that the run needs, if the limit allows it.
fn planned(
    (data, scheme): (&Interactions<'_>, &Scheme),
    relations: Option<&Relations<'_>>,
    params: &Params,
    run: &Run<'_>,
) -> Result<MemoryPlan, FitError> {
    let sizes = Sizes::of(data, scheme, params, run.validation.is_some()).stacked(relations);
    let plan = MemoryPlan::new(&sizes, params);
    match params.memory_limit {
        Some(limit) if limit < plan.total() => Err(FitError::Memory {
            needed: plan.total(),
            limit,
        }),
        _ => Ok(plan),
    }
}

fn pool(params: &Params) -> Result<rayon::ThreadPool, FitError> {
    let threads = params.threads.unwrap_or_else(default_threads);
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|_| FitError::Threads { threads })
}
