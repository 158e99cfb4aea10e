//! Why a model could not answer.

use crate::data::DataError;
use crate::error::{Axis, Fault};
use crate::params::ParamsError;
use crate::ranking::RankError;
use crate::weights::WeightsError;

/// Why a model was rejected or could not answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum ModelError {
    /// A user or item the model does not have.
    #[error("there is no {axis} {index}: the model has {count} {axis}s")]
    Unknown {
        axis: Axis,
        index: u32,
        count: usize,
    },
    /// Parts of different shapes.
    #[error("{what}: {got}, expected {expected}")]
    Shape {
        what: &'static str,
        expected: usize,
        got: usize,
    },
    /// Factors that are NaN or infinite.
    #[error("{axis} factors: row {row} is not finite")]
    NotFinite { axis: Axis, row: usize },
    /// A count that items are rescaled by is not a finite number above 0.
    #[error("the recent count of item {row} is not a finite number above 0")]
    RecentCount { row: usize },
    /// Something that a model of this kind has no answer to.
    #[error("a model of {solver} cannot {what}")]
    NotOfThisMethod {
        solver: &'static str,
        what: &'static str,
    },
    /// Something that a model of several relations has no answer to.
    #[error("a model of several relations cannot {what}")]
    Relations { what: &'static str },
    /// A relation that the rows of a side are not in.
    #[error("{axis}s are not in relation {relation} of the model")]
    Unrelated { axis: Axis, relation: usize },
    /// Some of a row's features, where all of them are needed.
    #[error(
        "{got} features; expected {expected}, one for each column that the model was trained with"
    )]
    Features { expected: usize, got: usize },
    /// A row that a type of a relation does not have.
    #[error("there is no row {index} of {entity}: the model has {count}")]
    UnknownRow {
        entity: String,
        index: u32,
        count: usize,
    },
    /// Parameters out of range.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// An entry of a new row occurs twice.
    #[error("{axis} {index} occurs more than once among the entries of the row")]
    Repeated { axis: Axis, index: u32 },
    /// Weights of a row that are not finite.
    #[error("weight {at} of the row is {got}; it must be finite")]
    RowWeight { at: usize, got: f32 },
    /// An entry of a new row is not finite, or has a negative weight.
    #[error(transparent)]
    Entry(#[from] DataError),
    /// The weights of a new row cannot be derived.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// Something could not be ranked.
    #[error(transparent)]
    Ranking(#[from] RankError),
    /// The quadratic of a row has no minimum.
    #[error(
        "the row's quadratic has no minimum: weights on missing entries are negative, or there is no regularization"
    )]
    NoMinimum,
}

impl ModelError {
    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            ModelError::Unknown { .. } | ModelError::UnknownRow { .. } => Fault::NotFound,
            ModelError::Ranking(error) => error.fault(),
            _ => Fault::Caller,
        }
    }
}
