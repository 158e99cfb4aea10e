//! The rows of one block, with ids numbered within the block.

use std::path::Path;
use std::sync::Arc;

use crate::bad_row::{BadRow, BadRows, RowFault};
use crate::column::Column;
use crate::error::{Error, shorten};
use crate::ids::{IdMap, canonical_integer};
use crate::time::TimeUnit;

/// What the ids of one axis are.
#[derive(Clone, Copy, Debug)]
pub(super) enum IdRule {
    /// Any text.
    Names,
    /// Row numbers counted from `base`, below `base + limit` where a limit is known.
    Rows { limit: Option<u32>, base: u32 },
}

/// An id that has been checked and not yet been given a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Key<'a> {
    Integer(i64),
    Text(&'a str),
    Row(u32),
}

impl IdRule {
    /// Checks the text of an id.
    pub(super) fn key<'a>(&self, cell: &'a [u8], column: Column) -> Result<Key<'a>, RowFault> {
        if cell.is_empty() {
            return Err(RowFault::Blank { column });
        }
        match (self, canonical_integer(cell)) {
            (Self::Names, Some(id)) => Ok(Key::Integer(id)),
            (Self::Names, None) => name_key(cell),
            (Self::Rows { .. }, Some(id)) => self.integer_key(id, column),
            (Self::Rows { .. }, None) => Err(RowFault::NotRow {
                column,
                text: shorten(cell),
            }),
        }
    }

    /// Checks an id that is already an integer.
    pub(super) fn integer_key(&self, id: i64, column: Column) -> Result<Key<'static>, RowFault> {
        let Self::Rows { limit, base } = *self else {
            return Ok(Key::Integer(id));
        };
        let limit = u64::from(limit.unwrap_or(u32::MAX));
        let base = u64::from(base);
        let Ok(written) = u64::try_from(id) else {
            return Err(RowFault::NotRow {
                column,
                text: id.to_string(),
            });
        };
        match written.checked_sub(base) {
            Some(row) if row < limit => Ok(Key::Row(row as u32)),
            _ => Err(RowFault::OutOfRange {
                column,
                row: written,
                limit,
                base,
            }),
        }
    }
}

fn name_key(cell: &[u8]) -> Result<Key<'_>, RowFault> {
    if memchr::memchr(0, cell).is_some() {
        return Err(RowFault::Nul);
    }
    std::str::from_utf8(cell)
        .map(Key::Text)
        .map_err(|_| RowFault::Utf8)
}

/// The ids of one axis within a chunk.
pub(super) struct IdColumn {
    pub(super) ids: IdMap,
    pub(super) rows: Vec<u32>,
}

impl IdColumn {
    fn new(rule: IdRule) -> Self {
        let ids = match rule {
            IdRule::Names => IdMap::new(),
            IdRule::Rows { limit, .. } => IdMap::dense(limit.unwrap_or(0)),
        };
        Self {
            ids,
            rows: Vec::new(),
        }
    }

    /// Gives an id its row without adding an interaction.
    pub(super) fn note(&mut self, key: Key<'_>) -> Result<u32, Error> {
        match key {
            Key::Integer(id) => self.ids.intern_integer(id),
            Key::Text(id) => self.ids.intern(id),
            Key::Row(row) => {
                if row as usize >= self.ids.len() {
                    self.ids = IdMap::dense(row + 1);
                }
                Ok(row)
            }
        }
    }

    fn push(&mut self, key: Key<'_>) -> Result<(), Error> {
        let row = self.note(key)?;
        self.rows.push(row);
        Ok(())
    }
}

/// Why the parsing of a row stopped.
pub(super) enum Stop {
    /// The row is bad; the next may be good.
    Row(RowFault),
    /// Nothing more can be read.
    File(Error),
}

impl From<RowFault> for Stop {
    fn from(fault: RowFault) -> Self {
        Self::Row(fault)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::File(error)
    }
}

/// One row, checked.
pub(super) struct Record<'a> {
    pub(super) user: Key<'a>,
    pub(super) item: Key<'a>,
    pub(super) value: f32,
    pub(super) time: i64,
    pub(super) weight: f32,
}

impl<'a> Record<'a> {
    pub(super) fn pair(user: Key<'a>, item: Key<'a>) -> Self {
        Self {
            user,
            item,
            value: 0.0,
            time: 0,
            weight: 0.0,
        }
    }
}

/// What a parser must know about its file: where it is, what ids are and which columns there are.
#[derive(Clone)]
pub(super) struct Shape {
    pub(super) path: Arc<Path>,
    pub(super) users: IdRule,
    pub(super) items: IdRule,
    pub(super) has_value: bool,
    pub(super) has_time: bool,
    pub(super) has_weight: bool,
    /// The unit of times that are numbers, if it was given.
    pub(super) time_unit: Option<TimeUnit>,
}

/// The rows of one block.
pub(super) struct Chunk {
    pub(super) path: Arc<Path>,
    pub(super) users: IdColumn,
    pub(super) items: IdColumn,
    pub(super) value: Option<Vec<f32>>,
    pub(super) time: Option<Vec<i64>>,
    pub(super) weight: Option<Vec<f32>>,
    pub(super) bad: BadRows,
    pub(super) bytes: u64,
}

impl Chunk {
    pub(super) fn new(shape: &Shape, bytes: u64) -> Self {
        Self {
            path: Arc::clone(&shape.path),
            users: IdColumn::new(shape.users),
            items: IdColumn::new(shape.items),
            value: shape.has_value.then(Vec::new),
            time: shape.has_time.then(Vec::new),
            weight: shape.has_weight.then(Vec::new),
            bad: BadRows::default(),
            bytes,
        }
    }

    /// Makes room for about this many more rows.
    pub(super) fn reserve(&mut self, rows: usize) {
        self.users.rows.reserve(rows);
        self.items.rows.reserve(rows);
        for column in [&mut self.value, &mut self.weight].into_iter().flatten() {
            column.reserve(rows);
        }
        if let Some(time) = &mut self.time {
            time.reserve(rows);
        }
    }

    /// Adds a row; columns the shape does not have are ignored.
    pub(super) fn push(&mut self, record: &Record<'_>) -> Result<(), Error> {
        self.users.push(record.user)?;
        self.items.push(record.item)?;
        if let Some(value) = &mut self.value {
            value.push(record.value);
        }
        if let Some(time) = &mut self.time {
            time.push(record.time);
        }
        if let Some(weight) = &mut self.weight {
            weight.push(record.weight);
        }
        Ok(())
    }

    /// Notes a row that could not be understood.
    pub(super) fn reject(&mut self, line: u64, text: &[u8], fault: RowFault) -> Result<(), Error> {
        let path = &self.path;
        if fault.is_fatal() {
            return Err(Error::Row {
                row: Box::new(BadRow::new(path, line, text, fault)),
            });
        }
        self.bad.push(|| BadRow::new(path, line, text, fault));
        Ok(())
    }
}
