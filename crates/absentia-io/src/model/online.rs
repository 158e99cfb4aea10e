//! What an online model has besides a model: entries that can change, and the caches in double precision.
//!
//! Numbers that later results depend on to the last bit are tensors; JSON has the rest.

use std::path::Path;

use absentia::data::Duplicates;
use absentia::online::{OnlineParts, PairEvent, PairHistory, Settings, StoredEntries, WeightMode};
use absentia::{Model, Sides};
use serde::{Deserialize, Serialize};

use super::ids::Ids;
use super::opened::Opened;
use super::save::{Extra, save, text_of};
use super::tensor::{Stored, Tensor};
use super::{Kind, LoadedModel, load_model};
use crate::error::Error;

/// Key of the short values in the header.
const ONLINE: &str = "online";

/// The values that are short.
#[derive(PartialEq, Serialize, Deserialize)]
struct Short {
    sequence: u64,
    settings: Settings,
    mode: WeightMode,
    duplicates: Duplicates,
    latest: i64,
    has_times: bool,
    typical_counts: Sides<u32>,
    trained_rows: Sides<u64>,
}

/// A model that learns from events, with what was stored beside it.
#[derive(Clone, Debug)]
pub struct LoadedOnline {
    /// The model as it was when it was saved.
    pub loaded: LoadedModel,
    /// The rest of its state.
    pub parts: OnlineParts,
}

/// Writes a model that learns from events: a model file with the rest of its state added, which every
/// command that reads models reads as well.
///
/// # Errors
/// As [`save_model`](super::save_model).
pub fn save_online(
    path: &Path,
    model: &Model,
    ids: &Ids,
    config: Option<&str>,
    parts: &OnlineParts,
) -> Result<(), Error> {
    let short = Short {
        sequence: parts.sequence,
        settings: parts.settings,
        mode: parts.mode,
        duplicates: parts.duplicates,
        latest: parts.latest,
        has_times: parts.entries.has_times,
        typical_counts: parts.typical_counts,
        trained_rows: parts.trained_rows,
    };
    let short = text_of(&short, "settings of the online model", path)?;
    let histories = text_of(&parts.entries.histories, "repeated events", path)?;
    let mut tensors = entry_tensors(&parts.entries);
    tensors.push(Tensor::list("online_histories", histories.into_bytes()));
    tensors.extend(both("weights", &parts.weights));
    tensors.extend(both("mean_weights", &parts.mean_weights));
    tensors.extend(both("idle_weights", &parts.idle_weights));
    tensors.extend(both("weight_sums", &parts.weight_sums));
    tensors.extend(both("hashes", &parts.hashes));
    tensors.extend(both("caches", &parts.cache_sums));
    let by_mean = parts.by_mean.as_ref().map(|rows| bytes_of(rows));
    tensors.extend(both("by_mean", &by_mean));
    tensors.push(Tensor::list(
        "online_observed_sums",
        &parts.observed_sums[..],
    ));
    let texts = &[("config", config), (ONLINE, Some(&short[..]))];
    let extra = Extra { tensors, texts };
    save(path, Kind::Model, model, ids, extra)
}

/// Reads a model that learns from events, or `None` if the file is an ordinary model.
///
/// # Errors
/// As [`load_model`].
pub fn load_online(path: &Path) -> Result<Option<LoadedOnline>, Error> {
    let opened = Opened::open(path)?;
    if opened.header.text(ONLINE).is_none() {
        return Ok(None);
    }
    let short: Short = opened.json(ONLINE)?;
    let parts = OnlineParts {
        sequence: short.sequence,
        settings: short.settings,
        mode: short.mode,
        duplicates: short.duplicates,
        entries: entries(&opened, short.has_times)?,
        latest: short.latest,
        typical_counts: short.typical_counts,
        trained_rows: short.trained_rows,
        hashes: lists(&opened, "hashes")?,
        weights: lists(&opened, "weights")?,
        mean_weights: lists(&opened, "mean_weights")?,
        idle_weights: lists(&opened, "idle_weights")?,
        by_mean: lists::<u8>(&opened, "by_mean")?.map(|rows| flags(&rows)),
        weight_sums: lists(&opened, "weight_sums")?,
        observed_sums: opened.list("online_observed_sums")?.to_vec(),
        cache_sums: lists(&opened, "caches")?,
    };
    let loaded = load_model(path)?;
    Ok(Some(LoadedOnline { loaded, parts }))
}

fn entry_tensors(entries: &StoredEntries) -> Vec<Tensor<'_>> {
    let events = &entries.events;
    let floats = |of: fn(&PairEvent) -> f32| events.iter().map(of).collect::<Vec<f32>>();
    let times: Vec<i64> = events.iter().map(|event| event.time).collect();
    vec![
        Tensor::list("online_offsets", &entries.offsets[..]),
        Tensor::list("online_items", &entries.items[..]),
        Tensor::list("online_values", floats(|event| event.value)),
        Tensor::list("online_event_weights", floats(|event| event.weight)),
        Tensor::list("online_boosts", floats(|event| event.boost)),
        Tensor::list("online_times", times),
        Tensor::list("online_exposed", bytes_of(&entries.exposed)),
        Tensor::list("online_targets", &entries.targets[..]),
        Tensor::list("online_entry_weights", &entries.weights[..]),
    ]
}

fn entries(opened: &Opened, has_times: bool) -> Result<StoredEntries, Error> {
    let values = opened.list::<f32>("online_values")?;
    let weights = opened.list::<f32>("online_event_weights")?;
    let boosts = opened.list::<f32>("online_boosts")?;
    let times = opened.list::<i64>("online_times")?;
    let count = values.len();
    if [weights.len(), boosts.len(), times.len()] != [count; 3] {
        return Err(opened.corrupt("its entries differ in number"));
    }
    let event = |at: usize| PairEvent {
        value: values[at],
        weight: weights[at],
        time: times[at],
        boost: boosts[at],
    };
    let histories = opened.list::<u8>("online_histories")?;
    let histories: Vec<(u32, u32, PairHistory)> = serde_json::from_slice(&histories)
        .map_err(|error| opened.corrupt(format!("its repeated events: {error}")))?;
    Ok(StoredEntries {
        offsets: opened.list("online_offsets")?.to_vec(),
        items: opened.list("online_items")?.to_vec(),
        events: (0..count).map(event).collect(),
        exposed: flags(&opened.list::<u8>("online_exposed")?),
        targets: opened.list("online_targets")?.to_vec(),
        weights: opened.list("online_entry_weights")?.to_vec(),
        has_times,
        histories,
    })
}

/// The lists of both sides, named after what they are.
fn both<'a, T: Stored>(what: &str, lists: &'a Sides<Vec<T>>) -> [Tensor<'a>; 2] {
    [
        Tensor::list(format!("online_user_{what}"), &lists.users[..]),
        Tensor::list(format!("online_item_{what}"), &lists.items[..]),
    ]
}

fn lists<T: Stored>(opened: &Opened, what: &str) -> Result<Sides<Vec<T>>, Error> {
    let users = opened.list(&format!("online_user_{what}"))?;
    let items = opened.list(&format!("online_item_{what}"))?;
    Ok(Sides {
        users: users.to_vec(),
        items: items.to_vec(),
    })
}

fn bytes_of(flags: &[bool]) -> Vec<u8> {
    flags.iter().map(|&flag| u8::from(flag)).collect()
}

fn flags(bytes: &[u8]) -> Vec<bool> {
    bytes.iter().map(|&byte| byte != 0).collect()
}
