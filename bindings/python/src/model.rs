//! A trained model with the ids of its rows.

use std::path::PathBuf;

use absentia::model::{ModelError, RowWeights};
use absentia::ranking::{RankRequest, SeenItems, UserItems};
use absentia::{Axis, Model as Trained};
use absentia_io::model::{
    Ids, ImportOptions, import_implicit, load_model, save_model, save_model_and_seen,
};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::data::{BorrowedSeen, Column, Data, Seen, borrow, borrow_some, slice_some};
use crate::dataset::Pairs;
use crate::error::{OrRaise, parsed};
use crate::factors::{BorrowedTable, Factors, Table, check_columns, shape, solve_each};
use crate::ids::IdMap;
use crate::lists::{Lists, Padded};
use crate::pool::{batch, detached, interruptible, interruptible_if_long, released};
use crate::weights::MissingWeights;

/// A trained model with the ids of its rows.
#[pyclass(frozen, module = "absentia._core")]
pub(crate) struct Model {
    pub(crate) trained: Trained,
    pub(crate) ids: Ids,
    pub(crate) config: Option<String>,
    /// What users have seen, if the file that it was read from has it.
    pub(crate) seen: Option<UserItems>,
}

/// Iteration, seconds, observed, missing, regularization, validation.
type SweepTuple = (usize, f64, f64, f64, f64, Option<f64>);
/// Score, what each item adds to it, remainder.
type ExplanationTuple = (f64, Vec<(u32, f64)>, f64);

