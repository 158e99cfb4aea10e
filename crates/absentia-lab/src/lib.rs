//! Experiments: data with a known truth, what weights on missing entries are worth on it, and every
//! table and figure of the paper.

pub mod demo;
pub mod generate;
pub mod paper;
