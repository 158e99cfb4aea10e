//! Runs that several workers share.
//!
//! A [`Worker`] has some chunks of users and of items, in one [`Shard`](absentia::fit::shard::Shard), or in several
//! that need fewer rows of others each: a step is then made in [`Wave`]s. A [`Plan`] says who owns which chunks. Which rows
//! a worker needs of each other one is known before the first sweep. Rows are sent one by one, not in blocks, because the
//! entries of a few thousand users name items of nearly every block.
//! [`Sharded`] drives the [`Workers`] of a run through the one loop, by [`Request`]s and [`Reply`]s, and replaces
//! those that are lost; models have the bits of one process without workers. Nothing here knows how messages
//! and rows travel between machines: [`InProcess`] has all workers in one process.

mod in_process;
mod message;
mod plan;
mod sharded;
mod worker;

pub use in_process::{InProcess, LocalWorkers};
pub use message::{Reply, Request, Sample, from_bytes, to_bytes};
pub use plan::{Plan, chunk_work};
pub use sharded::{Sharded, Trouble, Workers};
pub use worker::{Received, Wave, Worker, WorkerError};
