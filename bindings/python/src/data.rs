//! Observed entries: compressed rows lent by scipy, or a matrix built here.

use absentia::data::{DataError, Duplicates, Values};
use absentia::evaluate::SeenItems;
use absentia::model::NewEntry;
use absentia::{Interactions, Triplets};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::OrRaise;

/// Compressed rows as scipy has them: number of columns, row offsets, column indices (`uint32` comes
/// in as the `int32` of the same bits), and a value and a weight for each entry where there are any.
#[derive(FromPyObject)]
pub(crate) struct Csr<'py>(
    usize,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i32>,
    Option<PyReadonlyArray1<'py, f32>>,
    Option<PyReadonlyArray1<'py, f32>>,
);

/// Observed entries in either form.
#[derive(FromPyObject)]
pub(crate) enum Data<'py> {
    /// Built here.
    Matrix(Bound<'py, Matrix>),
    /// Lent for the call.
    Csr(Csr<'py>),
}

/// Compressed rows, borrowed; only the offsets were converted.
pub(crate) struct Rows<'a> {
    n_items: usize,
    offsets: Vec<u64>,
    indices: &'a [u32],
    values: Option<&'a [f32]>,
    weights: Option<&'a [f32]>,
}

impl Csr<'_> {
    pub(crate) fn rows(&self) -> PyResult<Rows<'_>> {
        let Csr(n_items, offsets, indices, values, weights) = self;
        let convert = |(row, &offset): (usize, &i64)| {
            u64::try_from(offset).map_err(|_| DataError::Offsets { row: row as u64 })
        };
        let offsets: Result<Vec<u64>, DataError> = offsets
            .as_slice()?
            .iter()
            .enumerate()
            .map(convert)
            .collect();
        let indices = indices.as_slice()?;
        if let Some(at) = indices
            .iter()
            .position(|&index| index < 0 && i32::try_from(*n_items).is_ok())
        {
            let index = indices[at];
            return Err(PyValueError::new_err(format!(
                "entry {at}: item {index} is negative"
            )));
        }
        Ok(Rows {
            n_items: *n_items,
            offsets: offsets.or_raise()?,
            indices: bytemuck::cast_slice(indices),
            values: values
                .as_ref()
                .map(PyReadonlyArray1::as_slice)
                .transpose()?,
            weights: weights
                .as_ref()
                .map(PyReadonlyArray1::as_slice)
                .transpose()?,
        })
    }
}

impl<'a> Rows<'a> {
    /// Yields the matrix: borrowed where rows are sorted, built anew where they are not.
    pub(crate) fn interactions(&self) -> Result<Interactions<'a>, DataError> {
        let values = || {
            self.values
                .map_or(Values::Constant(1.0), |each| Values::Each(each.into()))
        };
        match Interactions::from_csr(self.n_items, self.offsets.clone(), self.indices, values()) {
            Err(DataError::Unsorted { .. }) => self.sorted(),
            Ok(data) => match self.weights {
                Some(weights) => data.with_weights(Values::Each(weights.into())),
                None => Ok(data),
            },
            Err(error) => Err(error),
        }
    }

    /// Sorts rows and adds up repeats, as scipy would.
    fn sorted(&self) -> Result<Interactions<'static>, DataError> {
        let mut users = Vec::with_capacity(self.indices.len());
        for (user, ends) in self.offsets.windows(2).enumerate() {
            users.extend((ends[0]..ends[1]).map(|_| user as u32));
        }
        let mut triplets = Triplets::new(&users, self.indices);
        if let Some(values) = self.values {
            triplets = triplets.values(values);
        }
        if let Some(weights) = self.weights {
            triplets = triplets.weights(weights);
        }
        triplets.build(self.offsets.len() - 1, self.n_items, Duplicates::Sum)
    }

    pub(crate) fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The positions of a row's entries; none for a row that does not exist.
    fn range(&self, row: usize) -> std::ops::Range<usize> {
        match (self.offsets.get(row), self.offsets.get(row + 1)) {
            (Some(&start), Some(&end)) if start <= end && end <= self.indices.len() as u64 => {
                start as usize..end as usize
            }
            _ => 0..0,
        }
    }

    pub(crate) fn entries(&self, row: usize) -> Vec<NewEntry> {
        let entry = |at: usize| NewEntry {
            index: self.indices[at],
            value: self.values.map_or(1.0, |values| values[at]),
            weight: self.weights.map_or(1.0, |weights| weights[at]),
            time: None,
            exposed: false,
        };
        self.range(row).map(entry).collect()
    }
}

