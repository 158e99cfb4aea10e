//! Files.
#![deny(missing_docs)]

pub mod npy;

mod atomic;
mod bad_row;
mod column;
mod dataset;
mod error;
mod format;
mod ids;
mod read;
mod write;

pub use atomic::AtomicFile;
pub use bad_row::{BadRow, BadRows, RowFault};
pub use column::{Column, ColumnRef, Columns};
pub use dataset::Dataset;
pub use error::{Error, Fault};
pub use format::Format;
pub use ids::{Axis, IdMap, RawIds};
pub use read::{DenseIds, NoProgress, Progress, ReadOptions, Unknown, expand, read, read_with_ids};
pub use write::write;
