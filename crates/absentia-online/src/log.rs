//! Records in a file, one a line, each with a checksum.
//!
//! A line is the xxh3-64 of the rest of the line as sixteen hexadecimal digits, a space, and a JSON
//! object: the record with the sequence number that it led to. A line that was cut short by a crash is
//! the last one, is recognised by its checksum, and is removed when the log is opened to be continued;
//! any other damage is an error that names the line.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use absentia::online::WeightMode;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::record::Record;

/// Longest line that is read. Ids of events have a limit; a user to be erased may have an id of the training rows,
/// of at most a mebibyte, each byte of which takes up to six in JSON.
const MAX_LINE: u64 = 16 << 20;
const FORMAT: &str = "absentia-log";
const VERSION: u32 = 1;

/// Why a log was not read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum LogError {
    /// A file that cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// A line that was altered, or is none of a log.
    #[error("{}:{line}: {detail}", path.display())]
    Damaged {
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        detail: String,
    },
    /// Records that do not follow the state.
    #[error(
        "{}:{line}: this record led to operation {found}, and the state is at operation {sequence} before it",
        path.display()
    )]
    Gap {
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        found: u64,
        sequence: u64,
    },
    /// Records of a model whose weights on missing entries were treated in another way.
    #[error(
        "{}: its records were learned with {found} weights, and the weights of this model are {expected}",
        path.display()
    )]
    OtherWeights {
        path: PathBuf,
        found: WeightMode,
        expected: WeightMode,
    },
}

/// The first line of a log.
#[derive(Serialize, Deserialize)]
struct Header {
    format: String,
    version: u32,
    /// Whether the weights of the model followed the counts: what a record leads to depends on it.
    weights: WeightMode,
}

/// A record with the sequence number that it led to.
#[derive(Serialize, Deserialize)]
struct Line {
    seq: u64,
    record: Record,
}

/// What the lines of a file are.
struct Contents {
    /// None of an empty file.
    header: Option<Header>,
    records: Vec<(u64, Record)>,
    /// Bytes of the lines that are whole.
    whole: u64,
}

/// A log that records are appended to.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    out: BufWriter<File>,
}

impl Log {
    /// Opens a log to be continued, or begins one where there is no file, of a model whose weights on missing
    /// entries are treated in one way. Yields the records it has.
    ///
    /// # Errors
    /// A file that is no log, is damaged or was written with other weights, or cannot be read and written.
    pub fn open(path: &Path, weights: WeightMode) -> Result<(Self, Vec<(u64, Record)>), LogError> {
        let io = |source| LogError::Io {
            path: path.to_owned(),
            source,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(io)?;
        let contents = read(&file, path)?;
        check_weights(path, contents.header.as_ref(), weights)?;
        file.set_len(contents.whole).map_err(io)?;
        file.seek(SeekFrom::End(0)).map_err(io)?;
        let mut log = Self {
            path: path.to_owned(),
            out: BufWriter::new(file),
        };
        if contents.whole == 0 {
            log.write(&Header {
                format: FORMAT.to_owned(),
                version: VERSION,
                weights,
            })?;
            log.sync()?;
        }
        Ok((log, contents.records))
    }

    /// Appends a record that led to a sequence number. It is safe from a crash after [`sync`](Self::sync).
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn append(&mut self, seq: u64, record: &Record) -> Result<(), LogError> {
        self.write(&Line {
            seq,
            record: record.clone(),
        })
    }

    /// Makes what was appended safe from a crash.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn sync(&mut self) -> Result<(), LogError> {
        let synced = self
            .out
            .flush()
            .and_then(|()| self.out.get_ref().sync_data());
        synced.map_err(|source| self.io(source))
    }

    fn write(&mut self, value: &impl Serialize) -> Result<(), LogError> {
        let text = serde_json::to_string(value).map_err(|source| self.io(source.into()))?;
        let sum = xxh3_64(text.as_bytes());
        writeln!(self.out, "{sum:016x} {text}").map_err(|source| self.io(source))
    }

    fn io(&self, source: io::Error) -> LogError {
        LogError::Io {
            path: self.path.clone(),
            source,
        }
    }
}

/// Rejects a log whose records would lead to another state than they did.
fn check_weights(
    path: &Path,
    header: Option<&Header>,
    expected: WeightMode,
) -> Result<(), LogError> {
    match header {
        Some(header) if header.weights != expected => Err(LogError::OtherWeights {
            path: path.to_owned(),
            found: header.weights,
            expected,
        }),
        _ => Ok(()),
    }
}

fn read(file: &File, path: &Path) -> Result<Contents, LogError> {
    let io = |source| LogError::Io {
        path: path.to_owned(),
        source,
    };
    let (mut lines, mut number) = (BufReader::new(file), 0);
    let mut contents = Contents {
        header: None,
        records: Vec::new(),
        whole: 0,
    };
    loop {
        number += 1;
        let mut bytes = Vec::new();
        let mut limited = io::Read::take(&mut lines, MAX_LINE);
        limited.read_until(b'\n', &mut bytes).map_err(io)?;
        if bytes.is_empty() {
            return Ok(contents);
        }
        let is_last = lines.fill_buf().map_err(io)?.is_empty();
        let damaged = |detail: String| LogError::Damaged {
            path: path.to_owned(),
            line: number,
            detail,
        };
        let Some(text) = checked(&bytes) else {
            if is_last && number > 1 {
                return Ok(contents);
            }
            let detail = "its checksum does not match: the line was altered, or the file is no log";
            return Err(damaged(detail.to_owned()));
        };
        let wrong = |error: serde_json::Error| damaged(error.to_string());
        if number == 1 {
            let header: Header = serde_json::from_str(text).map_err(wrong)?;
            if header.format != FORMAT || header.version > VERSION {
                let found = format!("{} of version {}", header.format, header.version);
                return Err(damaged(format!(
                    "{found}; logs are read up to version {VERSION}"
                )));
            }
            contents.header = Some(header);
        } else {
            let line: Line = serde_json::from_str(text).map_err(wrong)?;
            contents.records.push((line.seq, line.record));
        }
        contents.whole += bytes.len() as u64;
    }
}

/// The text of a whole line whose checksum matches.
fn checked(line: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
    let (sum, text) = line.split_at_checked(16)?;
    let text = text.strip_prefix(' ')?;
    let stored = u64::from_str_radix(sum, 16).ok()?;
    (xxh3_64(text.as_bytes()) == stored).then_some(text)
}
