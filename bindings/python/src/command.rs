//! The command line, for the program `absentia` that the package installs.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the program with these arguments, its own name first, and yields its exit code.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    absentia::return_freed_memory();
    py.detach(|| absentia_cli::run(arguments))
}
