//! Rating files of every format.

use std::path::PathBuf;

use absentia_io::time::TimeUnit;
use absentia_io::{NoProgress, ReadOptions, Unknown, expand, read_with_ids};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::OrRaise;
use crate::ids::IdMap;
use crate::pool::{detached, interruptible};

type Column<'py, T> = Option<Bound<'py, PyArray1<T>>>;
type Table<'py> = (
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
    Column<'py, f32>,
    Column<'py, f32>,
    Column<'py, i64>,
    IdMap,
    IdMap,
);

/// Reads files as one table: users, items, values, weights, times, and the ids of both sides.
///
/// With `ids`, rows whose user or item is not among them are left out, or get new ids when `grow`.
#[pyfunction]
#[pyo3(signature = (patterns, ids=None, grow=false, time_unit=None))]
pub(crate) fn read<'py>(
    py: Python<'py>,
    patterns: Vec<String>,
    ids: Option<(Py<IdMap>, Py<IdMap>)>,
    grow: bool,
    time_unit: Option<&str>,
) -> PyResult<Table<'py>> {
    let time_unit: Option<TimeUnit> = time_unit
        .map(str::parse)
        .transpose()
        .map_err(|error| PyValueError::new_err(format!("time_unit: {error}")))?;
    let table = interruptible(py, move |py, _| {
        let read = detached(py, None, || {
            let paths: Vec<PathBuf> = expand(&patterns)?;
            let options = ReadOptions {
                time_unit,
                ..ReadOptions::default()
            };
            let Some((users, items)) = ids else {
                return absentia_io::read(&paths, &options, &NoProgress);
            };
            let known = (users.get().0.clone(), items.get().0.clone());
            let unknown = if grow { Unknown::Add } else { Unknown::Skip };
            read_with_ids(&paths, &options, known, unknown, &NoProgress)
        })?;
        read.or_raise()
    })?;
    Ok((
        PyArray1::from_vec(py, table.user),
        PyArray1::from_vec(py, table.item),
        table.value.map(|column| PyArray1::from_vec(py, column)),
        table.weight.map(|column| PyArray1::from_vec(py, column)),
        table.time.map(|column| PyArray1::from_vec(py, column)),
        IdMap(table.users),
        IdMap(table.items),
    ))
}
