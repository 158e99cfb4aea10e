//! How good a ranking is: all items ranked without a score matrix, metrics, protocols, significance.
//!
//! | file | concept |
//! | --- | --- |
//! | `scorer`, `score` | where scores come from: factors, popularity, any function |
//! | `rank/` | the best items of many users, and exact ranks of given items |
//! | `metrics`, `summary`, `catalogue` | what a ranking is worth, written out in `docs/metrics.md` |
//! | `options`, `protocol` | which items are ranked for whom, and what comes out |
//! | `significance`, `student`, `bootstrap` | whether two models differ |

mod bootstrap;
mod catalogue;
mod error;
mod history;
mod lists;
mod metrics;
mod options;
mod protocol;
mod rank;
mod score;
mod scorer;
mod significance;
mod student;
mod summary;

pub use bootstrap::{Bootstrap, Interval, bootstrap_difference};
pub use catalogue::{CatalogueCounts, CatalogueResult};
pub use error::EvaluateError;
pub use history::{History, SeenItems};
pub use lists::{ItemLists, TestSet, UserItems};
pub use metrics::{Metric, MetricName, UserRanks};
pub use options::{Candidates, EvaluateOptions};
pub use protocol::{CandidateKind, Evaluation, MetricResult, evaluate};
pub use rank::{RankRequest, Ranking, Scored, rank, rank_lists};
pub use scorer::{FactorScorer, Factors, FnScorer, PopularityScorer, ScoreBlock, Scorer, Tile};
pub use significance::{SignificanceError, TTest, one_sample_t_test, paired_t_test};
pub use student::student_two_sided;
pub use summary::Summary;
