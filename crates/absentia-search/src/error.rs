//! Why a search failed.

use absentia::Fault;
use absentia::data::DataError;
use absentia::evaluate::EvaluateError;
use absentia::fit::FitError;

/// Why a search ended without a result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum SearchError {
    /// There are no held-out rows to choose by.
    #[error("no row is held out, so there is nothing to choose settings by")]
    NothingHeldOut,
    /// There are no rows left to train on.
    #[error("every row is held out, and none is left to train on")]
    EverythingHeldOut,
    /// A search cannot rank users who are held out whole.
    #[error("users held out whole cannot be ranked without folding them in")]
    WholeUsers,
    /// More folds were requested than a rule has.
    #[error(
        "there {} to hold out the latest rows",
        if *most == 1 { "is only one way".to_owned() } else { format!("are only {most} ways") }
    )]
    TooManyFolds { most: usize },
    /// The folds are not of one data set.
    #[error(
        "fold {fold} has {users} users and {items} items, the first has {expected_users} and {expected_items}"
    )]
    Folds {
        fold: usize,
        users: usize,
        items: usize,
        expected_users: usize,
        expected_items: usize,
    },
    /// An option out of range.
    #[error("{name} is {got}; it must be {range}")]
    Option {
        name: &'static str,
        got: f64,
        range: &'static str,
    },
    /// A logged trial is not what this search would have made.
    #[error("trial {number} of the log belongs to another search: {what} differs")]
    Log { number: usize, what: &'static str },
    /// No trial gave a model.
    #[error("none of {trials} trials gave a model; the first failed with: {first}")]
    AllFailed { trials: usize, first: String },
    /// Every trial scored 0, so that none is better than another.
    #[error(
        "{metric} is 0 in all of {trials} trials: no held-out item was ranked high enough, so there is \
         nothing to choose settings by"
    )]
    NothingScored { metric: String, trials: usize },
    /// The search was ended before any trial was complete.
    #[error("the search was ended before its first trial was complete")]
    Cancelled,
    /// Weights that need files have no text form that could be trained with.
    #[error("weights that need files cannot be studied")]
    WeightsNeedFiles,
    /// Rows could not be held out.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A model could not be measured.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    /// A run could not be made.
    #[error(transparent)]
    Fit(#[from] FitError),
}

impl SearchError {
    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            SearchError::Data(error) => error.fault(),
            SearchError::Evaluate(error) => error.fault(),
            SearchError::Fit(error) => error.fault(),
            _ => Fault::Caller,
        }
    }
}
