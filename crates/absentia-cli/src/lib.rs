//! What the `absentia` command line is built from.

mod scale;
pub mod terminal;
