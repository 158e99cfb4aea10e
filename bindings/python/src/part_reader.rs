//! Data that workers read together, for Python to carry rows and ids between them.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use absentia::Sides;
use absentia::fit::backend::{CHUNK_ROWS, RowSum};
use absentia::fit::shard::rows_of;
use absentia_io::{IdMap, RawIds, id_borders};
use absentia_job::{Bundle, Finished, Job, Opened, Part, Spread};
use absentia_shard::{Plan, chunk_work, from_bytes, to_bytes};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::OrRaise;
use crate::notices::Notices;
use crate::pool::{detached, interruptible, pool_of, released};
use crate::shard_worker::side;

/// Bytes in an array, which Ray passes on without copies.
type Bytes<'py> = Bound<'py, PyArray1<u8>>;
/// Bytes that came from another worker.
type Received<'py> = PyReadonlyArray1<'py, u8>;
/// Numbers of entries of rows.
type Counts<'py> = Bound<'py, PyArray1<u32>>;
/// Numbers of entries of chunks of users and of items.
type ChunkEntries = (Vec<u64>, Vec<u64>);
/// First and end of the chunks of users and of items.
type Chunks = ((usize, usize), (usize, usize));

/// Ids as they travel.
#[derive(Serialize, Deserialize)]
enum Listed {
    Integers(Vec<i64>),
    Text { offsets: Vec<u64>, bytes: Vec<u8> },
}

/// The bytes of ids.
pub(crate) fn packed(ids: &IdMap) -> PyResult<Vec<u8>> {
    let listed = match ids.raw() {
        RawIds::Integers(ids) => Listed::Integers(ids.into_owned()),
        RawIds::Text { offsets, bytes } => Listed::Text {
            offsets: offsets.into_owned(),
            bytes: bytes.into_owned(),
        },
        _ => return Err(PyRuntimeError::new_err("row numbers do not travel as ids")),
    };
    to_bytes(&listed).map_err(PyRuntimeError::new_err)
}

/// The ids of some bytes.
pub(crate) fn unpacked(bytes: &[u8]) -> PyResult<IdMap> {
    let listed: Listed = from_bytes(bytes).map_err(PyRuntimeError::new_err)?;
    let raw = match listed {
        Listed::Integers(ids) => RawIds::Integers(ids.into()),
        Listed::Text { offsets, bytes } => RawIds::Text {
            offsets: offsets.into(),
            bytes: bytes.into(),
        },
    };
    IdMap::from_raw(raw).or_raise()
}

fn ranges(((first_user, end_user), (first_item, end_item)): Chunks) -> Sides<Range<usize>> {
    Sides {
        users: first_user..end_user,
        items: first_item..end_item,
    }
}

/// What a worker has read.
enum State {
    Empty,
    Reading(Box<Spread>),
    Ready(Box<Part>, Sides<IdMap>),
}

/// A worker that reads a part of the data of a job.
#[pyclass(frozen, module = "absentia._core")]
pub(crate) struct PartReader {
    job: Job,
    index: usize,
    workers: usize,
    state: Mutex<State>,
}

impl PartReader {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Spread) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        let pool = pool_of(self.job.threads)?;
        released(py, || match &mut *self.lock() {
            State::Reading(spread) => pool.install(|| work(spread)),
            _ => Err(PyRuntimeError::new_err(
                "the files of this worker are not read",
            )),
        })
    }

    /// The part that was made, with the ids of the range of this worker.
    pub(crate) fn take_part(&self) -> PyResult<(Box<Part>, Sides<IdMap>)> {
        match std::mem::replace(&mut *self.lock(), State::Empty) {
            State::Ready(part, ids) => Ok((part, ids)),
            _ => Err(PyRuntimeError::new_err(
                "the part of this worker is not ready",
            )),
        }
    }
}

#[pymethods]
impl PartReader {
    /// Worker `index` of `workers` of a job, given by its keys as JSON.
    #[new]
    fn new(settings: &str, index: usize, workers: usize) -> PyResult<Self> {
        Ok(Self {
            job: crate::job::parse(settings)?,
            index,
            workers,
            state: Mutex::new(State::Empty),
        })
    }

