//! Why an array or a table cannot be used.

use std::path::PathBuf;

use absentia::Axis;

/// Why an array or a table cannot be used: file, line and value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum ArrayError {
    /// An array by position, but ids that are not row numbers.
    #[error(
        "{} is an array by position, but ids are not row numbers; give a CSV table with an id in its first column", path.display()
    )]
    NotRowNumbers { path: PathBuf },
    /// An array of more than two dimensions, or none.
    #[error("{}: the array has {got} dimensions; expected 2", path.display())]
    Dimensions { path: PathBuf, got: usize },
    /// An array of another type than is needed.
    #[error("{}: the array does not hold {expected}", path.display())]
    Type {
        path: PathBuf,
        expected: &'static str,
    },
    /// A cell that is not a number.
    #[error("{}:{line}: {value:?} is not a number", path.display())]
    Number {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        value: String,
    },
    /// A cell that is not a date.
    #[error("{}:{line}: {value:?} is not a date; expected a date such as 2020-01-31, a year or a unix time", path.display())]
    Date {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        value: String,
    },
    /// A line that cannot be split into cells, or with another number of cells than the first.
    #[error("{}: {detail}", path.display())]
    Line { path: PathBuf, detail: String },
    /// Rows of different lengths.
    #[error("{}: {got} numbers for {id:?}; expected {expected}, as in the first row", path.display())]
    Width {
        path: PathBuf,
        id: String,
        got: usize,
        expected: usize,
    },
    /// A first line that may be names of columns or a row of numbers.
    #[error("{}:1: \"{id},{cell}…\" may be the names of the columns or a row of numbers; say header=yes or header=no", path.display())]
    Header {
        path: PathBuf,
        id: String,
        cell: String,
    },
    /// A choice of header for a file that has none, or whose format says which names it has.
    #[error("{}: header= is for tables of text, whose format does not tell names from rows; leave out header=", path.display())]
    NoHeader { path: PathBuf },
    /// A row without an id, or a column without a heading.
    #[error("{}: {what} {at} has no name; give it one, or say header=no if the first line is a row", path.display())]
    NoName {
        path: PathBuf,
        what: &'static str,
        /// Its number from 1, ids and the line of headings not counted.
        at: usize,
    },
    /// A file of ids beside a table that has them.
    #[error("{}: a table has its ids in its first column; leave out ids={}", path.display(), ids.display())]
    IdsTwice { path: PathBuf, ids: PathBuf },
    /// Another number of ids than an array has rows.
    #[error("{}: {got} ids for {expected} rows; give each row of the array a line", path.display())]
    Ids {
        path: PathBuf,
        got: usize,
        expected: usize,
    },
    /// An id or a heading that occurs more than once.
    #[error("{}: {name:?} occurs twice", path.display())]
    Twice {
        /// The table, or the array that the ids belong to.
        path: PathBuf,
        name: String,
    },
    /// A feature that is infinite or not a number.
    #[error("{}: {id:?}, column {column:?}: {got} is not a finite number; leave the row out, or give it a value", path.display())]
    NotFinite {
        path: PathBuf,
        id: String,
        column: String,
        got: f32,
    },
    /// A user or item without a row.
    #[error("{}: no row for {axis} {id:?}; give every {axis} of the data a row", path.display())]
    NoRow {
        path: PathBuf,
        axis: Axis,
        id: String,
    },
    /// A user or item without a group.
    #[error("{}: {axis} {id:?} is in no group; give every {axis} of the data a line", path.display())]
    NoGroup {
        path: PathBuf,
        axis: Axis,
        id: String,
    },
    /// A group that the table of weights does not have.
    #[error("{}: group {group:?} is not in the table of weights; the table has {}", path.display(), known.join(", "))]
    Group {
        path: PathBuf,
        group: String,
        known: Vec<String>,
    },
    /// A pair of groups without a weight.
    #[error("{}: no weight for segment {segment:?} and category {category:?}; give every pair a line, if need be with weight 0", path.display())]
    PairWithoutWeight {
        path: PathBuf,
        segment: String,
        category: String,
    },
}
