//! Why a record was rejected, or a model cannot learn from events.

use std::path::PathBuf;

use absentia::error::{Axis, Fault};
use absentia::online::{OnlineError, PairFault};
use absentia::ranking::RankError;
use absentia_io::model::Ids;
use absentia_io::time::TimeUnit;
use absentia_job::JobError;

use crate::log::LogError;

/// Why a record was rejected, or a learner was not made. A rejected record has changed nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum LearnError {
    /// A user or item that there is not.
    #[error("{axis} {id:?} is not in the model")]
    Unknown {
        axis: Axis,
        id: String,
        similar: Vec<String>,
    },
    /// An id that is empty or too long.
    #[error("a {axis} id of {bytes} bytes; ids have 1 to {most}")]
    IdLength {
        axis: Axis,
        bytes: usize,
        most: usize,
    },
    /// An event of a pair that cannot be applied.
    #[error("user {user:?}, item {item:?}: {fault}")]
    Pair {
        user: String,
        item: String,
        fault: PairFault,
    },
    /// The engine rejects it.
    #[error(transparent)]
    Online(#[from] OnlineError),
    /// Training rows that cannot be read or prepared.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A file that cannot be read or written.
    #[error(transparent)]
    File(#[from] absentia_io::Error),
    /// A list that cannot be made.
    #[error(transparent)]
    Rank(#[from] RankError),
    /// A record of a log that was rejected.
    #[error("{}:{line}: {error}", path.display())]
    Replayed {
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        error: Box<LearnError>,
    },
    /// A log that does not fit.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Times in another unit than those that the model was trained on.
    #[error("times of events in {got}, and the model was trained on times in {expected}")]
    OtherUnit { got: TimeUnit, expected: TimeUnit },
    /// A file that the model was trained on, by its own account, and that there is not.
    #[error("the model was trained on {file:?}, and no such file is found from here")]
    NoTrainingFile { file: String },
    /// A model without a configuration, where one is needed.
    #[error("the model has no {what}")]
    NoConfiguration { what: &'static str },
    /// A stored configuration that cannot be read.
    #[error("the stored configuration: {0}")]
    Configuration(toml::de::Error),
    /// Training rows that are not those of the model.
    #[error("the training rows have other {axis}s than the model")]
    OtherIds { axis: Axis },
    /// Training rows whose counts are not those of the model.
    #[error(
        "{axis} {id:?} has {got} interactions in the training rows and {expected} in the model: they are not \
         the rows that it was trained on, or were prepared in another way"
    )]
    OtherCounts {
        axis: Axis,
        id: String,
        expected: u32,
        got: u32,
    },
}

impl LearnError {
    /// An error of the engine, with rows by id.
    pub(crate) fn by_id(error: OnlineError, ids: &Ids) -> Self {
        let user = |row: u32| ids.users.name(row).unwrap_or_default().into_owned();
        let item = |row: u32| ids.items.name(row).unwrap_or_default().into_owned();
        match error {
            OnlineError::Pair {
                user: u,
                item: i,
                fault,
            } => Self::Pair {
                user: user(u),
                item: item(i),
                fault,
            },
            OnlineError::OtherCounts {
                axis,
                row,
                expected,
                got,
            } => Self::OtherCounts {
                axis,
                id: match axis {
                    Axis::User => user(row),
                    Axis::Item => item(row),
                },
                expected,
                got,
            },
            error => error.into(),
        }
    }

    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Unknown { .. } | Self::NoTrainingFile { .. } => Fault::NotFound,
            Self::Pair { fault, .. } => fault.fault(),
            Self::Online(error) => error.fault(),
            Self::Replayed { error, .. } => error.fault(),
            _ => Fault::Caller,
        }
    }
}
