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
pub enum OnlineError {
    /// A user or item that there is not.
    #[error("there is no {axis} {row}: there are {count} {axis}s")]
    Unknown {
        /// Side of the row.
        axis: Axis,
        /// The row.
        row: u32,
        /// Number of rows.
        count: usize,
    },
    /// An event of a pair that cannot be applied.
    #[error("user {user}, item {item}: {fault}")]
    Pair {
        /// Row of the user.
        user: u32,
        /// Row of the item.
        item: u32,
        /// What is wrong.
        fault: PairFault,
    },
    /// An entry of a user who is not stored.
    #[error("item {item}: {fault}")]
    NewEntry {
        /// Row of the item.
        item: u32,
        /// What is wrong.
        fault: PairFault,
    },
    /// A setting out of range.
    #[error("{name} is {got}; it must be {range}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// What was given.
        got: f64,
        /// What is accepted.
        range: &'static str,
    },
    /// Rows that are not those that the model was trained on.
    #[error(
        "{what}: {got} in the training rows, {expected} in the model; give the rows that it was trained on"
    )]
    OtherRows {
        /// What differs.
        what: &'static str,
        /// The number in the model.
        expected: u64,
        /// The number in the rows.
        got: u64,
    },
    /// Rows whose counts are not those of the model.
    #[error(
        "{axis} {row} has {got} interactions in the training rows and {expected} in the model; give the rows \
         that it was trained on, prepared as they were"
    )]
    OtherCounts {
        /// The side.
        axis: Axis,
        /// The first row that differs.
        row: u32,
        /// Its interactions in the model.
        expected: u32,
        /// Its interactions in the rows.
        got: u32,
    },
    /// Rows with another latest time than those that the model was trained on.
    #[error(
        "the latest time is {got} in the training rows and {expected} in the model; give the rows that it \
         was trained on"
    )]
    OtherTimes {
        /// The latest time in the model.
        expected: i64,
        /// The latest time in the rows.
        got: i64,
    },
    /// A refit that was cancelled.
    #[error("the refit was cancelled; nothing has changed")]
    Cancelled,
    /// A scheme whose terms are not those of the model's weights.
    #[error(
        "the scheme has {got} terms, the model's weights have {expected}; give the scheme that it was trained with"
    )]
    OtherScheme {
        /// Terms of the model's weights.
        expected: usize,
        /// Terms of the scheme.
        got: usize,
    },
    /// A snapshot whose parts do not fit each other.
    #[error("{what} of the snapshot: {got}, expected {expected}")]
    Snapshot {
        /// What does not fit.
        what: &'static str,
        /// The size that the other parts have.
        expected: u64,
        /// The size that it has.
        got: u64,
    },
    /// More rows than 32-bit indices can tell apart.
    #[error(
        "there are {} {axis}s already; at most {} are supported",
        u32::MAX,
        u32::MAX
    )]
    TooMany {
        /// The side.
        axis: Axis,
    },
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
pub enum PairFault {
    /// A number that is NaN or infinite.
    #[error("its {what} is {got}; it must be finite")]
    NotFinite {
        /// Which number.
        what: &'static str,
        /// The number.
        got: f32,
    },
    /// A negative weight.
    #[error("its weight is {got}; it must be at least 0")]
    NegativeWeight {
        /// The weight.
        got: f32,
    },
    /// A value that the model has no target or weight for.
    #[error("its value {value} gives a {what} of {got}; it must be {range}")]
    Value {
        /// The value.
        value: f32,
        /// What follows from it.
        what: &'static str,
        /// The number that follows.
        got: f32,
        /// What is accepted.
        range: &'static str,
    },
    /// Nothing to remove.
    #[error("there is no interaction{} to remove", at_time(*.time))]
    NoEvent {
        /// The time that was requested.
        time: Option<i64>,
    },
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
