//! Model files as the commands use them.

use std::path::Path;

use absentia::Model;
use absentia::fit::Checkpoint;
use absentia::ranking::UserItems;
use absentia_io::model::{self, Ids};
use absentia_io::{AtomicFile, IdMap};
use absentia_job::{Fingerprint, KnownRows, Listener as _};
use anyhow::{Context as _, Result};

use crate::ui::Ui;

/// A model with its ids and the configuration it was trained by.
pub(crate) struct Stored {
    pub(crate) model: Model,
    pub(crate) users: IdMap,
    pub(crate) items: IdMap,
    /// Ids of the types that relations add.
    pub(crate) related: Vec<IdMap>,
    /// What users have seen, if the file has it.
    pub(crate) seen: Option<UserItems>,
}

impl Stored {
    /// The model and its ids as they are stored.
    pub(crate) fn into_parts(self) -> (Model, Ids) {
        let ids = Ids {
            users: self.users,
            items: self.items,
            related: self.related,
        };
        (self.model, ids)
    }

    /// The model with the ids of its rows.
    pub(crate) fn known(&self) -> KnownRows<'_> {
        KnownRows {
            model: &self.model,
            users: &self.users,
            items: &self.items,
            related: &self.related,
        }
    }

    /// The ids of a type.
    pub(crate) fn ids_of(&self, entity: usize) -> &IdMap {
        self.known().ids(entity)
    }

    /// Lends the ids to a reader, which gives them back in what it read.
    pub(crate) fn take_ids(&mut self) -> (IdMap, IdMap) {
        (
            std::mem::take(&mut self.users),
            std::mem::take(&mut self.items),
        )
    }
}

/// Reads a model, which stays in memory.
pub(crate) fn load(path: &Path, ui: &Ui) -> Result<Stored> {
    // What is wrong with the file is found when it is read.
    if let Ok(stage) = model::loading(path) {
        let bytes = stage.total();
        ui.enter(stage)?;
        ui.memory().keep(bytes);
    }
    let loaded = model::load_model(path)?;
    Ok(Stored {
        model: loaded.model,
        users: loaded.ids.users,
        items: loaded.ids.items,
        related: loaded.ids.related,
        seen: loaded.seen,
    })
}

/// Writes a model, with what users have seen if that is given; the old file stays as it was unless
/// everything is written.
pub(crate) fn save(
    path: &Path,
    model: &Model,
    ids: &Ids,
    config: &toml::Table,
    seen: Option<&UserItems>,
) -> Result<()> {
    let config = toml::to_string(config)?;
    let saved = match seen {
        Some(seen) => model::save_model_and_seen(path, model, ids, Some(&config), seen),
        None => model::save_model(path, model, ids, Some(&config)),
    };
    Ok(saved?)
}

/// Writes a model that was trained elsewhere, so that there is no configuration.
pub(crate) fn save_imported(path: &Path, model: &Model, ids: &Ids) -> Result<()> {
    Ok(model::save_model(path, model, ids, None)?)
}

/// Writes the state of a run.
pub(crate) fn save_checkpoint(
    path: &Path,
    checkpoint: &Checkpoint,
    ids: &Ids,
    (config, fingerprint): (&toml::Table, &Fingerprint),
) -> Result<()> {
    let config = toml::to_string(config)?;
    let fingerprint = serde_json::to_string(fingerprint)?;
    let (config, fingerprint) = (Some(&config[..]), Some(&fingerprint[..]));
    let saved = model::save_checkpoint(path, checkpoint, ids, config, fingerprint);
    saved.context("the checkpoint could not be written")
}

/// Checks before a long run that its result can be written.
pub(crate) fn check_writable(path: &Path) -> Result<()> {
    let exists = path.metadata();
    if exists.is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        // A pipe must not be opened twice.
        return Ok(());
    }
    AtomicFile::create(path).map(drop)?;
    Ok(())
}

/// Writes a text file all at once.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<()> {
    Ok(AtomicFile::write_whole(path, text.as_bytes())?)
}
