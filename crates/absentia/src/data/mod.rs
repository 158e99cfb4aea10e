//! The observed matrix R and its transpose, and how targets `r_ui` and weights `c_ui` are derived.

mod build;
mod entries;
mod error;
mod exposed;
mod interactions;
mod storage;
mod transform;

pub use build::{Duplicates, EntrySource, Triplets, from_source};
pub use entries::{Entries, Row, Values, ValuesRow};
pub use error::DataError;
pub use interactions::Interactions;
pub use storage::Storage;
pub use transform::{Confidence, FrozenTransform, Targets};
