//! Lists of items and the bounded pool of threads that makes them.
//!
//! | file | concept |
//! | --- | --- |
//! | `request` | whose list, how long, without which items |
//! | `lists` | lists for several requests at one sequence number |
//! | `pool` | the threads, their queue, and requests that wait too long |
//!
//! A list of a user who has not changed since shortlists were made is looked up. Other requests are ranked together
//! with those that wait: a thread takes the lock of the state to prepare them and to name their items, and ranks
//! without it. Either way, each list is the one that scoring every item would give.

mod lists;
mod pool;
mod request;

pub(crate) use lists::looked_up;
pub use pool::{Pool, Worker};
pub use request::{ItemOfUser, List, ListRequest, Listed, Seen, Who};
