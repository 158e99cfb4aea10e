//! The tests: `cargo xtask test`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{cargo, python, target};

/// Names the file to which tests add a line when they are skipped; `absentia_testing` and the
/// `conftest.py` of the Python tests know it by the same name.
pub(crate) const SKIPPED_TESTS: &str = "ABSENTIA_SKIPPED_TESTS";

/// Runs all tests and prints how many are ignored and which were skipped.
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
    run_tests(&mut command)?;
    python::site()?;
    python::test()
}

/// Runs a test command, whose output is shown, and prints how many tests it ignored.
#[allow(clippy::print_stdout, reason = "the output of the tests")]
fn run_tests(command: &mut Command) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("the tests: {error}");
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let output = child.stdout.take().ok_or("the tests have no output")?;
    let mut ignored = 0;
    for line in BufReader::new(output).lines() {
        let line = line.map_err(failed)?;
        ignored += ignored_in(&line);
        println!("{line}");
    }
    eprintln!("xtask: {ignored} tests are ignored");
    let status = child.wait().map_err(failed)?;
    if status.success() {
        return Ok(());
    }
    Err(format!("{command:?} failed"))
}

/// The number of ignored tests in a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; ...`.
fn ignored_in(line: &str) -> u64 {
    let counts = line.strip_prefix("test result: ").unwrap_or_default();
    let mut counts = counts.split(';').map(str::trim);
    let ignored = counts.find_map(|count| count.strip_suffix(" ignored"));
    ignored.and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn print_skipped(list: &Path) {
    let lines = std::fs::read_to_string(list).unwrap_or_default();
    eprintln!("xtask: {} tests were skipped", lines.lines().count());
    for line in lines.lines() {
        eprintln!("  {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_tests_are_counted_in_results_alone() {
        let line = "test result: ok. 3 passed; 0 failed; 12 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(ignored_in(line), 12);
        assert_eq!(ignored_in("test slow ... ignored"), 0);
    }
}
