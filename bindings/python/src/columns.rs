//! Which column of a table holds what.

use std::collections::HashMap;

use absentia_io::{Column, TableColumns};
use pyo3::prelude::*;

use crate::error::OrRaise;

/// Finds the columns `user`, `item`, `rating`, `time` and `weight` of a table, by place from 0.
///
/// `first_row` holds the cells of the first row as text; it decides where no heading is a usual one.
#[pyfunction]
pub(crate) fn table_columns(
    headings: Vec<String>,
    first_row: Vec<String>,
) -> PyResult<HashMap<&'static str, usize>> {
    let found = TableColumns::find(&headings, &first_row).or_raise()?;
    let place = |column: Column| found.get(column).map(|place| (column.name(), place));
    Ok(Column::ALL.into_iter().filter_map(place).collect())
}
