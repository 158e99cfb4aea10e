//! From files to a model that learns from events, and back.

use std::path::{Path, PathBuf};

use absentia::Interactions;
use absentia::data::{Confidence, Duplicates};
use absentia::error::Axis;
use absentia::memory::Stage;
use absentia::model::Model;
use absentia::online::{Online, OnlineError, OnlineParts, Options, Settings, WeightMode};
use absentia::weights::Scheme;
use absentia_io::Error;
use absentia_io::model::{self, Ids, LoadedModel};
use absentia_job::{Job, JobError, Listener};

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
    /// Whether events have weights. The rows of a model whose entries all weigh 1 then have a column of ones, and
    /// weights of repeated events are merged as a column of weights is.
    pub weighted_events: bool,
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
    // What is wrong with the file is found when it is read.
    let loading = model::loading(path).ok();
    let file = loading.as_ref().map_or(0, Stage::total);
    if let Some(stage) = loading {
        listener.enter(stage).map_err(JobError::from)?;
    }
    if let Some(stored) = model::load_online(path)? {
        let LoadedModel {
            model, ids, config, ..
        } = stored.loaded;
        let planned = Online::restored_bytes(&model, &stored.parts);
        let stage = Stage::new("online model")
            .with("file and what is copied of it", file)
            .with("entries, factors and caches", planned);
        listener.enter(stage).map_err(JobError::from)?;
        keep(listener, planned + id_bytes(&ids));
        return restored(&model, ids, config, stored.parts);
    }
    let LoadedModel {
        model, ids, config, ..
    } = model::load_model(path)?;
    let mut job = job_of(config.as_deref())?;
    if !opening.train.is_empty() {
        job.data.clone_from(&opening.train);
    }
    keep(listener, file);
    let read = job.read(listener);
    let data = read.map_err(|error| match error {
        JobError::File(Error::NoMatch { pattern }) if opening.train.is_empty() => {
            LearnError::NoTrainingFile { file: pattern }
        }
        JobError::File(Error::NoFile { path, .. }) if opening.train.is_empty() => {
            let file = path.display().to_string();
            LearnError::NoTrainingFile { file }
        }
        error => error.into(),
    })?;
    check_ids(&ids, &data.ids)?;
    let planned = Online::planned_bytes(&model, &data.data);
    let stage = Stage::new("online model")
        .with(
            "training rows",
            data.data.bytes() + data.input().bytes_beside_data(),
        )
        .with("entries, factors and caches", planned);
    listener.enter(stage).map_err(JobError::from)?;
    if let Some(memory) = listener.memory() {
        // The file and the training rows are given back.
        memory.release(file);
        memory.keep(planned + id_bytes(&ids));
    }
    let weighted = opening.weighted_events && all_weigh_one(&model, &data.data);
    let model = if weighted {
        with_weight_column(&model)?
    } else {
        model
    };
    let trained = Trained {
        model: &model,
        ids,
        config,
        rows: &data.data,
        duplicates: data.duplicates,
    };
    Learner::start(trained, opening.weights, opening.settings)
}

/// Whether the weights of the rows, which are all 1, may as well be a column.
fn all_weigh_one(model: &Model, rows: &Interactions<'_>) -> bool {
    let is_one = |weight: f32| weight.to_bits() == 1.0_f32.to_bits();
    let taken = (0..rows.len()).filter(|&at| !rows.is_exposed(at));
    let weights = rows.by_user().weights();
    matches!(model.params().confidence, Confidence::Constant { weight } if is_one(weight))
        && taken.into_iter().all(|at| is_one(weights.get(at)))
}

/// The same model, whose rows have a column of weights.
fn with_weight_column(model: &Model) -> Result<Model, LearnError> {
    let mut parts = model.parts().clone();
    parts.params = parts.params.confidence(Confidence::Column);
    parts.transform.confidence = Confidence::Column;
    Ok(Model::from_parts(parts).map_err(OnlineError::from)?)
}

fn keep(listener: &dyn Listener, bytes: u64) {
    if let Some(memory) = listener.memory() {
        memory.keep(bytes);
    }
}

fn id_bytes(ids: &Ids) -> u64 {
    ids.users.bytes() + ids.items.bytes()
}

/// A trained model and the rows that it was trained on.
#[derive(Debug)]
pub struct Trained<'a> {
    /// The model.
    pub model: &'a Model,
    /// The ids of its rows.
    pub ids: Ids,
    /// The configuration of its run, which is saved with it.
    pub config: Option<String>,
    /// The raw rows.
    pub rows: &'a Interactions<'a>,
    /// How pairs that occur more than once were merged.
    pub duplicates: Duplicates,
}

