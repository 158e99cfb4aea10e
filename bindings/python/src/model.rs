//! A trained model with the ids of its rows.

use std::path::PathBuf;

use absentia::model::{Filter, RowWeights, Similarity};
use absentia::{Axis, Model as Trained};
use absentia_io::model::{Ids, ImportOptions, import_implicit, load_model, save_model};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::data::{Data, Lent};
use crate::error::OrRaise;
use crate::factors::{BATCH, Factors, Lists, Padded, check_columns, copied};
use crate::ids::IdMap;
use crate::pool::detached;
use crate::weights::MissingWeights;

/// A trained model with the ids of its rows.
#[pyclass(frozen, module = "absentia._core")]
pub(crate) struct Model {
    pub(crate) trained: Trained,
    pub(crate) ids: Ids,
    pub(crate) config: Option<String>,
}

/// Iteration, seconds, observed, missing, regularization, validation.
type SweepTuple = (usize, f64, f64, f64, f64, Option<f64>);
/// Score, what each item adds to it, remainder.
type Apart = (f64, Vec<(u32, f64)>, f64);
type Indices<'py> = PyReadonlyArray1<'py, u32>;

#[pymethods]
impl Model {
    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let loaded = py.detach(|| load_model(&path)).or_raise()?;
        Ok(Self {
            trained: loaded.model,
            ids: loaded.ids,
            config: loaded.config,
        })
    }

    /// Reads a model that the package `implicit` saved.
    #[staticmethod]
    fn import_implicit(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let options = ImportOptions::default();
        let (model, ids) = py.detach(|| import_implicit(&path, options)).or_raise()?;
        Ok(Self {
            trained: model,
            ids,
            config: None,
        })
    }

    /// Writes a model file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| save_model(&path, &self.trained, &self.ids, self.config.as_deref()))
            .or_raise()
    }

    /// Number of users and of items.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.trained.n_users(), self.trained.n_items())
    }

    #[getter]
    fn config(&self) -> Option<&str> {
        self.config.as_deref()
    }

    /// The parameters of the run as JSON.
    #[getter]
    fn params(&self) -> PyResult<String> {
        serde_json::to_string(self.trained.params())
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    #[getter]
    fn user_factors(&self) -> Factors {
        Factors(self.trained.user_factors().clone())
    }

    #[getter]
    fn item_factors(&self) -> Factors {
        Factors(self.trained.item_factors().clone())
    }

    #[getter]
    fn item_counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, &self.trained.parts().item_counts)
    }

    #[getter]
    fn user_ids(&self) -> IdMap {
        IdMap(self.ids.users.clone())
    }

    #[getter]
    fn item_ids(&self) -> IdMap {
        IdMap(self.ids.items.clone())
    }

    #[getter]
    fn weights(&self) -> MissingWeights {
        MissingWeights(self.trained.weights().clone())
    }

    /// Every sweep of the run.
    #[getter]
    fn history(&self) -> Vec<SweepTuple> {
        let sweeps = self.trained.history().iter();
        sweeps
            .map(|sweep| {
                let parts = &sweep.objective;
                (
                    sweep.iteration,
                    sweep.seconds,
                    parts.observed,
                    parts.missing,
                    parts.regularization,
                    sweep.validation,
                )
            })
            .collect()
    }

    /// Scores of pairs.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        users: Indices<'py>,
        items: Indices<'py>,
    ) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let (users, items) = (users.as_slice()?, items.as_slice()?);
        let scores = py.detach(|| {
            let pairs: Vec<(u32, u32)> = users.iter().copied().zip(items.iter().copied()).collect();
            self.trained.scores(&pairs)
        });
        Ok(PyArray1::from_vec(py, scores.or_raise()?))
    }

    /// The `n` best items of each user, or of rows of factors where they are given.
    #[pyo3(signature = (users, n, seen=None, allow=None, deny=None, rows=None, threads=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of one call")]
    fn recommend<'py>(
        &self,
        py: Python<'py>,
        users: Indices<'py>,
        n: usize,
        seen: Option<Data<'py>>,
        allow: Option<Indices<'py>>,
        deny: Option<Indices<'py>>,
        rows: Option<PyReadonlyArray2<'py, f32>>,
        threads: Option<usize>,
    ) -> PyResult<Lists<'py>> {
        let users = users.as_slice()?;
        let seen = seen.as_ref().map(Data::lend).transpose()?;
        let filter = Filter {
            exclude: seen.as_ref().map(Lent::seen),
            allow: allow.as_ref().map(PyReadonlyArray1::as_slice).transpose()?,
            deny: match &deny {
                Some(deny) => deny.as_slice()?,
                None => &[],
            },
        };
        let n = n.min(self.trained.n_items());
        let mut lists = Padded::new(n, f32::NEG_INFINITY);
        if let Some(rows) = &rows {
            check_columns(rows, self.trained.n_factors())?;
            let rows = copied(rows)?;
            let ranked = detached(py, threads, || {
                self.trained.recommend_rows(&rows, n, &filter)
            })?;
            ranked.or_raise()?.iter().for_each(|list| lists.push(list));
            return lists.into_arrays(py, rows.rows());
        }
        for batch in users.chunks(BATCH) {
            let ranked = detached(py, threads, || self.trained.recommend(batch, n, &filter))?;
            ranked.or_raise()?.iter().for_each(|list| lists.push(list));
            py.check_signals()?;
        }
        lists.into_arrays(py, users.len())
    }

    /// The `n` rows of the same side that are most like each row.
    #[pyo3(signature = (axis, rows, n, by, threads=None))]
    fn similar<'py>(
        &self,
        py: Python<'py>,
        axis: &str,
        rows: Indices<'py>,
        n: usize,
        by: &str,
        threads: Option<usize>,
    ) -> PyResult<Lists<'py>> {
        let (axis, rows) = (parse_axis(axis)?, rows.as_slice()?);
        let by = match by {
            "cosine" => Similarity::Cosine,
            "inner-product" => Similarity::InnerProduct,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "by is {by:?}; it must be 'cosine' or 'inner-product'"
                )));
            }
        };
        let most = match axis {
            Axis::User => self.trained.n_users(),
            Axis::Item => self.trained.n_items(),
        };
        let n = n.min(most.saturating_sub(1));
        let mut lists = Padded::new(n, f32::NEG_INFINITY);
        for batch in rows.chunks(BATCH) {
            let found = detached(py, threads, || self.trained.similar(axis, batch, n, by))?;
            found.or_raise()?.iter().for_each(|list| lists.push(list));
            py.check_signals()?;
        }
        lists.into_arrays(py, rows.len())
    }

    /// The factors of new rows of one side.
    #[pyo3(signature = (axis, data, like=None, threads=None))]
    fn fold_in<'py>(
        &self,
        py: Python<'py>,
        axis: &str,
        data: Data<'py>,
        like: Option<Indices<'py>>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (axis, lent) = (parse_axis(axis)?, data.lend()?);
        let like = like.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
        let solved = detached(py, threads, || {
            let fold_in = self.trained.fold_in(axis);
            let rows: Result<Vec<Vec<f32>>, _> = (0..lent.len())
                .into_par_iter()
                .map(|row| {
                    let known = like.and_then(|like| like.get(row).copied());
                    let weights = known.map_or(RowWeights::Frozen, RowWeights::Like);
                    fold_in.solve(&lent.entries(row), &weights)
                })
                .collect();
            rows.map(|rows| rows.concat())
        })?;
        PyArray1::from_vec(py, solved.or_raise()?).reshape([lent.len(), self.trained.n_factors()])
    }

    /// The score of an item taken apart: score, `(item, contribution)`s, remainder.
    ///
    /// `row` is the row of `data` that holds the user's entries.
    #[pyo3(signature = (data, row, item, user=None))]
    fn explain(
        &self,
        py: Python<'_>,
        data: Data<'_>,
        row: usize,
        item: u32,
        user: Option<u32>,
    ) -> PyResult<Apart> {
        let lent = data.lend()?;
        let explained = py.detach(|| {
            let weights = user.map_or(RowWeights::Frozen, RowWeights::Like);
            let fold_in = self.trained.fold_in(Axis::User);
            fold_in.explain(user, &lent.entries(row), &weights, item)
        });
        let found = explained.or_raise()?;
        let parts = found.contributions.iter();
        let parts = parts.map(|part| (part.item, part.contribution)).collect();
        Ok((found.score, parts, found.remainder))
    }
}

fn parse_axis(name: &str) -> PyResult<Axis> {
    match name {
        "user" => Ok(Axis::User),
        "item" => Ok(Axis::Item),
        _ => Err(PyValueError::new_err(format!(
            "axis is {name:?}; it must be 'user' or 'item'"
        ))),
    }
}
