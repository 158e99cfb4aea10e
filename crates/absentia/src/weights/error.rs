//! Why a scheme could not be resolved.

use crate::error::{Axis, Fault};
use crate::linalg::DecompositionError;

/// Why a scheme could not be turned into weights; every variant names what is at fault.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WeightsError {
    /// A parameter of a scheme is out of range.
    #[error("{scheme}: {name} is {got}; it must be {range}")]
    Parameter {
        /// Name of the scheme.
        scheme: String,
        /// Name of the parameter.
        name: &'static str,
        /// What was given.
        got: f64,
        /// What is accepted.
        range: &'static str,
    },
    /// An array does not have one row (or one element) per user or item.
    #[error("{what} has {got} rows, expected {expected}: one per {axis}")]
    Rows {
        /// Name of the array.
        what: &'static str,
        /// Side its rows belong to.
        axis: Axis,
        /// Number of users or items.
        expected: usize,
        /// Number of rows.
        got: usize,
    },
    /// A and B have different numbers of columns, or none.
    #[error("A has {a} columns and B has {b}; both need the same number Z, at least 1")]
    Columns {
        /// Columns of A.
        a: usize,
        /// Columns of B.
        b: usize,
    },
    /// W does not have one row per user and one column per item.
    #[error("W is {rows} × {cols}, expected {n_users} × {n_items}: users by items")]
    Shape {
        /// Rows of W.
        rows: usize,
        /// Columns of W.
        cols: usize,
        /// Number of users.
        n_users: usize,
        /// Number of items.
        n_items: usize,
    },
    /// A number in an array is NaN, infinite, or negative where it must not be.
    #[error("{what} has {value} at row {row}, column {col}; it must be {range}")]
    Value {
        /// Name of the array.
        what: &'static str,
        /// Row of the number.
        row: usize,
        /// Column of the number.
        col: usize,
        /// The number.
        value: f32,
        /// What is accepted.
        range: &'static str,
    },
    /// A user's segment or an item's category is not in the table.
    #[error("{axis} {index} is in group {group}, but the table has {count} for {axis}s")]
    Group {
        /// Side of the group.
        axis: Axis,
        /// The user or item.
        index: usize,
        /// Its group.
        group: u32,
        /// Groups in the table.
        count: usize,
    },
    /// The rank is 0 or above the smaller side of W.
    #[error("rank {rank} for weights of {n_users} users × {n_items} items; it must be from 1 to {}", n_users.min(n_items))]
    Rank {
        /// The requested rank.
        rank: usize,
        /// Number of users.
        n_users: usize,
        /// Number of items.
        n_items: usize,
    },
    /// No rank up to the highest allowed one reaches the requested error.
    #[error(
        "the relative error of the approximated weights is {reached:.4} at rank {max_rank}, the highest allowed, but {target} was requested; raise the error or the highest rank"
    )]
    Unreachable {
        /// Requested relative error.
        target: f64,
        /// Relative error at the highest rank.
        reached: f64,
        /// The highest rank.
        max_rank: usize,
    },
    /// A power of a frequency is not finite: no interactions and a negative exponent.
    #[error(
        "{scheme}: {axis} {index} has {count} interactions, and its frequency to the power {exponent} is not finite; use an exponent of at least 0"
    )]
    Power {
        /// Name of the scheme.
        scheme: &'static str,
        /// Side of the frequency.
        axis: Axis,
        /// The user or item.
        index: usize,
        /// Its interactions.
        count: u32,
        /// The exponent.
        exponent: f32,
    },
    /// Frequencies were requested of data without interactions.
    #[error("{scheme}: the data has no interactions to compute frequencies from")]
    NoInteractions {
        /// Name of the scheme.
        scheme: &'static str,
    },
    /// A mean over missing entries was requested, but all of them have weight 0 or there are none.
    #[error(
        "{scheme}: the mean weight over {missing} missing entries cannot be {mean}: it is 0 for every c0; {}",
        if *missing == 0 { "every user has every item, so nothing is left to recommend" } else { "set c0 instead" }
    )]
    NoMean {
        /// Name of the scheme.
        scheme: String,
        /// Number of missing entries.
        missing: u64,
        /// Requested mean.
        mean: f32,
    },
    /// Weights by time were requested of data without times.
    #[error(
        "{scheme}: the weights follow from the times of the rows, and the data has none; give it a column of times (time-col), or use weights that need none, such as popularity"
    )]
    NoTimes {
        /// Name of the scheme.
        scheme: String,
    },
    /// The data spans more periods of the calendar than there may be slices.
    #[error(
        "{scheme}: with slices={slices} the data has {count} slices, and 1000 are the most; use longer ones, or a number of slices"
    )]
    Slices {
        /// Name of the scheme.
        scheme: String,
        /// How time is divided.
        slices: String,
        /// Number of slices.
        count: usize,
    },
    /// Saved slices of time that cannot be.
    #[error(
        "the saved slices of time do not rise, or an item is in a slice that is not among them"
    )]
    SavedSlices,
    /// A product of two schemes of rank above one.
    #[error("{scheme}: availability cannot be multiplied with another scheme; use age")]
    TwoRanks {
        /// Name of the scheme.
        scheme: String,
    },
    /// A sum without terms.
    #[error("a sum of schemes needs at least one term; for no weight at all, use uniform:0")]
    EmptySum,
    /// The weights of a new user or item do not follow from its interactions alone.
    #[error(
        "{scheme}: the weights of a new {axis} do not follow from its interactions; give {needs}"
    )]
    NewRow {
        /// Name of the scheme.
        scheme: &'static str,
        /// Side of the new row.
        axis: Axis,
        /// What must be given.
        needs: &'static str,
    },
    /// Saved parts do not add up to the saved matrices.
    #[error("the parts of the weights have {parts} columns in all, A and B have {columns}")]
    Parts {
        /// Columns of the parts.
        parts: usize,
        /// Columns of A and B.
        columns: usize,
    },
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
