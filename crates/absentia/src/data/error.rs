//! Why a matrix was rejected.

use crate::error::{Axis, Fault};

/// Why observed entries were rejected; every variant names the entry.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum DataError {
    /// An index is not below the number of users or items.
    #[error("entry {entry}: {axis} index {index} is out of range, there are {count} {axis}s")]
    OutOfRange {
        entry: u64,
        axis: Axis,
        index: u64,
        count: u64,
    },
    /// A value or a weight is NaN or infinite.
    #[error("entry {entry}: {what} is {value}; values and weights must be finite")]
    NotFinite {
        entry: u64,
        what: &'static str,
        value: f32,
    },
    /// A weight `c_ui` is below zero.
    #[error(
        "entry {entry}: weight {value} is negative; weights of observed entries must be at least 0"
    )]
    NegativeWeight { entry: u64, value: f32 },
    /// The same pair occurs twice and the policy is [`Duplicates::Error`](super::Duplicates::Error).
    #[error(
        "user {user} and item {item} occur together more than once; choose sum, last or max to merge them"
    )]
    Duplicate { user: u32, item: u32 },
    /// More users or items than 32-bit indices can tell apart.
    #[error("there are {count} {axis}s; at most {} are supported", u32::MAX)]
    TooMany { axis: Axis, count: u64 },
    /// Columns of different lengths.
    #[error("{what} has {got} elements, expected {expected}")]
    Length {
        what: &'static str,
        expected: usize,
        got: usize,
    },
    /// Row offsets that do not start at 0, fall, or do not end at the number of entries.
    #[error(
        "row offsets are inconsistent at row {row}: they must start at 0, never fall, and end at the number of entries"
    )]
    Offsets { row: u64 },
    /// Indices of a row that do not rise strictly.
    #[error(
        "row {row}: indices must rise strictly, entry {entry} does not; sort and merge duplicates first"
    )]
    Unsorted { row: u64, entry: u64 },
    /// A transform needs something the data lacks.
    #[error("{transform} needs {needs}, which the data does not have")]
    Lacks {
        transform: &'static str,
        needs: &'static str,
    },
    /// A parameter of a transform is out of range.
    #[error("{name} is {got}; it must be {range}")]
    Parameter {
        name: &'static str,
        got: f32,
        range: &'static str,
    },
    /// More triplets in memory than positions can number.
    #[error(
        "there are {count} triplets; at most {} can be built at once, use `from_row_source` for more",
        u32::MAX
    )]
    TooManyTriplets { count: u64 },
    /// A source gave different entries on its second pass.
    #[error("the source gave {second} entries on its second pass and {first} on its first")]
    SourceChanged { first: u64, second: u64 },
}

impl DataError {
    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }
}
