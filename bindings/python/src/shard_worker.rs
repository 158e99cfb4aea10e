//! A worker of a run that several processes share, for Python to carry its messages.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use absentia::fit::shard::random_rows;
use absentia::{Axis, Dense, Params, Sides};
use absentia_io::IdMap;
use absentia_io::model::{FactorFile, FactorFiles, Ids, save_factor_file};
use absentia_job::{Frame, Job, Part, shards};
use absentia_shard::{Received, Request, Wave, Worker, WorkerError, from_bytes, to_bytes};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::ThreadPool;

use crate::error::{OrRaise, Raise};
use crate::model::Model;
use crate::notices::Notices;
use crate::part_reader::{PartReader, arrays, packed, slices, unpacked};
use crate::pool::{detached, interruptible, pool_of, released};
use crate::shared_run::parsed;

impl Raise for WorkerError {
    fn raise(self) -> PyErr {
        PyRuntimeError::new_err(self.to_string())
    }
}

/// The side of a name.
pub(crate) fn side(name: &str) -> PyResult<Axis> {
    match name {
        "users" => Ok(Axis::User),
        "items" => Ok(Axis::Item),
        other => Err(PyValueError::new_err(format!(
            "{other:?} is neither users nor items"
        ))),
    }
}

/// Numbers that came from another worker.
type Numbers<'py> = PyReadonlyArray1<'py, f32>;

/// What a worker has when its part is ready.
struct Ready {
    worker: Worker,
    params: Params,
    frame: Frame,
    /// The ids of its range of all ids, where workers read parts of the data.
    range: Option<Sides<IdMap>>,
    /// Given factors, to start again from.
    given: Option<Sides<Vec<f32>>>,
}

/// A worker: its shard, and what a model has beside factors.
#[pyclass(frozen, module = "absentia._core")]
pub(crate) struct ShardWorker {
    job: Job,
    index: usize,
    workers: usize,
    /// Bytes that it may take with the rows of others.
    memory: Option<u64>,
    /// Its threads, which stay for all steps.
    pool: Arc<ThreadPool>,
    ready: Mutex<Option<Ready>>,
    /// The arrays of rows that others got last, whose memory the next ones use.
    outgoing: Mutex<Sides<Vec<Py<PyArray1<f32>>>>>,
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ShardWorker {
    /// Runs `work` on the part of this worker, on the threads of the job, without the GIL.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Ready) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        released(py, || {
            let mut ready = locked(&self.ready);
            match ready.as_mut() {
                Some(ready) => self.pool.install(|| work(ready)),
                None => Err(PyRuntimeError::new_err(
                    "the part of this worker is not ready",
                )),
            }
        })
    }

    fn set(&self, part: Part, range: Option<Sides<IdMap>>) -> PyResult<Vec<u8>> {
        let part = part.in_waves(self.memory);
        let facts = to_bytes(&part.facts).map_err(PyRuntimeError::new_err)?;
        let given = (!self.job.settings.init.is_empty()).then(|| part.start.as_ref().map(compact));
        let weights = part.parts.first().map(|part| &part.sides.users.own_weights);
        let (factors, rank) = (part.params.factors, weights.map_or(0, Dense::cols));
        let shards = shards(part.parts, &part.start, &part.params, part.solver);
        *locked(&self.ready) = Some(Ready {
            worker: Worker::new(shards, self.index, factors, rank),
            params: part.params,
            frame: part.frame,
            range,
            given,
        });
        Ok(facts)
    }
}

#[pymethods]
impl ShardWorker {
    /// Worker `index` of `workers` of a job, given by its keys as JSON, that may take `memory` bytes for its part and for
    /// the rows of others.
    #[new]
    #[pyo3(signature = (settings, index, workers, memory=None))]
    fn new(settings: &str, index: usize, workers: usize, memory: Option<u64>) -> PyResult<Self> {
        let job = crate::job::parse(settings)?;
        job.check_shared().or_raise()?;
        if index >= workers {
            let message = format!("there is no worker {index} of {workers}");
            return Err(PyValueError::new_err(message));
        }
        Ok(Self {
            pool: pool_of(job.threads)?,
            job,
            index,
            workers,
            memory,
            ready: Mutex::default(),
            outgoing: Mutex::default(),
        })
    }

