//! From raw events to the rows that count: thresholds, windows, cores, samples, duplicates.
//!
//! Every step works on an [`EventLog`] in place and reports what it dropped. Ids are kept as they
//! are; [`EventLog::present`] tells which users or items remain.

mod core;
mod dedupe;
mod groups;
mod log;
mod sample;

pub use self::core::Core;
pub use self::log::{EventLog, LogColumns, Report};
pub use self::sample::Sample;

pub(super) use self::groups::RowGroups;
pub use self::sample::mix;
