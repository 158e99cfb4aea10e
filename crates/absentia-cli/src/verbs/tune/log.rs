//! The log of a search: a line that says what is searched, then one line a trial.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use absentia::data::Pick;
use absentia_search::{Scope, StagedSearch, Trial};
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::HeldOutArgs;
use super::folds::Folds;
use crate::failure::Refusal;
use crate::store;

/// Of the search, as far as trials of one version cannot be gone on from by another.
const VERSION: u32 = 2;

/// What makes two searches the same; the budget may grow between them.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    tune: u32,
    metric: String,
    search: Scope,
    max_factors: usize,
    #[serde(default)]
    may_shrink: bool,
    seed: u64,
    users: usize,
    items: usize,
    interactions: usize,
    held_out: usize,
    splits: usize,
    split: String,
    pick: Option<Pick>,
    tilt: f64,
}

impl Header {
    pub(super) fn new(tuner: &StagedSearch<'_>, folds: &Folds, held_out: &HeldOutArgs) -> Self {
        let options = tuner.options();
        Self {
            tune: VERSION,
            metric: options.metric.to_string(),
            search: options.scope,
            max_factors: options.max_factors,
            may_shrink: options.may_shrink,
            seed: options.seed,
            users: folds.all.n_users(),
            items: folds.all.n_items(),
            interactions: folds.all.n_interactions(),
            held_out: folds.held_out,
            splits: folds.splits,
            split: held_out.split.to_string(),
            pick: held_out.pick,
            tilt: held_out.tilt,
        }
    }
}

/// A log that is being written.
pub(super) struct TrialLog {
    path: PathBuf,
    file: File,
}

impl TrialLog {
    /// The trials of a log, if there is one yet; a last line that was cut short is left out.
    pub(super) fn read(path: &Path, own: &Header) -> Result<Vec<Trial>> {
        if !path.exists() {
            return Ok(Vec::new());
        }
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let mut lines = text.lines().enumerate().peekable();
        let Some((_, first)) = lines.next() else {
            return Ok(Vec::new());
        };
        let header: Header = serde_json::from_str(first).map_err(|_| not_a_log(path, 1))?;
        if header != *own {
            let refusal = Refusal::data(format!(
                "{}: the log is of another search: other data, metric, split, seed, factors or version",
                path.display()
            ));
            return Err(refusal
                .hint("leave out --resume, or log to another file with --log")
                .into());
        }
        let mut trials = Vec::new();
        while let Some((at, line)) = lines.next() {
            match serde_json::from_str(line) {
                Ok(trial) => trials.push(trial),
                Err(_) if lines.peek().is_none() && !text.ends_with('\n') => {}
                Err(_) => return Err(not_a_log(path, at + 1).into()),
            }
        }
        Ok(trials)
    }

    /// Starts a log with the trials that are known.
    pub(super) fn create(path: &Path, header: &Header, known: &[Trial]) -> Result<Self> {
        let mut text = serde_json::to_string(header)? + "\n";
        for trial in known {
            text.push_str(&serde_json::to_string(trial)?);
            text.push('\n');
        }
        store::write_text(path, &text)?;
        let file = File::options().append(true).open(path);
        Ok(Self {
            path: path.to_owned(),
            file: file.with_context(|| path.display().to_string())?,
        })
    }

    /// Adds a trial.
    pub(super) fn add(&mut self, trial: Option<&Trial>) -> Result<()> {
        let Some(trial) = trial else {
            return Ok(());
        };
        let line = serde_json::to_string(trial)? + "\n";
        let written = self.file.write_all(line.as_bytes());
        written.with_context(|| self.path.display().to_string())
    }
}

fn not_a_log(path: &Path, line: usize) -> Refusal {
    let refusal = Refusal::data(format!(
        "{}:{line}: this is no log of a search",
        path.display()
    ));
    refusal.hint("leave out --resume, or log to another file with --log")
}
