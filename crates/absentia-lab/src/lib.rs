//! Experiments: generated data whose truth is known, a demonstration of weights on missing entries, and
//! every table and figure of the paper.

pub mod demo;
pub mod fits;
pub mod generate;
pub mod paper;
