//! `/healthz`, `/readyz`, `/metrics`, `/openapi.json` and the page that shows it.

use absentia::error::Axis;
use serde_json::json;

use super::call::Answer;
use crate::core::{Core, Storage};
use crate::error::ApiError;

const OPEN_API: &str = include_str!("openapi.json");
/// What pages may load: nothing but their own style.
const SCRIPT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
                             form-action 'none'; frame-ancestors 'none'";

pub(super) fn health() -> Result<Answer, ApiError> {
    Answer::json(200, &json!({"status": "ok"}))
}

/// Ready if records are learned and can be written; the server listens after the replay only.
pub(super) fn ready(core: &Core) -> Result<Answer, ApiError> {
    let storage = match core.status.storage() {
        Storage::Writable => "writable",
        Storage::Full => "full",
        Storage::Failed => "failed",
    };
    let is_ready = storage == "writable" && !core.status.is_stopping();
    let status = if is_ready { 200 } else { 503 };
    let (committed, learned) = (core.status.last_committed(), core.status.last_learned());
    Answer::json(
        status,
        &json!({
            "ready": is_ready, "storage": storage, "stopping": core.status.is_stopping(),
            "model": core.live().version, "sequence": learned, "lag": committed.saturating_sub(learned),
        }),
    )
}

pub(super) fn metrics(core: &Core) -> Answer {
    let status = &core.status;
    let lag = status
        .last_committed()
        .saturating_sub(status.last_learned());
    let catalogue = core.catalogue();
    let count = |number: usize| number as f64;
    let gauges = [
        (
            "absentia_up_seconds",
            "Seconds since the start.",
            status.uptime(),
        ),
        (
            "absentia_model_version",
            "Version of the active model.",
            core.live().version as f64,
        ),
        (
            "absentia_sequence",
            "Last record that is learned.",
            status.last_learned() as f64,
        ),
        (
            "absentia_log_lag",
            "Records that are stored and not learned.",
            lag as f64,
        ),
        (
            "absentia_storage_writable",
            "1 if events can be stored.",
            f64::from(u8::from(status.storage() == Storage::Writable)),
        ),
        (
            "absentia_waiting_rankings",
            "Requests that wait for a ranking thread.",
            count(core.rankings.waiting()),
        ),
        (
            "absentia_waiting_writes",
            "Writing requests that wait.",
            count(core.writes.len()),
        ),
        (
            "absentia_snapshots",
            "States saved since the start.",
            status.snapshots().0 as f64,
        ),
        (
            "absentia_catalogue_users",
            "Users in the catalogue.",
            count(catalogue.len(Axis::User)),
        ),
        (
            "absentia_catalogue_items",
            "Items in the catalogue.",
            count(catalogue.len(Axis::Item)),
        ),
    ];
    let text = core.metrics.text(&gauges);
    Answer::of(200, "text/plain; version=0.0.4", text)
}

pub(super) fn open_api() -> Answer {
    Answer::of(200, "application/json", OPEN_API)
}

pub(super) fn page() -> Answer {
    Answer::of(200, "text/html; charset=utf-8", super::page::page(OPEN_API))
        .header("content-security-policy", SCRIPT_POLICY)
}
