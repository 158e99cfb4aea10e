//! `GET /v1/items/{id}/similar`, `GET /v1/users/{id}/similar`.

use absentia::error::Axis;
use absentia::model::Similarity;
use serde_json::json;

use super::call::{Answer, Call};
use crate::core::Core;
use crate::error::ApiError;
use crate::settings::MAX_LIST;

pub(super) async fn similar(core: &Core, call: &Call, axis: Axis) -> Result<Answer, ApiError> {
    call.only(&["n"])?;
    let n = call.number("n", 10, (1, MAX_LIST))?;
    let id = call.parameter(0);
    let task = move |worker: &crate::ranking::Worker| {
        let live = worker.core.live();
        let state = live.read();
        let row = state.learner.row(axis, &id)?;
        let online = state.learner.online();
        let found = online.similar(axis, row, n, Similarity::Cosine);
        let found = found.map_err(|error| ApiError::new(500, "internal", error.to_string()))?;
        let ids = match axis {
            Axis::User => &state.learner.ids().users,
            Axis::Item => &state.learner.ids().items,
        };
        let catalogue = worker.core.catalogue();
        let similar: Vec<_> = found
            .iter()
            .map(|scored| {
                let id = ids.name(scored.item).unwrap_or_default().into_owned();
                let entry = catalogue.get(axis, &id);
                let title = entry.and_then(|entry| entry.title.clone());
                json!({"id": id, "similarity": scored.score, "title": title})
            })
            .collect();
        let (model, sequence) = (live.version, state.sequence);
        let value = json!({"id": id, "similar": similar, "model": model, "sequence": sequence});
        Answer::json(200, &value)
    };
    core.rankings.run(task).await
}
