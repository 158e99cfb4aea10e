//! The text forms of the values of a job. They are the same on the command line, in configuration files
//! and in Python.
//!
//! Every value has one text form, read by `FromStr` and written by `Display`. Methods, targets,
//! weights, moments and columns have theirs next to their types in `absentia` and `absentia-io`.

mod byte_size;
mod confidence;
mod count;
mod device;
mod relation;
mod shape;
mod split;

pub use byte_size::ByteSize;
pub use confidence::ConfidenceRule;
pub use count::Count;
pub use device::Device;
pub use relation::{FeatureSpec, RelationSpec, RelationTextError};
pub use shape::Shape;
pub use split::SplitRule;
