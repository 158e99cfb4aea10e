//! Ids as a text file, one a line, in row order.
//!
//! A backslash, a line feed and a carriage return inside an id are written `\\`, `\n` and `\r`, so
//! that every id is one line and every list comes back as it was.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use super::error::ModelFileError;
use crate::atomic::AtomicFile;
use crate::error::{Error, shorten};
use crate::ids::IdMap;
use crate::standard::read_bytes;

const FORMAT: &str = "list of ids";

pub(crate) fn write(path: &Path, ids: &IdMap) -> Result<(), Error> {
    let mut file = AtomicFile::create(path)?;
    for id in ids.iter() {
        writeln!(file, "{}", escaped(&id)).map_err(Error::io(path))?;
    }
    file.commit()
}

pub(super) fn read(path: &Path) -> Result<IdMap, Error> {
    let text = read_bytes(path)?;
    let text = String::from_utf8(text).map_err(|e| Error::corrupt(path, FORMAT, e.utf8_error()))?;
    let mut ids = IdMap::new();
    for (row, line) in text.lines().enumerate() {
        if line.is_empty() {
            return Err(Error::corrupt(
                path,
                FORMAT,
                format!("line {} is empty", row + 1),
            ));
        }
        let id = unescaped(line);
        if ids.intern(&id)? as usize != row {
            return Err(ModelFileError::RepeatedId {
                path: path.to_owned(),
                line: row + 1,
                id: shorten(id.as_bytes()),
            }
            .into());
        }
    }
    Ok(ids)
}

fn escaped(id: &str) -> Cow<'_, str> {
    if !id.contains(['\\', '\n', '\r']) {
        return Cow::Borrowed(id);
    }
    let escaped = id.replace('\\', "\\\\");
    Cow::Owned(escaped.replace('\n', "\\n").replace('\r', "\\r"))
}

/// Undoes [`escaped`]; a backslash before anything else is kept.
fn unescaped(line: &str) -> Cow<'_, str> {
    if !line.contains('\\') {
        return Cow::Borrowed(line);
    }
    let mut id = String::with_capacity(line.len());
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        let mut ahead = rest.clone();
        let meant = match (c, ahead.next()) {
            ('\\', Some('\\')) => '\\',
            ('\\', Some('n')) => '\n',
            ('\\', Some('r')) => '\r',
            _ => {
                id.push(c);
                continue;
            }
        };
        id.push(meant);
        rest = ahead;
    }
    Cow::Owned(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_with_line_ends_and_backslashes_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.txt");
        let ids: IdMap = ["a", "b\nc", "d\r", "\\n", "e\\", "Amélie", "7"]
            .into_iter()
            .collect();
        write(&path, &ids).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 7);
        assert_eq!(read(&path).unwrap(), ids);
    }

    #[test]
    fn lists_made_elsewhere_may_hold_lone_backslashes() {
        assert_eq!(unescaped("C:\\x"), "C:\\x");
        assert_eq!(unescaped("x\\"), "x\\");
    }

    #[test]
    fn repeated_and_empty_ids_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.txt");
        std::fs::write(&path, "a\nb\na\n").unwrap();
        let message = read(&path).unwrap_err().to_string();
        assert!(message.contains("users.txt:3: id \"a\""), "{message}");
        std::fs::write(&path, "a\n\nb\n").unwrap();
        let message = read(&path).unwrap_err().to_string();
        assert!(message.contains("line 2 is empty"), "{message}");
        std::fs::write(&path, b"a\n\xff\n").unwrap();
        assert!(read(&path).is_err());
    }
}