    /// Reads the files of this worker.
    fn read(slf: Py<Self>, py: Python<'_>) -> PyResult<Bytes<'_>> {
        let opened = interruptible(py, move |py, _| {
            let this = slf.get();
            let notices = Notices::of(&this.job);
            let read = detached(py, this.job.threads, || {
                Spread::read(&this.job, (this.index, this.workers), &notices)
            })?;
            notices.log(py)?;
            let (spread, opened) = read.or_raise()?;
            *this.lock() = State::Reading(Box::new(spread));
            to_bytes(&opened).map_err(PyRuntimeError::new_err)
        })?;
        Ok(PyArray1::from_vec(py, opened))
    }

    /// Its ids of a side, divided at the borders, one array for each worker.
    fn ids_by_range<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        borders: Vec<String>,
    ) -> PyResult<Vec<Bytes<'py>>> {
        let side = side(name)?;
        let parts = self.with(py, |spread| {
            let parts = spread.ids_by_range(side, &borders).or_raise()?;
            parts.iter().map(packed).collect::<PyResult<Vec<_>>>()
        })?;
        Ok(arrays(py, parts))
    }

    /// Takes the ids of its range from every worker; yields the places of those of each worker in it.
    fn number<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        parts: Vec<Received<'_>>,
    ) -> PyResult<Vec<Bound<'py, PyArray1<u32>>>> {
        let side = side(name)?;
        let parts: Vec<&[u8]> = slices(&parts)?;
        let places = self.with(py, |spread| {
            let parts: Vec<IdMap> = parts
                .iter()
                .map(|part| unpacked(part))
                .collect::<PyResult<_>>()?;
            spread.number(side, &parts).or_raise()
        })?;
        Ok(arrays(py, places))
    }

    /// Number of ids in the range of this worker.
    fn range_len(&self, py: Python<'_>, name: &str) -> PyResult<usize> {
        let side = side(name)?;
        self.with(py, |spread| Ok(spread.range(side).len()))
    }

    /// Gives its rows the numbers that their ids have among all.
    fn renumber(
        &self,
        py: Python<'_>,
        name: &str,
        firsts: Vec<u32>,
        places: Vec<PyReadonlyArray1<'_, u32>>,
    ) -> PyResult<()> {
        let side = side(name)?;
        let places: Vec<&[u32]> = slices(&places)?;
        self.with(py, |spread| {
            spread.renumber(side, &firsts, &places).or_raise()
        })
    }

    /// Rows of each chunk of users and of items.
    fn rows_by_chunk(
        &self,
        py: Python<'_>,
        shape: (usize, usize),
    ) -> PyResult<(Vec<u64>, Vec<u64>)> {
        let shape = Sides {
            users: shape.0,
            items: shape.1,
        };
        self.with(py, |spread| {
            let rows = spread.rows_by_chunk(shape);
            Ok((rows.users, rows.items))
        })
    }

    /// Its rows for each worker, given the chunks of each.
    fn bundles<'py>(&self, py: Python<'py>, chunks: Vec<Chunks>) -> PyResult<Vec<Bytes<'py>>> {
        let chunks: Vec<_> = chunks.into_iter().map(ranges).collect();
        let bundles = self.with(py, |spread| {
            let bundles = spread.bundles(&chunks).or_raise()?;
            let bytes = bundles
                .iter()
                .map(|bundle| to_bytes(bundle).map_err(PyRuntimeError::new_err));
            bytes.collect::<PyResult<Vec<_>>>()
        })?;
        Ok(arrays(py, bundles))
    }

    /// Takes its rows from every worker; yields the number of entries of its users and items.
    fn take<'py>(
        &self,
        py: Python<'py>,
        shape: (usize, usize),
        chunks: Chunks,
        bundles: Vec<Received<'_>>,
    ) -> PyResult<(Counts<'py>, Counts<'py>)> {
        let shape = Sides {
            users: shape.0,
            items: shape.1,
        };
        let bundles: Vec<&[u8]> = slices(&bundles)?;
        let counts = self.with(py, |spread| {
            let bundles = bundles
                .iter()
                .map(|bytes| from_bytes(bytes).map_err(PyRuntimeError::new_err));
            let bundles: Vec<Bundle> = bundles.collect::<PyResult<_>>()?;
            spread.take(shape, &ranges(chunks), bundles).or_raise()
        })?;
        Ok((
            PyArray1::from_vec(py, counts.users),
            PyArray1::from_vec(py, counts.items),
        ))
    }

    /// Makes the part, given the number of entries of the rows of every worker and the sums that are known. Yields
    /// the share of a sum that is needed first, or `None` if the part is ready.
    fn finish<'py>(
        &self,
        py: Python<'py>,
        users: Vec<PyReadonlyArray1<'_, u32>>,
        items: Vec<PyReadonlyArray1<'_, u32>>,
        totals: Vec<f64>,
    ) -> PyResult<Option<Bytes<'py>>> {
        let counts = Sides {
            users: slices(&users)?.concat(),
            items: slices(&items)?.concat(),
        };
        let finished = self.with(py, |spread| {
            let finished = spread.finish(&counts, &totals).or_raise()?;
            let ids = Sides::from_fn(|axis| spread.range(axis).clone());
            Ok((finished, ids))
        })?;
        match finished {
            (Finished::Missing(sum), _) => {
                let bytes = to_bytes(&sum).map_err(PyRuntimeError::new_err)?;
                Ok(Some(PyArray1::from_vec(py, bytes)))
            }
            (Finished::Ready(part), ids) => {
                *self.lock() = State::Ready(part, ids);
                Ok(None)
            }
        }
    }
}

