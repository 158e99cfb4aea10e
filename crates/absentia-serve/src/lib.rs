//! A recommender over HTTP: one process, one data folder.
//!
//! Events that are sent to it are stored, learned and then acknowledged, in this order, and change the next
//! recommendation. After a crash, the newest saved state and the events after it give the same bits.
//!
//! | part | concept |
//! | --- | --- |
//! | [`store`] | events, catalogue, keys and the register of models in `SQLite`; a chain of digests |
//! | [`state`] | the active model and the one thread that changes it; saved states |
//! | [`ranking`] | lists, made on a bounded pool of threads with an index that is kept while items change |
//! | [`api`] | the HTTP interface: connection loop, table of routes, handlers, `openapi.json` |
//! | `dashboard` | pages for people, made by the server |
//! | [`auth`] | keys and their scopes |
//! | [`jobs`] | registering, activating and training models in the background |
//! | [`catalogue`] | titles, categories and hidden items in memory |
//! | [`metrics`] | counters for Prometheus |
//! | [`quality`] | how well events are predicted before they are learned |
//! | [`settings`] | kinds of events and limits, from a TOML file |
//! | [`core`] | what all of these share |
//! | [`start`] | starting and stopping |
//!
//! The path of an event: a handler of [`api`] checks its shape and puts it into the queue of the writing
//! thread. The writer takes all requests that wait, checks them against the state, commits them together
//! (one synchronisation of the disk), applies them in the order of their sequence numbers, and answers.
//!
//! The path of a list: a handler puts the request into the queue of the ranking threads, which is full after
//! a number of requests: more are refused at once. A ranking thread takes a few requests at a time and ranks
//! them at one sequence number, which the answer carries. A list that can be looked up is answered by the network
//! thread itself, which scores at most the few items that have changed since. Network threads never write.
#![deny(missing_docs)]

pub mod api;
pub mod auth;
mod background;
pub mod catalogue;
mod clock;
pub mod core;
mod dashboard;
pub mod error;
pub mod jobs;
mod log;
pub mod metrics;
pub mod quality;
pub mod queue;
pub mod ranking;
pub mod settings;
pub mod start;
pub mod state;
pub mod store;

pub use auth::{Scope, new_key};
pub use error::{ApiError, ServeError};
pub use settings::Settings;
pub use start::{Ready, ServeOptions, serve};
