//! How good a ranking is: metrics, protocols, significance.
//!
//! | file | concept |
//! | --- | --- |
//! | `metrics`, `summary`, `catalogue` | what a ranking is worth, written out in `docs/metrics.md` |
//! | `protocol` | which items are ranked for whom, and what comes out |
//! | `significance`, `student` | whether two models differ |

mod catalogue;
mod error;
mod history;
mod metrics;
mod protocol;
mod significance;
mod student;
mod summary;

pub use catalogue::{CatalogueCounts, CatalogueResult};
pub use error::EvaluateError;
pub use history::History;
pub use metrics::{Metric, MetricName, UserRanks};
pub use protocol::{
    CandidateKind, Candidates, EvaluateOptions, Evaluation, MetricResult, evaluate,
};
pub use significance::{
    Bootstrap, Interval, SignificanceError, TTest, bootstrap_difference, one_sample_t_test,
    paired_t_test,
};
pub use student::student_two_sided;
pub use summary::Summary;

pub use crate::ranking::{
    FactorRows, FactorScorer, FnScorer, ItemLists, PopularityScorer, RankError, RankRequest,
    Ranking, ScoreBlock, Scored, Scorer, SeenItems, TestSet, Tile, UserItems, rank, rank_lists,
};
