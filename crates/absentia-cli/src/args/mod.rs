//! Groups of arguments that several commands share, and how their texts are read.

mod input;
mod prepare;
mod texts;
mod training;

pub(crate) use input::{DataArgs, ReadArgs};
pub(crate) use prepare::PrepareArgs;
pub(crate) use texts::{parse_length, parse_pick, parse_span, parse_split};
pub(crate) use training::{HyperArgs, SolverName, WeightArgs, parse_bytes};
