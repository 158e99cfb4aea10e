//! Factors as numpy sees them, and what can be asked of plain arrays of factors.

use absentia::data::{Confidence, FrozenTransform, Storage, Targets};
use absentia::evaluate::{FactorRows, FactorScorer, RankRequest, Scored, rank};
use absentia::linalg::Dense;
use absentia::model::{Factors as Shared, Model, ModelError, ModelParts, NewEntry, RowWeights};
use absentia::weights::{Frozen, FrozenPart, MissingWeights, PartKind};
use absentia::{Axis, Params};
use numpy::{
    PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;

use crate::data::{Csr, Rows};
use crate::error::OrRaise;
use crate::pool::detached;

/// Users ranked between two looks at the signals.
pub(crate) const BATCH: usize = 4096;

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

/// Yields factors that share nothing with the array.
pub(crate) fn copied(array: &PyReadonlyArray2<'_, f32>) -> PyResult<Shared> {
    Ok(crate::weights::dense(array)?.into())
}

fn view<'a>(array: &'a PyReadonlyArray2<'_, f32>) -> PyResult<FactorRows<'a>> {
    let (rows, k) = (array.shape()[0], array.shape()[1]);
    FactorRows::new(array.as_slice()?, rows, k, k).or_raise()
}

/// Lists as two tables, short ones padded.
pub(crate) struct Padded {
    ids: Vec<i64>,
    scores: Vec<f32>,
    n: usize,
    padding: f32,
}

pub(crate) type Lists<'py> = (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f32>>);

impl Padded {
    pub(crate) fn new(n: usize, padding: f32) -> Self {
        let (ids, scores) = (Vec::new(), Vec::new());
        Self {
            ids,
            scores,
            n,
            padding,
        }
    }

    pub(crate) fn push(&mut self, list: &[Scored]) {
        let end = self.ids.len() + self.n;
        self.ids
            .extend(list.iter().map(|scored| i64::from(scored.item)));
        self.scores.extend(list.iter().map(|scored| scored.score));
        self.ids.resize(end, -1);
        self.scores.resize(end, self.padding);
    }

    pub(crate) fn into_arrays(self, py: Python<'_>, rows: usize) -> PyResult<Lists<'_>> {
        Ok((
            PyArray1::from_vec(py, self.ids).reshape([rows, self.n])?,
            PyArray1::from_vec(py, self.scores).reshape([rows, self.n])?,
        ))
    }
}

/// Yields the `n` best columns for each row of `queries`, those of `seen` left out.
#[pyfunction]
#[pyo3(signature = (queries, items, n, seen=None, deny=None, scale=None, threads=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of one call")]
pub(crate) fn top_k<'py>(
    py: Python<'py>,
    queries: PyReadonlyArray2<'py, f32>,
    items: PyReadonlyArray2<'py, f32>,
    n: usize,
    seen: Option<Csr<'py>>,
    deny: Option<PyReadonlyArray1<'py, u32>>,
    scale: Option<PyReadonlyArray1<'py, f32>>,
    threads: Option<usize>,
) -> PyResult<Lists<'py>> {
    let (rows, columns) = (queries.shape()[0], items.shape()[0]);
    let mut scorer = FactorScorer::new(view(&queries)?, view(&items)?).or_raise()?;
    if let Some(scale) = &scale {
        scorer = scorer.scaled(scale.as_slice()?).or_raise()?;
    }
    let seen = seen.as_ref().map(Csr::rows).transpose()?;
    let deny = match &deny {
        Some(deny) => deny.as_slice()?,
        None => &[],
    };
    let users: Vec<u32> = (0..rows as u32).collect();
    let mut lists = Padded::new(n, f32::MIN);
    for batch in users.chunks(BATCH) {
        let request = RankRequest {
            users: batch,
            top: n.min(columns),
            exclude: seen.as_ref().map(|seen| seen as &_),
            deny,
            ..RankRequest::default()
        };
        let ranked = detached(py, threads, || rank(&scorer, &request))?.or_raise()?;
        for ranking in &ranked {
            lists.push(&ranking.top);
        }
        py.check_signals()?;
    }
    lists.into_arrays(py, rows)
}

/// Yields the best factors of rows with the other side fixed, missing entries weighing 1: an entry
/// of `rows` has target 1 where its value is positive, else 0, and its weight.
#[pyfunction]
#[pyo3(signature = (fixed, rows, regularization, threads=None))]
pub(crate) fn solve_rows<'py>(
    py: Python<'py>,
    fixed: PyReadonlyArray2<'py, f32>,
    rows: Csr<'py>,
    regularization: f32,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let k = fixed.shape()[1];
    let (fixed, rows) = (copied(&fixed)?, rows.rows()?);
    let solved = detached(py, threads, || solve(fixed, &rows, regularization))?.or_raise()?;
    PyArray1::from_vec(py, solved).reshape([rows.len(), k])
}

fn solve(fixed: Shared, rows: &Rows<'_>, regularization: f32) -> Result<Vec<f32>, ModelError> {
    let model = one_sided(fixed, regularization)?;
    let fold_in = model.fold_in(Axis::User);
    let weight = RowWeights::Given(vec![1.0]);
    let solved: Result<Vec<Vec<f32>>, ModelError> = (0..rows.len())
        .into_par_iter()
        .map(|row| {
            let mut entries = rows.entries(row);
            entries.iter_mut().for_each(refuse);
            fold_in.solve(&entries, &weight)
        })
        .collect();
    Ok(solved?.concat())
}

/// An entry without a positive value was refused: target 0, its own weight.
fn refuse(entry: &mut NewEntry) {
    entry.exposed = entry.value <= 0.0;
}

/// A model without users whose items are the fixed side.
fn one_sided(fixed: Shared, regularization: f32) -> Result<Model, ModelError> {
    let (n, k) = (fixed.rows(), fixed.cols());
    let none = Shared::new(0, k, Storage::from(Vec::new())).ok_or(ModelError::NoMinimum)?;
    let frozen = Frozen {
        parts: vec![FrozenPart {
            rank: 1,
            kind: PartKind::Uniform { weight: 1.0 },
        }],
    };
    let ones = Dense::from_fn(n, 1, |_, _| 1.0);
    Model::from_parts(ModelParts {
        user_factors: none,
        item_factors: fixed,
        weights: MissingWeights::from_parts(Dense::zeros(0, 1), ones, frozen)?,
        transform: FrozenTransform {
            targets: Targets::Raw,
            confidence: Confidence::Column,
            scale: 1.0,
            now: 0,
        },
        user_counts: Vec::new(),
        item_counts: vec![0; n],
        params: Params::new()
            .factors(k)
            .regularization(regularization)
            .reg_exponent(0.0),
        history: Vec::new(),
        neighbours: None,
    })
}

/// Refuses an array that is not one of rows of `k` numbers.
pub(crate) fn check_columns(array: &PyReadonlyArray2<'_, f32>, k: usize) -> PyResult<()> {
    let got = array.shape()[1];
    if got == k {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "rows of {got} factors, expected {k}"
    )))
}
