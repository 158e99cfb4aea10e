//! Writes models and checkpoints.

use std::collections::BTreeMap;
use std::path::Path;

use absentia::fit::Checkpoint;
use absentia::ranking::UserItems;
use absentia::{Axis, Model, Params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::ModelFileError;
use super::header::{FEATURES_VERSION, PLAIN_VERSION, RELATIONS_VERSION};
use super::ids::Ids;
use super::image::Image;
use super::tensor::Tensor;
use super::{Kind, history, ids, neighbours, related, seen, weights};
use crate::error::Error;

/// What the run of a checkpoint is made on.
pub(super) const FINGERPRINT: &str = "fingerprint";

/// Counts that items are rescaled by, if recent interactions count more.
pub(super) const RECENT_COUNTS: &str = "recent_item_counts";

/// Writes a model, replacing the file at `path` once the new one is complete and on disk.
///
/// `config` is kept as it is and given back by [`load_model`](super::load_model). Factors are
/// written row by row from memory; nothing large is copied.
///
/// # Errors
/// The number of ids is not that of users or items, the parameters hold a number that is not
/// finite, or the file cannot be written; the old file is then as it was.
pub fn save_model(
    path: &Path,
    model: &Model,
    ids: &Ids,
    config: Option<&str>,
) -> Result<(), Error> {
    let extra = Extra {
        texts: &[("config", config)],
        ..Extra::default()
    };
    save(path, Kind::Model, model, ids, extra)
}

/// Writes a model with what its users have seen, so that it recommends without the training data.
///
/// # Errors
/// As [`save_model`].
pub fn save_model_and_seen(
    path: &Path,
    model: &Model,
    ids: &Ids,
    config: Option<&str>,
    seen: &UserItems,
) -> Result<(), Error> {
    let extra = Extra {
        texts: &[("config", config)],
        tensors: seen::tensors(seen).into(),
    };
    save(path, Kind::Model, model, ids, extra)
}

/// Writes a checkpoint: a model file with the state of the run added. `fingerprint` says what the run is
/// made on; it is kept as it is and given back by [`load_checkpoint`](super::load_checkpoint).
///
/// # Errors
/// As [`save_model`].
pub fn save_checkpoint(
    path: &Path,
    checkpoint: &Checkpoint,
    ids: &Ids,
    config: Option<&str>,
    fingerprint: Option<&str>,
) -> Result<(), Error> {
    let mut tensors = Vec::new();
    if let Some(best) = &checkpoint.best {
        tensors.push(history::best_tensor(best));
        tensors.push(Tensor::rows("best_user_factors", &best.users));
        tensors.push(Tensor::rows("best_item_factors", &best.items));
    }
    let texts = &[("config", config), (FINGERPRINT, fingerprint)];
    let extra = Extra { tensors, texts };
    save(path, Kind::Checkpoint, &checkpoint.model, ids, extra)
}

/// What a file has besides a model.
#[derive(Default)]
pub(super) struct Extra<'a> {
    pub(super) tensors: Vec<Tensor<'a>>,
    pub(super) texts: &'a [(&'static str, Option<&'a str>)],
}

pub(super) fn save(
    path: &Path,
    kind: Kind,
    model: &Model,
    ids: &Ids,
    extra: Extra<'_>,
) -> Result<(), Error> {
    ids.check(model, path)?;
    let weights_text = weights::text(model.weights(), path)?;
    let mut metadata = metadata(model, kind, path)?;
    for (key, text) in extra.texts {
        if let Some(text) = text {
            metadata.insert(key, (*text).to_owned());
        }
    }
    let mut tensors = weights::tensors(model.weights(), &weights_text);
    if weights::is_short(&weights_text) {
        metadata.insert(weights::FROZEN, weights_text.clone());
    }
    tensors.extend(model_tensors(model));
    if let Some(neighbours) = model.neighbours() {
        tensors.extend(neighbours::tensors(neighbours));
    }
    let relations_text = related::text(model, path)?;
    if let Some((parts, text)) = model.related().zip(relations_text.as_ref()) {
        tensors.extend(related::tensors(parts, text, &ids.related));
    }
    tensors.extend(ids::tensors(Axis::User, &ids.users));
    tensors.extend(ids::tensors(Axis::Item, &ids.items));
    tensors.extend(extra.tensors);
    Image { metadata, tensors }.save(path)
}

fn model_tensors(model: &Model) -> Vec<Tensor<'_>> {
    let parts = model.parts();
    let mut tensors = vec![
        history::tensor(&parts.history),
        Tensor::rows("user_factors", &parts.user_factors),
        Tensor::rows("item_factors", &parts.item_factors),
        Tensor::list("user_counts", &parts.user_counts[..]),
        Tensor::list("item_counts", &parts.item_counts[..]),
    ];
    let recent = parts.recent_counts.as_deref();
    tensors.extend(recent.map(|recent| Tensor::list(RECENT_COUNTS, recent)));
    tensors
}

fn metadata(
    model: &Model,
    kind: Kind,
    path: &Path,
) -> Result<BTreeMap<&'static str, String>, Error> {
    let parts = model.parts();
    let version = match &parts.related {
        Some(related) if related.relations.iter().any(|one| one.features.is_some()) => {
            FEATURES_VERSION
        }
        Some(_) => RELATIONS_VERSION,
        None => PLAIN_VERSION,
    };
    let mut texts = texts(version, kind);
    texts.insert("params", text_of_params(&parts.params, path)?);
    let transform = text_of(&parts.transform, "targets and confidence", path)?;
    texts.insert("transform", transform);
    Ok(texts)
}

/// Parameters without what they say of the machine, which changes no result: equal runs give equal files.
pub(super) fn text_of_params(params: &Params, path: &Path) -> Result<String, Error> {
    let mut params = params.clone();
    params.threads = None;
    params.memory_limit = None;
    text_of(&params, "parameters", path)
}

/// What the header of every file says of its format.
pub(super) fn texts(version: u32, kind: Kind) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("format", "absentia".to_owned()),
        ("format_version", version.to_string()),
        ("product_version", env!("CARGO_PKG_VERSION").to_owned()),
        ("kind", kind.name().to_owned()),
    ])
}

/// Turns a value into JSON from which it comes back as it is.
pub(super) fn text_of<T: Serialize + DeserializeOwned + PartialEq>(
    value: &T,
    what: &'static str,
    path: &Path,
) -> Result<String, Error> {
    // JSON has no NaN and no infinity: what does not come back must not be written.
    serde_json::to_string(value)
        .ok()
        .filter(|text| serde_json::from_str::<T>(text).is_ok_and(|back| back == *value))
        .ok_or_else(|| {
            ModelFileError::NotStorable {
                path: path.to_owned(),
                what,
            }
            .into()
        })
}
