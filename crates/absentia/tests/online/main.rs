//! An online model against what it must equal: steps of the slow solver, sums from scratch, schemes
//! resolved again, and its own replay.
// Helpers of tests unwrap as tests do.
#![allow(clippy::unwrap_used, clippy::cast_possible_wrap)]

mod caches;
mod extremes;
mod frozen;
mod hostile;
mod live;
mod memory;
mod replay;
mod setup;
mod steps;
mod undo;
