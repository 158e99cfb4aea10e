//! Runs that several workers share.
//!
//! Each worker has a [`Shard`](absentia::fit::shard::Shard): some chunks of users and of items. A
//! [`Plan`] says who owns which chunks and, once and for all, which rows each needs of each other: rows
//! travel one by one, not in blocks, because the entries of a few thousand users name items of nearly
//! every block. [`InProcess`] drives the shards of a plan in one process through the one loop of a run;
//! its models have the bits of one process without shards. Nothing here knows how rows travel between
//! machines.

mod in_process;
mod plan;

pub use in_process::{InProcess, Sharded};
pub use plan::{Exchange, Plan};
