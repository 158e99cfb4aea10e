//! Which column of a table holds what.

use std::collections::HashMap;

use absentia_io::{Column, ColumnRef, Columns, Error, TableColumns};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::Raise;

/// Finds the columns `user`, `item`, `rating`, `time` and `weight` of a table, by place from 0.
///
/// `chosen` holds the places that the caller gave, or `None` for a column not to be read. `first_row`
/// holds the cells of the first row as text; it decides where columns have no names.
#[pyfunction]
pub(crate) fn table_columns(
    headings: Vec<String>,
    first_row: Vec<String>,
    mut chosen: HashMap<String, Option<usize>>,
) -> PyResult<HashMap<&'static str, usize>> {
    let mut take = |column: Column| {
        let place = chosen.remove(column.name())?;
        Some(place.map_or(ColumnRef::Absent, |place| ColumnRef::Position(place + 1)))
    };
    let columns = Columns {
        user: take(Column::User),
        item: take(Column::Item),
        rating: take(Column::Rating),
        time: take(Column::Time),
        weight: take(Column::Weight),
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
