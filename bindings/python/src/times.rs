//! Times of a table.

use absentia_io::time::TimeUnit;
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::data::{Column, borrow};

/// What to pass where the unit of times cannot be found.
const REMEDY: &str =
    "pass time_unit=\"s\", \"ms\", \"us\" or \"ns\" to fit, or columns={\"time\": None}";

/// Times and the name of their unit: numbers of a unit that is given become whole seconds, others stay
/// and have the unit that their magnitude tells.
#[pyfunction]
#[pyo3(signature = (times, unit=None))]
pub(crate) fn times<'py>(
    py: Python<'py>,
    times: Column<i64>,
    unit: Option<&str>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, &'static str)> {
    let refused =
        |error: &dyn std::fmt::Display| PyValueError::new_err(format!("{error}; {REMEDY}"));
    let given = borrow(py, &times)?;
    let given = given.as_slice()?;
    let Some(unit) = unit else {
        let unit = TimeUnit::recognise(given).map_err(|error| refused(&error))?;
        return Ok((times.into_bound(py), unit.name()));
    };
    let unit: TimeUnit = unit
        .parse()
        .map_err(|error| PyValueError::new_err(format!("time_unit is {unit:?}: {error}")))?;
    let seconds = |&time: &i64| {
        let beyond = format!(
            "a time is {time}: in {}, this is after the year 5138",
            unit.name()
        );
        unit.given(time).ok_or_else(|| refused(&beyond))
    };
    let seconds: Vec<i64> = given.iter().map(seconds).collect::<PyResult<_>>()?;
    Ok((PyArray1::from_vec(py, seconds), TimeUnit::Seconds.name()))
}
