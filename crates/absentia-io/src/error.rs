//! What can go wrong with a file.
//!
//! A message states what was found and where; [`Error::hint`] says what to do about it. Neither names an
//! option of a front end: those add their own.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use absentia::{Axis, Fault, suggest};

use crate::bad_row::BadRow;
use crate::column::Column;
use crate::format::Format;

const CHECK_NAME: &str = "check the name and the folder";
const NAME_A_FILE: &str = "name a file in it";

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum Error {
    /// A read or a write failed.
    #[error("{}: {source}", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    /// Files that belong together cannot be replaced all at once.
    #[error("{}: {files} cannot be replaced all at once: {reason}", folder.display())]
    NotReplaceable {
        folder: PathBuf,
        files: String,
        reason: String,
    },
    /// A glob matched nothing.
    #[error("no file matches {pattern:?}")]
    NoMatch { pattern: String },
    /// There is no file of this name.
    #[error("{}: no such file", path.display())]
    NoFile {
        path: PathBuf,
        /// Names of files in the same folder that are similar.
        similar: Vec<String>,
    },
    /// A folder where files were expected.
    #[error("{}: is a folder; its files have to be named", path.display())]
    Folder {
        path: PathBuf,
        /// A pattern for its files, if they have a format that is known.
        example: Option<String>,
    },
    /// A folder without files where files were expected.
    #[error("{}: the folder has no files", path.display())]
    EmptyFolder { path: PathBuf },
    /// An archive has more than one file, or none.
    #[error("{}: the archive has {} files, where one is expected: {}", path.display(), names.len(), listed(names))]
    SeveralFiles { path: PathBuf, names: Vec<String> },
    /// A text is written in another encoding than UTF-8.
    #[error("{}: the text is {encoding}, not UTF-8", path.display())]
    Encoding {
        path: PathBuf,
        encoding: &'static str,
    },
    /// A glob could not be understood.
    #[error("{pattern:?} is not a valid file pattern: {detail}")]
    Pattern { pattern: String, detail: String },
    /// An option has a value that cannot be used.
    #[error("{option} cannot be {got:?}: expected {expected}")]
    BadOption {
        option: &'static str,
        got: String,
        expected: &'static str,
    },
    /// A row could not be read and none may be skipped.
    #[error("{row}")]
    Row { row: Box<BadRow> },
    /// More rows were bad than were allowed to be skipped.
    #[error("more than {limit} bad rows, the first at {first}")]
    TooManyBad { limit: u64, first: Box<BadRow> },
    /// A column that is needed or was requested is not in the file.
    #[error("{}: no column {wanted} among {}", path.display(), listed(available))]
    Column {
        path: PathBuf,
        wanted: String,
        column: Column,
        available: Vec<String>,
    },
    /// A column has a type that cannot hold what it should.
    #[error("{}: column {name:?} has type {found}, which cannot be read as {expected}", path.display())]
    ColumnType {
        path: PathBuf,
        name: String,
        column: Column,
        expected: &'static str,
        found: String,
    },
    /// A text file has only one column.
    #[error("{}:{line}: only one column in \"{text}\", where at least a user and an item are needed", path.display())]
    OneColumn {
        path: PathBuf,
        line: u64,
        /// The line's text, shortened.
        text: String,
    },
    /// A file holds no rows.
    #[error("{}: no rows: the file is empty or holds only a header", path.display())]
    Empty { path: PathBuf },
    /// A model that does not score by factors.
    #[error("a model of {solver} has no factors to export")]
    NoFactors { solver: &'static str },
    /// Ids that are row numbers imply a matrix that does not fit into memory.
    #[error("{}: the row numbers imply {rows} users and items, which need {needed} bytes; {available} are available", path.display())]
    TooManyRows {
        path: PathBuf,
        rows: u64,
        needed: u64,
        available: u64,
    },
    /// The arrays of a file do not fit into memory.
    #[error("{}: its arrays need {needed} bytes; {available} are available", path.display())]
    TooLarge {
        path: PathBuf,
        needed: u64,
        available: u64,
    },
    /// A file read as text is binary.
    #[error("{}: binary data where text was expected{}", path.display(), looks_like(*hint))]
    Binary { path: PathBuf, hint: Option<Format> },
    /// A file breaks the rules of its own format.
    #[error("{}: damaged or truncated {format}: {detail}", path.display())]
    Corrupt {
        path: PathBuf,
        format: &'static str,
        detail: String,
    },
    /// A file uses a part of its format that is not supported.
    #[error("{}: {feature} is not supported", path.display())]
    Unsupported {
        path: PathBuf,
        feature: String,
        remedy: &'static str,
    },
    /// Files of one data set disagree on whether a column exists.
    #[error("{}: {}", path.display(), difference(column, *present))]
    Disagree {
        path: PathBuf,
        column: &'static str,
        present: bool,
    },
    /// An id is not among the known ones.
    #[error("{}: {axis} {id:?} is not among the known {axis}s", path.display())]
    UnknownId {
        path: PathBuf,
        axis: Axis,
        /// The id, shortened.
        id: String,
    },
    /// A table of ids is full or would be too large.
    #[error("more than {limit} ids")]
    TooManyIds { limit: u64, remedy: &'static str },
    /// A stored table of ids is not valid.
    #[error("stored ids are not valid: {detail}")]
    BadIds { detail: String },
    /// A data set cannot be written in the requested format.
    #[error("{format} cannot hold {what}")]
    Unrepresentable { format: Format, what: String },
    /// An array or a table cannot be used.
    #[error(transparent)]
    Array(#[from] crate::arrays::ArrayError),
    /// A model cannot be stored or taken from a file.
    #[error(transparent)]
    Model(#[from] crate::model::ModelFileError),
}

impl Error {
    /// What can be done about the error, in words that suit every front end.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotReplaceable { .. } => {
                "write to a folder of its own, or remove these files first".to_owned()
            }
            Self::Folder { example, .. } => match example {
                Some(example) => format!("name them by a pattern, as in {example:?}"),
                None => NAME_A_FILE.to_owned(),
            },
            Self::SeveralFiles { .. } => {
                "extract the archive and name the file of interactions".to_owned()
            }
            Self::Encoding { encoding, .. } => format!(
                "save it as UTF-8, or convert it: iconv -f {encoding} -t UTF-8 FILE > NEW_FILE"
            ),
            Self::NoMatch { .. } => CHECK_NAME.to_owned(),
            Self::NoFile { similar, .. } => {
                suggest::did_you_mean(similar).unwrap_or_else(|| CHECK_NAME.to_owned())
            }
            Self::Io { source, .. } if source.kind() == ErrorKind::IsADirectory => {
                NAME_A_FILE.to_owned()
            }
            Self::Row { row } | Self::TooManyBad { first: row, .. } => row.hint(),
            Self::Column { column, .. } => format!("choose the {column} column"),
            Self::ColumnType { column, .. } => format!("choose another {column} column"),
            Self::OneColumn { .. } => "choose the separator".to_owned(),
            Self::TooManyRows { .. } => {
                "read ids as names: memory is then used only for ids that occur".to_owned()
            }
            Self::Binary { .. } => "choose the format".to_owned(),
            Self::Corrupt { .. } => "fetch or write the file again".to_owned(),
            Self::Unsupported { remedy, .. } | Self::TooManyIds { remedy, .. } => {
                (*remedy).to_owned()
            }
            Self::Disagree { .. } => {
                "read the files separately or choose columns they share".to_owned()
            }
            Self::UnknownId { .. } => {
                "skip or add unknown ids, or read the matching file".to_owned()
            }
            Self::Unrepresentable { .. } => {
                "write another format, such as csv or parquet".to_owned()
            }
            Self::Model(error) => return error.hint().map(str::to_owned),
            _ => return None,
        })
    }

    /// Who has to act on the error.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Io { source, .. } if source.kind() == ErrorKind::NotFound => Fault::NotFound,
            Self::Io { .. } => Fault::Io,
            Self::NoMatch { .. } | Self::NoFile { .. } | Self::UnknownId { .. } => Fault::NotFound,
            _ => Fault::Caller,
        }
    }

    /// Wraps an error of the operating system with the path it concerns.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// Rejects a folder where one file is expected.
    pub(crate) fn refuse_folder(path: &Path) -> Result<(), Self> {
        if path.is_dir() {
            return Err(Self::io(path)(ErrorKind::IsADirectory.into()));
        }
        Ok(())
    }

    /// Builds the error of a file that breaks its format.
    pub(crate) fn corrupt(
        path: &Path,
        format: &'static str,
        detail: impl std::fmt::Display,
    ) -> Self {
        Self::Corrupt {
            path: path.to_owned(),
            format,
            detail: detail.to_string(),
        }
    }
}

