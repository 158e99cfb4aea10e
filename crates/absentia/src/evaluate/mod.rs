//! How good a ranking is: metrics, protocols, significance.
//!
//! | file | concept |
//! | --- | --- |
//! | `metrics`, `summary`, `catalogue` | what a ranking is worth, written out in `docs/metrics.md` |
//! | `options`, `protocol` | which items are ranked for whom, and what comes out |
//! | `significance`, `student`, `bootstrap` | whether two models differ |

mod bootstrap;
mod catalogue;
mod error;
mod history;
mod metrics;
mod options;
mod protocol;
mod significance;
mod student;
mod summary;

pub use bootstrap::{Bootstrap, Interval, bootstrap_difference};
pub use catalogue::{CatalogueCounts, CatalogueResult};
pub use error::EvaluateError;
pub use history::History;
pub use metrics::{Metric, MetricName, UserRanks};
pub use options::{Candidates, EvaluateOptions};
pub use protocol::{CandidateKind, Evaluation, MetricResult, evaluate};
pub use significance::{SignificanceError, TTest, one_sample_t_test, paired_t_test};
pub use student::student_two_sided;
pub use summary::Summary;

pub use crate::ranking::{
    FactorRows, FactorScorer, FnScorer, ItemLists, PopularityScorer, RankError, RankRequest,
    Ranking, ScoreBlock, ScoreTile, Scored, Scorer, SeenItems, TestSet, UserItems, rank,
    rank_lists,
};
