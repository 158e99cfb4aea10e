//! A model that learns from events.

use std::path::PathBuf;
use std::sync::{Mutex, TryLockError};
use std::time::Duration;

use absentia::Axis;
use absentia::fit::Cancel;
use absentia::online::{REFIT_SWEEPS, Settings, WeightMode};
use absentia_io::{IdMap, RawIds};
use absentia_job::{Input, Job, TrainingData};
use absentia_online::{LearnError, Learner, LearningSettings, Opening, Record, Trained, open};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::data::{Column, Data, borrow_some, slice_some};
use crate::dataset::Dataset;
use crate::error::{OrRaise, raise_event};
use crate::model::Model;
use crate::notices::Notices;
use crate::pool::{detached, interruptible, pool_of, released};
use crate::train::{Exposed, exposed_pairs};

/// Time between two looks at a model that another thread uses.
const POLL: Duration = Duration::from_millis(1);

/// A model that learns from events, with the ids of its rows.
#[pyclass(frozen, module = "absentia._core")]
pub(crate) struct Online {
    learner: Mutex<Learner>,
    threads: Option<usize>,
}

/// How a model learns: whether weights follow the counts, the number of steps, the weight of new entries.
type Learning = (bool, Option<u32>, Option<f32>);
/// Values, weights and times of events.
type EventColumns = (
    Option<Column<f32>>,
    Option<Column<f32>>,
    Option<Column<i64>>,
);
/// Ids of the items of a list, and their scores.
type List = (Vec<String>, Vec<f32>);

#[pymethods]
impl Online {
    /// Makes a model learn from events, given the rows that it was trained on.
    #[staticmethod]
    #[pyo3(signature = (model, data, learning, exposed=None, threads=None))]
    fn start(
        py: Python<'_>,
        model: Py<Model>,
        data: Data,
        learning: Learning,
        exposed: Option<Exposed>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let learner = interruptible(py, move |py, _| {
            let exposed = exposed.as_ref();
            let exposed = exposed.map(|pairs| exposed_pairs(py, pairs)).transpose()?;
            let data = data.borrow(py)?;
            let entries = data.view()?;
            let job = Job::default();
            let notices = Notices::of(&job);
            let started = detached(py, threads, || {
                let Model {
                    trained,
                    ids,
                    config,
                    ..
                } = model.get();
                let matrix = entries.transposed().map_err(absentia_job::JobError::from)?;
                let input = Input {
                    data: matrix.matrix(),
                    ids,
                    held_out: entries.held_out(),
                    related: None,
                };
                let shown = exposed.map(|pairs| job.with_exposed(&input, pairs, &notices));
                let shown = shown.transpose()?;
                let trained = Trained {
                    model: trained,
                    ids: ids.clone(),
                    config: config.clone(),
                    rows: shown.as_ref().unwrap_or_else(|| matrix.matrix()),
                    duplicates: entries.duplicates(),
                };
                Learner::start(
                    trained,
                    mode(learning),
                    given(learning).or(Settings::default()),
                )
            })?;
            started.or_raise()
        })?;
        Ok(Self::of(learner, threads))
    }

