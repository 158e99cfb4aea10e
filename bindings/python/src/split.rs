//! Which rows train and which are held out.

use absentia::data::{EventLog, Part, Pick};
use absentia_io::time::TimeUnit;
use absentia_job::text::SplitRule;
use absentia_job::{Job, defaults, split_rows};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::data::{Column, borrow};
use crate::error::{OrRaise, parsed};
use crate::notices::Notices;
use crate::pool::released;

/// The part of each row: 0 train, 1 validation, 2 test, 3 what held-out users are folded in from.
///
/// `pick` says which rows of a user are held out; the latest if there are times and it is not given.
#[pyfunction]
#[pyo3(signature = (users, items, times, values, by, pick, seed))]
#[expect(clippy::too_many_arguments, reason = "keywords of one call")]
pub(crate) fn split<'py>(
    py: Python<'py>,
    users: Column<u32>,
    items: Column<u32>,
    times: Option<Column<i64>>,
    values: Option<Column<f32>>,
    by: &str,
    pick: Option<&str>,
    seed: u64,
) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let rule: SplitRule = parsed("by", by)?;
    let pick: Option<Pick> = pick.map(|pick| parsed("pick", pick)).transpose()?;
    let rows = |column: &Column<u32>| Ok::<_, PyErr>(borrow(py, column)?.as_slice()?.to_vec());
    let mut log = EventLog::new(rows(&users)?, rows(&items)?).or_raise()?;
    if let Some(times) = &times {
        log = log
            .times(borrow(py, times)?.as_slice()?.to_vec())
            .or_raise()?;
    }
    if let Some(values) = &values {
        log = log
            .values(borrow(py, values)?.as_slice()?.to_vec())
            .or_raise()?;
    }
    let usual = Pick::usual(times.is_some());
    let unit = TimeUnit::of_times(log.time());
    let split = rule.split(pick.unwrap_or(usual), defaults::FOLD_IN, unit);
    let notices = Notices::of(&Job::default());
    let parts = released(py, || split_rows(&log, &split, seed, &notices)).or_raise()?;
    notices.log(py)?;
    let number = |part: Part| match part {
        Part::Train => 0,
        Part::Valid => 1,
        Part::Test => 2,
        Part::FoldIn => 3,
    };
    let parts = parts.into_iter().map(number);
    Ok(PyArray1::from_iter(py, parts))
}