/// Rows as a source of seen items.
impl SeenItems for Rows<'_> {
    fn append_seen(&self, user: u32, into: &mut Vec<u32>) {
        let known = |item: &u32| (*item as usize) < self.n_items;
        let row = &self.indices[self.range(user as usize)];
        into.extend(row.iter().copied().filter(known));
    }
}

/// Either form, borrowed for as long as the arguments live.
pub(crate) enum Lent<'a> {
    Matrix(&'a Interactions<'static>),
    Rows(Rows<'a>),
}

impl Data<'_> {
    pub(crate) fn lend(&self) -> PyResult<Lent<'_>> {
        Ok(match self {
            Data::Matrix(matrix) => Lent::Matrix(&matrix.get().0),
            Data::Csr(csr) => Lent::Rows(csr.rows()?),
        })
    }
}

impl Lent<'_> {
    pub(crate) fn seen(&self) -> &dyn SeenItems {
        match self {
            Lent::Matrix(matrix) => *matrix,
            Lent::Rows(rows) => rows,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Lent::Matrix(matrix) => matrix.n_users(),
            Lent::Rows(rows) => rows.len(),
        }
    }

    /// The entries of a row, for folding it in or explaining it.
    pub(crate) fn entries(&self, row: usize) -> Vec<NewEntry> {
        match self {
            Lent::Rows(rows) => rows.entries(row),
            Lent::Matrix(matrix) => matrix_entries(matrix, row),
        }
    }
}

fn matrix_entries(matrix: &Interactions<'_>, row: usize) -> Vec<NewEntry> {
    if row >= matrix.n_users() {
        return Vec::new();
    }
    let entries = matrix.by_user();
    let start = entries.offsets()[row] as usize;
    let row = entries.row(row);
    let entry = |at: usize| NewEntry {
        index: row.indices[at],
        value: row.r.get(at),
        weight: row.c.get(at),
        time: matrix.times().map(|times| times[start + at]),
        exposed: matrix.is_exposed(start + at),
    };
    (0..row.len()).map(entry).collect()
}

/// Observed entries with their transpose.
#[pyclass(frozen, module = "absentia._core")]
pub(crate) struct Matrix(pub(crate) Interactions<'static>);

type Column<'py, T> = Option<PyReadonlyArray1<'py, T>>;

#[pymethods]
impl Matrix {
    /// Builds the matrix of entries in any order.
    #[staticmethod]
    #[pyo3(signature = (users, items, shape, duplicates, values=None, weights=None, times=None))]
    #[expect(clippy::too_many_arguments, reason = "columns of a table")]
    fn from_triplets(
        py: Python<'_>,
        users: PyReadonlyArray1<'_, u32>,
        items: PyReadonlyArray1<'_, u32>,
        shape: (usize, usize),
        duplicates: &str,
        values: Column<'_, f32>,
        weights: Column<'_, f32>,
        times: Column<'_, i64>,
    ) -> PyResult<Self> {
        let mut triplets = Triplets::new(users.as_slice()?, items.as_slice()?);
        if let Some(values) = &values {
            triplets = triplets.values(values.as_slice()?);
        }
        if let Some(weights) = &weights {
            triplets = triplets.weights(weights.as_slice()?);
        }
        if let Some(times) = &times {
            triplets = triplets.times(times.as_slice()?);
        }
        let duplicates = parse_duplicates(duplicates)?;
        let built = py.detach(|| triplets.build(shape.0, shape.1, duplicates));
        Ok(Self(built.or_raise()?))
    }

    /// Builds the matrix of compressed rows, which are copied.
    #[staticmethod]
    fn from_csr(py: Python<'_>, csr: Csr<'_>) -> PyResult<Self> {
        let rows = csr.rows()?;
        let built = py.detach(|| rows.interactions().map(Interactions::into_owned));
        Ok(Self(built.or_raise()?))
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
    fn pairs<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>) {
        let (mut users, mut items) = (Vec::new(), Vec::new());
        for user in 0..self.0.n_users() as u32 {
            for item in self.0.seen(user) {
                users.push(user);
                items.push(item);
            }
        }
        (PyArray1::from_vec(py, users), PyArray1::from_vec(py, items))
    }
}

fn parse_duplicates(name: &str) -> PyResult<Duplicates> {
    Ok(match name {
        "sum" => Duplicates::Sum,
        "last" => Duplicates::Last,
        "max" => Duplicates::Max,
        "error" => Duplicates::Error,
        _ => {
            return Err(PyValueError::new_err(format!(
                "duplicates is {name:?}; it must be 'sum', 'last', 'max' or 'error'"
            )));
        }
    })
}
