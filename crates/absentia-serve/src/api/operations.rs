//! `/healthz`, `/readyz`, `/metrics`, `/openapi.json` and the page that shows it.

use absentia::error::Axis;
use serde_json::json;

use super::call::{Answer, Call};
use crate::core::{Core, Storage};
use crate::error::ApiError;
use crate::quality::Summary;

const OPEN_API: &str = include_str!("openapi.json");
/// What pages may load: nothing but their own style.
const SCRIPT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
                             form-action 'none'; frame-ancestors 'none'";

pub(super) fn health() -> Result<Answer, ApiError> {
    Answer::json(200, &json!({"status": "ok"}))
}

/// How well events are predicted before they are learned.
pub(super) fn quality(core: &Core, call: &Call) -> Result<Answer, ApiError> {
    call.only(&[])?;
    Answer::json(200, &core.quality.summary())
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
    let quality = core.quality.summary();
    let mut gauges = gauges.to_vec();
    gauges.extend(quality_gauges(&quality));
    let text = core.metrics.text(&gauges);
    Answer::of(200, "text/plain; version=0.0.4", text)
}

/// Nothing before the first event was measured: a rate of 0 would look like a bad model.
fn quality_gauges(quality: &Summary) -> Vec<(&'static str, &'static str, f64)> {
    let mut gauges = vec![(
        "absentia_quality_events",
        "Events that were predicted before they were learned.",
        quality.live.events as f64,
    )];
    if quality.live.events > 0 {
        gauges.extend([
            (
                "absentia_quality_live_hit_rate",
                "Share of events among the first 20 of the live model.",
                quality.live.hit_rate,
            ),
            (
                "absentia_quality_live_ndcg",
                "NDCG@20 of the live model.",
                quality.live.ndcg,
            ),
            (
                "absentia_quality_trained_hit_rate",
                "Share of events among the first 20 of the model as it was trained.",
                quality.trained.hit_rate,
            ),
            (
                "absentia_quality_trained_ndcg",
                "NDCG@20 of the model as it was trained.",
                quality.trained.ndcg,
            ),
            (
                "absentia_quality_popular_hit_rate",
                "Share of events among the 20 items that are most popular lately.",
                quality.popular.hit_rate,
            ),
            (
                "absentia_quality_popular_ndcg",
                "NDCG@20 of recent popularity.",
                quality.popular.ndcg,
            ),
        ]);
    }
    if let Some(drift) = quality.drift {
        gauges.push((
            "absentia_cache_drift",
            "Largest relative difference between the caches and recomputed sums.",
            drift.relative,
        ));
    }
    gauges
}

pub(super) fn open_api() -> Answer {
    Answer::of(200, "application/json", OPEN_API)
}

pub(super) fn page() -> Answer {
    Answer::of(200, "text/html; charset=utf-8", super::page::page(OPEN_API))
        .header("content-security-policy", SCRIPT_POLICY)
}
