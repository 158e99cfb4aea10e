//! Why a scheme could not be resolved.

use crate::error::{Axis, Fault};
use crate::linalg::DecompositionError;

/// Why a scheme could not be turned into weights; every variant names what is at fault.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum WeightsError {
    /// A parameter of a scheme is out of range.
    #[error("{scheme}: {name} is {got}; it must be {range}")]
    Parameter {
        scheme: String,
        name: &'static str,
        got: f64,
        range: &'static str,
    },
    /// An array does not have one row (or one element) per user or item.
    #[error("{what} has {got} rows, expected {expected}: one per {axis}")]
    Rows {
        what: &'static str,
        axis: Axis,
        expected: usize,
        got: usize,
    },
    /// A and B have different numbers of columns, or none.
    #[error("A has {a} columns and B has {b}; both need the same number Z, at least 1")]
    Columns { a: usize, b: usize },
    /// W does not have one row per user and one column per item.
    #[error("W is {rows} × {cols}, expected {n_users} × {n_items}: users by items")]
    Shape {
        rows: usize,
        cols: usize,
        n_users: usize,
        n_items: usize,
    },
    /// A number in an array is NaN, infinite, or negative where it must not be.
    #[error("{what} has {value} at row {row}, column {col}; it must be {range}")]
    Value {
        what: &'static str,
        row: usize,
        col: usize,
        value: f32,
        range: &'static str,
    },
    /// A user's segment or an item's category is not in the table.
    #[error("{axis} {index} is in group {group}, but the table has {count} for {axis}s")]
    Group {
        axis: Axis,
        index: usize,
        group: u32,
        count: usize,
    },
    /// The rank is 0 or above the smaller side of W.
    #[error("rank {rank} for weights of {n_users} users × {n_items} items; it must be from 1 to {}", n_users.min(n_items))]
    Rank {
        rank: usize,
        n_users: usize,
        n_items: usize,
    },
    /// No rank up to the highest allowed one reaches the requested error.
    #[error(
        "the relative error of the approximated weights is {reached:.4} at rank {max_rank}, the highest allowed, but {target} was requested; raise the error or the highest rank"
    )]
    Unreachable {
        target: f64,
        reached: f64,
        max_rank: usize,
    },
    /// A power of a frequency is not finite: no interactions and a negative exponent.
    #[error(
        "{scheme}: {axis} {index} has {count} interactions, and its frequency to the power {exponent} is not finite; use an exponent of at least 0"
    )]
    Power {
        scheme: &'static str,
        axis: Axis,
        index: usize,
        count: u32,
        exponent: f32,
    },
    /// Frequencies were requested of data without interactions.
    #[error("{scheme}: the data has no interactions to compute frequencies from")]
    NoInteractions { scheme: &'static str },
    /// A mean over missing entries was requested, but all of them have weight 0 or there are none.
    #[error(
        "{scheme}: the mean weight over {missing} missing entries cannot be {mean}: it is 0 for every c0; {}",
        if *missing == 0 { "every user has every item, so nothing is left to recommend" } else { "set c0 instead" }
    )]
    NoMean {
        scheme: String,
        missing: u64,
        mean: f32,
    },
    /// Weights by time were requested of data without times.
    #[error(
        "{scheme}: the weights follow from the times of the rows, and the data has none; give it a column of times (time-col), or use weights that need none, such as popularity"
    )]
    NoTimes { scheme: String },
    /// The data spans more periods of the calendar than there may be slices.
    #[error(
        "{scheme}: with slices={slices} the data has {count} slices, and 1000 are the most; use longer ones, or a number of slices"
    )]
    Slices {
        scheme: String,
        slices: String,
        count: usize,
    },
    /// Saved slices of time that cannot be.
    #[error(
        "the saved slices of time do not rise, or an item is in a slice that is not among them"
    )]
    SavedSlices,
    /// A product of two schemes of rank above one.
    #[error("{scheme}: availability cannot be multiplied with another scheme; use age")]
    TwoRanks { scheme: String },
    /// A sum without terms.
    #[error("a sum of schemes needs at least one term; for no weight at all, use uniform:0")]
    EmptySum,
    /// The weights of a new user or item do not follow from its interactions alone.
    #[error(
        "{scheme}: the weights of a new {axis} do not follow from its interactions; give {needs}"
    )]
    NewRow {
        scheme: &'static str,
        axis: Axis,
        needs: &'static str,
    },
    /// Saved parts do not add up to the saved matrices.
    #[error("the parts of the weights have {parts} columns in all, A and B have {columns}")]
    Parts { parts: usize, columns: usize },
    /// W could not be decomposed.
    #[error(transparent)]
    Decomposition(#[from] DecompositionError),
}

impl WeightsError {
    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            WeightsError::Decomposition(error) => error.fault(),
            _ => Fault::Caller,
        }
    }
}
