//! Registering, activating and training models in the background, one at a time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use absentia::error::Axis;
use absentia::fit::{Cancel, Control, Observer, Sweep};
use absentia::memory::Stage;
use absentia::online::{REFIT_SWEEPS, TrainFrom};
use absentia_io::limits::memory_available;
use absentia_io::model::file_of_model;
use absentia_online::{Learner, Opening};
use serde::Serialize;
use tokio::sync::oneshot;

use crate::background::{Pace, yield_to_requests};
use crate::clock::now_ms;
use crate::core::Core;
use crate::error::{ApiError, ServeError};
use crate::queue::Full;
use crate::state::{Command, Silent, State, TrainedModel, import, model_digest};
use crate::store::{ModelEntry, StoreReader, version_before};

/// What the background thread does or did last.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Progress {
    /// Its number, from 1; 0 if there was none.
    pub job: u64,
    /// `train`, `register` or `activate`.
    pub kind: &'static str,
    /// `running`, `done` or `failed`; `none` if there was none.
    pub state: &'static str,
    /// Steps that are done.
    pub done: u32,
    /// Steps in all.
    pub total: u32,
    /// What it does now, or what went wrong.
    pub message: String,
    /// The model that it makes or activates.
    pub version: Option<u64>,
    /// The objective after each sweep of a training.
    pub objective: Vec<f64>,
}

/// The background thread of models.
#[derive(Debug)]
pub struct Jobs {
    progress: Mutex<Progress>,
    versions: AtomicU64,
    /// Ends a training when the server stops.
    cancel: Cancel,
}

impl Default for Jobs {
    fn default() -> Self {
        Self {
            progress: Mutex::new(Progress {
                state: "none",
                ..Progress::default()
            }),
            versions: AtomicU64::new(0),
            cancel: Cancel::new(),
        }
    }
}

impl Jobs {
    /// What is done now or was done last.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.lock().clone()
    }

    /// Ends a training that runs, without a model.
    pub(crate) fn stop(&self) {
        self.cancel.cancel();
    }

    /// Takes the largest number of a model.
    pub(crate) fn start_versions(&self, last: u64) {
        self.versions.store(last, Ordering::Relaxed);
    }

    pub(crate) fn next_version(&self) -> u64 {
        self.versions.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.lock());
    }

    /// Begins a job, unless one runs.
    pub(crate) fn begin(&self, kind: &'static str, total: u32) -> Result<u64, ApiError> {
        let mut progress = self.lock();
        if progress.state == "running" {
            let message = format!(
                "job {} ({}) runs; one runs at a time",
                progress.job, progress.kind
            );
            return Err(ApiError::new(409, "job_running", message));
        }
        *progress = Progress {
            job: progress.job + 1,
            kind,
            state: "running",
            total,
            ..Progress::default()
        };
        Ok(progress.job)
    }

    pub(crate) fn end(&self, outcome: &Result<u64, ApiError>) {
        self.change(|progress| match outcome {
            Ok(version) => {
                progress.state = "done";
                progress.done = progress.total;
                progress.version = Some(*version);
                progress.message = String::new();
            }
            Err(error) => {
                progress.state = "failed";
                progress.message.clone_from(&error.message);
            }
        });
    }
}

/// What is to be done with models.
#[derive(Clone, Debug)]
pub enum Order {
    /// Registers a file of the folder `incoming`.
    Register {
        /// Its name there.
        file: String,
        /// The last event that it was trained on.
        sequence: u64,
    },
    /// Makes a registered model the active one.
    Activate {
        /// Its number.
        version: u64,
    },
    /// Activates the model before the active one, as the history of activations has it.
    RollBack,
    /// Trains all rows on everything that is known by now.
    Train {
        /// From the present factors or from random ones.
        from: TrainFrom,
        /// Number of sweeps.
        sweeps: u32,
        /// Whether the result becomes active.
        activate: bool,
    },
}

impl Order {
    fn kind(&self) -> &'static str {
        match self {
            Self::Register { .. } => "register",
            Self::Activate { .. } | Self::RollBack => "activate",
            Self::Train { .. } => "train",
        }
    }
}

