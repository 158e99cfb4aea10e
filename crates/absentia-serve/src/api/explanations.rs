//! `GET /v1/users/{id}/explanations/{item}`.

use absentia::error::Axis;
use absentia_online::LearnError;
use serde_json::json;

use super::call::{Answer, Call};
use crate::core::Core;
use crate::error::ApiError;
use crate::ranking::Worker;
use crate::settings::MAX_LIST;

pub(super) async fn explain(core: &Core, call: &Call) -> Result<Answer, ApiError> {
    call.only(&["n"])?;
    let n = call.number("n", 10, (1, MAX_LIST))?;
    let (user, item) = (call.parameter(0), call.parameter(1));
    core.rankings
        .run(move |worker| explained(worker, &user, &item, n))
        .await
}

fn explained(worker: &Worker, user: &str, item: &str, n: usize) -> Result<Answer, ApiError> {
    let live = worker.core.live();
    let state = live.read();
    let (learner, online) = (&state.learner, state.learner.online());
    let rows = (
        learner.row(Axis::User, user)?,
        learner.row(Axis::Item, item)?,
    );
    let explanation = online.explain(rows.0, rows.1).map_err(LearnError::from)?;
    let catalogue = worker.core.catalogue();
    let contributions: Vec<_> = explanation
        .contributions
        .iter()
        .take(n)
        .map(|part| {
            let id = learner
                .ids()
                .items
                .name(part.item)
                .unwrap_or_default()
                .into_owned();
            let title = catalogue
                .get(Axis::Item, &id)
                .and_then(|entry| entry.title.clone());
            json!({"item": id, "title": title, "contribution": part.contribution})
        })
        .collect();
    let is_observed = online
        .columns(Axis::User, rows.0)
        .binary_search(&rows.1)
        .is_ok();
    let missing = if is_observed {
        None
    } else {
        let weights = online.missing_weights().map_err(LearnError::from)?;
        let weight = weights.explain(rows.0, rows.1);
        let parts: Vec<_> = weight
            .parts
            .iter()
            .map(|part| json!({"scheme": part.scheme, "weight": part.value, "reason": part.reason}))
            .collect();
        Some(json!({"weight": weight.total, "parts": parts}))
    };
    Answer::json(
        200,
        &json!({
            "user": user, "item": item, "score": explanation.score,
            "contributions": contributions, "others": explanation.others(n),
            "remainder": explanation.remainder, "observed": is_observed, "missing": missing,
            "model": live.version, "sequence": state.sequence,
        }),
    )
}
