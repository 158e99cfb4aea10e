//! How good a ranking is: metrics, protocols, significance.
//!
//! | file | concept |
//! | --- | --- |
//! | `metrics`, `summary`, `catalogue` | metrics of rankings, defined in `docs/metrics.md` |
//! | `options`, `protocol` | which items are ranked for whom, and the result |
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
pub use catalogue::CatalogueResult;
pub use error::EvaluateError;
pub use history::History;
pub use metrics::{Metric, MetricName, gain};
pub use options::{Candidates, EvaluateOptions};
pub use protocol::{CandidateKind, Evaluation, MetricResult, TestSet, evaluate};
pub use significance::{SignificanceError, TTest, paired_t_test};
pub use summary::Summary;