/// Starts a job; yields its number, and the model at its end.
///
/// # Errors
/// A job runs already.
pub fn start(
    core: &Arc<Core>,
    store: Box<dyn StoreReader>,
    order: Order,
) -> Result<(u64, oneshot::Receiver<Result<u64, ApiError>>), ApiError> {
    let total = match order {
        Order::Train { sweeps, .. } => sweeps + 1,
        _ => 1,
    };
    let job = core.jobs.begin(order.kind(), total)?;
    let (send, receive) = oneshot::channel();
    let core = core.clone();
    std::thread::spawn(move || {
        yield_to_requests(Pace::Steady);
        let work = std::panic::AssertUnwindSafe(|| run(&core, &*store, order));
        let outcome = std::panic::catch_unwind(work)
            .unwrap_or_else(|_| Err(ApiError::new(500, "internal", "the job ended unexpectedly")));
        core.jobs.end(&outcome);
        let _ = send.send(outcome);
    });
    Ok((job, receive))
}

fn run(core: &Core, store: &dyn StoreReader, order: Order) -> Result<u64, ApiError> {
    match order {
        Order::Register { file, sequence } => register(core, store, &file, sequence),
        Order::Activate { version } => activate(core, store, version, false),
        Order::RollBack => {
            let before = version_before(&store.activations()?).ok_or_else(|| {
                ApiError::new(409, "nothing_before", "no other model was active before")
            })?;
            activate(core, store, before, true)
        }
        Order::Train {
            from,
            sweeps,
            activate: then,
        } => {
            let version = train(core, from, sweeps)?;
            if then {
                activate(core, store, version, false)?;
            }
            Ok(version)
        }
    }
}

fn refused(error: &ServeError) -> ApiError {
    ApiError::new(422, "model_refused", error.to_string())
}

/// Sends a command to the writer and waits.
fn ask<T>(
    core: &Core,
    command: impl FnOnce(oneshot::Sender<Result<T, ApiError>>) -> Command,
) -> Result<T, ApiError> {
    let (send, receive) = oneshot::channel();
    core.writes.push(command(send)).map_err(|full| match full {
        Full::Limit => ApiError::overloaded(),
        Full::Closed => ApiError::stopping(),
    })?;
    receive.blocking_recv().map_err(|_| ApiError::stopping())?
}

fn register(
    core: &Core,
    store: &dyn StoreReader,
    file: &str,
    sequence: u64,
) -> Result<u64, ApiError> {
    let Some(path) = core.folder.incoming(file) else {
        let message = "it must be the name of a file in the folder `incoming` of the data folder";
        return Err(ApiError::invalid("file", message));
    };
    if !file_of_model(&path).is_file() {
        let message = format!("there is no file {file:?} in the folder `incoming`");
        return Err(ApiError::not_found("file_not_found", message).field("file"));
    }
    if sequence > store.last_sequence()? {
        return Err(ApiError::invalid("sequence", "there is no such event yet"));
    }
    let erased = store.erased_users()?;
    let opening = Opening {
        weighted_events: true,
        ..Opening::default()
    };
    let opened = import(&path, &opening, &erased, &Silent);
    let learner = opened.map_err(|error| refused(&error))?;
    check_ids(core, &learner).map_err(|error| refused(&error))?;
    let digest = model_digest(&path).map_err(|error| refused(&error))?;
    let source = format!("the file {file}");
    save(core, &learner, sequence, source, digest)
}

/// Saves a state as a new version and registers it.
fn save(
    core: &Core,
    learner: &Learner,
    sequence: u64,
    source: String,
    digest: String,
) -> Result<u64, ApiError> {
    let version = core.jobs.next_version();
    let saved = learner.save(&core.folder.state(version, sequence));
    saved.map_err(|error| ApiError::new(507, "not_saved", error.to_string()))?;
    let model = ModelEntry {
        version,
        source,
        digest,
        sequence,
        created: now_ms(),
    };
    ask(core, |answer| Command::Register { model, answer })?;
    Ok(version)
}

fn activate(
    core: &Core,
    store: &dyn StoreReader,
    version: u64,
    is_roll_back: bool,
) -> Result<u64, ApiError> {
    if !store.models()?.iter().any(|model| model.version == version) {
        let message = format!("there is no model {version}");
        return Err(ApiError::not_found("model_not_found", message));
    }
    core.jobs
        .change(|progress| "loading the model".clone_into(&mut progress.message));
    let mut opened = core
        .folder
        .load(version, store.last_sequence()?, &Silent)
        .map_err(|error| refused(&error))?;
    check_ids(core, &opened.learner).map_err(|error| refused(&error))?;
    core.jobs
        .change(|progress| "learning later events".clone_into(&mut progress.message));
    opened.replay(store).map_err(|error| refused(&error))?;
    let opened_confidence = opened.learner.online().confidence();
    let state = Box::new(State::new(opened.learner, opened.sequence));
    core.settings.warn_of_unused_weights(opened_confidence);
    let trained = TrainedModel::read(&core.folder, version).map_err(|error| refused(&error))?;
    ask(core, |answer| Command::Activate {
        version,
        state,
        trained: trained.map(Box::new),
        is_roll_back,
        answer,
    })?;
    Ok(version)
}

