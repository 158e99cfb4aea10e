//! The log of a search: a line that says what is searched, then one line per trial.

use std::fmt::Display;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use absentia::Fault;
use absentia::data::Pick;
use absentia_io::{AtomicFile, Error as FileError};
use serde::{Deserialize, Serialize};

use crate::space::Scope;
use crate::staged::StagedSearch;
use crate::trial::Trial;

/// Version of the search: trials of one version cannot be continued by another.
const VERSION: u32 = 4;

/// The data of a search and how rows were held out of it.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchedData {
    /// A text that is another one for other rows, values, times or held-out rows.
    pub fingerprint: String,
    /// Number of users.
    pub users: usize,
    /// Number of items.
    pub items: usize,
    /// Number of interactions, held-out ones included.
    pub interactions: usize,
    /// Number of held-out rows of the first fold.
    pub held_out: usize,
    /// Number of folds.
    pub folds: usize,
    /// The rule that rows were held out by, as it was given.
    pub rule: String,
    /// Which rows of a user were held out, where it was given.
    pub pick: Option<Pick>,
    /// Power of item counts that held-out rows were thinned by.
    pub tilt: f64,
}

/// What must agree between the log and a search that continues it. A time budget may be another one; whether the number
/// of trials may be is decided by the trials (`staged/log_check.rs`).
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct LogHeader {
    tune: u32,
    metric: String,
    #[serde(rename = "search")]
    scope: Scope,
    /// Whether it is a search, or trials of the first rung alone for a study.
    #[serde(default)]
    first_rung_only: bool,
    max_factors: usize,
    #[serde(default)]
    may_shrink: bool,
    #[serde(default)]
    among_new: bool,
    seed: u64,
    users: usize,
    items: usize,
    interactions: usize,
    held_out: usize,
    splits: usize,
    split: String,
    pick: Option<Pick>,
    tilt: f64,
    /// Compared last, so that more telling differences are named first.
    #[serde(default)]
    data: String,
}

impl LogHeader {
    /// The header of a search on some data.
    #[must_use]
    pub fn new(search: &StagedSearch<'_>, data: &SearchedData) -> Self {
        let options = search.options();
        Self {
            tune: VERSION,
            metric: options.metric.to_string(),
            scope: options.scope,
            first_rung_only: options.first_rung_only,
            max_factors: options.max_factors,
            may_shrink: options.may_shrink,
            among_new: options.among_new,
            seed: options.seed,
            users: data.users,
            items: data.items,
            interactions: data.interactions,
            held_out: data.held_out,
            splits: data.folds,
            split: data.rule.clone(),
            pick: data.pick,
            tilt: data.tilt,
            data: data.fingerprint.clone(),
        }
    }

    /// The first thing that is not as it was in the log.
    fn difference(&self, then: &Self) -> Option<String> {
        let differs = |what: &str, then: &dyn Display, now: &dyn Display| {
            let (then, now) = (then.to_string(), now.to_string());
            (then != now).then(|| format!("it has {what} {then}, this search has {now}"))
        };
        let pick = |header: &Self| match header.pick {
            Some(pick) => pick.to_string(),
            None => "by default".to_owned(),
        };
        differs("version", &then.tune, &self.tune)
            .or_else(|| differs("metric", &then.metric, &self.metric))
            .or_else(|| differs("search", &then.scope.name(), &self.scope.name()))
            .or_else(|| differs("study:", &then.first_rung_only, &self.first_rung_only))
            .or_else(|| differs("max-factors", &then.max_factors, &self.max_factors))
            .or_else(|| differs("fewer factors allowed:", &then.may_shrink, &self.may_shrink))
            .or_else(|| differs("new items alone:", &then.among_new, &self.among_new))
            .or_else(|| differs("seed", &then.seed, &self.seed))
            .or_else(|| differs("split", &then.split, &self.split))
            .or_else(|| differs("splits", &then.splits, &self.splits))
            .or_else(|| differs("pick", &pick(then), &pick(self)))
            .or_else(|| differs("tilt", &then.tilt, &self.tilt))
            .or_else(|| differs("users:", &then.users, &self.users))
            .or_else(|| differs("items:", &then.items, &self.items))
            .or_else(|| differs("interactions:", &then.interactions, &self.interactions))
            .or_else(|| differs("held-out rows:", &then.held_out, &self.held_out))
            .or_else(|| {
                let what = "its pairs, values, times or held-out rows are not those of this search";
                (then.data != self.data).then(|| what.to_owned())
            })
    }
}

