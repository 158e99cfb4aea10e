//! The tests: `cargo xtask test`.

use std::path::{Path, PathBuf};

use crate::{cargo, python, run, target};

/// Names the file to which tests add a line when they are skipped; `absentia_testing` and the
/// `conftest.py` of the Python tests know it by the same name.
pub(crate) const SKIPPED_TESTS: &str = "ABSENTIA_SKIPPED_TESTS";

/// Runs all tests and prints which were skipped.
pub(crate) fn test() -> Result<(), String> {
    let list = skipped_tests();
    let _ = std::fs::remove_file(&list);
    let outcome = run_all(&list);
    print_skipped(&list);
    outcome
}

/// Where tests that are skipped are listed.
pub(crate) fn skipped_tests() -> PathBuf {
    target().join("skipped-tests.txt")
}

fn run_all(list: &Path) -> Result<(), String> {
    let mut command = cargo(&["test", "--workspace", "--all-features"]);
    command.env(SKIPPED_TESTS, list);
    if let Some(python) = python::interpreter().filter(|python| python.exists()) {
        command.env("ABSENTIA_PYTHON", python);
    }
    run(&mut command)?;
    python::site()?;
    python::test()
}

fn print_skipped(list: &Path) {
    let lines = std::fs::read_to_string(list).unwrap_or_default();
    eprintln!("xtask: {} tests were skipped", lines.lines().count());
    for line in lines.lines() {
        eprintln!("  {line}");
    }
}