/// Follows the sweeps of a training.
pub(crate) struct Following<'a> {
    jobs: &'a Jobs,
    sweeps: u32,
}

impl<'a> Following<'a> {
    pub(crate) fn new(jobs: &'a Jobs, sweeps: u32) -> Self {
        jobs.change(|progress| progress.message = format!("sweep 1 of {sweeps}"));
        Self { jobs, sweeps }
    }
}

impl Observer for Following<'_> {
    fn swept(&mut self, sweep: &Sweep) -> Control {
        let done = sweep.iteration as u32;
        self.jobs.change(|progress| {
            progress.done = done;
            progress.message = format!("sweep {} of {}", (done + 1).min(self.sweeps), self.sweeps);
            progress.objective.push(sweep.objective.total());
        });
        Control::Continue
    }
}

/// Sweeps of a training whose number is not given: a few from the present factors, or those that the
/// settings of the model ask for.
pub(crate) fn default_sweeps(core: &Core, from: TrainFrom) -> u32 {
    match from {
        TrainFrom::Present => REFIT_SWEEPS,
        TrainFrom::Random => {
            let sweeps = core.live().read().learner.online().sweeps();
            u32::try_from(sweeps).unwrap_or(u32::MAX).max(1)
        }
    }
}

/// Trains a copy of the state beside the live one.
fn train(core: &Core, from: TrainFrom, sweeps: u32) -> Result<u64, ApiError> {
    // Half of the machine is left to those who wait for lists.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = (processors / 2).max(1);
    let stage = core.live().read().learner.training_stage(threads);
    check_memory(&stage, memory_available())?;
    let (copy, sequence) = ask(core, |answer| Command::Copy { answer })?;
    let mut learner = copy.into_learner()?;
    learner.set_threads(Some(threads));
    let jobs = &core.jobs;
    let mut following = Following::new(jobs, sweeps);
    learner.train(from, Some(sweeps as usize), &mut following, &jobs.cancel)?;
    learner.set_threads(None);
    jobs.change(|progress| "saving the model".clone_into(&mut progress.message));
    let version = core.live().version;
    let source = match from {
        TrainFrom::Present => {
            format!("{sweeps} sweeps from model {version}, up to record {sequence}")
        }
        TrainFrom::Random => format!(
            "trained from scratch, {sweeps} sweeps with the settings of model {version}, up to record {sequence}"
        ),
    };
    save(core, &learner, sequence, source, String::new())
}

/// Rejects a stage that takes more memory than the machine has left.
fn check_memory(stage: &Stage, left: Option<u64>) -> Result<(), ApiError> {
    let needed = stage.total();
    match left {
        Some(left) if needed > left => {
            let message =
                format!("training needs {needed} bytes of memory, and the machine has {left} left");
            Err(ApiError::new(507, "not_enough_memory", message))
        }
        _ => Ok(()),
    }
}

/// Refuses a model of other users and items: at least half of those that are known must be in it.
fn check_ids(core: &Core, learner: &Learner) -> Result<(), ServeError> {
    let live = core.live();
    let state = live.read();
    let (own, other) = (state.learner.ids(), learner.ids());
    for (axis, side) in [(Axis::User, "users"), (Axis::Item, "items")] {
        let (own, other) = match axis {
            Axis::User => (&own.users, &other.users),
            Axis::Item => (&own.items, &other.items),
        };
        let known = own.iter().filter(|id| other.get(id).is_some()).count();
        if 2 * known < own.len() {
            return Err(ServeError::OtherIds {
                side,
                known,
                total: own.len(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_training_that_does_not_fit_into_memory_is_rejected() {
        let stage = Stage::new("training").with("copy", 700).with("run", 400);
        assert_eq!(check_memory(&stage, None), Ok(()));
        assert_eq!(check_memory(&stage, Some(1100)), Ok(()));
        let error = check_memory(&stage, Some(1099)).unwrap_err();
        assert_eq!((error.status, error.code), (507, "not_enough_memory"));
        assert!(error.message.contains("1100"), "{}", error.message);
    }
}
