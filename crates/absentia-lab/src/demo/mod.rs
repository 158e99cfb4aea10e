//! What weights on missing entries gain, on generated data whose truth is known.

mod experiment;
mod weights;

pub use experiment::{DemoSettings, Experiment, ModelResult};
