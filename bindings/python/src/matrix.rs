//! Observed entries built here.

use absentia::Interactions;
use absentia::data::{DataError, Duplicates, Triplets};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::data::{Column, Data, Lent, borrow, borrow_some, slice_some};
use crate::error::OrRaise;
use crate::pool::{detached, interruptible, released};

/// Observed entries with their transpose.
#[pyclass(frozen, module = "absentia._core")]
pub(crate) struct Matrix(pub(crate) Interactions<'static>);

#[pymethods]
impl Matrix {
    /// Builds the matrix of entries in any order.
    #[staticmethod]
    #[pyo3(signature = (users, items, shape, duplicates, values=None, weights=None, times=None))]
    #[expect(clippy::too_many_arguments, reason = "columns of a table")]
    fn from_triplets(
        py: Python<'_>,
        users: Column<u32>,
        items: Column<u32>,
        shape: (usize, usize),
        duplicates: &str,
        values: Option<Column<f32>>,
        weights: Option<Column<f32>>,
        times: Option<Column<i64>>,
    ) -> PyResult<Self> {
        let duplicates = parse_duplicates(duplicates)?;
        interruptible(py, move |py, _| {
            let (users, items) = (borrow(py, &users)?, borrow(py, &items)?);
            let values = borrow_some(py, values.as_ref())?;
            let weights = borrow_some(py, weights.as_ref())?;
            let times = borrow_some(py, times.as_ref())?;
            let mut triplets = Triplets::new(users.as_slice()?, items.as_slice()?);
            if let Some(values) = slice_some(values.as_ref())? {
                triplets = triplets.values(values);
            }
            if let Some(weights) = slice_some(weights.as_ref())? {
                triplets = triplets.weights(weights);
            }
            if let Some(times) = slice_some(times.as_ref())? {
                triplets = triplets.times(times);
            }
            let built = detached(py, None, || triplets.build(shape.0, shape.1, duplicates))?;
            Ok(Self(built.or_raise()?))
        })
    }

    /// Builds the matrix of two sets of entries together; times stay where both have them.
    #[staticmethod]
    fn merged(
        py: Python<'_>,
        old: Data,
        new: Data,
        shape: (usize, usize),
        duplicates: &str,
    ) -> PyResult<Self> {
        let duplicates = parse_duplicates(duplicates)?;
        interruptible(py, move |py, _| {
            let (old, new) = (old.borrow(py)?, new.borrow(py)?);
            let (old, new) = (old.lend()?, new.lend()?);
            let built = detached(py, None, || {
                let mut columns = Columns::default();
                columns.extend(&old);
                columns.extend(&new);
                columns.build(shape, duplicates)
            })?;
            Ok(Self(built.or_raise()?))
        })
    }

    /// Number of users and of items.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.n_users(), self.0.n_items())
    }

    /// Number of interactions.
    #[getter]
    fn nnz(&self) -> usize {
        self.0.n_interactions()
    }

    /// Bytes held by both orientations.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.0.bytes()
    }

    /// Whether entries have times.
    #[getter]
    fn has_times(&self) -> bool {
        self.0.times().is_some()
    }

    /// The largest time, where entries have times.
    #[getter]
    fn latest(&self) -> Option<i64> {
        self.0.times().and_then(|times| times.iter().copied().max())
    }

    /// The interactions as rows of users and items.
    fn pairs(slf: Py<Self>, py: Python<'_>) -> PyResult<Pairs<'_>> {
        let (users, items) = interruptible(py, move |py, _| {
            let data = &slf.get().0;
            Ok(released(py, || {
                let users = 0..data.n_users() as u32;
                users
                    .flat_map(|user| data.seen(user).map(move |item| (user, item)))
                    .unzip()
            }))
        })?;
        Ok((PyArray1::from_vec(py, users), PyArray1::from_vec(py, items)))
    }
}

type Pairs<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>);

/// Entries one after the other.
#[derive(Default)]
struct Columns {
    users: Vec<u32>,
    items: Vec<u32>,
    values: Vec<f32>,
    weights: Vec<f32>,
    times: Vec<i64>,
}

impl Columns {
    fn extend(&mut self, data: &Lent<'_>) {
        for user in 0..data.len() {
            for entry in data.entries(user).iter().filter(|entry| !entry.exposed) {
                self.users.push(user as u32);
                self.items.push(entry.index);
                self.values.push(entry.value);
                self.weights.push(entry.weight);
                self.times.extend(entry.time);
            }
        }
    }

    fn build(
        &self,
        shape: (usize, usize),
        duplicates: Duplicates,
    ) -> Result<Interactions<'static>, DataError> {
        let triplets = Triplets::new(&self.users, &self.items);
        let mut triplets = triplets.values(&self.values).weights(&self.weights);
        if self.times.len() == self.users.len() {
            triplets = triplets.times(&self.times);
        }
        triplets.build(shape.0, shape.1, duplicates)
    }
}

fn parse_duplicates(name: &str) -> PyResult<Duplicates> {
    let parsed = name.parse::<Duplicates>();
    parsed.map_err(|error| PyValueError::new_err(format!("duplicates is {name:?}; {error}")))
}
