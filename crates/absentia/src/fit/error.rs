//! Why a run ended without a model.

use crate::baselines::BaselineError;
use crate::data::DataError;
use crate::error::{Axis, Fault};
use crate::params::ParamsError;
use crate::relations::RelationError;
use crate::solver::Halt;
use crate::weights::WeightsError;

/// Why training stopped without a model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum FitError {
    /// The parameters were rejected before any work was done.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The data does not allow the requested transforms.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The weights on missing entries do not fit the data.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// A baseline does not support what was requested.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    /// The relations do not fit each other, or cannot be trained on.
    #[error(transparent)]
    Relations(#[from] RelationError),
    /// Nothing was observed.
    #[error(
        "the matrix has {users} users, {items} items and no interaction: there is nothing to learn from"
    )]
    Empty { users: usize, items: usize },
    /// The run would not fit in memory.
    #[error(
        "the run needs {needed} bytes and may take {limit}: lower the number of factors or of threads, \
         or the rank of the weights, or raise the memory limit"
    )]
    Memory { needed: u64, limit: u64 },
    /// Given factors have the wrong shape.
    #[error("given {axis} factors are {rows} × {cols}, expected {expected_rows} × {expected_cols}")]
    InitShape {
        axis: Axis,
        rows: usize,
        cols: usize,
        expected_rows: usize,
        expected_cols: usize,
    },
    /// Given factors are not finite.
    #[error("given {axis} factors: row {row} is not finite")]
    InitNotFinite { axis: Axis, row: usize },
    /// Negative weights gave a row a quadratic without a minimum.
    #[error(
        "weights on missing entries give {axis} {row} a curvature of {curvature}, so its factors have no best value: \
         some reconstructed weights are negative; use a non-negative factorisation of W, or raise the regularization"
    )]
    NotConvex {
        axis: Axis,
        row: usize,
        curvature: f32,
    },
    /// A row's total weight is negative, so no power of it is a penalty.
    #[error(
        "the total weight of {axis} {row} is {total}, so its power reg_exponent is not defined: \
         some weights on missing entries are negative; use a non-negative factorisation of W, or reg_exponent 0"
    )]
    RowWeight { axis: Axis, row: usize, total: f64 },
    /// The objective became NaN or infinite.
    #[error(
        "the objective is not finite after sweep {iteration}; raise the regularization or lower targets and weights"
    )]
    Diverged { iteration: usize },
    /// A sweep raised the objective, in double precision too.
    #[error(
        "sweep {iteration} raises the objective from {before:e} to {after:e}, in double precision too, so the \
         model would get worse: raise the regularization, or the weight of observed entries, or lower the \
         weights on missing entries"
    )]
    Rises {
        iteration: usize,
        before: f64,
        after: f64,
    },
    /// A checkpoint was made with other parameters.
    #[error("the run cannot be resumed: parameters differ from those of the checkpoint: {}", changed.join(", "))]
    ResumeParams { changed: Vec<&'static str> },
    /// A checkpoint was made with other weights on missing entries.
    #[error(
        "the run cannot be resumed: the weights on missing entries, or the data they come from, are not \
         those of the checkpoint"
    )]
    ResumeWeights,
    /// The hardware that trains cannot go on.
    #[error("training cannot go on: {reason}")]
    Device { reason: String },
    /// The thread pool could not be created.
    #[error("cannot start {threads} threads")]
    Threads { threads: usize },
}

impl FitError {
    /// The error of a step that has no result because hardware failed.
    pub(crate) fn of_device(halt: Halt) -> Self {
        let reason = match halt {
            Halt::Failed(reason) => reason,
            Halt::NotConvex(at) => format!("row {} has no minimum", at.row),
            Halt::Cancelled => "a step was cancelled".to_owned(),
        };
        FitError::Device { reason }
    }

    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            FitError::Threads { .. } | FitError::Device { .. } => Fault::Io,
            _ => Fault::Caller,
        }
    }
}
