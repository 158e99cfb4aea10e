//! What can be wrong with a model file, or with a model that should become one.

use std::path::PathBuf;

use absentia::Axis;
use absentia::baselines::BaselineError;
use absentia::model::ModelError;
use absentia::weights::WeightsError;

/// Why a model could not be stored or taken from a file.
///
/// Damage is reported as [`Error::Corrupt`](crate::Error::Corrupt), refusals of the operating
/// system as [`Error::Io`](crate::Error::Io).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum ModelFileError {
    /// The file is not one of ours, or its first bytes are damaged beyond recognition.
    #[error("{}: not an Absentia model, or a damaged one", path.display())]
    NotAModel { path: PathBuf },
    /// A folder that does not have the file that all folders with a model have.
    #[error("{}: is a folder, and not of a model", path.display())]
    NotAModelFolder { path: PathBuf },
    /// The file was written by a later version.
    #[error("{}: format version {found}, written by absentia {written_by}; this version reads up to {newest}", path.display())]
    TooNew {
        path: PathBuf,
        found: u32,
        written_by: String,
        newest: u32,
    },
    /// A run cannot be resumed from a finished model.
    #[error("{}: a finished model, not a checkpoint, so that no run can be resumed from it", path.display())]
    NotACheckpoint { path: PathBuf },
    /// The parts of a model do not fit each other.
    #[error("{}: {source}", path.display())]
    Parts { path: PathBuf, source: ModelError },
    /// The weights on missing entries do not fit each other.
    #[error("{}: {source}", path.display())]
    Weights { path: PathBuf, source: WeightsError },
    /// The neighbours of an `itemknn` model do not fit each other.
    #[error("{}: {source}", path.display())]
    Neighbours {
        path: PathBuf,
        source: BaselineError,
    },
    /// There is not one id for every row of factors.
    #[error("{}: {got} {axis} ids for {expected} {axis}s", path.display())]
    IdCount {
        path: PathBuf,
        axis: Axis,
        expected: usize,
        got: usize,
    },
    /// There is not one id for every row of a type that relations add.
    #[error("{}: the ids of the related types do not fit their factors", path.display())]
    RelatedIds { path: PathBuf },
    /// An id is given to two rows.
    #[error("{}:{line}: id {id:?} was given before", path.display())]
    RepeatedId {
        path: PathBuf,
        line: usize,
        /// The id, shortened.
        id: String,
    },
    /// Something in the model would not come back as it is.
    #[error("{}: the {what} cannot be stored: they hold a number that is not finite", path.display())]
    NotStorable { path: PathBuf, what: &'static str },
    /// The description of the model is larger than readers of the format accept.
    #[error("{}: parameters and configuration take {got} bytes, and a model file can hold {most}", path.display())]
    HeaderTooLarge {
        path: PathBuf,
        got: usize,
        most: usize,
    },
    /// An array of factors does not have two dimensions, or not numbers.
    #[error("{}: {array} is not a table of numbers, one row per {axis}", path.display())]
    NotFactors {
        path: PathBuf,
        array: String,
        axis: Axis,
    },
    /// An exported layout cannot hold a matrix of this size.
    #[error("{}: {rows} × {cols} is too large for this layout", path.display())]
    LayoutTooSmall {
        path: PathBuf,
        rows: usize,
        cols: usize,
    },
}

impl ModelFileError {
    /// What can be done about the error, in words that suit every front end.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotAModel { .. } => "models are written by training and by import",
            Self::NotAModelFolder { .. } => {
                "name the file of the model; a folder with a model has a file model.absentia"
            }
            Self::TooNew { .. } => "use a newer version of Absentia",
            Self::NotACheckpoint { .. } => "start a new run from it",
            Self::RepeatedId { .. } => "give every row its own id",
            Self::LayoutTooSmall { .. } => "export .npy or parquet",
            _ => return None,
        })
    }
}
