//! The name of standard input and output.

use std::path::Path;

/// Whether a name stands for standard input where a table is read, and for standard output where one is
/// written: `-`. A file of that name is `./-`.
#[must_use]
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}
