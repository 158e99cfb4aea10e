//! Why an operation was rejected.

use crate::data::DataError;
use crate::error::{Axis, Fault};
use crate::fit::FitError;
use crate::model::ModelError;
use crate::weights::WeightsError;

/// Why an online model was not made, or an operation was rejected. A rejected operation has changed
/// nothing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum OnlineError {
    /// A user or item that there is not.
    #[error("there is no {axis} {row}: there are {count} {axis}s")]
    Unknown { axis: Axis, row: u32, count: usize },
    /// An event of a pair that cannot be applied.
    #[error("user {user}, item {item}: {fault}")]
    Pair {
        user: u32,
        item: u32,
        fault: PairFault,
    },
    /// An entry of a user who is not stored.
    #[error("item {item}: {fault}")]
    NewEntry { item: u32, fault: PairFault },
    /// A setting out of range.
    #[error("{name} is {got}; it must be {range}")]
    Setting {
        name: &'static str,
        got: f64,
        range: &'static str,
    },
    /// Rows that are not those that the model was trained on.
    #[error(
        "{what}: {got} in the training rows, {expected} in the model; give the rows that it was trained on"
    )]
    OtherRows {
        what: &'static str,
        expected: u64,
        got: u64,
    },
    /// Rows whose counts are not those of the model.
    #[error(
        "{axis} {row} has {got} interactions in the training rows and {expected} in the model; give the rows \
         that it was trained on, prepared as they were"
    )]
    OtherCounts {
        axis: Axis,
        row: u32,
        expected: u32,
        got: u32,
    },
    /// Rows with another latest time than those that the model was trained on.
    #[error(
        "the latest time is {got} in the training rows and {expected} in the model; give the rows that it \
         was trained on"
    )]
    OtherTimes { expected: i64, got: i64 },
    /// A refit that was cancelled.
    #[error("the refit was cancelled; nothing has changed")]
    Cancelled,
    /// A scheme whose terms are not those of the model's weights.
    #[error(
        "the scheme has {got} terms, the model's weights have {expected}; give the scheme that it was trained with"
    )]
    OtherScheme { expected: usize, got: usize },
    /// A snapshot whose parts do not fit each other.
    #[error("{what} of the snapshot: {got}, expected {expected}")]
    Snapshot {
        what: &'static str,
        expected: u64,
        got: u64,
    },
    /// More rows than 32-bit indices can tell apart.
    #[error(
        "there are {} {axis}s already; at most {} are supported",
        u32::MAX,
        u32::MAX
    )]
    TooMany { axis: Axis },
    /// Something about the model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Something about the training rows or an event.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Something about the weights on missing entries.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// A refit failed.
    #[error(transparent)]
    Fit(#[from] FitError),
}

/// What is wrong with an event of a pair.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum PairFault {
    /// A number that is NaN or infinite.
    #[error("its {what} is {got}; it must be finite")]
    NotFinite { what: &'static str, got: f32 },
    /// A negative weight.
    #[error("its weight is {got}; it must be at least 0")]
    NegativeWeight { got: f32 },
    /// A value that the model has no target or weight for.
    #[error("its value {value} gives a {what} of {got}; it must be {range}")]
    Value {
        value: f32,
        what: &'static str,
        got: f32,
        range: &'static str,
    },
    /// Nothing to remove.
    #[error("there is no interaction{} to remove", at_time(*.time))]
    NoEvent { time: Option<i64> },
    /// A second interaction of a pair, where the model accepts only one.
    #[error(
        "they have an interaction already; this model was trained with duplicates = error, so that a pair has \
         only one"
    )]
    Repeated,
}

impl PairFault {
    /// Whose fault it is.
    #[must_use]
    pub fn fault(self) -> Fault {
        match self {
            PairFault::NoEvent { .. } => Fault::NotFound,
            _ => Fault::Caller,
        }
    }
}

fn at_time(time: Option<i64>) -> String {
    time.map(|time| format!(" at time {time}"))
        .unwrap_or_default()
}

impl OnlineError {
    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            OnlineError::Unknown { .. } => Fault::NotFound,
            OnlineError::Pair { fault, .. } => fault.fault(),
            OnlineError::Model(error) => error.fault(),
            OnlineError::Data(error) => error.fault(),
            OnlineError::Weights(error) => error.fault(),
            OnlineError::Fit(error) => error.fault(),
            _ => Fault::Caller,
        }
    }
}
