//! Dense algebra on `f32` rows: the only module that knows about instruction sets.

mod dense;
pub(crate) mod kernels;
pub(crate) mod spd;

pub use dense::{Dense, LANES};
pub use kernels::InstructionSet;
