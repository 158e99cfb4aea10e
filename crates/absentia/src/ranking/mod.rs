//! The best items of many users, ranked without storing a score matrix.
//!
//! | file | concept |
//! | --- | --- |
//! | `scorer`, `factors`, `score` | where scores come from: factors, popularity, any function |
//! | `rank`, `top`, `target_ranks` | the best items of many users, and exact ranks of given items |
//! | `catalogue`, `state`, `scan` | scoring blocks of items for tiles of users |
//! | `screen` | skipping items that cannot enter a list |
//! | `index` | an index of all items, built once for many rankings |
//! | `indexed_items`, `changed_items` | an index that is kept while some items change, and copies of these |
//! | `shortlists` | the best items of many users, ranked beforehand |
//! | `small_batch` | a few users, without any preparation |
//! | `seen`, `lists` | which items are not ranked for which user |

mod catalogue;
mod changed_items;
mod error;
mod factors;
mod index;
mod indexed_items;
mod lists;
mod memory;
mod rank;
mod scan;
mod score;
mod scorer;
mod screen;
mod seen;
mod shortlists;
mod small_batch;
mod state;
mod target_ranks;
mod top;

#[cfg(test)]
mod tests;

pub use changed_items::ChangedItems;
pub use error::RankError;
pub(crate) use error::check_range;
pub use factors::{FactorRows, FactorScorer};
pub(crate) use index::LazyIndex;
pub use indexed_items::IndexedItems;
pub use lists::{ItemLists, UserItems};
pub use memory::ranking_bytes;
pub(crate) use rank::BATCH;
pub(crate) use rank::rank_lists;
pub use rank::{RankRequest, Ranking, rank};
pub use scorer::{FnScorer, PopularityScorer, ScoreBlock, ScoreTile, Scorer};
pub(crate) use screen::screening_pays;
pub use seen::SeenItems;
pub use shortlists::Shortlists;
pub(crate) use small_batch::SMALL_BATCH;
pub(crate) use target_ranks::{rank_among, rank_by_factors};
pub use top::Scored;
