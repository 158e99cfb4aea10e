//! What weights on missing entries are worth, on generated data whose truth is known.

mod experiment;
mod weights;

pub use experiment::{DemoSettings, Experiment, ModelResult};
