//! External ids and their rows.

use absentia_io::{IdMap as Ids, RawIds};
use numpy::PyArray1;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::data::{Column, borrow};
use crate::error::OrRaise;
use crate::pool::{interruptible, interruptible_if_long, released};

/// Ids taken between two looks at the signals.
const CHUNK: usize = 1 << 17;

/// External ids and their rows.
#[pyclass(frozen, module = "absentia._core")]
pub(crate) struct IdMap(pub(crate) Ids);

type RowArray<'py> = Bound<'py, PyArray1<u32>>;

#[pymethods]
impl IdMap {
    /// Ids that are row numbers.
    #[staticmethod]
    fn dense(n: u32) -> Self {
        Self(Ids::dense(n))
    }

    /// Gives integers rows by number, after those of `known`; yields the map and the row of each.
    #[staticmethod]
    #[pyo3(signature = (ids, known=None))]
    fn of_integers(
        py: Python<'_>,
        ids: Column<i64>,
        known: Option<Py<IdMap>>,
    ) -> PyResult<(Self, RowArray<'_>)> {
        let (map, rows) = interruptible(py, move |py, cancel| {
            let ids = borrow(py, &ids)?;
            let ids = ids.as_slice()?;
            let interned = released(py, || {
                let mut map = known.map_or_else(Ids::new, |known| known.get().0.clone());
                let first = map.len();
                let mut rows = Vec::with_capacity(ids.len());
                for chunk in ids.chunks(CHUNK) {
                    if cancel.is_cancelled() {
                        break;
                    }
                    for &id in chunk {
                        rows.push(map.intern_integer(id)?);
                    }
                }
                number_by_id(&mut map, first, &mut rows);
                Ok::<_, absentia_io::Error>((map, rows))
            });
            interned.or_raise()
        })?;
        Ok((Self(map), PyArray1::from_vec(py, rows)))
    }

    /// Gives texts rows, integers by number and others by bytes, after those of `known`.
    #[staticmethod]
    #[pyo3(signature = (ids, known=None))]
    fn of_texts<'py>(
        py: Python<'py>,
        ids: Bound<'py, PyList>,
        known: Option<Py<IdMap>>,
    ) -> PyResult<(Self, RowArray<'py>)> {
        let mut map = known.map_or_else(Ids::new, |known| known.get().0.clone());
        let first = map.len();
        let mut rows = Vec::with_capacity(ids.len());
        for_chunks(py, &ids, |texts| {
            if let Some(at) = texts.iter().position(String::is_empty) {
                let at = rows.len() + at;
                return Err(PyValueError::new_err(format!(
                    "entry {at}: the id is an empty text"
                )));
            }
            py.detach(|| {
                for id in texts {
                    rows.push(map.intern(id)?);
                }
                Ok::<_, absentia_io::Error>(())
            })
            .or_raise()
        })?;
        py.detach(|| number_by_id(&mut map, first, &mut rows));
        Ok((Self(map), PyArray1::from_vec(py, rows)))
    }

    /// Number of ids.
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// What ids are: `"rows"`, `"integers"` or `"texts"`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.raw() {
            RawIds::Dense(_) => "rows",
            RawIds::Integers(_) => "integers",
            _ => "texts",
        }
    }

    /// The rows of integers; one that is unknown is -1 when `skip`, else a `KeyError`.
    #[pyo3(signature = (ids, skip=false))]
    fn rows_of_integers(
        slf: Py<Self>,
        py: Python<'_>,
        ids: Column<i64>,
        skip: bool,
    ) -> PyResult<Bound<'_, PyArray1<i64>>> {
        let multiplications = 1000 * ids.bind(py).len()? as u64;
        let rows = interruptible_if_long(py, multiplications, move |py, _| {
            let (ids, map) = (borrow(py, &ids)?, &slf.get().0);
            let ids = ids.as_slice()?;
            let find = |&id: &i64| map.get_integer(id).map_or(-1, i64::from);
            let rows: Vec<i64> = released(py, || ids.iter().map(find).collect());
            match rows.iter().position(|&row| row < 0).filter(|_| !skip) {
                Some(at) => Err(unknown(ids[at])),
                None => Ok(rows),
            }
        })?;
        Ok(PyArray1::from_vec(py, rows))
    }

    /// The rows of texts; as for integers.
    #[pyo3(signature = (ids, skip=false))]
    fn rows_of_texts<'py>(
        &self,
        py: Python<'py>,
        ids: Bound<'py, PyList>,
        skip: bool,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let mut rows: Vec<i64> = Vec::with_capacity(ids.len());
        for_chunks(py, &ids, |texts| {
            for id in texts {
                let row = self.0.get(id).map_or(-1, i64::from);
                if row < 0 && !skip {
                    return Err(unknown(format!("{id:?}")));
                }
                rows.push(row);
            }
            Ok(())
        })?;
        Ok(PyArray1::from_vec(py, rows))
    }

    /// All ids as integers, in the order of their rows; `None` if some are texts.
    fn integers<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i64>>> {
        match self.0.raw() {
            RawIds::Dense(n) => Some(PyArray1::from_vec(py, (0..i64::from(n)).collect())),
            RawIds::Integers(ids) => Some(PyArray1::from_slice(py, &ids)),
            _ => None,
        }
    }

    /// The ids of some rows as texts; `None` for a number that is no row.
    fn texts_of(&self, py: Python<'_>, rows: Column<i64>) -> PyResult<Vec<Option<String>>> {
        let rows = borrow(py, &rows)?;
        let text = |&row: &i64| Some(self.0.name(u32::try_from(row).ok()?)?.into_owned());
        Ok(rows.as_slice()?.iter().map(text).collect())
    }

    /// All ids as texts, in the order of their rows.
    fn texts(&self) -> Vec<String> {
        self.0.iter().map(std::borrow::Cow::into_owned).collect()
    }
}

/// Numbers the rows from `first` on by their ids, as reading files does.
fn number_by_id(map: &mut Ids, first: usize, rows: &mut [u32]) {
    if let Some(new_of_old) = map.sort_from(first) {
        for row in rows {
            *row = new_of_old[*row as usize];
        }
    }
}

/// Takes texts out of a list, some at a time, with a look at the signals between.
fn for_chunks(
    py: Python<'_>,
    list: &Bound<'_, PyList>,
    mut work: impl FnMut(&[String]) -> PyResult<()>,
) -> PyResult<()> {
    for start in (0..list.len()).step_by(CHUNK) {
        let chunk = list.get_slice(start, start + CHUNK);
        work(&chunk.extract::<Vec<String>>()?)?;
        py.check_signals()?;
    }
    Ok(())
}

fn unknown(id: impl std::fmt::Display) -> PyErr {
    PyKeyError::new_err(format!("{id} is not known"))
}
