//! `/v1/users` and `/v1/items`: titles, categories, hidden items, look-ups.

use absentia::error::Axis;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{Answer, Call};
use super::events::ask;
use super::json;
use crate::core::Core;
use crate::error::ApiError;
use crate::ranking::Worker;
use crate::settings::{MAX_EVENTS, MAX_LIST, MAX_TITLE_BYTES};
use crate::state::Command;
use crate::store::CatalogueEntry;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entries {
    entries: Vec<CatalogueEntry>,
}

pub(super) async fn put(core: &Core, call: &Call, axis: Axis) -> Result<Answer, ApiError> {
    call.only(&[])?;
    let Entries { entries } = json::read(call)?;
    if entries.is_empty() || entries.len() > MAX_EVENTS {
        let message = format!("there must be 1 to {MAX_EVENTS} entries");
        return Err(ApiError::invalid("entries", message));
    }
    for (at, entry) in entries.iter().enumerate() {
        let texts = [("title", &entry.title), ("category", &entry.category)];
        if entry.id.is_empty() || entry.id.len() > absentia_online::MAX_ID_BYTES {
            let message = format!("ids have 1 to {} bytes", absentia_online::MAX_ID_BYTES);
            return Err(ApiError::invalid(format!("entries[{at}].id"), message));
        }
        for (name, text) in texts {
            if text
                .as_ref()
                .is_some_and(|text| text.len() > MAX_TITLE_BYTES)
            {
                let message = format!("it has at most {MAX_TITLE_BYTES} bytes");
                return Err(ApiError::invalid(format!("entries[{at}].{name}"), message));
            }
        }
    }
    let stored = entries.len();
    ask(core, |answer| Command::Catalogue {
        axis,
        entries,
        answer,
    })
    .await?;
    Answer::json(200, &json!({"stored": stored}))
}

pub(super) async fn list(core: &Core, call: &Call, axis: Axis) -> Result<Answer, ApiError> {
    call.only(&["cursor", "limit"])?;
    let limit = call.number("limit", 100, (1, MAX_LIST))?;
    let after = call.text("cursor").unwrap_or_default().to_owned();
    let task = move |worker: &Worker| {
        let mut entries = worker.store.catalogue(axis, &after, limit + 1)?;
        let has_more = entries.len() > limit;
        entries.truncate(limit);
        let next = entries
            .last()
            .filter(|_| has_more)
            .map(|entry| entry.id.clone());
        Answer::json(200, &json!({"entries": entries, "next": next}))
    };
    core.rankings.run(task).await
}

pub(super) async fn get(core: &Core, call: &Call, axis: Axis) -> Result<Answer, ApiError> {
    call.only(&["events"])?;
    let events = call.number("events", 20, (0, MAX_LIST))?;
    let id = call.parameter(0);
    core.rankings
        .run(move |worker| looked_up(worker, axis, &id, events))
        .await
}

fn looked_up(worker: &Worker, axis: Axis, id: &str, events: usize) -> Result<Answer, ApiError> {
    let live = worker.core.live();
    let entry = worker.core.catalogue().get(axis, id).cloned();
    let (count, sequence) = {
        let state = live.read();
        let row = state.learner.row(axis, id).ok();
        let counts = state.learner.online().counts(axis);
        (row.map(|row| counts[row as usize]), state.sequence)
    };
    if entry.is_none() && count.is_none() {
        let message = format!("{axis} {id:?} is neither in the model nor in the catalogue");
        return Err(ApiError::not_found("not_found", message));
    }
    let mut value = json!({
        "id": id, "in_model": count.is_some(), "interactions": count.unwrap_or(0),
        "model": live.version, "sequence": sequence,
    });
    let entry = entry.unwrap_or_default();
    value["title"] = json!(entry.title);
    value["category"] = json!(entry.category);
    value["hidden"] = json!(entry.hidden);
    if axis == Axis::User {
        let events = worker.store.events_of_user(id, events)?;
        let shown: Vec<Value> = events
            .iter()
            .map(|event| {
                let record = serde_json::to_value(&event.record).unwrap_or_default();
                json!({
                    "sequence": event.sequence, "kind": event.kind, "item": record["item"],
                    "value": record["value"], "time": record["time"], "received": event.received,
                    "deleted": event.deleted_by.is_some(),
                })
            })
            .collect();
        value["events"] = json!(shown);
    }
    Answer::json(200, &value)
}