    /// Opens a model file: one that was saved with its events, or one and the files it was trained on.
    #[staticmethod]
    #[pyo3(signature = (path, train, learning, threads=None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        train: Vec<String>,
        learning: Learning,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let learner = interruptible(py, move |py, _| {
            let notices = Notices::of(&Job::default());
            let opened = detached(py, threads, || {
                let opening = Opening {
                    train,
                    weights: mode(learning),
                    settings: Settings::default(),
                    weighted_events: false,
                };
                given(learning).or(Settings::default()).check()?;
                let mut learner = open(&path, &opening, &notices)?;
                let settings = given(learning).or(learner.online().settings());
                if settings != learner.online().settings() {
                    learner.apply(&Record::Settings(settings))?;
                }
                Ok::<_, LearnError>(learner)
            })?;
            notices.log(py)?;
            opened.or_raise()
        })?;
        Ok(Self::of(learner, threads))
    }

    /// Applies an operation (`"insert"`, `"remove"`, `"expose"` or `"erase"`) to each of several users, and
    /// items where it has them; yields the sequence number. The operations before one that is rejected, or
    /// before an interruption, stay applied.
    fn apply(
        slf: Py<Self>,
        py: Python<'_>,
        operation: &str,
        users: Vec<String>,
        items: Vec<String>,
        numbers: EventColumns,
    ) -> PyResult<u64> {
        let records = Records::new(py, operation, users, items, &numbers)?;
        let is_long = records.users.len() > 16;
        Self::work(slf, py, is_long, move |learner, cancel| {
            if let Some(times) = &records.times {
                learner.check_unit(times).or_raise()?;
            }
            for at in 0..records.users.len() {
                if cancel.is_cancelled() {
                    break;
                }
                let applied = learner.apply(&records.get(at));
                applied.map_err(|error| raise_event(error, at, records.users.len()))?;
            }
            Ok(learner.sequence())
        })
    }

    /// Recomputes the caches; yields the sequence number.
    fn rebuild(slf: Py<Self>, py: Python<'_>) -> PyResult<u64> {
        Self::apply_one(slf, py, Record::Rebuild)
    }

    /// Trains all rows from the present factors, by a few sweeps if their number is not given; yields the sequence number.
    #[pyo3(signature = (sweeps=None))]
    fn refit(slf: Py<Self>, py: Python<'_>, sweeps: Option<u32>) -> PyResult<u64> {
        let sweeps = sweeps.unwrap_or(REFIT_SWEEPS);
        Self::apply_one(slf, py, Record::Refit { sweeps })
    }

    /// Changes the number of steps and the weight of new entries, where they are given.
    #[pyo3(signature = (steps=None, weight_of_new=None))]
    fn set(
        slf: Py<Self>,
        py: Python<'_>,
        steps: Option<u32>,
        weight_of_new: Option<f32>,
    ) -> PyResult<u64> {
        let given = LearningSettings {
            steps,
            weight_of_new,
        };
        Self::work(slf, py, false, move |learner, _| {
            let settings = given.or(learner.online().settings());
            learner.apply(&Record::Settings(settings)).or_raise()?;
            Ok(learner.sequence())
        })
    }

    /// The `n` best items of each user.
    fn recommend(
        slf: Py<Self>,
        py: Python<'_>,
        users: Vec<String>,
        n: usize,
        deny: Vec<String>,
    ) -> PyResult<Vec<List>> {
        Self::work(slf, py, users.len() > 1, move |learner, cancel| {
            let mut lists = Vec::with_capacity(users.len());
            for user in &users {
                if cancel.is_cancelled() {
                    break;
                }
                let best = learner.recommend(user, n, &deny).or_raise()?;
                lists.push(best.into_iter().unzip());
            }
            Ok(lists)
        })
    }

    /// Writes the whole state.
    fn save(slf: Py<Self>, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        Self::work(slf, py, true, move |learner, _| {
            learner.save(&path).or_raise()
        })
    }

    /// The model as it is now, and its rows.
    fn snapshot(slf: Py<Self>, py: Python<'_>) -> PyResult<(Model, Dataset)> {
        Self::work(slf, py, true, |learner, _| {
            let online = learner.online();
            let ids = || learner.ids().clone();
            let model = Model {
                trained: online.to_model().map_err(LearnError::from).or_raise()?,
                ids: ids(),
                config: learner.config().map(str::to_owned),
                seen: None,
            };
            let rows = TrainingData {
                ids: ids(),
                data: online.to_rows(),
                held_out: None,
                has_ratings: true,
                has_weights: true,
                duplicates: online.duplicates(),
                related: None,
            };
            Ok((model, Dataset(rows)))
        })
    }

    /// Number of users, of items and of entries.
    #[getter]
    fn sizes(slf: Py<Self>, py: Python<'_>) -> PyResult<(usize, usize, u64)> {
        Self::work(slf, py, false, |learner, _| {
            let online = learner.online();
            let rows = |axis| online.n_rows(axis);
            Ok((rows(Axis::User), rows(Axis::Item), online.n_entries()))
        })
    }

    /// Number of operations, number of steps of an event, and weight of new entries.
    #[getter]
    fn state(slf: Py<Self>, py: Python<'_>) -> PyResult<(u64, u32, f32)> {
        Self::work(slf, py, false, |learner, _| {
            let settings = learner.online().settings();
            Ok((learner.sequence(), settings.steps, settings.weight_of_new))
        })
    }

    /// Whether the ids of users, and those of items, are all integers.
    #[getter]
    fn integers(slf: Py<Self>, py: Python<'_>) -> PyResult<(bool, bool)> {
        Self::work(slf, py, false, |learner, _| {
            let is_integer =
                |ids: &IdMap| matches!(ids.raw(), RawIds::Dense(_) | RawIds::Integers(_));
            let ids = learner.ids();
            Ok((is_integer(&ids.users), is_integer(&ids.items)))
        })
    }
}

impl Online {
    fn of(mut learner: Learner, threads: Option<usize>) -> Self {
        learner.set_threads(threads);
        Self {
            learner: Mutex::new(learner),
            threads,
        }
    }

    fn apply_one(slf: Py<Self>, py: Python<'_>, record: Record) -> PyResult<u64> {
        Self::work(slf, py, true, move |learner, cancel| {
            let applied = learner.apply_unless(&record, cancel).or_raise()?;
            Ok(applied.sequence)
        })
    }

