//! Standard input and output under the name `-`.

use std::borrow::Cow;
use std::io::Read as _;
use std::path::Path;

use crate::error::Error;

/// Whether a name stands for standard input where a file is read, and for standard output where one is
/// written: `-`. A file of that name is `./-`.
#[must_use]
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// The name of a file that was written, for messages.
#[must_use]
pub fn output_name(path: &Path) -> Cow<'_, str> {
    if is_standard(path) {
        Cow::Borrowed("standard output")
    } else {
        path.to_string_lossy()
    }
}

/// The whole text of a file, or of standard input.
///
/// # Errors
/// The file cannot be read, or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, Error> {
    let text = String::from_utf8(read_bytes(path)?);
    let invalid = |error| std::io::Error::new(std::io::ErrorKind::InvalidData, error);
    text.map_err(|error| Error::io(path)(invalid(error)))
}

/// All bytes of a file, or of standard input.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, Error> {
    if !is_standard(path) {
        return std::fs::read(path).map_err(Error::io(path));
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin().read_to_end(&mut bytes);
    read.map_err(Error::io(path))?;
    Ok(bytes)
}
