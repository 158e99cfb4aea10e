//! Hyper-parameters of a training run, and their check.

mod changes;
mod check;
mod error;
mod method;
mod settings;

pub use check::{CheckedParams, MAX_FACTORS};
pub use error::ParamsError;
pub use method::{Baseline, Method, Solver};
pub use settings::Params;
