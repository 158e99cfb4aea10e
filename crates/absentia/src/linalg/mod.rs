//! Dense algebra on `f32` rows: the only module that knows about instruction sets.

mod dense;

pub use dense::{Dense, LANES};
