//! What the `absentia` command line is built from.

pub mod report;
mod scale;
pub mod terminal;