/// An array for Python of each list.
pub(crate) fn arrays<T: numpy::Element>(
    py: Python<'_>,
    lists: impl IntoIterator<Item = Vec<T>>,
) -> Vec<Bound<'_, PyArray1<T>>> {
    let lists = lists.into_iter();
    lists.map(|list| PyArray1::from_vec(py, list)).collect()
}

/// The elements of each array that came from Python.
pub(crate) fn slices<'a, T: numpy::Element>(
    arrays: &'a [PyReadonlyArray1<'_, T>],
) -> PyResult<Vec<&'a [T]>> {
    arrays.iter().map(|array| Ok(array.as_slice()?)).collect()
}

/// The ids at which users and items are divided among readers, and the number of rows; readers must have read the
/// same columns.
#[pyfunction]
pub(crate) fn borders_of(opened: Vec<Received<'_>>) -> PyResult<(Vec<String>, Vec<String>, u64)> {
    let opened: Vec<&[u8]> = slices(&opened)?;
    let opened = opened
        .iter()
        .map(|bytes| from_bytes(bytes).map_err(PyRuntimeError::new_err));
    let opened: Vec<Opened> = opened.collect::<PyResult<_>>()?;
    let mut columns = opened
        .iter()
        .enumerate()
        .filter_map(|(at, opened)| Some((at, opened.columns?)));
    if let Some((first, expected)) = columns.next()
        && let Some((other, found)) = columns.find(|(_, columns)| *columns != expected)
    {
        let names = |columns: [bool; 3]| {
            let names = ["ratings", "times", "weights"].into_iter().zip(columns);
            names
                .filter_map(|(name, has)| has.then_some(name))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let (expected, found) = (names(expected), names(found));
        return Err(PyValueError::new_err(format!(
            "the files of worker {first} have the columns [{expected}], those of worker {other} [{found}]; name the \
             columns, by rating_col, time_col and weight_col"
        )));
    }
    let rows: u64 = opened.iter().map(|opened| opened.rows).sum();
    if rows == 0 {
        return Err(PyValueError::new_err("no row is left after preparation"));
    }
    let workers = opened.len();
    let (users, items): (Vec<_>, Vec<_>) = opened
        .into_iter()
        .map(|opened| (opened.samples.users, opened.samples.items))
        .unzip();
    Ok((
        id_borders(&users, workers),
        id_borders(&items, workers),
        rows,
    ))
}

/// The chunks of each worker, from the rows that each reader has in every chunk.
#[pyfunction]
pub(crate) fn divided(
    rows: Vec<ChunkEntries>,
    shape: (usize, usize),
    workers: usize,
) -> Vec<Chunks> {
    let shape = Sides {
        users: shape.0,
        items: shape.1,
    };
    let work = |all: usize, of: fn(&ChunkEntries) -> &[u64]| -> Vec<u64> {
        let mut sums = vec![0; all.div_ceil(CHUNK_ROWS)];
        for reader in &rows {
            for (sum, more) in sums.iter_mut().zip(of(reader)) {
                *sum += more;
            }
        }
        let chunks = sums.iter().enumerate();
        chunks
            .map(|(at, entries)| chunk_work(rows_of(&(at..at + 1), all).len(), *entries))
            .collect()
    };
    let work = Sides {
        users: work(shape.users, |reader| &reader.0),
        items: work(shape.items, |reader| &reader.1),
    };
    let plan = Plan::of_work(&work, workers);
    let chunks = plan.workers().iter();
    chunks
        .map(|chunks| {
            let (users, items) = (&chunks.users, &chunks.items);
            ((users.start, users.end), (items.start, items.end))
        })
        .collect()
}

/// A sum over all users, from the shares of all workers.
#[pyfunction]
pub(crate) fn merged_sum(shares: Vec<Received<'_>>) -> PyResult<f64> {
    let mut sum = RowSum::<f64>::default();
    for share in slices(&shares)? {
        sum = sum.merge(from_bytes(share).map_err(PyRuntimeError::new_err)?);
    }
    Ok(sum.total().unwrap_or(0.0))
}

/// Why workers cannot each read a part of the data of a job; `None` if they can. Jobs that workers cannot share at all
/// are refused.
#[pyfunction]
pub(crate) fn why_not_spread(settings: &str) -> PyResult<Option<&'static str>> {
    let job = crate::job::parse(settings)?;
    job.check_shared().or_raise()?;
    Ok(job.why_not_spread())
}
