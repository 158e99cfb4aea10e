//! External ids and the rows they stand for.

use absentia_io::{IdMap as Ids, RawIds};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

use crate::error::OrRaise;

/// External ids and the rows they stand for.
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

    /// Gives integers rows by first appearance; yields the map and the row of each.
    #[staticmethod]
    fn of_integers<'py>(
        py: Python<'py>,
        ids: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<(Self, RowArray<'py>)> {
        let ids = ids.as_slice()?;
        let (map, rows) = py
            .detach(|| {
                let mut map = Ids::new();
                let rows: Result<Vec<u32>, _> =
                    ids.iter().map(|&id| map.intern_integer(id)).collect();
                rows.map(|rows| (map, rows))
            })
            .or_raise()?;
        Ok((Self(map), PyArray1::from_vec(py, rows)))
    }

    /// Gives texts rows by first appearance; yields the map and the row of each.
    #[staticmethod]
    fn of_texts(py: Python<'_>, ids: Vec<String>) -> PyResult<(Self, RowArray<'_>)> {
        if let Some(at) = ids.iter().position(String::is_empty) {
            return Err(PyValueError::new_err(format!(
                "entry {at}: the id is an empty text"
            )));
        }
        let (map, rows) = py
            .detach(|| {
                let mut map = Ids::new();
                let rows: Result<Vec<u32>, _> = ids.iter().map(|id| map.intern(id)).collect();
                rows.map(|rows| (map, rows))
            })
            .or_raise()?;
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

    /// The rows of integers; `None` for those unknown is -1 when `skip`, else a `KeyError`.
    #[pyo3(signature = (ids, skip=false))]
    fn rows_of_integers<'py>(
        &self,
        py: Python<'py>,
        ids: PyReadonlyArray1<'py, i64>,
        skip: bool,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let find = |&id: &i64| found(self.0.get_integer(id), skip, || id.to_string());
        let rows: PyResult<Vec<i64>> = ids.as_slice()?.iter().map(find).collect();
        Ok(PyArray1::from_vec(py, rows?))
    }

    /// The rows of texts; as for integers.
    #[pyo3(signature = (ids, skip=false))]
    fn rows_of_texts<'py>(
        &self,
        py: Python<'py>,
        ids: Vec<String>,
        skip: bool,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let find = |id: &String| found(self.0.get(id), skip, || format!("{id:?}"));
        let rows: PyResult<Vec<i64>> = ids.iter().map(find).collect();
        Ok(PyArray1::from_vec(py, rows?))
    }

    /// All ids as integers, in the order of their rows; `None` if some are texts.
    fn integers<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i64>>> {
        match self.0.raw() {
            RawIds::Dense(n) => Some(PyArray1::from_vec(py, (0..i64::from(n)).collect())),
            RawIds::Integers(ids) => Some(PyArray1::from_slice(py, &ids)),
            _ => None,
        }
    }

    /// All ids as texts, in the order of their rows.
    fn texts(&self) -> Vec<String> {
        self.0.iter().map(std::borrow::Cow::into_owned).collect()
    }
}

fn found(row: Option<u32>, skip: bool, id: impl Fn() -> String) -> PyResult<i64> {
    match row {
        Some(row) => Ok(i64::from(row)),
        None if skip => Ok(-1),
        None => Err(PyKeyError::new_err(format!("{} is not known", id()))),
    }
}
