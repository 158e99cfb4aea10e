//! Why an evaluation was rejected.

use crate::error::Fault;
use crate::ranking::RankError;

/// Why an evaluation was rejected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// A metric that needs a cut-off was requested without one.
    #[error("{metric} needs at least one cut-off, as in {metric}@20")]
    NoCutoffs {
        /// Name of the metric.
        metric: &'static str,
    },
    /// A cut-off of zero.
    #[error("a cut-off is 0; cut-offs must be at least 1")]
    ZeroCutoff,
    /// No metric was requested.
    #[error("no metric was requested")]
    NoMetrics,
    /// A name that is not a metric.
    #[error(
        "{name:?} is not a metric; known are hr, ndcg, recall, precision, map and mrr (each @k), mrr-all and auc"
    )]
    UnknownMetric {
        /// What was given.
        name: String,
    },
    /// Not one user has a test item.
    #[error("no user has a test item, so there is nothing to average over")]
    NoTestUsers,
    /// A test user without a list of sampled negatives.
    #[error("user {user} has test items but no list of sampled negatives")]
    NoNegatives {
        /// The user.
        user: u32,
    },
    /// Something could not be ranked.
    #[error(transparent)]
    Ranking(#[from] RankError),
}

impl EvaluateError {
    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }
}