    /// Reads all data and keeps the part of this worker; yields what workers must agree on.
    fn read_all(slf: Py<Self>, py: Python<'_>) -> PyResult<Py<PyBytes>> {
        let facts = interruptible(py, move |py, _| {
            let this = slf.get();
            let notices = Notices::of(&this.job);
            let part = detached(py, this.job.threads, || {
                this.job.part(this.index, this.workers, &notices)
            })?;
            notices.log(py)?;
            this.set(part.or_raise()?, None)
        })?;
        Ok(PyBytes::new(py, &facts).unbind())
    }

    /// Keeps the part that a reader has made; yields what workers must agree on.
    fn take_part(&self, py: Python<'_>, reader: &PartReader) -> PyResult<Py<PyBytes>> {
        let (part, ids) = reader.take_part()?;
        let facts = released(py, || self.set(*part, Some(ids)))?;
        Ok(PyBytes::new(py, &facts).unbind())
    }

    /// The ids of its range of all ids; nothing where every worker has read all data.
    fn ids<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let side = side(name)?;
        let bytes = self.with(py, |ready| match &ready.range {
            Some(range) => packed(&range[side]),
            None => Ok(Vec::new()),
        })?;
        Ok(PyArray1::from_vec(py, bytes))
    }

    /// The rows of a side that this worker needs of each worker, as [`set_wanted`](Self::set_wanted) takes them; `owned` has
    /// the first and the end of the rows of each.
    fn wanted<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        owned: Vec<(usize, usize)>,
    ) -> PyResult<Vec<Bound<'py, PyArray1<u32>>>> {
        let side = side(name)?;
        let owned: Vec<_> = owned.into_iter().map(|(first, end)| first..end).collect();
        let wanted = self.with(py, |ready| Ok(ready.worker.wanted(side, &owned)))?;
        Ok(arrays(py, wanted.iter().map(|waves| joined(waves))))
    }

    /// Takes the rows of a side that each worker needs of this one.
    fn set_wanted(
        &self,
        py: Python<'_>,
        name: &str,
        wanted: Vec<PyReadonlyArray1<'_, u32>>,
    ) -> PyResult<()> {
        let side = side(name)?;
        let wanted = wanted.iter().map(|rows| divided(rows.as_slice()?));
        let wanted: Vec<Vec<Vec<u32>>> = wanted.collect::<PyResult<_>>()?;
        self.with(py, |ready| ready.worker.set_wanted(side, wanted).or_raise())
    }

    /// The rows of a side that each worker needs of this one in a wave, one array for each worker; that of this one is
    /// empty. The next call may use the same arrays again.
    fn rows_for<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        wave: usize,
    ) -> PyResult<Vec<Bound<'py, PyArray1<f32>>>> {
        let side = side(name)?;
        let counts = self.with(py, |ready| {
            let count = |receiver| ready.worker.count_for(side, receiver, wave);
            let others = |receiver: &usize| *receiver != self.index;
            let counts = (0..self.workers).map(|to| Some(to).filter(others).map_or(0, count));
            Ok((
                counts.collect::<Vec<_>>(),
                ready.worker.waves_of_others(side),
            ))
        })?;
        let (counts, waves) = counts;
        let mut kept = std::mem::take(&mut locked(&self.outgoing)[side]).into_iter();
        let arrays = counts.iter().map(|count| {
            let kept = kept.next().map(|array| array.into_bound(py));
            let kept = kept.filter(|array| array.len().is_ok_and(|len| len == *count));
            kept.unwrap_or_else(|| PyArray1::zeros(py, *count, false))
        });
        let arrays: Vec<Bound<'py, PyArray1<f32>>> = arrays.collect();
        let mut places: Vec<_> = arrays.iter().map(PyArrayMethods::readwrite).collect();
        let places = places.iter_mut().map(|place| Ok(place.as_slice_mut()?));
        let places: Vec<&mut [f32]> = places.collect::<PyResult<_>>()?;
        self.with(py, |ready| {
            for (receiver, to) in places.into_iter().enumerate() {
                if receiver != self.index {
                    ready.worker.copy_for(side, (receiver, wave), to);
                }
            }
            Ok(())
        })?;
        if waves <= 1 {
            let kept = arrays.iter().map(|array| array.clone().unbind());
            locked(&self.outgoing)[side] = kept.collect();
        }
        Ok(arrays)
    }

    /// All rows of a side that this worker has, one after the other.
    fn all_rows<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let side = side(name)?;
        let rows = self.with(py, |ready| Ok(ready.worker.all_rows(side)))?;
        Ok(PyArray1::from_vec(py, rows))
    }

    /// Its rows of the weights on missing entries.
    fn all_weights<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let side = side(name)?;
        let rows = self.with(py, |ready| Ok(ready.worker.all_weights(side)))?;
        Ok(PyArray1::from_vec(py, rows))
    }

    /// Does wave `wave.0` of `wave.1` of what the driver of a run asks for, and yields the answer after the last one. `rows`
    /// has what each worker sent, `whole` all rows and weights of each where every entry of the matrix is visited.
    fn answer(
        &self,
        py: Python<'_>,
        step: u64,
        request: &[u8],
        wave: (usize, usize),
        rows: Vec<Numbers<'_>>,
        whole: Vec<(Numbers<'_>, Numbers<'_>)>,
    ) -> PyResult<Option<Py<PyBytes>>> {
        let request: Request = from_bytes(request).map_err(PyRuntimeError::new_err)?;
        let rows: Vec<&[f32]> = slices(&rows)?;
        let whole = whole
            .iter()
            .map(|(rows, weights)| Ok((rows.as_slice()?, weights.as_slice()?)));
        let whole: Vec<(&[f32], &[f32])> = whole.collect::<PyResult<_>>()?;
        let reply = self.with(py, |ready| {
            let received = Received {
                rows: &rows,
                whole: &whole,
            };
            let wave = Wave {
                index: wave.0,
                count: wave.1,
            };
            let reply = ready
                .worker
                .answer(step, &request, wave, received)
                .or_raise()?;
            let bytes = reply.map(|reply| to_bytes(&reply));
            bytes.transpose().map_err(PyRuntimeError::new_err)
        })?;
        Ok(reply.map(|reply| PyBytes::new(py, &reply).unbind()))
    }

    /// Goes to the rows after some step.
    fn restore(
        &self,
        py: Python<'_>,
        step: u64,
        users: Numbers<'_>,
        items: Numbers<'_>,
    ) -> PyResult<()> {
        let rows = Sides {
            users: users.as_slice()?,
            items: items.as_slice()?,
        };
        self.with(py, |ready| ready.worker.restore(step, rows).or_raise())
    }

    /// Goes back to the rows that the run started from.
    fn restart(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |ready| {
            let start = match &ready.given {
                Some(given) => given.clone(),
                None => Sides::from_fn(|axis| {
                    let rows = ready.worker.rows(axis);
                    compact(&random_rows(&ready.params, axis, rows))
                }),
            };
            let rows = start.as_ref().map(Vec::as_slice);
            ready.worker.restore(0, rows).or_raise()
        })
    }

    /// Writes its rows into the folder of a model, and yields what their files are called.
    #[expect(clippy::needless_pass_by_value, reason = "as Python gives it")]
    fn save_factors(&self, py: Python<'_>, folder: PathBuf) -> PyResult<String> {
        self.with(py, |ready| {
            let files = Sides {
                users: ready.save_side(&folder, Axis::User)?,
                items: ready.save_side(&folder, Axis::Item)?,
            };
            serde_json::to_string(&files)
                .map_err(|error| PyRuntimeError::new_err(error.to_string()))
        })
    }

    /// Makes a model of the files of all workers in a folder, in the order of the workers, after the sweeps of `history`.
    /// `ids` is as for [`model`](Self::model).
    #[expect(clippy::needless_pass_by_value, reason = "as Python gives it")]
    fn save_folder(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        files: Vec<String>,
        ids: Vec<PyReadonlyArray1<'_, u8>>,
        history: &str,
    ) -> PyResult<()> {
        let (ids, history) = (slices(&ids)?, parsed(history)?);
        self.with(py, |ready| {
            let mut sides = Sides::<Vec<FactorFile>>::default();
            for own in &files {
                let own: Sides<Vec<FactorFile>> = serde_json::from_str(own)
                    .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
                sides.users.extend(own.users);
                sides.items.extend(own.items);
            }
            let factors = ready.params.factors;
            let (files, ids) = (FactorFiles { factors, sides }, ready.all_ids(&ids)?);
            let saved = ready.frame.save_folder(&folder, &files, &ids, &history);
            saved.or_raise()
        })
    }

    /// The model of all rows, in the order of the workers, after the sweeps of `history`. `ids` has the ids of each
    /// worker, users first, where workers have read parts of the data.
    fn model(
        &self,
        py: Python<'_>,
        users: Vec<Numbers<'_>>,
        items: Vec<Numbers<'_>>,
        ids: Vec<PyReadonlyArray1<'_, u8>>,
        history: &str,
    ) -> PyResult<Model> {
        let (ids, history) = (slices(&ids)?, parsed(history)?);
        let rows = Sides {
            users: slices(&users)?,
            items: slices(&items)?,
        };
        self.with(py, |ready| {
            let k = ready.params.factors;
            let joined = |parts: &Vec<&[f32]>| {
                let numbers = parts.concat();
                let factors = Dense::from_slice(numbers.len() / k, k, &numbers);
                let broken = || PyRuntimeError::new_err("rows of factors are not whole");
                factors
                    .map(|factors| factors.into_padded().into())
                    .ok_or_else(broken)
            };
            let factors = Sides {
                users: joined(&rows.users)?,
                items: joined(&rows.items)?,
            };
            let ids = ready.all_ids(&ids)?;
            Ok(Model {
                trained: ready.frame.model(factors, history).or_raise()?,
                ids,
                config: ready.frame.config.clone(),
                seen: None,
            })
        })
    }
}

