//! Factors as numpy sees them, and what can be asked of plain arrays of factors.

use absentia::Dense;
use absentia::data::{Confidence, FrozenTransform, Storage, Targets};
use absentia::fit::Cancel;
use absentia::model::{Factors as Shared, Model, ModelError, ModelParts, NewEntry, RowWeights};
use absentia::ranking::{FactorRows, FactorScorer, RankError, RankRequest, rank};
use absentia::weights::MissingWeights;
use absentia::{Axis, Params};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;

use crate::data::{BorrowedCsr, Column, Csr, Rows, borrow, borrow_some, slice_some};
use crate::error::OrRaise;
use crate::lists::{Lists, Padded};
use crate::pool::{detached, interruptible, interruptible_if_long};

/// A table of numpy that a call keeps.
pub(crate) type Table = Py<PyArray2<f32>>;

pub(crate) fn shape(py: Python<'_>, table: &Table) -> (usize, usize) {
    let shape = table.bind(py).shape();
    (shape[0], shape[1])
}

/// A read-only table of floats; `numpy.asarray` makes a view of it without a copy.
#[pyclass(frozen, module = "absentia._core")]
pub(crate) struct Factors(pub(crate) Shared);

#[pymethods]
impl Factors {
    /// Number of rows and columns.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.rows(), self.0.cols())
    }

    /// How numpy finds the floats; the array it makes keeps this object alive.
    #[getter(__array_interface__)]
    fn array_interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        let row = 4 * self.0.stride();
        interface.set_item("version", 3)?;
        interface.set_item("typestr", "<f4")?;
        interface.set_item("shape", self.shape())?;
        interface.set_item("strides", (row, 4))?;
        interface.set_item("data", (self.0.as_slice().as_ptr() as usize, true))?;
        Ok(interface)
    }
}

/// The numbers of a table, without Python.
pub(crate) struct BorrowedTable<'a> {
    rows: usize,
    columns: usize,
    values: &'a [f32],
}

impl<'a> BorrowedTable<'a> {
    pub(crate) fn of(array: &'a PyReadonlyArray2<'_, f32>) -> PyResult<Self> {
        Ok(Self {
            rows: array.shape()[0],
            columns: array.shape()[1],
            values: array.as_slice()?,
        })
    }

    /// Yields factors that share nothing with the array.
    pub(crate) fn copied(&self) -> Shared {
        let row = |row: usize| &self.values[row * self.columns..(row + 1) * self.columns];
        Dense::from_fn(self.rows, self.columns, |at, column| row(at)[column]).into()
    }
}

fn view<'a>(array: &'a PyReadonlyArray2<'_, f32>) -> PyResult<FactorRows<'a>> {
    let (rows, k) = (array.shape()[0], array.shape()[1]);
    FactorRows::new(array.as_slice()?, rows, k, k).or_raise()
}

/// Yields the `n` best columns for each row of `queries`, those of `seen` left out.
#[pyfunction]
#[pyo3(signature = (queries, items, n, seen=None, deny=None, scale=None, threads=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of one call")]
pub(crate) fn top_k(
    py: Python<'_>,
    queries: Table,
    items: Table,
    n: usize,
    seen: Option<Csr>,
    deny: Option<Column<u32>>,
    scale: Option<Column<f32>>,
    threads: Option<usize>,
) -> PyResult<Lists<'_>> {
    let (rows, columns) = (shape(py, &queries).0, shape(py, &items));
    let each = columns.0 as u64 * columns.1 as u64;
    let lists = interruptible_if_long(py, each.saturating_mul(rows as u64), move |py, cancel| {
        let (queries, items) = (borrow(py, &queries)?, borrow(py, &items)?);
        let (scale, deny) = (
            borrow_some(py, scale.as_ref())?,
            borrow_some(py, deny.as_ref())?,
        );
        let mut scorer = FactorScorer::new(view(&queries)?, view(&items)?).or_raise()?;
        if let Some(scale) = slice_some(scale.as_ref())? {
            scorer = scorer.scaled(scale).or_raise()?;
        }
        let seen = seen.map(|seen| seen.borrow(py)).transpose()?;
        let seen = seen.as_ref().map(BorrowedCsr::rows).transpose()?;
        let request = RankRequest {
            top: n.min(columns.0),
            exclude: seen.as_ref().map(|seen| seen as &_),
            deny: slice_some(deny.as_ref())?.unwrap_or_default(),
            ..RankRequest::default()
        };
        let users: Vec<u32> = (0..rows as u32).collect();
        let mut lists = Padded::new(n, f32::MIN);
        let outcome = detached(py, threads, || {
            lists.fill(&users, each, cancel, |users| {
                let ranked = rank(&scorer, &RankRequest { users, ..request })?;
                let lists = ranked.into_iter().map(|ranking| ranking.top);
                Ok::<_, RankError>(lists.collect())
            })
        })?;
        outcome.or_raise()?;
        Ok(lists)
    })?;
    lists.into_arrays(py, rows)
}

