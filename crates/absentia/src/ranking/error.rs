//! Why a ranking was rejected.

use crate::error::{Axis, Fault};

/// Why nothing could be ranked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum RankError {
    /// A user or an item that the scorer does not know.
    #[error("{what}: {axis} {index} is out of range, the scorer has {count} {axis}s")]
    OutOfRange {
        what: &'static str,
        axis: Axis,
        index: u32,
        count: usize,
    },
    /// Two inputs that do not fit together.
    #[error("{what} has length {got}, expected {expected}")]
    Length {
        what: &'static str,
        expected: usize,
        got: usize,
    },
    /// A list of items that does not rise strictly.
    #[error("{what}: items must rise strictly, position {at} does not")]
    Unsorted { what: &'static str, at: usize },
    /// A factor or a scale that is NaN or infinite.
    #[error("{what}: row {row} holds a number that is not finite")]
    NotFinite { what: &'static str, row: usize },
}

impl RankError {
    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            RankError::OutOfRange { .. } => Fault::NotFound,
            _ => Fault::Caller,
        }
    }
}

/// Rejects a list that is not in strictly ascending order.
pub(super) fn check_rising(what: &'static str, items: &[u32]) -> Result<(), RankError> {
    match items.windows(2).position(|pair| pair[1] <= pair[0]) {
        Some(at) => Err(RankError::Unsorted { what, at: at + 1 }),
        None => Ok(()),
    }
}

/// Rejects indices at or above `count`.
pub(crate) fn check_range(
    what: &'static str,
    axis: Axis,
    indices: &[u32],
    count: usize,
) -> Result<(), RankError> {
    match indices.iter().find(|&&index| index as usize >= count) {
        Some(&index) => Err(RankError::OutOfRange {
            what,
            axis,
            index,
            count,
        }),
        None => Ok(()),
    }
}
