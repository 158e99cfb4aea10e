//! The server as a client sees it: real sockets, the real program.
#![allow(clippy::unwrap_used, missing_docs)]

mod api;
mod browser;
mod client;
mod crash;
mod dashboard;
mod deployment;
mod documents;
mod faults;
mod folders;
mod guide;
mod hostile;
mod keys;
mod kills;
mod models;
mod quality;
mod refusals;
mod shortlists;