/// Why a log could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A line is not part of a log.
    #[error("{}:{line}: this is not the log of a search", path.display())]
    NotALog {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// The log is of another search.
    #[error("{}: the log is of another search: {what}", path.display())]
    OtherSearch {
        /// The file.
        path: PathBuf,
        /// What differs first.
        what: String,
    },
}

impl LogError {
    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            LogError::File(error) => error.fault(),
            LogError::NotALog { .. } | LogError::OtherSearch { .. } => Fault::Caller,
        }
    }
}

/// A log that is being written.
#[derive(Debug)]
pub struct TrialLog {
    path: PathBuf,
    file: File,
}

impl TrialLog {
    /// Reads the trials of a log, none if it does not exist; a last line that was cut short is left out.
    ///
    /// # Errors
    /// The file cannot be read, is not a log, or is the log of another search.
    pub fn read(path: &Path, expected: &LogHeader) -> Result<Vec<Trial>, LogError> {
        if !path.exists() {
            return Ok(Vec::new());
        }
        let text = std::fs::read_to_string(path).map_err(|source| file_error(path, source))?;
        let not_a_log = |line| LogError::NotALog {
            path: path.to_owned(),
            line,
        };
        let mut lines = text.lines().enumerate().peekable();
        let Some((_, first)) = lines.next() else {
            return Ok(Vec::new());
        };
        let header: LogHeader = serde_json::from_str(first).map_err(|_| not_a_log(1))?;
        if let Some(what) = expected.difference(&header) {
            let path = path.to_owned();
            return Err(LogError::OtherSearch { path, what });
        }
        let mut trials = Vec::new();
        while let Some((at, line)) = lines.next() {
            match serde_json::from_str(line) {
                Ok(trial) => trials.push(trial),
                Err(_) if lines.peek().is_none() && !text.ends_with('\n') => {}
                Err(_) => return Err(not_a_log(at + 1)),
            }
        }
        Ok(trials)
    }

    /// Starts a log with known trials.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(path: &Path, header: &LogHeader, known: &[Trial]) -> Result<Self, LogError> {
        let mut text = line(path, header)?;
        for trial in known {
            text.push_str(&line(path, trial)?);
        }
        AtomicFile::write_whole(path, text.as_bytes())?;
        let file = File::options().append(true).open(path);
        Ok(Self {
            path: path.to_owned(),
            file: file.map_err(|source| file_error(path, source))?,
        })
    }

    /// Adds a trial.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, trial: &Trial) -> Result<(), LogError> {
        let line = line(&self.path, trial)?;
        let written = self.file.write_all(line.as_bytes());
        Ok(written.map_err(|source| file_error(&self.path, source))?)
    }

    /// The name that the log of an earlier search gets.
    #[must_use]
    pub fn old_path(path: &Path) -> PathBuf {
        let mut aside = path.as_os_str().to_owned();
        aside.push(".old");
        aside.into()
    }

    /// Renames the log of an earlier search, so that a new search does not replace it; yields the new
    /// name, or nothing if there is no such log.
    ///
    /// # Errors
    /// The file cannot be renamed.
    pub fn set_aside(path: &Path) -> Result<Option<PathBuf>, LogError> {
        if !path.is_file() {
            return Ok(None);
        }
        let aside = Self::old_path(path);
        std::fs::rename(path, &aside).map_err(|source| file_error(&aside, source))?;
        Ok(Some(aside))
    }
}

/// One line of JSON.
fn line(path: &Path, value: &impl Serialize) -> Result<String, LogError> {
    let text = serde_json::to_string(value);
    let text = text.map_err(|error| file_error(path, error.into()))?;
    Ok(text + "\n")
}

fn file_error(path: &Path, source: std::io::Error) -> FileError {
    FileError::Io {
        path: path.to_owned(),
        source,
    }
}
