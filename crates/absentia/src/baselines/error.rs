//! What a baseline cannot do.

use crate::error::Fault;
use crate::linalg::DecompositionError;

/// Why a baseline rejected the run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// The method cannot do what the weights or the data ask of it.
    #[error("{solver} cannot honour {requested}: {takes}")]
    Unsupported {
        /// Name of the method.
        solver: &'static str,
        /// What was requested.
        requested: &'static str,
        /// What it takes instead.
        takes: &'static str,
    },
    /// A decomposition that the method consists of is not possible.
    #[error(transparent)]
    Decomposition(#[from] DecompositionError),
    /// A decomposition that the method consists of did not converge.
    #[error(
        "the decomposition did not converge, a residual of {residual:e} is left: lower the number of factors"
    )]
    NotConverged {
        /// Largest residual of a triplet.
        residual: f64,
    },
    /// Neighbours that are not lists of items.
    #[error("{what} of the neighbours do not fit each other")]
    Neighbours {
        /// What is wrong.
        what: &'static str,
    },
}

impl BaselineError {
    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }
}
