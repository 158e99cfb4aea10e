//! Why relations cannot be composed.

use super::FeatureError;
use crate::data::DataError;
use crate::weights::WeightsError;

/// What is wrong with a relation, or with several of them together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum RelationError {
    /// Both types of a relation are on the same side of the matrix.
    #[error(
        "{relation}: {first} and {second} are on the same side, so that one row of factors would be both rows \
         and columns of the matrix"
    )]
    SameSide {
        relation: String,
        first: String,
        second: String,
    },
    /// No chain of relations leads from a type to users or items.
    #[error("{relation}: neither {first} nor {second} is related to users or items")]
    Unconnected {
        relation: String,
        first: String,
        second: String,
    },
    /// Two relations between the same types.
    #[error("{relation} is given twice, or is the main relation")]
    Twice { relation: String },
    /// A matrix that does not have a row for each of its first type and a column for each of its second.
    #[error("{relation}: the matrix has {got} {entity}, expected {expected}")]
    Shape {
        relation: String,
        entity: String,
        expected: usize,
        got: usize,
    },
    /// Nothing was observed in a relation.
    #[error("{relation} has no entry")]
    Empty { relation: String },
    /// A strength that is negative or not finite.
    #[error("{relation}: strength is {got}; it must be finite and at least 0")]
    Strength { relation: String, got: f32 },
    /// A regularization that is negative or not finite.
    #[error("regularization of {entity} is {got}; it must be finite and at least 0")]
    Regularization { entity: String, got: f32 },
    /// Weights that would have to be estimated.
    #[error("{relation}: learned weights are for the main relation only")]
    Learned { relation: String },
    /// A method that does not minimise the objective.
    #[error(
        "{solver} has no objective over several relations; use eals, subspace, als, als-cg or eals-vanilla"
    )]
    Method { solver: &'static str },
    /// Weights of the main relation that only a slow solver takes as they are.
    #[error(
        "eals-vanilla takes dense weights as they are only without relations; use another solver"
    )]
    DenseWeights,
    /// Features on hardware that only takes entries.
    #[error("{relation}: features are trained on this machine's processor alone, not on several")]
    Device { relation: String },
    /// Numbers that cannot be features.
    #[error("{relation}: {source}")]
    Features {
        relation: String,
        source: FeatureError,
    },
    /// Entries of a relation that cannot be trained on.
    #[error("{relation}: {source}")]
    Data { relation: String, source: DataError },
    /// Weights of a relation that do not fit it.
    #[error("{relation}: {source}")]
    Weights {
        relation: String,
        source: WeightsError,
    },
}

impl RelationError {
    /// What can be done about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::SameSide { .. } => {
                "give the second role factors of its own with context=yes; see docs/relations.md"
            }
            Self::Unconnected { .. } => {
                "a relation joins users, items, or a type of another relation, as in items-tags"
            }
            Self::Twice { .. } => "name another type, as in users-friends, or use context=yes",
            _ => return None,
        })
    }
}
