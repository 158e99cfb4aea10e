//! Why an evaluation or a ranking was refused.

use crate::error::{Axis, Fault};

/// Why nothing could be ranked or measured.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// A metric that needs a cut-off was asked for without one.
    #[error("{metric} needs at least one cut-off")]
    NoCutoffs {
        /// Name of the metric.
        metric: &'static str,
    },
    /// A cut-off of zero.
    #[error("a cut-off is 0; cut-offs must be at least 1")]
    ZeroCutoff,
    /// No metric was asked for.
    #[error("no metric was asked for")]
    NoMetrics,
    /// A name that is no metric.
    #[error(
        "{name:?} is no metric; known are hr, ndcg, recall, precision, map and mrr (each @k), mrr-all and auc"
    )]
    UnknownMetric {
        /// What was given.
        name: String,
    },
    /// Not one user has a test item.
    #[error("no user has a test item, so there is nothing to average over")]
    NoTestUsers,
    /// A user or an item that the scorer does not know.
    #[error("{what}: {axis} {index} is out of range, the scorer has {count} {axis}s")]
    OutOfRange {
        /// Where the index came from.
        what: &'static str,
        /// Side of the index.
        axis: Axis,
        /// The index.
        index: u32,
        /// How many there are.
        count: usize,
    },
    /// A test user without a list of sampled negatives.
    #[error("user {user} has test items but no list of sampled negatives")]
    NoNegatives {
        /// The user.
        user: u32,
    },
    /// Two inputs that do not fit together.
    #[error("{what} has length {got}, expected {expected}")]
    Length {
        /// Which input.
        what: &'static str,
        /// Length needed.
        expected: usize,
        /// Length given.
        got: usize,
    },
    /// A list of items that does not rise strictly.
    #[error("{what}: items must rise strictly, position {at} does not")]
    Unsorted {
        /// Which list.
        what: &'static str,
        /// First position at fault.
        at: usize,
    },
    /// A factor or a scale that is NaN or infinite.
    #[error("{what}: row {row} holds a number that is not finite")]
    NotFinite {
        /// Which matrix.
        what: &'static str,
        /// First row at fault.
        row: usize,
    },
}

impl EvaluateError {
    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }
}

/// Refuses a list that does not rise strictly.
pub(super) fn check_rising(what: &'static str, items: &[u32]) -> Result<(), EvaluateError> {
    match items.windows(2).position(|pair| pair[1] <= pair[0]) {
        Some(at) => Err(EvaluateError::Unsorted { what, at: at + 1 }),
        None => Ok(()),
    }
}

/// Refuses indices at or above `count`.
pub(super) fn check_range(
    what: &'static str,
    axis: Axis,
    indices: &[u32],
    count: usize,
) -> Result<(), EvaluateError> {
    match indices.iter().find(|&&index| index as usize >= count) {
        Some(&index) => Err(EvaluateError::OutOfRange {
            what,
            axis,
            index,
            count,
        }),
        None => Ok(()),
    }
}
