//! Configuration files: keys with their values, and the lines they are written on.
//!
//! Keys at the top hold for every command; a table named after a command holds for that command only.

use std::path::{Path, PathBuf};

use absentia::ParamsError;
use absentia_io::time::TimeUnit;
use serde::Deserialize as _;
use toml::Spanned;
use toml::Value;
use toml::de::{DeString, DeTable, DeValue, ValueDeserializer};

use crate::error::JobError;
use crate::job::Job;
use crate::keys::{Keys, key_of_parameter};

/// The table of a configuration that holds for training.
const TRAIN: &str = "train";

/// Keys that name what a run writes; they are not part of the job.
const OF_OUTPUT: [&str; 4] = ["model", "checkpoint", "checkpoint-every", "report"];

/// A key with its value and its line.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The table that the key is in; none at the top.
    pub table: Option<String>,
    /// The key.
    pub key: String,
    /// The value.
    pub value: Value,
    /// The line, from 1.
    pub line: usize,
}

/// A configuration file.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigFile {
    /// Its path.
    pub path: PathBuf,
    /// Its entries: those at the top first, then table by table.
    pub entries: Vec<Entry>,
}

impl ConfigFile {
    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read or is not TOML.
    pub fn read(path: &Path) -> Result<Self, JobError> {
        let text = absentia_io::read_text(path)?;
        Self::parse(path, &text)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, JobError> {
        let line_of = |at: usize| 1 + text[..at].matches('\n').count();
        let syntax = |error: &toml::de::Error, at: usize| {
            let line = error.span().map_or(at, |span| line_of(span.start));
            let reason = Box::new(JobError::Syntax(error.message().to_owned()));
            JobError::Configuration {
                path: path.to_owned(),
                line,
                reason,
            }
        };
        let entry =
            |table: Option<&str>, key: &Spanned<DeString<'_>>, value: &Spanned<DeValue<'_>>| {
                let line = line_of(key.span().start);
                let value = Value::deserialize(ValueDeserializer::from(value.clone()));
                Ok::<_, JobError>(Entry {
                    table: table.map(str::to_owned),
                    key: key.get_ref().to_string(),
                    value: value.map_err(|error| syntax(&error, line))?,
                    line,
                })
            };
        let document = DeTable::parse(text).map_err(|error| syntax(&error, 1))?;
        let (mut top, mut tables) = (Vec::new(), Vec::new());
        for (key, value) in document.get_ref() {
            if let DeValue::Table(table) = value.get_ref() {
                for (own, value) in table {
                    tables.push(entry(Some(key.get_ref()), own, value)?);
                }
            } else {
                top.push(entry(None, key, value)?);
            }
        }
        top.extend(tables);
        Ok(Self {
            path: path.to_owned(),
            entries: top,
        })
    }

    /// The job that the file describes.
    ///
    /// # Errors
    /// Names the line of a key that no job has, or of a value that cannot be read or is out of range.
    pub fn job(&self) -> Result<Job, JobError> {
        let mut job = Job::default();
        for entry in &self.entries {
            let is_other = entry.table.as_ref().is_some_and(|table| table != TRAIN);
            if is_other || OF_OUTPUT.contains(&entry.key.as_str()) {
                continue;
            }
            self.set(entry, &mut job)?;
        }
        let job = job.with_preset()?;
        match job.params(TimeUnit::default()).check() {
            Err(error) => Err(self.located(error)),
            Ok(_) => Ok(job),
        }
    }

    /// An error about a parameter with the line that gives it, if the file does.
    fn located(&self, error: ParamsError) -> JobError {
        let key = key_of_parameter(error.name());
        let reason = JobError::Params(error);
        match self.entries.iter().rev().find(|entry| entry.key == key) {
            Some(entry) => JobError::Configuration {
                path: self.path.clone(),
                line: entry.line,
                reason: Box::new(reason),
            },
            None => reason,
        }
    }

    /// What the file says about a result of training: model, checkpoint, checkpoint-every or report.
    #[must_use]
    pub fn output(&self, key: &str) -> Option<&Value> {
        let of_train = |entry: &&Entry| entry.table.as_ref().is_none_or(|table| table == TRAIN);
        let mut entries = self.entries.iter().rev().filter(of_train);
        entries
            .find(|entry| entry.key == key)
            .map(|entry| &entry.value)
    }

    /// Sets a key of a group to the value of an entry.
    ///
    /// # Errors
    /// Names the line of a key that the group does not have, or of a value that cannot be read.
    pub fn set(&self, entry: &Entry, group: &mut dyn Keys) -> Result<(), JobError> {
        let set = group.set_key(&entry.key, &entry.value);
        set.map_err(|reason| JobError::Configuration {
            path: self.path.clone(),
            line: entry.line,
            reason: Box::new(reason),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(text: &str) -> Result<Job, JobError> {
        ConfigFile::parse(Path::new("run.toml"), text)?.job()
    }

    #[test]
    fn tables_hold_for_their_command_only() {
        let text = "factors = 4\nmodel = 'm'\n[train]\nfactors = 8\n[evaluate]\nat = [5]\n";
        let job = job(text).expect("a job");
        assert_eq!(job.settings.factors, Some(8));
    }

    #[test]
    fn errors_have_the_file_and_the_line() {
        for (text, expected) in [
            ("seed = 1\nfactor = 8", "run.toml:2: unknown key \"factor\""),
            (
                "factors = 'many'",
                "run.toml:1: factors = \"many\": expected a whole number",
            ),
            (
                "\n\nconfidence = 'decay:30'",
                "run.toml:3: confidence = \"decay:30\": expected a time",
            ),
            (
                "targets = 'rough'",
                "run.toml:1: targets = \"rough\": expected raw",
            ),
            (
                "[train]\nheader = 1",
                "run.toml:2: header = 1: expected true or false",
            ),
            (
                "seed = 1\n[train]\nfactors = 0",
                "run.toml:3: factors is 0; it must be",
            ),
            (
                "solver = 'als-cg'\ncg-steps = 0",
                "run.toml:2: steps is 0; it must be",
            ),
            ("seed = 1\ndata = [", "run.toml:"),
        ] {
            let error = job(text).expect_err("wrong").to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
