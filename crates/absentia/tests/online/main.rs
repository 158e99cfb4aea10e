//! An online model against what it must equal: steps of the slow solver, sums from scratch, schemes
//! resolved anew, and its own replay.

mod caches;
mod hostile;
mod live;
mod replay;
mod setup;
mod steps;
mod undo;
