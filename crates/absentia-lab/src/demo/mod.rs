//! What weights on missing entries gain, on generated data whose truth is known.

mod arrivals;
mod comparison;
mod experiment;
mod weights;

pub use arrivals::Arrivals;
pub use comparison::{Comparison, DemoSettings, ModelResult};
pub use experiment::Experiment;
