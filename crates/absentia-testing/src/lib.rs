//! What the tests of several crates share: data sets beside the repository, problems that are hard for
//! floating-point numbers ([`extreme`]), and tests that cannot run.
//!
//! A test that lacks its data or a program calls [`skipped`] and returns. That is printed even though the
//! test passes, and `cargo xtask test` counts such tests at the end.
#![deny(missing_docs)]

pub mod extreme;

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The environment variable that names the file to which skipped tests are added, one on each line.
pub const SKIPPED_TESTS: &str = "ABSENTIA_SKIPPED_TESTS";

/// Prints that the current test is skipped, and why, and adds it to the list of skipped tests.
pub fn skipped(why: &str) {
    let thread = std::thread::current();
    let line = format!("SKIPPED {}: {why}\n", thread.name().unwrap_or("a test"));
    // A handle is not captured by the test harness, unlike `eprintln!`.
    let _ = io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os(SKIPPED_TESTS) {
        let list = OpenOptions::new().create(true).append(true).open(path);
        let _ = list.and_then(|mut list| list.write_all(line.as_bytes()));
    }
}

/// The path of a file or folder of the data beside the repository, or `None` if it is absent.
///
/// An absent one is reported by [`skipped`]; the caller only has to return.
#[must_use]
pub fn shared_data(name: &str) -> Option<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = data.join(name);
    if path.exists() {
        return Some(path);
    }
    skipped(&format!("../shared/data/{name} does not exist"));
    None
}
