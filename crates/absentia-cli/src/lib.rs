//! The command line of Absentia: a ratings file in, an evaluated model and recommendations out.
// Arguments are bools and their doc comments are help texts, where back-ticks would be shown.
#![allow(clippy::doc_markdown, clippy::struct_excessive_bools)]

mod args;
mod cli;
mod cold;
mod config;
mod events;
mod failure;
mod folding;
mod guard;
mod help;
mod loading;
mod measure;
mod reasons;
mod store;
mod ui;
mod usual;
mod verbs;

pub use cli::{command, run};
