//! The loop of a run whose workers Python reaches.

use std::sync::{Arc, PoisonError};

use absentia::Axis;
use absentia::fit::{Observer, RemoteStart, Run, Sweep, fit_remote};
use absentia_job::{Agreed, Facts};
use absentia_shard::{Reply, Request, Sharded, Trouble, Workers, from_bytes, to_bytes};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::OrRaise;
use crate::gate;
use crate::pool::released;
use crate::rule::Failure;
use crate::train::{Relay, name, observed};

pyo3::create_exception!(
    absentia._core,
    LostWorkers,
    PyRuntimeError,
    "Workers of a run are lost; others can take their place."
);

/// First row and end of users and of items.
type Ranges = ((usize, usize), (usize, usize));

/// What the workers of a run agree on.
#[pyclass(frozen, module = "absentia._core")]
pub(crate) struct SharedRun {
    agreed: Agreed,
}

#[pymethods]
impl SharedRun {
    /// Compares what workers know, in their order.
    #[new]
    fn new(facts: Vec<Vec<u8>>) -> PyResult<Self> {
        let facts = facts
            .iter()
            .map(|bytes| from_bytes::<Facts>(bytes).map_err(PyRuntimeError::new_err));
        let facts: Vec<Facts> = facts.collect::<PyResult<_>>()?;
        let agreed = Agreed::of(facts).or_raise()?;
        Ok(Self { agreed })
    }

    /// Number of users and of items.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        let shape = self.agreed.outline.shape;
        (shape.users, shape.items)
    }

    /// Number of observed entries.
    #[getter]
    fn entries(&self) -> usize {
        self.agreed.outline.entries
    }

    /// Number of factors.
    #[getter]
    fn factors(&self) -> usize {
        self.agreed.params.factors
    }

    /// Number of sweeps.
    #[getter]
    fn iterations(&self) -> usize {
        self.agreed.params.iterations
    }

    /// What a checkpoint keeps, to know its run again.
    #[getter]
    fn record(&self) -> PyResult<String> {
        self.agreed.record.text().or_raise()
    }

    /// The rows of each worker.
    #[getter]
    fn rows(&self) -> Vec<Ranges> {
        let rows = self.agreed.rows.iter();
        rows.map(|rows| {
            let (users, items) = (&rows.users, &rows.items);
            ((users.start, users.end), (items.start, items.end))
        })
        .collect()
    }

    /// What each worker needs, in bytes: its part, the rows of others at a time, what it gets of others in a sweep, and
    /// what it would get if it got every row once; and the memory that its machine has left.
    #[getter]
    fn needs(&self) -> Vec<(u64, u64, u64, u64, Option<u64>)> {
        let needs = self.agreed.needs.iter();
        needs
            .map(|n| (n.part, n.gathered, n.received, n.least, n.memory))
            .collect()
    }

    /// Number of waves in which workers improve users and items.
    #[getter]
    fn waves(&self) -> (usize, usize) {
        (self.agreed.waves.users, self.agreed.waves.items)
    }

    /// Rejects the checkpoint at `path` with this record, if it is of other data or other settings.
    #[expect(clippy::needless_pass_by_value, reason = "as Python gives it")]
    fn check_resume(&self, path: std::path::PathBuf, record: &str) -> PyResult<()> {
        self.agreed.record.check(&path, record).or_raise()
    }

    /// Makes the sweeps. `workers` carries messages: `ask(step, request, reads, whole, writes)` yields the answers of all
    /// workers, `recover()` replaces those that are lost and restores the last stored state, `store(step, history)`
    /// stores one. `history` has the sweeps that were made before, `step` the step after them. Yields all sweeps as JSON,
    /// and why the run ended.
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    #[pyo3(signature = (workers, *, random=true, history=None, step=0, checkpoint_every=None, callback=None))]
    fn fit(
        &self,
        py: Python<'_>,
        workers: Py<PyAny>,
        random: bool,
        history: Option<&str>,
        step: u64,
        checkpoint_every: Option<usize>,
        callback: Option<Py<PyAny>>,
    ) -> PyResult<(String, &'static str)> {
        let failure: Failure = Arc::default();
        let start = match history {
            Some(history) => RemoteStart::Resumed(parsed(history)?),
            None if random => RemoteStart::Random,
            None => RemoteStart::Given,
        };
        let (agreed, kept) = (self.agreed.clone(), Arc::clone(&failure));
        let ran = observed(py, callback, move |py, mut relay, cancel| {
            let params = agreed.params.clone().check().or_raise()?;
            let workers = PythonWorkers {
                object: workers,
                failure,
            };
            let ran = released(py, || {
                let backend = Sharded::new(workers, agreed.outline.clone(), &params, step);
                let run = Run {
                    observer: relay
                        .as_mut()
                        .map(|relay: &mut Relay| relay as &mut dyn Observer),
                    cancel: cancel.clone(),
                    checkpoint_every,
                    ..Run::default()
                };
                fit_remote(backend, &agreed.outline, &params, &start, run)
            });
            ran.or_raise()
        });
        // What went wrong in Python says more than that the run cannot go on.
        let failed = kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ran = match failed {
            Some(error) if ran.is_err() => return Err(error),
            _ => ran?,
        };
        Ok((text(&ran.history)?, name(ran.reason)))
    }
}

/// The sweeps of a history that Python passes on.
pub(crate) fn parsed(history: &str) -> PyResult<Vec<Sweep>> {
    serde_json::from_str(history).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn text(history: &[Sweep]) -> PyResult<String> {
    serde_json::to_string(history).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Workers that a Python object reaches.
struct PythonWorkers {
    object: Py<PyAny>,
    failure: Failure,
}

impl PythonWorkers {
    fn call<T>(&self, work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Result<T, Trouble> {
        let called = gate::inside(|| {
            Python::attach(|py| {
                work(self.object.bind(py)).map_err(|error| {
                    if error.is_instance_of::<LostWorkers>(py) {
                        return Trouble::Lost(error.value(py).to_string());
                    }
                    let text = error.to_string();
                    let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                    failure.get_or_insert(error);
                    Trouble::Fatal(text)
                })
            })
        });
        called.unwrap_or_else(|| Err(Trouble::Fatal("the interpreter has ended".to_owned())))
    }
}

fn side_name(axis: Axis) -> &'static str {
    match axis {
        Axis::User => "users",
        Axis::Item => "items",
    }
}

impl Workers for PythonWorkers {
    fn ask(&mut self, step: u64, request: &Request) -> Result<Vec<Reply>, Trouble> {
        let bytes = to_bytes(request).map_err(Trouble::Fatal)?;
        let replies: Vec<Vec<u8>> = self.call(|object| {
            let arguments = (
                step,
                PyBytes::new(object.py(), &bytes),
                request.reads().map(side_name),
                request.reads_whole(),
                request.writes().map(side_name),
            );
            object.call_method1("ask", arguments)?.extract()
        })?;
        let replies = replies
            .iter()
            .map(|reply| from_bytes(reply).map_err(Trouble::Fatal));
        replies.collect()
    }

    fn recover(&mut self) -> Result<(), Trouble> {
        self.call(|object| object.call_method0("recover").map(|_| ()))
    }

    fn store(&mut self, step: u64, history: &[Sweep]) -> Result<(), Trouble> {
        self.call(|object| {
            let history = text(history)?;
            object.call_method1("store", (step, history)).map(|_| ())
        })
    }
}
