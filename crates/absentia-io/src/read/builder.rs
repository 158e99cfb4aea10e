//! Gathers chunks into one data set: gives local ids their global rows, which are numbered by id at the end.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::chunk::{Chunk, IdColumn};
use super::options::{ColumnNames, FirstLine, Progress, Unknown};
use crate::bad_row::BadRows;
use crate::dataset::Dataset;
use crate::error::{Error, shorten};
use crate::ids::IdMap;
use absentia::Axis;

/// The row of an id that is not known.
const ABSENT: u32 = u32::MAX;

/// A data set that is still growing.
pub(super) struct Builder<'a> {
    data: Dataset,
    /// Users and items whose rows are known and stay as they are.
    known: (usize, usize),
    started: bool,
    unknown: Unknown,
    skip_bad: u64,
    progress: &'a dyn Progress,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        users: IdMap,
        items: IdMap,
        unknown: Unknown,
        skip_bad: u64,
        progress: &'a dyn Progress,
    ) -> Self {
        let known = (users.len(), items.len());
        let data = Dataset {
            users,
            items,
            ..Dataset::default()
        };
        Self {
            data,
            known,
            started: false,
            unknown,
            skip_bad,
            progress,
        }
    }

    /// Rows seen so far, those left out included.
    pub(super) fn rows_seen(&self) -> u64 {
        self.data.len() as u64 + self.data.unknown_rows + self.data.bad_rows.count()
    }

    pub(super) fn finish(mut self) -> Dataset {
        let Dataset { users, items, .. } = &mut self.data;
        let rows = rayon::join(
            || users.sort_from(self.known.0),
            || items.sort_from(self.known.1),
        );
        renumber(&mut self.data.user, rows.0);
        renumber(&mut self.data.item, rows.1);
        self.data.user.shrink_to_fit();
        self.data.item.shrink_to_fit();
        for column in [&mut self.data.value, &mut self.data.weight]
            .into_iter()
            .flatten()
        {
            column.shrink_to_fit();
        }
        if let Some(time) = &mut self.data.time {
            time.shrink_to_fit();
        }
        self.data
    }

    /// Says which columns of the next file are read.
    pub(super) fn report_columns(&self, columns: &ColumnNames) {
        self.progress.columns(columns);
    }

    /// Says what the first line of the next file was taken for.
    pub(super) fn first_line(&self, line: FirstLine) {
        self.progress.first_line(line);
    }

    /// Adds the rows of a chunk after those already there.
    pub(super) fn merge(&mut self, mut chunk: Chunk) -> Result<(), Error> {
        self.take_bad(std::mem::take(&mut chunk.bad))?;
        self.agree_on_columns(&chunk)?;
        let users = rows_of(&mut self.data.users, &chunk.users, self.unknown)?;
        let items = rows_of(&mut self.data.items, &chunk.items, self.unknown)?;
        let before = self.rows_seen();
        if users.is_total(&chunk.users) && items.is_total(&chunk.items) {
            self.append_all(&chunk, &users, &items);
        } else {
            self.append_known(&chunk, &users, &items)?;
        }
        self.progress
            .advance(chunk.bytes, self.rows_seen() - before);
        Ok(())
    }

    fn take_bad(&mut self, bad: BadRows) -> Result<(), Error> {
        self.data.bad_rows.append(bad);
        if self.data.bad_rows.count() <= self.skip_bad {
            return Ok(());
        }
        let first = self.data.bad_rows.examples().first().cloned();
        Err(match (first, self.skip_bad) {
            (Some(row), 0) => Error::Row { row: Box::new(row) },
            (Some(first), limit) => Error::TooManyBad {
                limit,
                first: Box::new(first),
            },
            (None, _) => return Ok(()),
        })
    }

    fn agree_on_columns(&mut self, chunk: &Chunk) -> Result<(), Error> {
        let data = &mut self.data;
        if !self.started {
            self.started = true;
            data.value = chunk.value.is_some().then(Vec::new);
            data.time = chunk.time.is_some().then(Vec::new);
            data.weight = chunk.weight.is_some().then(Vec::new);
        }
        let pairs = [
            ("rating", data.value.is_some(), chunk.value.is_some()),
            ("time", data.time.is_some(), chunk.time.is_some()),
            ("weight", data.weight.is_some(), chunk.weight.is_some()),
        ];
        match pairs.into_iter().find(|(_, old, new)| old != new) {
            None => Ok(()),
            Some((column, _, present)) => Err(Error::Disagree {
                path: chunk.path.to_path_buf(),
                column,
                present,
            }),
        }
    }

    fn append_all(&mut self, chunk: &Chunk, users: &RowMap, items: &RowMap) {
        let data = &mut self.data;
        make_room(&mut data.user, chunk.users.rows.len());
        make_room(&mut data.item, chunk.items.rows.len());
        data.user
            .extend(chunk.users.rows.iter().map(|&row| users.get(row)));
        data.item
            .extend(chunk.items.rows.iter().map(|&row| items.get(row)));
        extend(&mut data.value, chunk.value.as_deref());
        extend(&mut data.time, chunk.time.as_deref());
        extend(&mut data.weight, chunk.weight.as_deref());
    }

    fn append_known(&mut self, chunk: &Chunk, users: &RowMap, items: &RowMap) -> Result<(), Error> {
        make_room(&mut self.data.user, chunk.users.rows.len());
        make_room(&mut self.data.item, chunk.items.rows.len());
        for at in 0..chunk.users.rows.len() {
            let (user, item) = (
                users.get(chunk.users.rows[at]),
                items.get(chunk.items.rows[at]),
            );
            if user != ABSENT && item != ABSENT {
                self.append_row(chunk, at, user, item);
            } else if self.unknown == Unknown::Error {
                let (axis, column) = if user == ABSENT {
                    (Axis::User, &chunk.users)
                } else {
                    (Axis::Item, &chunk.items)
                };
                let id = column.ids.name(column.rows[at]).unwrap_or_default();
                return Err(Error::UnknownId {
                    path: chunk.path.to_path_buf(),
                    axis,
                    id: shorten(id.as_bytes()),
                });
            } else {
                self.data.unknown_rows += 1;
            }
        }
        Ok(())
    }

    fn append_row(&mut self, chunk: &Chunk, at: usize, user: u32, item: u32) {
        let data = &mut self.data;
        data.user.push(user);
        data.item.push(item);
        extend(
            &mut data.value,
            chunk.value.as_ref().map(|column| &column[at..=at]),
        );
        extend(
            &mut data.time,
            chunk.time.as_ref().map(|column| &column[at..=at]),
        );
        extend(
            &mut data.weight,
            chunk.weight.as_ref().map(|column| &column[at..=at]),
        );
    }
}

