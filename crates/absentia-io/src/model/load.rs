//! Reads models and checkpoints.

use std::path::Path;

use absentia::fit::{Best, Checkpoint};
use absentia::model::{ModelError, ModelParts};
use absentia::ranking::UserItems;
use absentia::{Axis, Model, Sides};

use super::error::ModelFileError;
use super::ids::Ids;
use super::opened::Opened;
use super::save::{FINGERPRINT, RECENT_COUNTS};
use super::{Kind, history, ids, neighbours, related, seen, weights};
use crate::error::Error;

/// A model with what was stored beside it.
#[derive(Clone, Debug)]
pub struct LoadedModel {
    /// The model; for a checkpoint, as it was after its last sweep.
    pub model: Model,
    /// The ids of its rows.
    pub ids: Ids,
    /// The configuration it was saved with.
    pub config: Option<String>,
    /// What its users have seen, if the file has it.
    pub seen: Option<UserItems>,
    /// What the run remembered, if the file is a checkpoint.
    pub checkpoint_state: Option<CheckpointState>,
}

/// What a checkpoint holds beside the model.
#[derive(Clone, Debug)]
pub struct CheckpointState {
    /// The best factors so far, when a validation metric chooses.
    pub best: Option<Best>,
    /// What the run is made on, as it was given.
    pub fingerprint: Option<String>,
}

/// The state of a run, with what was stored beside it.
#[derive(Clone, Debug)]
pub struct LoadedCheckpoint {
    /// The state.
    pub checkpoint: Checkpoint,
    /// The ids of its rows.
    pub ids: Ids,
    /// The configuration it was saved with.
    pub config: Option<String>,
    /// What the run is made on, as it was given.
    pub fingerprint: Option<String>,
}

/// Reads a model or a checkpoint.
///
/// `path` is a file, or a folder of a model whose factors are in several files.
/// The whole file is checked against its checksum first. Factors stay in the file, which is mapped
/// into memory: replacing it (as this crate does) is fine while the model lives, writing into it
/// or truncating it is not.
///
/// # Errors
/// The file cannot be read, is not a model, is damaged, or was written by a later version.
pub fn load_model(path: &Path) -> Result<LoadedModel, Error> {
    let opened = Opened::open(path)?;
    let (related, related_ids) = match related::load(&opened)? {
        Some((related, ids)) => (Some(related), ids),
        None => (None, Vec::new()),
    };
    let parts = ModelParts {
        related,
        user_factors: opened.factors_of(Axis::User)?,
        item_factors: opened.factors_of(Axis::Item)?,
        weights: weights::load(&opened)?,
        transform: opened.json("transform")?,
        user_counts: opened.list("user_counts")?.to_vec(),
        item_counts: opened.list("item_counts")?.to_vec(),
        recent_counts: match opened.find::<f32>(RECENT_COUNTS)? {
            Some(_) => Some(opened.list(RECENT_COUNTS)?.to_vec()),
            None => None,
        },
        params: opened.json("params")?,
        history: history::load(&opened)?,
        neighbours: neighbours::load(&opened)?,
    };
    let model = Model::from_parts(parts).map_err(|source| unfit(&opened, source))?;
    let ids = Ids {
        related: related_ids,
        users: ids::load(&opened, Axis::User, model.n_users())?,
        items: ids::load(&opened, Axis::Item, model.n_items())?,
    };
    Ok(LoadedModel {
        checkpoint_state: checkpoint_state(&opened, &model)?,
        config: opened.header.text("config").map(str::to_owned),
        seen: seen::load(&opened, &model)?,
        model,
        ids,
    })
}

/// Reads a checkpoint.
///
/// # Errors
/// As [`load_model`], and for a file that is a finished model.
pub fn load_checkpoint(path: &Path) -> Result<LoadedCheckpoint, Error> {
    let loaded = load_model(path)?;
    let Some(state) = loaded.checkpoint_state else {
        return Err(ModelFileError::NotACheckpoint {
            path: path.to_owned(),
        }
        .into());
    };
    Ok(LoadedCheckpoint {
        checkpoint: Checkpoint {
            model: loaded.model,
            best: state.best,
        },
        ids: loaded.ids,
        config: loaded.config,
        fingerprint: state.fingerprint,
    })
}

fn checkpoint_state(opened: &Opened, model: &Model) -> Result<Option<CheckpointState>, Error> {
    match Kind::of(&opened.header, &opened.path)? {
        Kind::Model => Ok(None),
        Kind::Checkpoint => Ok(Some(CheckpointState {
            best: best(opened, model)?,
            fingerprint: opened.header.text(FINGERPRINT).map(str::to_owned),
        })),
    }
}

fn best(opened: &Opened, model: &Model) -> Result<Option<Best>, Error> {
    let Some((numbers, _)) = opened.find::<f64>(history::BEST)? else {
        return Ok(None);
    };
    let Some((iteration, score)) = history::best(&numbers) else {
        return Err(opened.corrupt("its best score has no iteration"));
    };
    let best = Best {
        iteration,
        score,
        users: opened.factors("best_user_factors")?,
        items: opened.factors("best_item_factors")?,
    };
    // Factors of all types of a side, of the same shape and finite: the same checks as for a model's.
    let factors = Sides {
        users: best.users.clone(),
        items: best.items.clone(),
    };
    let fits = model.with_stacked_factors(&factors);
    fits.map_err(|source| unfit(opened, source))?;
    Ok(Some(best))
}

fn unfit(opened: &Opened, source: ModelError) -> Error {
    ModelFileError::Parts {
        path: opened.path.clone(),
        source,
    }
    .into()
}
