//! Which column of a table holds what.

use std::collections::HashMap;

use absentia_io::{Column, ColumnRef, Columns, Error, TableColumns};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::Raise;

/// A column that the caller chose.
#[derive(FromPyObject)]
pub(crate) enum ChosenColumn {
    /// By its place from 0.
    Place(usize),
    /// By its heading, or its place from 1.
    Text(String),
}

/// Finds the columns `user`, `item`, `rating`, `time` and `weight` of a table, by place from 0.
///
/// `chosen` holds the places that the caller gave, headings or places from 1 as in the options of a job, or
/// `None` for a column not to be read. `first_row` holds the cells of the first row as text; it decides where
/// columns have no names.
#[pyfunction]
pub(crate) fn table_columns(
    headings: Vec<String>,
    first_row: Vec<String>,
    mut chosen: HashMap<String, Option<ChosenColumn>>,
) -> PyResult<HashMap<&'static str, usize>> {
    let mut given = |column: Column| {
        let Some(given) = chosen.remove(column.name()) else {
            return Ok(None);
        };
        let reference = match given {
            None => ColumnRef::Absent,
            Some(ChosenColumn::Place(place)) => ColumnRef::Position(place + 1),
            Some(ChosenColumn::Text(text)) => text.parse().map_err(|error| {
                PyValueError::new_err(format!("{}_col: {error}", column.name()))
            })?,
        };
        Ok::<_, PyErr>(Some(reference))
    };
    let columns = Columns {
        user: given(Column::User)?,
        item: given(Column::Item)?,
        rating: given(Column::Rating)?,
        time: given(Column::Time)?,
        weight: given(Column::Weight)?,
    };
    if let Some(unknown) = chosen.keys().min() {
        let roles = Column::ALL.map(Column::name).join(", ");
        let message = format!("columns has {unknown:?}, expected some of {roles}");
        return Err(PyValueError::new_err(message));
    }
    let found = TableColumns::find(&headings, &first_row, &columns).map_err(|error| match error {
        Error::Column { .. } => PyValueError::new_err(format!(
            "{error}; rename the columns, or pass columns={{\"user\": ..., \"item\": ...}} to fit"
        )),
        other => other.raise(),
    })?;
    let place = |column: Column| found.get(column).map(|place| (column.name(), place));
    Ok(Column::ALL.into_iter().filter_map(place).collect())
}
