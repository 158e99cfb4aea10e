//! Observed entries with their ids, as a job reads and prepares them.

use absentia::Dense;
use absentia::data::{DataError, Duplicates, Triplets};
use absentia_io::arrays::FeatureTable;
use absentia_io::model::Ids;
use absentia_io::time::TimeUnit;
use absentia_io::{Dataset as Table, Unknown};
use absentia_job::text::{RelationSpec, RelationTextError};
use absentia_job::{RelationRows, RelationTable, Rows, TrainingData, read_files};
use numpy::{PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::data::{Column, Data, Entries, borrow};
use crate::error::OrRaise;
use crate::factors::Table as FloatTable;
use crate::ids::IdMap;
use crate::notices::Notices;
use crate::pool::{detached, interruptible, released};

/// Observed entries with their transpose, their ids, and the rows that are held out of them.
#[pyclass(frozen, module = "absentia._core")]
pub(crate) struct Dataset(pub(crate) TrainingData);

/// Ids of users and of items.
type IdMaps = (Py<IdMap>, Py<IdMap>);

/// A table in memory: users, items, values, weights, times, and the ids of its numbers.
pub(crate) type Columns = (
    Column<u32>,
    Column<u32>,
    Option<Column<f32>>,
    Option<Column<f32>>,
    Option<Column<i64>>,
    IdMaps,
);

/// Reads and prepares the data of a job: its files, or a table in memory.
///
/// `relations` in memory are trained with those of the job's files.
///
/// With `known` ids, the data is further data of a model and is not prepared. Rows of files whose user or
/// item is not known are left out, or get new ids if `grow`.
#[pyfunction]
#[pyo3(signature = (settings, table=None, known=None, grow=false, relations=Vec::new()))]
pub(crate) fn prepare(
    py: Python<'_>,
    settings: &str,
    table: Option<Columns>,
    known: Option<IdMaps>,
    grow: bool,
    relations: Vec<InMemory>,
) -> PyResult<Dataset> {
    let job = crate::job::parse(settings)?;
    interruptible(py, move |py, _| {
        let table = table.map(|columns| copied(py, &columns)).transpose()?;
        let given = relations.iter().map(|one| relation(py, one));
        let given: Vec<RelationRows> = given.collect::<PyResult<_>>()?;
        let notices = Notices::of(&job);
        let prepared = detached(py, None, || {
            let rows = table.map(|table| Rows::of_table(table, &job.reading));
            let known = known.map(|maps| ids(&maps));
            let unknown = if grow { Unknown::Add } else { Unknown::Skip };
            match (rows.transpose()?, known) {
                (None, None) => {
                    let rows = Rows::new(read_files(&job.data, &job.reading, &notices)?)?;
                    job.prepare_with(rows, given, &notices)
                }
                (None, Some(known)) => job.read_further(known, unknown, &notices),
                (Some(rows), None) => job.prepare_with(rows, given, &notices),
                (Some(rows), Some(_)) => job.further(rows, &notices),
            }
        })?;
        notices.log(py)?;
        prepared.or_raise().map(Dataset)
    })
}

/// A relation in memory, with its options as they are written.
#[derive(FromPyObject)]
pub(crate) enum InMemory {
    /// Features: the ids of rows, if they are not row numbers, the names of columns, and the numbers.
    Features((String, Option<Vec<String>>, Vec<String>, FloatTable)),
    /// Entries.
    Entries((String, Columns)),
}

pub(crate) fn relation(py: Python<'_>, given: &InMemory) -> PyResult<RelationRows> {
    let (text, rows) = match given {
        InMemory::Entries((text, columns)) => {
            (text, RelationTable::Entries(Box::new(copied(py, columns)?)))
        }
        InMemory::Features((text, ids, columns, numbers)) => {
            let array = numbers.bind(py).try_readonly()?;
            let (rows, width) = (array.shape()[0], array.shape()[1]);
            let values = Dense::from_slice(rows, width, array.as_slice()?)
                .ok_or_else(|| PyValueError::new_err("features have the wrong shape"))?;
            let table = FeatureTable::new(ids.clone(), columns.clone(), values);
            (text, RelationTable::Features(table))
        }
    };
    let spec: RelationSpec = text
        .parse()
        .map_err(|error: RelationTextError| PyValueError::new_err(format!("relations: {error}")))?;
    Ok(RelationRows::in_memory(spec, rows))
}

fn ids((users, items): &IdMaps) -> Ids {
    Ids {
        related: Vec::new(),
        users: users.get().0.clone(),
        items: items.get().0.clone(),
    }
}

pub(crate) fn copied(py: Python<'_>, columns: &Columns) -> PyResult<Table> {
    fn each<T: numpy::Element + Copy>(py: Python<'_>, column: &Column<T>) -> PyResult<Vec<T>> {
        Ok(borrow(py, column)?.as_slice()?.to_vec())
    }
    fn some<T: numpy::Element + Copy>(
        py: Python<'_>,
        column: Option<&Column<T>>,
    ) -> PyResult<Option<Vec<T>>> {
        column.map(|column| each(py, column)).transpose()
    }
    let (user, item, values, weights, times, maps) = columns;
    let Ids { users, items, .. } = ids(maps);
    Ok(Table {
        users,
        items,
        user: each(py, user)?,
        item: each(py, item)?,
        value: some(py, values.as_ref())?,
        weight: some(py, weights.as_ref())?,
        time: some(py, times.as_ref())?,
        ..Table::default()
    })
}

#[pymethods]
impl Dataset {
    /// Merges further data into some data; ids are those of both. Repeated pairs are merged as those of the
    /// further data were. Times stay if both have them, in the unit of the first.
    #[staticmethod]
    fn merged(py: Python<'_>, old: Data, new: Data, known: IdMaps) -> PyResult<Self> {
        interruptible(py, move |py, _| {
            let (old, new) = (old.borrow(py)?, new.borrow(py)?);
            let (old, new) = (old.view()?, new.view()?);
            let merged = detached(py, None, || {
                let ids = ids(&known);
                let mut columns = Triples::default();
                columns.extend(&old, None);
                columns.extend(
                    &new,
                    old.times().map(|times| TimeUnit::of_times(Some(times))),
                );
                let duplicates = new.duplicates();
                let shape = (ids.users.len(), ids.items.len());
                Ok::<_, DataError>(TrainingData {
                    related: None,
                    data: columns.build(shape, duplicates)?,
                    ids,
                    held_out: None,
                    has_ratings: old.has_ratings() || new.has_ratings(),
                    has_weights: old.has_weights() || new.has_weights(),
                    duplicates,
                })
            })?;
            Ok(Self(merged.or_raise()?))
        })
    }

    /// Number of users and of items.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.data.n_users(), self.0.data.n_items())
    }

    /// Number of interactions.
    #[getter]
    fn nnz(&self) -> usize {
        self.0.data.n_interactions()
    }

    /// The ids of users.
    #[getter]
    fn user_ids(&self) -> IdMap {
        IdMap(self.0.ids.users.clone())
    }

    /// The ids of items.
    #[getter]
    fn item_ids(&self) -> IdMap {
        IdMap(self.0.ids.items.clone())
    }

    /// The interactions as rows of users and items.
    fn pairs(slf: Py<Self>, py: Python<'_>) -> PyResult<Pairs<'_>> {
        let (users, items) = interruptible(py, move |py, _| {
            let data = &slf.get().0.data;
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

/// Rows of users and of items.
pub(crate) type Pairs<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>);

/// Entries one after the other.
#[derive(Default)]
struct Triples {
    users: Vec<u32>,
    items: Vec<u32>,
    values: Vec<f32>,
    weights: Vec<f32>,
    times: Vec<i64>,
}

impl Triples {
    /// Adds entries, with their times in a unit if one is given.
    fn extend(&mut self, data: &Entries<'_>, unit: Option<TimeUnit>) {
        let own = TimeUnit::of_times(data.times());
        let unit = unit.unwrap_or(own);
        for user in 0..data.len() {
            for entry in data.row(user).iter().filter(|entry| !entry.exposed) {
                self.users.push(user as u32);
                self.items.push(entry.index);
                self.values.push(entry.value);
                self.weights.push(entry.weight);
                self.times
                    .extend(entry.time.map(|time| unit.of_time(time, own)));
            }
        }
    }

    fn build(
        &self,
        shape: (usize, usize),
        duplicates: Duplicates,
    ) -> Result<absentia::Interactions<'static>, DataError> {
        let triplets = Triplets::new(&self.users, &self.items);
        let mut triplets = triplets.values(&self.values).weights(&self.weights);
        if self.times.len() == self.users.len() {
            triplets = triplets.times(&self.times);
        }
        triplets.build(shape.0, shape.1, duplicates)
    }
}
