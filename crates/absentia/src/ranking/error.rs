//! Why a ranking was rejected.

use crate::error::{Axis, Fault};

/// Why nothing could be ranked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RankError {
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
