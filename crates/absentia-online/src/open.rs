//! From files to a model that learns from events, and back.

use std::path::{Path, PathBuf};

use absentia::error::Axis;
use absentia::online::{Online, Options, Settings, WeightMode};
use absentia_io::model::{self, Ids, LoadedModel};
use absentia_job::{Job, Listener};

use crate::error::LearnError;
use crate::learner::Learner;
use crate::log::LogError;
use crate::record::Record;

/// What a model learns from events with.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// The files that the model was trained on; those that its configuration names if empty.
    pub train: Vec<String>,
    /// Whether weights on missing entries follow the counts.
    pub weights: WeightMode,
    /// How events are learned.
    pub settings: Settings,
}

/// Opens a model: one that has learned from events goes on where it was saved; any other needs the rows
/// that it was trained on, which are read and prepared as they were for training.
///
/// # Errors
/// Files that cannot be read, training rows that are not those of the model.
pub fn open(
    path: &Path,
    opening: &Opening,
    listener: &dyn Listener,
) -> Result<Learner, LearnError> {
    if let Some(stored) = model::load_online(path)? {
        let LoadedModel {
            model, ids, config, ..
        } = stored.loaded;
        let scheme = match stored.parts.mode {
            WeightMode::Frozen => None,
            WeightMode::Live => Some(job_of(config.as_deref())?.scheme(&ids)?),
        };
        let online = Online::restore(&model, scheme, stored.parts)?;
        let mut learner = Learner::new(online, ids);
        learner.config = config;
        return Ok(learner);
    }
    let LoadedModel {
        model, ids, config, ..
    } = model::load_model(path)?;
    let mut job = job_of(config.as_deref())?;
    if !opening.train.is_empty() {
        job.data.clone_from(&opening.train);
    }
    let data = job.read(listener)?;
    check_ids(&ids, &data.ids)?;
    let options = Options {
        scheme: match opening.weights {
            WeightMode::Frozen => None,
            WeightMode::Live => Some(job.scheme(&ids)?),
        },
        weights: opening.weights,
        duplicates: data.duplicates,
        settings: opening.settings,
    };
    let online = Online::new(&model, &data.data, options)?;
    let mut learner = Learner::new(online, ids);
    learner.config = config;
    Ok(learner)
}

impl Learner {
    /// Writes the whole state: a model file from which [`open`] goes on with the same bits.
    ///
    /// # Errors
    /// A file that cannot be written; the old one is then as it was.
    pub fn save(&self, path: &Path) -> Result<(), LearnError> {
        let model = self.online().to_model()?;
        let parts = self.online().parts();
        model::save_online(path, &model, self.ids(), self.config.as_deref(), &parts)?;
        Ok(())
    }

    /// Applies the records of a log that come after the present state, and yields their number.
    ///
    /// # Errors
    /// Records that do not follow the state, or that are rejected.
    pub fn replay(&mut self, path: &Path, records: &[(u64, Record)]) -> Result<u64, LearnError> {
        let mut applied = 0;
        for (at, (seq, record)) in records.iter().enumerate() {
            let before = self.sequence();
            if *seq <= before {
                continue;
            }
            let reached = self.apply(record)?.sequence;
            if reached != *seq {
                // The header is the first line.
                let error = LogError::Gap {
                    path: PathBuf::from(path),
                    line: at as u64 + 2,
                    found: *seq,
                    sequence: before,
                };
                return Err(LearnError::Log(error));
            }
            applied += 1;
        }
        Ok(applied)
    }
}

/// The job of a stored configuration; keys of commands that are none of a job's are passed over.
fn job_of(config: Option<&str>) -> Result<Job, LearnError> {
    let Some(text) = config else {
        let what = "configuration that says how its rows were prepared: it was imported";
        return Err(LearnError::NoConfiguration { what });
    };
    let table: toml::Table = text.parse().map_err(LearnError::Configuration)?;
    let (mut job, keys) = (Job::default(), Job::keys());
    for (key, value) in table.iter().filter(|(key, _)| keys.contains(key)) {
        job.set(key, value)?;
    }
    Ok(job)
}

fn check_ids(model: &Ids, data: &Ids) -> Result<(), LearnError> {
    if model.users != data.users {
        return Err(LearnError::OtherIds { axis: Axis::User });
    }
    if model.items != data.items {
        return Err(LearnError::OtherIds { axis: Axis::Item });
    }
    Ok(())
}
