//! Why a data set cannot be used for the paper's experiments.

use absentia::Fault;

/// Why a rating file cannot be used for the paper's experiments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PaperError {
    /// No users and items have enough ratings.
    #[error("no users and items have {least} ratings each")]
    TooFewRatings {
        /// Ratings that every user and item must have.
        least: u32,
    },
    /// The file has no times.
    #[error(
        "there is no column of times, which is needed to hold out the latest rating of each user"
    )]
    NoTimes,
}

impl PaperError {
    /// Whose fault it is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::TooFewRatings { .. } | Self::NoTimes => Fault::Caller,
        }
    }
}
