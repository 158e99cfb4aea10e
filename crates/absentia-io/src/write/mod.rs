//! w
use crate::{Dataset, Error, Format};
use std::path::Path;
/// w
/// # Errors
/// e
pub fn write(_: &Dataset, path: &Path, format: Format) -> Result<(), Error> {
    Err(Error::Unrepresentable {
        format,
        what: path.display().to_string(),
    })
}