/// The whole state of a learner at one moment.
#[derive(Debug)]
pub struct StateCopy {
    model: Model,
    parts: OnlineParts,
    ids: Ids,
    config: Option<String>,
}

impl StateCopy {
    /// The sequence number of the state.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.parts.sequence
    }

    /// Writes the state: a model file from which [`open`] goes on with the same bits.
    ///
    /// # Errors
    /// A file that cannot be written; the old one is then as it was.
    pub fn save(&self, path: &Path) -> Result<(), LearnError> {
        let config = self.config.as_deref();
        model::save_online(path, &self.model, &self.ids, config, &self.parts)?;
        Ok(())
    }

    /// A second learner with this state, which goes on with the same bits.
    ///
    /// # Errors
    /// A stored configuration that does not fit.
    pub fn into_learner(self) -> Result<Learner, LearnError> {
        restored(&self.model, self.ids, self.config, self.parts)
    }
}

fn restored(
    model: &Model,
    ids: Ids,
    config: Option<String>,
    parts: OnlineParts,
) -> Result<Learner, LearnError> {
    let scheme = trained_scheme(config.as_deref(), model)?;
    let online = Online::restore(model, scheme, parts)?;
    let mut learner = Learner::new(online, ids);
    learner.config = config;
    Ok(learner)
}

impl Learner {
    /// Makes a trained model learn from events.
    ///
    /// # Errors
    /// A model that cannot learn, rows that cannot be those that it was trained on.
    pub fn start(
        trained: Trained<'_>,
        weights: WeightMode,
        settings: Settings,
    ) -> Result<Self, LearnError> {
        let Trained {
            model,
            ids,
            config,
            rows,
            duplicates,
        } = trained;
        let options = Options {
            scheme: trained_scheme(config.as_deref(), model)?,
            weights,
            duplicates,
            settings,
        };
        let online =
            Online::new(model, rows, options).map_err(|error| LearnError::by_id(error, &ids))?;
        let mut learner = Self::new(online, ids);
        learner.config = config;
        Ok(learner)
    }

    /// Writes the whole state: a model file from which [`open`] goes on with the same bits.
    ///
    /// # Errors
    /// A file that cannot be written; the old one is then as it was.
    pub fn save(&self, path: &Path) -> Result<(), LearnError> {
        self.copy_state()?.save(path)
    }

    /// Copies the whole state, to be saved while this one goes on.
    ///
    /// # Errors
    /// Weights that cannot be resolved on the present rows.
    pub fn copy_state(&self) -> Result<StateCopy, LearnError> {
        Ok(StateCopy {
            model: self.online().to_model()?,
            parts: self.online().parts(),
            ids: self.ids().clone(),
            config: self.config.clone(),
        })
    }

    /// The configuration of the run that trained the model.
    #[must_use]
    pub fn config(&self) -> Option<&str> {
        self.config.as_deref()
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
            // The header is the first line.
            let (path, line) = (PathBuf::from(path), at as u64 + 2);
            let reached = match self.apply(record) {
                Ok(applied) => applied.sequence,
                Err(error) => {
                    let error = Box::new(error);
                    return Err(LearnError::Replayed { path, line, error });
                }
            };
            if reached != *seq {
                let error = LogError::Gap {
                    path,
                    line,
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

/// The scheme that a model was trained with, by its configuration: a refit resolves it again, and weights that follow
/// the counts need its mean. Terms of files are those of the model's weights: the files lack rows that are added.
/// None without a configuration.
fn trained_scheme(config: Option<&str>, model: &Model) -> Result<Option<Scheme>, LearnError> {
    let Some(config) = config else {
        return Ok(None);
    };
    let spec = job_of(Some(config))?.weights()?;
    let present = model.weights().to_growing_scheme();
    let (expected, got) = (present.terms().len(), spec.terms().len());
    if expected != got {
        return Err(OnlineError::OtherScheme { expected, got }.into());
    }
    let terms = spec.terms().iter().zip(present.terms());
    let terms = terms.map(|(term, present)| {
        let without_files = Scheme::One(term.clone()).scheme();
        without_files.unwrap_or_else(|| Scheme::One(present.clone()))
    });
    Ok(Some(Scheme::sum(terms.collect::<Vec<_>>())))
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