fn listed(names: &[String]) -> String {
    const SHOWN: usize = 20;
    let mut text = names
        .iter()
        .take(SHOWN)
        .map(|n| shorten(n.as_bytes()))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > SHOWN {
        text.push_str(", ...");
    }
    text
}

fn looks_like(hint: Option<Format>) -> String {
    hint.map_or_else(String::new, |format| format!(" (it looks like {format})"))
}

fn difference(column: &str, present: bool) -> String {
    if present {
        format!("this file has a {column} column and the files before it have none")
    } else {
        format!("this file has no {column} column and the files before it have one")
    }
}

/// Shortens text to about 80 characters and escapes what a terminal would not show.
pub(crate) fn shorten(bytes: &[u8]) -> String {
    const SHOWN: usize = 80;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN)]);
    let mut short: String = text
        .chars()
        .take(SHOWN)
        .flat_map(char::escape_debug)
        .collect();
    if bytes.len() > 4 * SHOWN || text.chars().nth(SHOWN).is_some() {
        short.push_str("...");
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_and_escaped() {
        let short = shorten(&[b'a'; 1000]);
        assert_eq!(short.len(), 83);
        assert_eq!(shorten(b"a\tb\0"), "a\\tb\\0");
    }

    #[test]
    fn a_missing_file_is_not_found() {
        let error = Error::io(Path::new("x"))(std::io::ErrorKind::NotFound.into());
        assert_eq!(error.fault(), Fault::NotFound);
        assert!(error.to_string().starts_with("x: "));
    }
}
