//! What can go wrong with a job, as values: front ends add the names of their options.

use std::path::PathBuf;

use absentia::data::DataError;
use absentia::error::Axis;
use absentia::evaluate::EvaluateError;
use absentia::fit::FitError;
use absentia::model::ModelError;
use absentia::relations::RelationError;
use absentia::weights::WeightsError;
use absentia::{Fault, ParamsError};
use absentia_io::time::TimeError;
use absentia_search::SearchError;

use crate::keys::KeyError;

/// Why a job cannot be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum JobError {
    /// A value of a configuration that cannot be read.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A key that no job has.
    #[error("unknown key {key:?}")]
    UnknownKey { key: String, similar: Vec<String> },
    /// A configuration that is wrong at some line.
    #[error("{}:{line}: {reason}", path.display())]
    Configuration {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        reason: Box<JobError>,
    },
    /// A configuration that is not TOML.
    #[error("{0}")]
    Syntax(String),
    /// Several weight schemes where a model has one.
    #[error("{count} weight schemes are given; a model has only one")]
    SeveralWeights { count: usize },
    /// More files to start from than two arrays or one model.
    #[error("{count} files of initial factors are given; expected two arrays or one model")]
    SeveralStarts { count: usize },
    /// A model to start from has another number of factors.
    #[error("{} has {factors} factors", path.display())]
    StartFactors { path: PathBuf, factors: usize },
    /// A weight for exposed pairs, and no pairs.
    #[error("a weight of exposed pairs is given, but no exposed pairs")]
    ExposedWeightAlone,
    /// A metric that needs a cut-off.
    #[error("the metric {metric} needs a cut-off, as in {metric}@20")]
    MetricLacksCutoff { metric: String },
    /// A metric to validate by that there is not.
    #[error(transparent)]
    ValidMetric(EvaluateError),
    /// Weights of entries are to come from a column that is not there.
    #[error("the data has no column of weights")]
    NoWeightColumn,
    /// Preparation left no row.
    #[error("no row is left after preparation")]
    NoRowsLeft,
    /// A pair that occurs twice.
    #[error("user {user:?} and item {item:?} occur together more than once")]
    Duplicate { user: String, item: String },
    /// A file of which no user and item is known.
    #[error("{}: none of its users and items are known", files.join(", "))]
    NothingKnown { files: Vec<String> },
    /// Held-out rows have no ratings, and only those rated high enough count.
    #[error("{}: the held-out rows have no ratings, and there is a minimum rating", files.join(", "))]
    HeldOutWithoutRatings { files: Vec<String> },
    /// All held-out rows are rated too low.
    #[error("{}: no held-out row is rated {minimum} or more", files.join(", "))]
    HeldOutRatedLow { files: Vec<String>, minimum: f32 },
    /// Rows are to be held out by time, and there are no times.
    #[error("cannot split: {0}")]
    SplitLacks(DataError),
    /// Users held out whole where models are measured while they are trained.
    #[error("users held out whole cannot be ranked without folding them in")]
    UsersHeldOut,
    /// There is no row to validate on.
    #[error("no user has a validation item")]
    NothingToValidateOn,
    /// The validation metric was 0 after every sweep, so that no sweep is better than another.
    #[error(
        "{metric} is 0 after each of {sweeps} sweeps: no held-out item was ranked high enough, so there \
         is nothing to choose a model by"
    )]
    NothingScored { metric: String, sweeps: usize },
    /// A row has no best value.
    #[error(
        "weights on missing entries give {axis} {id:?} a curvature of {curvature}: some reconstructed \
         weights are negative, so its factors have no best value"
    )]
    NotConvex {
        axis: Axis,
        id: String,
        curvature: f32,
    },
    /// The total weight of a row is negative, so no power of it is a regularization.
    #[error("the total weight of {axis} {id:?} is {total}, so its regularization is not defined")]
    RowWeight { axis: Axis, id: String, total: f64 },
    /// Ctrl-C while settings were chosen.
    #[error("interrupted while settings were chosen")]
    InterruptedChoosing,
    /// A checkpoint of other data.
    #[error(
        "{}: the checkpoint is of other data: its {what} are not those of this run",
        path.display()
    )]
    OtherData { path: PathBuf, what: &'static str },
    /// A checkpoint that does not say what it was trained on.
    #[error("{}: the checkpoint does not say which data it is of", path.display())]
    UnknownData { path: PathBuf },
    /// A checkpoint of a run with other settings.
    #[error(
        "{}: the checkpoint was started with {key} {then}, this run has {key} {now}",
        path.display()
    )]
    OtherSettings {
        path: PathBuf,
        key: String,
        then: String,
        now: String,
    },
    /// Relations that do not fit each other.
    #[error(transparent)]
    Relation(#[from] RelationError),
    /// A relation none of whose ids of a type the data, or another relation, has.
    #[error(
        "{file}: none of its {entity} are in {place}, so that {relation} says nothing about them"
    )]
    NoSharedIds {
        relation: String,
        file: String,
        entity: String,
        place: &'static str,
    },
    /// A first line that may name the columns, or be a row.
    #[error("{file}:{line}: {cells:?} may be the names of the columns, or a row of {relation}")]
    FirstLine {
        file: String,
        line: u64,
        cells: String,
        relation: String,
    },
    /// A regularization of a type that is there without the relation.
    #[error(
        "{relation}: regularization= is that of the type which a relation adds, and both of its types are there \
         without it"
    )]
    NothingAdded { relation: String },
    /// Attributes for a model that has no relations.
    #[error("the model was trained without relations")]
    NoRelations,
    /// Attributes of a relation that a model does not have.
    #[error("the model has no relation {relation}; it has {known}")]
    NoSuchRelation { relation: String, known: String },
    /// A relation between other types than users and items.
    #[error("{relation} says nothing about users or items")]
    NothingAbout { relation: String },
    /// Attributes of which the model knows none.
    #[error("{file}: no attribute is known")]
    NoAttributeKnown { file: String },
    /// Features for a relation of entries, or the other way round.
    #[error(
        "{file}: the model was trained with {relation} as {}",
        if *is_dense { "features" } else { "entries, not as features" }
    )]
    OtherContent {
        relation: String,
        file: String,
        /// Whether the model has features.
        is_dense: bool,
    },
    /// Features other than those that a model was trained with.
    #[error("{file}: its {got} columns are not the {expected} that the model was trained with")]
    FeatureColumns {
        file: String,
        got: usize,
        expected: usize,
        /// The first columns of the model.
        names: String,
    },
    /// A row that cannot be folded in.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Features whose columns are the rows of a type that is there without them.
    #[error(
        "{relation}: the columns of features are a type of their own, and {entity} is in another relation"
    )]
    FeatureType { relation: String, entity: String },
    /// An array by position for ids that are not row numbers.
    #[error("{file} is an array by position, but ids of {entity} are not row numbers")]
    FeatureIds { file: String, entity: String },
    /// Entries of a relation that cannot be.
    #[error("{relation}: {source}")]
    RelationData { relation: String, source: DataError },
    /// Something that cannot be divided among workers.
    #[error("workers cannot share {what}; {remedy}")]
    NotShared { what: String, remedy: &'static str },
    /// A worker whose machine has too little memory.
    #[error(
        "worker {worker} needs {needed} bytes more to train its part, and its machine has {memory} left: use more \
         workers on more machines, or fewer factors"
    )]
    WorkerMemory {
        worker: usize,
        needed: u64,
        memory: u64,
    },
    /// A worker that may take less memory than it needs.
    #[error(
        "worker {worker} needs {needed} bytes for its part and the rows of others that one chunk of rows needs, and may \
         take {limit}: raise memory, use more workers, or fewer factors"
    )]
    WorkerLimit {
        /// The worker.
        worker: usize,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that it may take.
        limit: u64,
    },
    /// Workers of one run that do not agree.
    #[error("workers 0 and {worker} do not have the same {what}: {first} and {other}")]
    WorkersDiffer {
        what: &'static str,
        first: String,
        worker: usize,
        other: String,
    },
    /// Times that cannot be.
    #[error(transparent)]
    Times(#[from] TimeError),
    /// Reading or writing a file failed.
    #[error(transparent)]
    File(#[from] absentia_io::Error),
    /// The data cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A parameter is out of range.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The weights on missing entries cannot be resolved.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// Models cannot be measured as requested.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    /// Settings could not be chosen.
    #[error(transparent)]
    Search(SearchError),
    /// The run failed.
    #[error(transparent)]
    Fit(FitError),
}

impl JobError {
    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::File(error) => error.fault(),
            Self::Data(error) | Self::SplitLacks(error) => error.fault(),
            Self::Params(error) => error.fault(),
            Self::Weights(error) => error.fault(),
            Self::Evaluate(error) => error.fault(),
            Self::Search(error) => error.fault(),
            Self::Fit(error) => error.fault(),
            Self::Model(error) => error.fault(),
            Self::Configuration { reason, .. } => reason.fault(),
            _ => Fault::Caller,
        }
    }
}

impl From<FitError> for JobError {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Params(error) => Self::Params(error),
            FitError::Relations(error) => Self::Relation(error),
            error => Self::Fit(error),
        }
    }
}

impl From<SearchError> for JobError {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Cancelled => Self::InterruptedChoosing,
            SearchError::Fit(error) => error.into(),
            error => Self::Search(error),
        }
    }
}