#[pymethods]
impl Model {
    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let loaded = interruptible(py, move |py, _| {
            detached(py, None, || load_model(&path))?.or_raise()
        })?;
        Ok(Self {
            trained: loaded.model,
            ids: loaded.ids,
            config: loaded.config,
            seen: loaded.seen,
        })
    }

    /// Reads a model that the package `implicit` saved.
    #[staticmethod]
    fn import_implicit(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let (model, ids) = interruptible(py, move |py, _| {
            let read = || import_implicit(&path, ImportOptions::default());
            detached(py, None, read)?.or_raise()
        })?;
        Ok(Self {
            trained: model,
            ids,
            config: None,
            seen: None,
        })
    }

    /// Writes a model file, with what users have seen if that is given as rows of users and items.
    #[pyo3(signature = (path, seen=None))]
    fn save(
        slf: Py<Self>,
        py: Python<'_>,
        path: PathBuf,
        seen: Option<(Column<u32>, Column<u32>)>,
    ) -> PyResult<()> {
        interruptible(py, move |py, _| {
            let Self {
                trained,
                ids,
                config,
                ..
            } = slf.get();
            let config = config.as_deref();
            let seen = match &seen {
                Some((users, items)) => {
                    let (users, items) = (borrow(py, users)?, borrow(py, items)?);
                    let pairs = UserItems::from_pairs(users.as_slice()?, items.as_slice()?);
                    Some(pairs.or_raise()?)
                }
                None => None,
            };
            let write = || match &seen {
                Some(seen) => save_model_and_seen(&path, trained, ids, config, seen),
                None => save_model(&path, trained, ids, config),
            };
            detached(py, None, write)?.or_raise()
        })
    }

    /// The rows of users and items that users have seen, if the file that the model was read from has them.
    #[getter]
    fn seen<'py>(&self, py: Python<'py>) -> Option<Pairs<'py>> {
        let seen = self.seen.as_ref()?;
        let lists = seen.users().iter().enumerate();
        let pairs = lists
            .flat_map(|(at, &user)| seen.lists().row(at).iter().map(move |&item| (user, item)));
        let (users, items): (Vec<u32>, Vec<u32>) = pairs.unzip();
        Some((PyArray1::from_vec(py, users), PyArray1::from_vec(py, items)))
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

    /// Solver, targets, confidence and half-life of the post-scaling of the run as they are written.
    #[getter]
    fn settings(&self) -> crate::job::Texts {
        let latest = self.trained.parts().transform.now;
        crate::job::texts(self.trained.params(), latest)
    }

    /// The types that relations added, by their names.
    #[getter]
    fn types(&self) -> Vec<String> {
        let related = self.trained.related();
        let entities = related.iter().flat_map(|related| &related.entities[2..]);
        entities.map(|entity| entity.name.clone()).collect()
    }

    /// The factors of a type that a relation added.
    fn factors_of(&self, name: &str) -> PyResult<Factors> {
        let at = self.entity(name)?;
        let factors = self.trained.entity_factors(at).cloned();
        factors.map(Factors).ok_or_else(|| self.no_type(name))
    }

    /// The ids of a type that a relation added.
    fn ids_of(&self, name: &str) -> PyResult<IdMap> {
        let ids = self.ids.related.get(self.entity(name)? - 2).cloned();
        ids.map(IdMap).ok_or_else(|| self.no_type(name))
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
    fn item_scale<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f32>>> {
        let scale = self.trained.item_scale()?;
        Some(PyArray1::from_slice(py, scale))
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
    fn scores(
        slf: Py<Self>,
        py: Python<'_>,
        users: Column<u32>,
        items: Column<u32>,
    ) -> PyResult<Bound<'_, PyArray1<f32>>> {
        let k = slf.get().trained.n_factors();
        let multiplications = (users.bind(py).len()? * k) as u64;
        let scores = interruptible_if_long(py, multiplications, move |py, cancel| {
            let (users, items) = (borrow(py, &users)?, borrow(py, &items)?);
            let (users, items) = (users.as_slice()?, items.as_slice()?);
            let model = &slf.get().trained;
            let scores = released(py, || {
                let mut scores = Vec::with_capacity(users.len());
                let step = batch(k as u64);
                for (users, items) in users.chunks(step).zip(items.chunks(step)) {
                    if cancel.is_cancelled() {
                        break;
                    }
                    let users = users.iter().copied();
                    let pairs: Vec<(u32, u32)> = users.zip(items.iter().copied()).collect();
                    scores.extend(model.scores(&pairs)?);
                }
                Ok::<_, ModelError>(scores)
            });
            scores.or_raise()
        })?;
        Ok(PyArray1::from_vec(py, scores))
    }

    /// The `n` best items of each user, or of rows of factors where they are given.
    #[pyo3(signature = (users, n, seen=None, allow=None, deny=None, rows=None, threads=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of one call")]
    fn recommend(
        slf: Py<Self>,
        py: Python<'_>,
        users: Column<u32>,
        n: usize,
        seen: Option<Seen>,
        allow: Option<Column<u32>>,
        deny: Option<Column<u32>>,
        rows: Option<Table>,
        threads: Option<usize>,
    ) -> PyResult<Lists<'_>> {
        let (n, each) = {
            let model = &slf.get().trained;
            (n.min(model.n_items()), work_of_row(model, Axis::Item))
        };
        let count = match &rows {
            Some(rows) => shape(py, rows).0,
            None => users.bind(py).len()?,
        };
        let lists =
            interruptible_if_long(py, each.saturating_mul(count as u64), move |py, cancel| {
                let users = borrow(py, &users)?;
                let seen = seen.as_ref().map(|seen| seen.borrow(py)).transpose()?;
                let entries = match &seen {
                    Some(BorrowedSeen::Data(data)) => Some(data.view()?),
                    _ => None,
                };
                let seen: Option<&dyn SeenItems> = match (&seen, &entries) {
                    (Some(BorrowedSeen::Pairs(pairs)), _) => Some(pairs),
                    (_, Some(entries)) => Some(entries.seen()),
                    _ => None,
                };
                let (allow, deny) = (
                    borrow_some(py, allow.as_ref())?,
                    borrow_some(py, deny.as_ref())?,
                );
                let request = RankRequest {
                    top: n,
                    exclude: seen,
                    allow: slice_some(allow.as_ref())?,
                    deny: slice_some(deny.as_ref())?.unwrap_or_default(),
                    ..RankRequest::default()
                };
                let model = &slf.get().trained;
                let mut lists = Padded::new(n, f32::NEG_INFINITY);
                if let Some(rows) = rows {
                    let rows = borrow(py, &rows)?;
                    check_columns(&rows, model.n_factors())?;
                    let rows = BorrowedTable::of(&rows)?;
                    let users: Vec<u32> = (0..count as u32).collect();
                    let request = RankRequest {
                        users: &users,
                        ..request
                    };
                    let ranked = detached(py, threads, || {
                        model.recommend_rows(&rows.copied(), &request)
                    })?;
                    lists.push_all(&ranked.or_raise()?);
                    return Ok(lists);
                }
                let users = users.as_slice()?;
                let outcome = detached(py, threads, || {
                    lists.fill(users, each, cancel, |users| {
                        model.recommend(&RankRequest { users, ..request })
                    })
                })?;
                outcome.or_raise()?;
                Ok(lists)
            })?;
        lists.into_arrays(py, count)
    }

    /// The `n` rows of the same side that are most like each row.
    #[pyo3(signature = (axis, rows, n, by, threads=None))]
    fn similar<'py>(
        slf: Py<Self>,
        py: Python<'py>,
        axis: &str,
        rows: Column<u32>,
        n: usize,
        by: &str,
        threads: Option<usize>,
    ) -> PyResult<Lists<'py>> {
        let (axis, by) = (parsed("axis", axis)?, parsed("by", by)?);
        let (most, each) = {
            let model = &slf.get().trained;
            (n_rows(model, axis), work_of_row(model, axis))
        };
        let n = n.min(most.saturating_sub(1));
        let count = rows.bind(py).len()?;
        let lists =
            interruptible_if_long(py, each.saturating_mul(count as u64), move |py, cancel| {
                let rows = borrow(py, &rows)?;
                let (rows, model) = (rows.as_slice()?, &slf.get().trained);
                let mut lists = Padded::new(n, f32::NEG_INFINITY);
                let outcome = detached(py, threads, || {
                    lists.fill(rows, each, cancel, |rows| model.similar(axis, rows, n, by))
                })?;
                outcome.or_raise()?;
                Ok(lists)
            })?;
        lists.into_arrays(py, count)
    }

    /// The factors of new rows of one side.
    #[pyo3(signature = (axis, data, like=None, threads=None))]
    fn fold_in<'py>(
        slf: Py<Self>,
        py: Python<'py>,
        axis: &str,
        data: Data,
        like: Option<Column<u32>>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let axis = parsed("axis", axis)?;
        let k = slf.get().trained.n_factors();
        let (rows, solved) = interruptible(py, move |py, cancel| {
            let (data, like) = (data.borrow(py)?, borrow_some(py, like.as_ref())?);
            let (entries, like) = (data.view()?, slice_some(like.as_ref())?);
            let model = &slf.get().trained;
            let solved = detached(py, threads, || {
                let fold_in = model.fold_in(axis);
                solve_each(entries.len(), cancel, |row| {
                    let known = like.and_then(|like| like.get(row).copied());
                    let weights = known.map_or(RowWeights::Frozen, RowWeights::Like);
                    fold_in.solve(&entries.row(row), &weights)
                })
            })?;
            Ok((entries.len(), solved.or_raise()?))
        })?;
        PyArray1::from_vec(py, solved).reshape([rows, k])
    }

    /// The score of an item taken apart: score, `(item, contribution)`s, remainder.
    ///
    /// `row` is the row of `data` that holds the user's entries.
    #[pyo3(signature = (data, row, item, user=None))]
    fn explain(
        slf: Py<Self>,
        py: Python<'_>,
        data: Data,
        row: usize,
        item: u32,
        user: Option<u32>,
    ) -> PyResult<ExplanationTuple> {
        let model = &slf.get().trained;
        // The Gram matrix of the items is most of the work.
        let work = work_of_row(model, Axis::Item) * model.n_factors() as u64;
        interruptible_if_long(py, work, move |py, _| {
            let data = data.borrow(py)?;
            let entries = data.view()?;
            let explained = detached(py, None, || {
                let weights = user.map_or(RowWeights::Frozen, RowWeights::Like);
                let fold_in = slf.get().trained.fold_in(Axis::User);
                fold_in.explain(user, &entries.row(row), &weights, item)
            })?;
            let found = explained.or_raise()?;
            let parts = found.contributions.iter();
            let parts = parts.map(|part| (part.item, part.contribution)).collect();
            Ok((found.score, parts, found.remainder))
        })
    }
}

fn n_rows(model: &Trained, axis: Axis) -> usize {
    match axis {
        Axis::User => model.n_users(),
        Axis::Item => model.n_items(),
    }
}

/// Multiplications that a ranking of all rows of a side takes.
fn work_of_row(model: &Trained, axis: Axis) -> u64 {
    n_rows(model, axis) as u64 * model.n_factors() as u64
}

impl Model {
    /// The number of a type that a relation added.
    fn entity(&self, name: &str) -> PyResult<usize> {
        let found = self
            .trained
            .related()
            .and_then(|related| related.entity(name));
        found.filter(|&at| at > 1).ok_or_else(|| self.no_type(name))
    }

    fn no_type(&self, name: &str) -> PyErr {
        let known = [&["users".to_owned(), "items".to_owned()][..], &self.types()].concat();
        PyValueError::new_err(format!(
            "the model has no {name}; it has {}",
            known.join(", ")
        ))
    }
}
