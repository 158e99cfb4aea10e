//! Model files as the commands use them.

use std::io::Write as _;
use std::path::Path;

use absentia::fit::Checkpoint;
use absentia::weights::SchemeSpec;
use absentia::{Model, Params};
use absentia_io::model::{self, Ids};
use absentia_io::{AtomicFile, IdMap, expand, limits};
use absentia_search::Automatic;
use anyhow::{Context as _, Result};

use crate::failure::Refusal;
use crate::wording::changes;

/// A model with its ids and the configuration it was trained by.
pub(crate) struct Stored {
    pub(crate) model: Model,
    pub(crate) users: IdMap,
    pub(crate) items: IdMap,
}

impl Stored {
    /// The model and its ids as they are stored.
    pub(crate) fn into_parts(self) -> (Model, Ids) {
        let (users, items) = (self.users, self.items);
        (self.model, Ids { users, items })
    }

    /// Lends the ids to a reader, which gives them back in what it read.
    pub(crate) fn take_ids(&mut self) -> (IdMap, IdMap) {
        (
            std::mem::take(&mut self.users),
            std::mem::take(&mut self.items),
        )
    }
}

/// Reads a model.
pub(crate) fn load(path: &Path) -> Result<Stored> {
    let loaded = model::load_model(path)?;
    Ok(Stored {
        model: loaded.model,
        users: loaded.ids.users,
        items: loaded.ids.items,
    })
}

/// Writes a model; the old file stays as it was unless everything is written.
pub(crate) fn save(path: &Path, model: &Model, ids: &Ids, config: &toml::Table) -> Result<()> {
    let config = toml::to_string(config)?;
    Ok(model::save_model(path, model, ids, Some(&config))?)
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
    config: &toml::Table,
) -> Result<()> {
    let config = toml::to_string(config)?;
    let saved = model::save_checkpoint(path, checkpoint, ids, Some(&config));
    saved.context("the checkpoint could not be written")
}

/// Reads the state of a run to go on with, if there is one yet, and takes from it what is open;
/// refuses that of other data or of other parameters.
pub(crate) fn resume(
    path: &Path,
    own: &Ids,
    params: &mut Params,
    weights: &mut SchemeSpec,
    open: Automatic,
) -> Result<Option<Checkpoint>> {
    if !path.exists() {
        return Ok(None);
    }
    let (checkpoint, ids, config) = model::load_checkpoint(path)?;
    if same_ids(&ids.users, &own.users) && same_ids(&ids.items, &own.items) {
        let then = checkpoint.model.params();
        if open.regularization {
            params.regularization = then.regularization;
        }
        if open.post_scale {
            params.post_scale = then.post_scale;
        }
        let stored = config.as_deref().and_then(weights_of);
        if open.recipe {
            params.targets = then.targets;
            *weights = stored.clone().unwrap_or_else(|| weights.clone());
        }
        check_params(path, &checkpoint.model, params)?;
        // Those of files may stand elsewhere now; what they come to is compared when the run goes on.
        if let Some(then) = stored.filter(|then| then.scheme().is_some() && then != weights) {
            return Err(
                cannot_go_on(path, "weights", &then.to_string(), &weights.to_string()).into(),
            );
        }
        return Ok(Some(checkpoint));
    }
    let refusal = Refusal::data(format!(
        "{}: the checkpoint is of other data: its users and items are not those of this run",
        path.display()
    ));
    Err(refusal
        .hint("resume with the files the run was started on, or leave out --resume")
        .into())
}

/// The weights on missing entries that a stored configuration names.
fn weights_of(config: &str) -> Option<SchemeSpec> {
    let table: toml::Table = config.parse().ok()?;
    table
        .get("weights")?
        .as_array()?
        .first()?
        .as_str()?
        .parse()
        .ok()
}

/// Refuses parameters under which a run would not go on as it began, and names the first.
fn check_params(path: &Path, then: &Model, params: &Params) -> Result<(), Refusal> {
    let now = then.parts().transform.now;
    match changes(then.params(), params, now).first() {
        Some([name, then, own]) => Err(cannot_go_on(path, name, then, own)),
        None => Ok(()),
    }
}

fn cannot_go_on(path: &Path, name: &str, then: &str, own: &str) -> Refusal {
    let refusal = Refusal::data(format!(
        "{}: the checkpoint cannot go on with these settings: it was started with --{name} {then}, \
         this run has --{name} {own}",
        path.display()
    ));
    refusal.hint(format!(
        "pass --{name} {then}, or start afresh without --resume"
    ))
}

/// Whether two maps give the same rows to the same ids.
pub(crate) fn same_ids(left: &IdMap, right: &IdMap) -> bool {
    left.len() == right.len() && left.iter().zip(right.iter()).all(|(l, r)| l == r)
}

/// Finds out before a long run that its result can be written, and not over what it reads.
pub(crate) fn check_writable(path: &Path, inputs: &[String]) -> Result<()> {
    let same = |input: &Path| matches!((path.canonicalize(), input.canonicalize()), (Ok(a), Ok(b)) if a == b);
    // What is wrong with names of inputs is said when they are read.
    let inputs = expand(inputs).unwrap_or_default();
    if inputs.iter().any(|input| same(input)) {
        let message = format!(
            "{} is read: it would be replaced by the result",
            path.display()
        );
        return Err(Refusal::usage(message)
            .hint("name another file to write to")
            .into());
    }
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
    let mut file = AtomicFile::create(path)?;
    let written = file.write_all(text.as_bytes());
    written.with_context(|| path.display().to_string())?;
    Ok(file.commit()?)
}

/// Bytes that the machine or the container still has.
pub(crate) fn available_memory() -> Option<u64> {
    limits::memory_available()
}
