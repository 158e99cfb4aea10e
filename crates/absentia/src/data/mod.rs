//! The observed matrix R and its transpose, and how targets `r_ui` and weights `c_ui` are derived.

mod build;
mod describe;
mod drift;
mod entries;
mod error;
mod exposed;
mod hold_out;
mod interactions;
mod memory;
mod operator;
mod part;
mod prepare;
mod recency;
mod repeats;
mod source;
mod split;
mod stack;
mod storage;
mod text;
mod time_unit;
mod transform;
mod transpose;
mod whole;

pub use build::Triplets;
pub(crate) use describe::gini;
pub use describe::{Description, Quantiles, TailBin};
pub use entries::{Entries, Row, Values, ValuesRow};
pub use error::DataError;
pub(crate) use exposed::MergedRows;
pub use hold_out::HeldOut;
pub use interactions::Interactions;
pub use prepare::{Core, EventLog, Report, Sample};
#[doc(hidden)]
pub use prepare::{LogColumns, mix};
pub use recency::latest_item_counts;
pub(crate) use recency::recent_now;
pub(crate) use repeats::RowColumns;
pub use repeats::{Duplicates, Merging};
pub use source::{RowSource, from_row_source};
pub use split::{Part, Pick, Split, SplitReport, Unknown};
pub(crate) use stack::Placed;
pub use storage::Storage;
#[doc(hidden)]
pub use time_unit::{MOST_SECONDS, units_per_second};
pub use transform::{Confidence, FrozenTransform, Targets};
#[doc(hidden)]
pub use whole::WholeMatrix;
