//! Why a data set cannot be used for the paper's experiments.

use absentia::Fault;

/// Why a rating file cannot be used for the paper's experiments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PaperError {
    /// Nobody has enough ratings.
    #[error("no users and items are left that have {least} ratings each")]
    TooFewRatings {
        /// Ratings that every user and item must have.
        least: u32,
    },
    /// The file has no times.
    #[error("no column of times, and the latest rating of each user is to be held out")]
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
