//! `POST /v1/events`, `DELETE /v1/events/{id}`, `DELETE /v1/users/{id}`.

use serde::Deserialize;
use serde_json::json;
use tokio::sync::oneshot;

use super::call::{Answer, Call};
use super::json;
use crate::core::Core;
use crate::error::ApiError;
use crate::queue::Full;
use crate::settings::{MAX_BULK, MAX_EVENTS};
use crate::state::{Command, Idempotency, NewEvent};
use crate::store::digest_of;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Events {
    events: Vec<NewEvent>,
}

/// The events of a body in JSON: `{"events": [...]}`, or the list alone.
fn events_of(call: &Call) -> Result<Vec<NewEvent>, ApiError> {
    if call.body.trim_ascii_start().starts_with(b"[") {
        return json::read_array(call, "events");
    }
    let events: Result<Events, ApiError> = json::read(call);
    events.map(|events| events.events).map_err(|mut error| {
        if error.code == "invalid_body" {
            let expected =
                "expected {\"events\": [{\"user\", \"item\", \"kind\", ...}]} or the list alone";
            error.message = format!("{}; {expected}", error.message);
        }
        error
    })
}

pub(super) async fn post(core: &Core, call: &Call) -> Result<Answer, ApiError> {
    call.only(&[])?;
    let (events, most) = match call.content_type.as_str() {
        "application/json" => (events_of(call)?, MAX_EVENTS),
        "application/x-ndjson" => (json::read_lines(call, MAX_BULK, "events")?, MAX_BULK),
        _ => return Err(json::wrong_type("application/json or application/x-ndjson")),
    };
    if events.is_empty() || events.len() > most {
        let message = format!("there must be 1 to {most} events");
        return Err(ApiError::invalid("events", message));
    }
    let idempotency = idempotency(call);
    let (body, is_earlier) = ask(core, |answer| Command::Events {
        events,
        idempotency,
        answer,
    })
    .await?;
    let answer = Answer::of(200, "application/json", body);
    Ok(if is_earlier {
        answer.header("idempotent-replay", "true")
    } else {
        answer
    })
}

pub(super) async fn delete(core: &Core, call: &Call) -> Result<Answer, ApiError> {
    call.only(&[])?;
    let id = call.parameter(0);
    let removed = ask(core, |answer| Command::RemoveEvent { id, answer }).await?;
    Answer::json(200, &json!({"sequence": removed.sequence}))
}

pub(super) async fn erase_user(core: &Core, call: &Call) -> Result<Answer, ApiError> {
    call.only(&[])?;
    let user = call.parameter(0);
    let erased = ask(core, |answer| Command::EraseUser { user, answer }).await?;
    Answer::json(200, &json!({"sequence": erased.sequence}))
}

fn idempotency(call: &Call) -> Option<Idempotency> {
    let key = call.idempotency_key.as_ref()?;
    let sender = call
        .principal
        .as_ref()
        .map_or("", |principal| &principal.key);
    Some(Idempotency {
        key: digest_of(&[b"reply", sender.as_bytes(), key.as_bytes()]),
        request: digest_of(&[call.target.as_bytes(), &call.body]),
    })
}

/// Sends a command to the writer and waits for its answer.
pub(super) async fn ask<T>(
    core: &Core,
    command: impl FnOnce(oneshot::Sender<Result<T, ApiError>>) -> Command,
) -> Result<T, ApiError> {
    let (send, receive) = oneshot::channel();
    core.writes.push(command(send)).map_err(|full| match full {
        Full::Limit => ApiError {
            status: 429,
            ..ApiError::overloaded()
        },
        Full::Closed => ApiError::stopping(),
    })?;
    receive.await.map_err(|_| ApiError::stopping())?
}
