//! Lists of items and the bounded pool of threads that makes them.
//!
//! | file | concept |
//! | --- | --- |
//! | `request` | whose list, how long, without which items |
//! | `lists` | lists for several requests at one sequence number |
//! | `pool` | the threads, their queue, and requests that wait too long |
//! | `kept` | lists that were sent and are still right |
//!
//! Requests that wait are ranked together. A thread takes the lock of the state to prepare them and to name
//! their items, and ranks without it; each list is the one that scoring every item would give.

mod kept;
mod lists;
mod pool;
mod request;

pub use kept::KeptLists;
pub use pool::{Pool, Worker};
pub use request::{ItemOfUser, List, ListRequest, Listed, Seen, Who};