/// The rows of several waves as one list: the number of waves, their numbers of rows, the rows.
fn joined(waves: &[Vec<u32>]) -> Vec<u32> {
    let mut joined = vec![waves.len() as u32];
    joined.extend(waves.iter().map(|rows| rows.len() as u32));
    for rows in waves {
        joined.extend_from_slice(rows);
    }
    joined
}

/// The rows of each wave of such a list.
fn divided(joined: &[u32]) -> PyResult<Vec<Vec<u32>>> {
    let broken = || PyRuntimeError::new_err("a list of rows is not whole");
    let (count, rest) = joined.split_first().ok_or_else(broken)?;
    let (counts, mut rows) = rest.split_at_checked(*count as usize).ok_or_else(broken)?;
    let waves = counts.iter().map(|count| {
        let (own, rest) = rows.split_at_checked(*count as usize).ok_or_else(broken)?;
        rows = rest;
        Ok(own.to_vec())
    });
    waves.collect()
}

impl Ready {
    /// The ids of all rows, of which each worker has some where workers have read parts of the data.
    fn all_ids(&self, ids: &[&[u8]]) -> PyResult<Ids> {
        let of_range = |parts: &[&[u8]]| {
            let parts = parts.iter().map(|part| unpacked(part));
            let parts: Vec<IdMap> = parts.collect::<PyResult<_>>()?;
            Ok::<_, PyErr>(IdMap::union(&parts).or_raise()?.0)
        };
        match self.range {
            Some(_) => Ok(Ids {
                users: of_range(&ids[..ids.len() / 2])?,
                items: of_range(&ids[ids.len() / 2..])?,
                related: Vec::new(),
            }),
            None => Ok(self.frame.ids.clone()),
        }
    }

    /// Writes the rows of one side.
    fn save_side(&self, folder: &Path, axis: Axis) -> PyResult<Vec<FactorFile>> {
        let rows = self.worker.all_rows(axis);
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let rows = (&rows[..], self.params.factors);
        let file = save_factor_file(folder, axis, self.worker.rows(axis).start, rows);
        Ok(vec![file.or_raise()?])
    }
}

/// The numbers of a matrix without padding.
fn compact(matrix: &Dense) -> Vec<f32> {
    let rows = 0..matrix.rows();
    rows.flat_map(|row| matrix.row(row)).copied().collect()
}
