//! The campaign against the program: kills, damaged files, random problems, and files that are read and
//! written at once. `cargo xtask torture` goes on for as long as it is given; the tests here make a few rounds.
//!
//! Each section draws its cases by a seed, a name and the number of a round, so that any round can be
//! made again by itself. A test drives the program as a user does, and knows nothing of what is inside.
#![cfg(unix)]
#![allow(missing_docs)]

mod campaign;
mod damage;
mod data;
mod dice;
mod guard;
mod invariance;
mod kills;
mod problems;
mod resume;
mod room;
#[path = "../support/mod.rs"]
mod support;

use campaign::section;

/// Every output against every input and output of every command.
#[test]
fn guard() {
    section("guard", 1, guard::round);
}

/// The order of rows and the number of threads change nothing.
#[test]
fn invariance() {
    section("invariance", 8, invariance::round);
}

/// A run that goes on under other conditions is refused, or is the run that starts under them.
#[test]
fn resume() {
    section("resume", 6, resume::round);
}

/// Damaged files are refused, or are read without a crash, a hang or much memory.
#[test]
fn damage() {
    section("damage", 6, damage::round);
}

/// Commands that are killed leave nothing that is half written.
#[test]
fn kills() {
    section("kills", 3, kills::round);
}

/// Random problems end where an oracle in `f64` does.
#[test]
fn problems() {
    section("problems", 20, problems::round);
}