/// Yields the best factors of rows with the other side fixed, missing entries weighing 1: an entry
/// of `rows` has target 1 where its value is positive, else 0, and its weight.
#[pyfunction]
#[pyo3(signature = (fixed, rows, regularization, threads=None))]
pub(crate) fn solve_rows(
    py: Python<'_>,
    fixed: Table,
    rows: Csr,
    regularization: f32,
    threads: Option<usize>,
) -> PyResult<Bound<'_, PyArray2<f32>>> {
    let k = shape(py, &fixed).1;
    let solved = interruptible(py, move |py, cancel| {
        let (fixed, rows) = (borrow(py, &fixed)?, rows.borrow(py)?);
        let (fixed, rows) = (BorrowedTable::of(&fixed)?, rows.rows()?);
        let solved = detached(py, threads, || {
            solve(fixed.copied(), &rows, regularization, cancel)
        })?;
        Ok((rows.len(), solved.or_raise()?))
    })?;
    PyArray1::from_vec(py, solved.1).reshape([solved.0, k])
}

fn solve(
    fixed: Shared,
    rows: &Rows<'_>,
    regularization: f32,
    cancel: &Cancel,
) -> Result<Vec<f32>, ModelError> {
    let model = one_sided(fixed, regularization)?;
    let fold_in = model.fold_in(Axis::User);
    let weight = RowWeights::Given(vec![1.0]);
    solve_each(rows.len(), cancel, |row| {
        let mut entries = rows.entries(row);
        entries.iter_mut().for_each(refuse);
        fold_in.solve(&entries, &weight)
    })
}

/// The factors of rows, one after the other; those after a cancellation are left out.
pub(crate) fn solve_each(
    rows: usize,
    cancel: &Cancel,
    solve: impl Fn(usize) -> Result<Vec<f32>, ModelError> + Sync,
) -> Result<Vec<f32>, ModelError> {
    let solved: Result<Vec<Vec<f32>>, ModelError> = (0..rows)
        .into_par_iter()
        .map(|row| {
            if cancel.is_cancelled() {
                return Ok(Vec::new());
            }
            solve(row)
        })
        .collect();
    Ok(solved?.concat())
}

/// An entry without a positive value is a dislike: target 0, its own weight.
fn refuse(entry: &mut NewEntry) {
    entry.exposed = entry.value <= 0.0;
}

/// A model without users whose items are the fixed side.
fn one_sided(fixed: Shared, regularization: f32) -> Result<Model, ModelError> {
    let (n, k) = (fixed.rows(), fixed.cols());
    let none = Shared::new(0, k, Storage::from(Vec::new())).ok_or(ModelError::NoMinimum)?;
    Model::from_parts(ModelParts {
        related: None,
        user_factors: none,
        item_factors: fixed,
        weights: MissingWeights::uniform(0, n, 1.0)?,
        transform: FrozenTransform {
            targets: Targets::Raw,
            confidence: Confidence::Column,
            scale: 1.0,
            now: 0,
        },
        user_counts: Vec::new(),
        item_counts: vec![0; n],
        recent_counts: None,
        params: Params::new()
            .factors(k)
            .regularization(regularization)
            .reg_exponent(0.0),
        history: Vec::new(),
        neighbours: None,
    })
}

/// Rejects an array that is not one of rows of `k` numbers.
pub(crate) fn check_columns(array: &PyReadonlyArray2<'_, f32>, k: usize) -> PyResult<()> {
    let got = array.shape()[1];
    if got == k {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "rows of {got} factors, expected {k}"
    )))
}
