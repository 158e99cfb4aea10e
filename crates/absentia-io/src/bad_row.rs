//! Rows that could not be read: what is wrong with each, and what to do about it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::column::Column;
use crate::error::shorten;

/// What is wrong with a row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum RowFault {
    /// The row has another number of fields than the first one.
    #[error("{got} fields where {expected} were expected")]
    Fields { expected: usize, got: usize },
    /// A cell is empty or null.
    #[error("empty {column}")]
    Blank { column: Column },
    /// A cell is not a number.
    #[error("{column} \"{text}\" is not a number")]
    Number {
        column: Column,
        /// The cell, shortened.
        text: String,
    },
    /// A number is NaN or infinite.
    #[error("{column} \"{text}\" is not finite")]
    NotFinite {
        column: Column,
        /// The cell, shortened.
        text: String,
    },
    /// A number that is larger than those that can be stored, in either direction.
    #[error("{column} \"{text}\" is too large")]
    TooLarge {
        column: Column,
        /// The cell, shortened.
        text: String,
    },
    /// A cell is neither a number nor an ISO-8601 date.
    #[error("time \"{text}\" is neither a number nor an ISO-8601 date")]
    Time {
        /// The cell, shortened.
        text: String,
    },
    /// A time that cannot be in the unit that was given.
    #[error("time \"{text}\" in {} is after the year 5138", unit.name())]
    TimeBeyond {
        text: String,
        unit: crate::time::TimeUnit,
    },
    /// Ids are row numbers and this one is not a whole number that is not negative.
    #[error("{column} \"{text}\" is not a row number")]
    NotRow {
        column: Column,
        /// The cell, shortened.
        text: String,
    },
    /// A row number is outside the declared shape.
    #[error("{column} {row} is outside the declared shape ({limit} rows, counted from {base})")]
    OutOfRange {
        column: Column,
        row: u64,
        limit: u64,
        base: u64,
    },
    /// The text is not UTF-8.
    #[error("not UTF-8 text")]
    Utf8,
    /// The text holds a zero byte.
    #[error("a zero byte in the text")]
    Nul,
    /// The line is longer than allowed.
    #[error("line longer than {limit} bytes")]
    LongLine { limit: usize },
    /// A quoted field is not closed, or text follows its closing quote.
    #[error("unbalanced quotes")]
    Quote,
    /// The line is not a JSON object.
    #[error("not a JSON object: {detail}")]
    Json { detail: String },
    /// A JSON object lacks a key, or the key holds no usable value.
    #[error("no usable {column} under key {key:?}")]
    Key { column: Column, key: String },
}

/// How to convert a text; those of one byte for each letter are mostly from Windows.
pub const TO_UTF8: &str = "convert the file to UTF-8, if it is from Windows by iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW_FILE,";

impl RowFault {
    /// A number that cannot be stored, by its text: one with digits is too large, others are infinite or not numbers.
    pub(crate) fn unstorable(column: Column, text: String) -> Self {
        if text.bytes().any(|byte| byte.is_ascii_digit()) {
            Self::TooLarge { column, text }
        } else {
            Self::NotFinite { column, text }
        }
    }

    /// Whether skipping bad rows cannot help because the rest of the file is not to be trusted.
    pub(crate) fn is_fatal(&self) -> bool {
        matches!(self, Self::LongLine { .. })
    }

    /// What can be done about the row besides correcting or leaving it out.
    fn cure(&self) -> Option<String> {
        Some(match self {
            Self::Fields { .. } => "choose another separator".to_owned(),
            Self::Number { text, .. } if is_decimal_comma(text) => {
                "read numbers with decimal commas".to_owned()
            }
            Self::Number { column, .. } | Self::Blank { column } | Self::Key { column, .. } => {
                format!("choose another {column} column")
            }
            Self::Time { .. }
            | Self::TooLarge {
                column: Column::Time,
                ..
            } => "choose another time column".to_owned(),
            Self::TimeBeyond { .. } => "choose another unit of times".to_owned(),
            Self::NotRow { .. } => "read ids as names".to_owned(),
            Self::OutOfRange { .. } => "correct the shape".to_owned(),
            Self::Utf8 => format!("{TO_UTF8} or choose its format"),
            Self::Nul => "convert the file to UTF-8 or choose its format".to_owned(),
            _ => return None,
        })
    }
}

/// Whether a text would be a number with a decimal comma.
#[must_use]
pub fn is_decimal_comma(text: &str) -> bool {
    let parsed = || text.replace(',', ".").parse::<f32>();
    text.matches(',').count() == 1 && !text.contains('.') && parsed().is_ok_and(f32::is_finite)
}

/// A row that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRow {
    /// The file concerned.
    pub path: Arc<Path>,
    /// The line, counted from 1; the row in formats that have no lines.
    pub line: u64,
    /// The row's text, shortened and escaped.
    pub text: String,
    /// What is wrong with it.
    pub fault: RowFault,
}

impl BadRow {
    pub(crate) fn new(path: &Arc<Path>, line: u64, text: &[u8], fault: RowFault) -> Self {
        Self {
            path: Arc::clone(path),
            line,
            text: shorten(text),
            fault,
        }
    }

    /// What the owner of the file can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        if matches!(self.fault, RowFault::LongLine { .. }) {
            let hint =
                "check that this is a text file with one row per line, or allow longer lines";
            return hint.to_owned();
        }
        match self.fault.cure() {
            Some(cure) => format!("correct the line, {cure}, or leave out bad rows"),
            None => "correct the line, or leave out bad rows".to_owned(),
        }
    }
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.fault)?;
        if self.text.is_empty() {
            Ok(())
        } else {
            write!(f, " in \"{}\"", self.text)
        }
    }
}

/// Rows that were left out, with the first few as examples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadRows {
    count: u64,
    examples: Vec<BadRow>,
}

impl BadRows {
    /// How many examples are kept.
    pub const EXAMPLES: usize = 8;

    /// How many rows were left out.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first few of them, in file order.
    #[must_use]
    pub fn examples(&self) -> &[BadRow] {
        &self.examples
    }

    /// Notes one more; the row is described only while examples are still wanted.
    pub(crate) fn push(&mut self, describe: impl FnOnce() -> BadRow) {
        self.count += 1;
        if self.examples.len() < Self::EXAMPLES {
            self.examples.push(describe());
        }
    }

    /// Notes all of `later`, which come after these in the file.
    pub(crate) fn append(&mut self, later: Self) {
        self.count += later.count;
        let room = Self::EXAMPLES - self.examples.len();
        self.examples.extend(later.examples.into_iter().take(room));
    }
}