    /// Uses the model, without the GIL; on a thread of its own if that takes long.
    fn work<T: Send + 'static>(
        slf: Py<Self>,
        py: Python<'_>,
        is_long: bool,
        work: impl FnOnce(&mut Learner, &Cancel) -> PyResult<T> + Send + 'static,
    ) -> PyResult<T> {
        let body = move |py: Python<'_>, cancel: &Cancel| slf.get().once_free(py, cancel, work);
        if is_long {
            interruptible(py, body)
        } else {
            body(py, &Cancel::new())
        }
    }

    /// Uses the model as soon as no other thread does. The lock is taken outside of the pool, whose threads
    /// must not wait for it.
    fn once_free<T: Send>(
        &self,
        py: Python<'_>,
        cancel: &Cancel,
        work: impl FnOnce(&mut Learner, &Cancel) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        let pool = pool_of(self.threads)?;
        let mut work = Some(work);
        loop {
            let done = released(py, || match self.learner.try_lock() {
                Ok(mut learner) => {
                    let learner = &mut *learner;
                    let work = work.take()?;
                    Some(pool.install(|| work(learner, cancel)))
                }
                Err(TryLockError::WouldBlock) => {
                    std::thread::sleep(POLL);
                    None
                }
                Err(TryLockError::Poisoned(_)) => Some(Err(PyRuntimeError::new_err(
                    "an earlier call on this model panicked, which is a defect; load the model again",
                ))),
            });
            if let Some(done) = done {
                return done;
            }
            if cancel.is_cancelled() {
                return Err(PyKeyboardInterrupt::new_err(()));
            }
            py.check_signals()?;
        }
    }
}

fn mode((live, _, _): Learning) -> WeightMode {
    if live {
        WeightMode::Live
    } else {
        WeightMode::Frozen
    }
}

fn given((_, steps, weight_of_new): Learning) -> LearningSettings {
    LearningSettings {
        steps,
        weight_of_new,
    }
}

/// Records of one kind, column by column.
struct Records {
    operation: Kind,
    users: Vec<String>,
    items: Vec<String>,
    values: Option<Vec<f32>>,
    weights: Option<Vec<f32>>,
    times: Option<Vec<i64>>,
}

enum Kind {
    Insert,
    Remove,
    Expose,
    Erase,
}

impl Records {
    fn new(
        py: Python<'_>,
        operation: &str,
        users: Vec<String>,
        items: Vec<String>,
        (values, weights, times): &EventColumns,
    ) -> PyResult<Self> {
        let operation = match operation {
            "insert" => Kind::Insert,
            "remove" => Kind::Remove,
            "expose" => Kind::Expose,
            "erase" => Kind::Erase,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "there is no operation {operation:?}"
                )));
            }
        };
        let records = Self {
            operation,
            values: copied(py, values.as_ref())?,
            weights: copied(py, weights.as_ref())?,
            times: copied(py, times.as_ref())?,
            users,
            items,
        };
        let is_pair = !matches!(records.operation, Kind::Erase);
        let lengths = [
            is_pair.then_some(records.items.len()),
            records.values.as_ref().map(Vec::len),
            records.weights.as_ref().map(Vec::len),
            records.times.as_ref().map(Vec::len),
        ];
        let users = records.users.len();
        match lengths
            .into_iter()
            .flatten()
            .find(|&length| length != users)
        {
            Some(length) => Err(PyValueError::new_err(format!(
                "there are {users} users, and another column has {length} entries"
            ))),
            None => Ok(records),
        }
    }

    fn get(&self, at: usize) -> Record {
        let user = self.users[at].clone();
        let item = || self.items[at].clone();
        let weight = self.weights.as_ref().map_or(1.0, |weights| weights[at]);
        let time = self.times.as_ref().map(|times| times[at]);
        match self.operation {
            Kind::Insert => Record::Insert {
                user,
                item: item(),
                value: self.values.as_ref().map_or(1.0, |values| values[at]),
                weight,
                time,
            },
            Kind::Remove => Record::Remove {
                user,
                item: item(),
                time,
                later: None,
            },
            Kind::Expose => Record::Expose {
                user,
                item: item(),
                weight,
            },
            Kind::Erase => Record::Erase { user },
        }
    }
}

/// The numbers of a column, where there is one.
fn copied<T: numpy::Element + Copy>(
    py: Python<'_>,
    column: Option<&Column<T>>,
) -> PyResult<Option<Vec<T>>> {
    let column = borrow_some(py, column)?;
    Ok(slice_some(column.as_ref())?.map(<[T]>::to_vec))
}
