//! Settings for reading files.

use std::path::PathBuf;

use super::sniff::is_usual_heading;
use crate::column::{Column, Columns};
use crate::format::Format;
use crate::time::TimeUnit;

/// Which column of a file is read as what: a role and the heading or the place of its column.
pub type ColumnNames = [(Column, String)];

/// How to read; by default everything is detected from the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format, instead of one found from the extension and the content.
    pub format: Option<Format>,
    /// The separator of delimited text: any string, or `tab`, `space`, `comma`, `semicolon`, `pipe`.
    pub separator: Option<String>,
    /// Whether delimited text starts with a header.
    pub header: Option<bool>,
    /// Whether a field that starts with a double quote runs to the next one (default).
    pub quotes: bool,
    /// Whether ratings and weights of delimited text have a comma before their decimals, as in `3,5`.
    pub decimal_comma: bool,
    /// Which column plays which role.
    pub columns: Columns,
    /// The unit of times that are numbers. They become whole seconds, as dates do. Without it numbers
    /// stay as they are, and [`TimeUnit::recognise`] finds their unit.
    pub time_unit: Option<TimeUnit>,
    /// How many bad rows to leave out before giving up.
    pub skip_bad: u64,
    /// Given if ids are row numbers from 0.
    pub dense_ids: Option<DenseIds>,
    /// The longest line accepted, in bytes.
    pub max_line: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            separator: None,
            header: None,
            quotes: true,
            columns: Columns::default(),
            time_unit: None,
            decimal_comma: false,
            skip_bad: 0,
            dense_ids: None,
            max_line: 1 << 20,
        }
    }
}

/// Ids that are row numbers, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DenseIds {
    /// Users and items in all, which keeps empty rows and columns; the largest seen otherwise.
    pub shape: Option<(u32, u32)>,
}

/// What to do with a row whose user or item is not in the maps given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Give it a new row number.
    Add,
    /// Leave the row out and count it.
    Skip,
    /// Stop.
    Error,
}

/// The first line of a delimited text of which nobody said whether it names the columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstLine {
    /// The file.
    pub path: PathBuf,
    /// Its number, from 1.
    pub line: u64,
    /// Its cells.
    pub cells: Vec<String>,
    /// Whether it was taken for names: a cell is a usual heading, or text where others are numbers.
    pub is_header: bool,
    /// Whether it is text where the other lines have numbers, so that it cannot be a row.
    pub differs: bool,
}

impl FirstLine {
    /// Whether a cell is a usual name of a column, such as `item_id`.
    #[must_use]
    pub fn is_usual_heading(&self, place: usize) -> bool {
        let cell = self.cells.get(place);
        cell.is_some_and(|cell| is_usual_heading(cell.as_bytes()))
    }
}

/// Receives the progress of reading; every method has a default that does nothing.
pub trait Progress: Sync {
    /// Reading starts; `total_bytes` is the size of all files together where it is known.
    fn start(&self, total_bytes: Option<u64>) {
        let _ = total_bytes;
    }

    /// This many more bytes of the files, and rows, have been taken in.
    fn advance(&self, bytes: u64, rows: u64) {
        let _ = (bytes, rows);
    }

    /// These columns of a file are read.
    fn columns(&self, found: &ColumnNames) {
        let _ = found;
    }

    /// The first line of a text was taken for names, or for a row, by what it looks like.
    fn first_line(&self, line: FirstLine) {
        let _ = line;
    }

    /// Reading has ended, well or not.
    fn finish(&self) {}
}

/// Ignores progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {}

impl Progress for () {}