/// Replaces every row by its new number, if there are new ones.
fn renumber(column: &mut [u32], new_of_old: Option<Vec<u32>>) {
    if let Some(rows) = new_of_old {
        column
            .par_iter_mut()
            .for_each(|row| *row = rows[*row as usize]);
    }
}

fn extend<T: Copy>(column: &mut Option<Vec<T>>, more: Option<&[T]>) {
    if let (Some(column), Some(more)) = (column, more) {
        make_room(column, more.len());
        column.extend_from_slice(more);
    }
}

/// Makes room for more rows by an eighth at a time: twice the room would be half empty.
fn make_room<T>(column: &mut Vec<T>, more: usize) {
    if column.capacity() - column.len() < more {
        column.reserve_exact(more.max(column.len() / 8));
    }
}

/// The row in the whole data set of each row of a chunk.
enum RowMap {
    Same,
    Table(Vec<u32>),
    Sparse(FxHashMap<u32, u32>),
}

impl RowMap {
    fn get(&self, local: u32) -> u32 {
        match self {
            Self::Same => local,
            Self::Table(rows) => rows[local as usize],
            Self::Sparse(rows) => rows.get(&local).copied().unwrap_or(ABSENT),
        }
    }

    /// Whether every interaction's id is known.
    fn is_total(&self, column: &IdColumn) -> bool {
        match self {
            Self::Same => true,
            Self::Table(rows) => !rows.contains(&ABSENT),
            Self::Sparse(_) => column.rows.iter().all(|&row| self.get(row) != ABSENT),
        }
    }
}

fn rows_of(global: &mut IdMap, local: &IdColumn, unknown: Unknown) -> Result<RowMap, Error> {
    if !local.ids.is_dense() {
        return local
            .ids
            .iter_keys(|id| global.row(id, unknown))
            .map(RowMap::Table);
    }
    if unknown == Unknown::Add && (global.is_dense() || global.is_empty()) {
        *global = IdMap::dense(global.len().max(local.ids.len()) as u32);
        return Ok(RowMap::Same);
    }
    // A declared shape can be far larger than the rows there are, so only rows in use are looked up.
    let mut rows = FxHashMap::default();
    for &row in &local.rows {
        if let std::collections::hash_map::Entry::Vacant(entry) = rows.entry(row) {
            entry.insert(global.row(crate::ids::IdRef::Integer(row.into()), unknown)?);
        }
    }
    Ok(RowMap::Sparse(rows))
}

impl IdMap {
    fn row(&mut self, id: crate::ids::IdRef<'_>, unknown: Unknown) -> Result<u32, Error> {
        match unknown {
            Unknown::Add => self.intern_ref(id),
            Unknown::Skip | Unknown::Error => Ok(self.get_ref(id).unwrap_or(ABSENT)),
        }
    }
}
