//! Why parameters are rejected.

use super::check::MAX_FACTORS;
use crate::error::Fault;

/// A parameter out of range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum ParamsError {
    /// A whole number out of range.
    #[error("{name} is {got}; it must be {least} to {most}")]
    Whole {
        name: &'static str,
        got: usize,
        least: usize,
        most: usize,
    },
    /// A real number out of range.
    #[error("{name} is {got}; it must be {range}")]
    Real {
        name: &'static str,
        got: f32,
        range: &'static str,
    },
    /// A block that does not fit the kernels.
    #[error("block is {got}; it must be 1, 2, 4, 8, or a multiple of 16 up to {MAX_FACTORS}")]
    Block { got: usize },
    /// A text that names no method.
    #[error(
        "solver is {got:?}; it must be eals, eals-vanilla, als, als-cg[:steps], subspace[:block], or a baseline: \
         svd, ials1, rcd, ii-svd, bpr, sgd-observed, popularity, itemknn[:neighbours]"
    )]
    Method { got: String },
}

impl ParamsError {
    /// Name of the parameter.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Whole { name, .. } | Self::Real { name, .. } => name,
            Self::Block { .. } => "block",
            Self::Method { .. } => "solver",
        }
    }

    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }
}
