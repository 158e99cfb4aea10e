//! `/v1/models`: the register, activation, roll back, training in the background.

use std::sync::Arc;

use absentia::online::TrainFrom;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::oneshot;

use super::call::{Answer, Call};
use super::json;
use crate::core::Core;
use crate::error::ApiError;
use crate::jobs::{self, Order};
use crate::store::version_before;

/// Sweeps of one training.
const MAX_SWEEPS: u32 = 1000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Register {
    file: String,
    #[serde(default)]
    sequence: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Train {
    #[serde(default)]
    from: From,
    #[serde(default)]
    sweeps: Option<u32>,
    #[serde(default)]
    activate: bool,
}

/// Where a training starts.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum From {
    /// From the factors of the active model.
    #[default]
    Present,
    /// From random factors.
    Scratch,
}

pub(super) async fn list(core: &Core, call: &Call) -> Result<Answer, ApiError> {
    call.only(&[])?;
    let task = |worker: &crate::ranking::Worker| {
        let (models, activations) = (worker.store.models()?, worker.store.activations()?);
        let history: Vec<_> = activations
            .iter()
            .map(|entry| json!({"version": entry.version, "time": entry.at, "roll_back": entry.is_roll_back}))
            .collect();
        let previous = version_before(&activations);
        let active = worker.core.live().version;
        Answer::json(
            200,
            &json!({"models": models, "active": active, "previous": previous, "activations": history}),
        )
    };
    core.rankings.run(task).await
}

pub(super) async fn register(core: &Arc<Core>, call: &Call) -> Result<Answer, ApiError> {
    call.only(&[])?;
    let Register { file, sequence } = json::read(call)?;
    let version = finished(core, Order::Register { file, sequence }).await?;
    Answer::json(201, &json!({"version": version}))
}

pub(super) async fn train(core: &Arc<Core>, call: &Call) -> Result<Answer, ApiError> {
    call.only(&[])?;
    let Train {
        from,
        sweeps,
        activate,
    } = json::read(call)?;
    if sweeps.is_some_and(|sweeps| !(1..=MAX_SWEEPS).contains(&sweeps)) {
        let message = format!("it must be from 1 to {MAX_SWEEPS}");
        return Err(ApiError::invalid("sweeps", message));
    }
    let from = match from {
        From::Present => TrainFrom::Present,
        From::Scratch => TrainFrom::Random,
    };
    let begin = move |worker: &crate::ranking::Worker| {
        let order = Order::Train {
            from,
            sweeps: sweeps.unwrap_or_else(|| jobs::default_sweeps(&worker.core, from)),
            activate,
        };
        jobs::start(&worker.core, worker.store.reader()?, order)
    };
    let (job, _) = core.rankings.run(begin).await?;
    Answer::json(202, &json!({"job": job}))
}

pub(super) fn progress(core: &Core, call: &Call) -> Result<Answer, ApiError> {
    call.only(&[])?;
    Answer::json(200, &core.jobs.progress())
}

pub(super) async fn activate(core: &Arc<Core>, call: &Call) -> Result<Answer, ApiError> {
    call.only(&[])?;
    let version = call.parameter(0).parse().map_err(|_| {
        ApiError::not_found("model_not_found", "models have numbers: see GET /v1/models")
    })?;
    let version = finished(core, Order::Activate { version }).await?;
    Answer::json(200, &json!({"active": version}))
}

pub(super) async fn roll_back(core: &Arc<Core>, call: &Call) -> Result<Answer, ApiError> {
    call.only(&[])?;
    let version = finished(core, Order::RollBack).await?;
    Answer::json(200, &json!({"active": version}))
}

type Outcome = oneshot::Receiver<Result<u64, ApiError>>;

/// Starts a job with a connection of its own.
async fn begun(core: &Arc<Core>, order: Order) -> Result<(u64, Outcome), ApiError> {
    let begin = move |worker: &crate::ranking::Worker| {
        jobs::start(&worker.core, worker.store.reader()?, order)
    };
    core.rankings.run(begin).await
}

/// Does a job and waits for its end.
async fn finished(core: &Arc<Core>, order: Order) -> Result<u64, ApiError> {
    let (_, outcome) = begun(core, order).await?;
    outcome.await.map_err(|_| ApiError::stopping())?
}
