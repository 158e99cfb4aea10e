//! The HTTP API.
//!
//! | file | concept |
//! | --- | --- |
//! | `server` | the connection loop with its limits, and the graceful stop |
//! | `stream` | a connection whose reader must not be slow for ever |
//! | `routes` | the table of routes, with their scopes |
//! | `call` | a request with its parameters and body; an answer |
//! | `dispatch` | from a request to an answer: route, key, body, handler, counters, log |
//! | `json`, `shape` | bodies in JSON, checked |
//! | `page`, `schema` | the description of the API as a page |
//! | `recommendations`, `similar`, `explanations`, `events`, `catalogue`, `models`, `operations` | the handlers |
//!
//! `openapi.json` documents every route; a test compares it with the table.

mod call;
mod catalogue;
mod dispatch;
mod events;
mod explanations;
mod json;
mod models;
mod operations;
mod page;
mod recommendations;
mod routes;
mod schema;
mod server;
mod shape;
mod similar;
mod stream;

pub use call::{Answer, Call};
pub use dispatch::dispatch;
pub(crate) use dispatch::{ask, has_own_origin, read_body, without_key};
pub(crate) use page::escaped;
pub use routes::{Handler, ROUTES, Route};
pub use server::{Listening, listen};
