//! The best items of many users, ranked without ever holding a score matrix.
//!
//! | file | concept |
//! | --- | --- |
//! | `scorer`, `score` | where scores come from: factors, popularity, any function |
//! | `rank`, `top`, `targets` | the best items of many users, and exact ranks of given items |
//! | `seen`, `lists` | what is not to be ranked for whom |

mod error;
mod lists;
mod rank;
mod score;
mod scorer;
mod seen;
mod targets;
mod top;

pub use error::RankError;
pub(crate) use error::check_range;
pub use lists::{ItemLists, TestSet, UserItems};
pub(crate) use rank::BATCH;
pub use rank::{RankRequest, Ranking, rank, rank_lists};
pub use scorer::{FactorRows, FactorScorer, FnScorer, PopularityScorer, ScoreBlock, Scorer, Tile};
pub use seen::SeenItems;
pub use top::Scored;
