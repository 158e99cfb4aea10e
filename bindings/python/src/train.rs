//! Training: the run on a thread of its own, Python's signals and callbacks on the caller's.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use absentia::data::DataError;
use absentia::fit::{Cancel, Control, FitError, Fitted, Init, Observer, Run, StopReason, Sweep};
use absentia::{CheckedParams, Interactions, Params};
use absentia_io::model::Ids;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::data::{Data, Lent};
use crate::error::OrRaise;
use crate::factors::copied;
use crate::ids::IdMap;
use crate::model::Model;
use crate::pool::signals;
use crate::weights::Scheme;

/// Time between two looks at Python's signals: Ctrl-C must end a run within a second.
const POLL: Duration = Duration::from_millis(100);

type Shown<'py> = (
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, f32>,
);

/// Trains a model; yields it with the reason why the run ended.
///
/// `params` is the engine's set of parameters as JSON. `callback(iteration, seconds, observed,
/// missing, regularization)` ends the run by returning something true.
#[pyfunction]
#[pyo3(signature = (data, scheme, params, *, shown=None, init=None, ids=None, callback=None, config=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of one call")]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    data: Data<'py>,
    scheme: Bound<'py, Scheme>,
    params: &str,
    shown: Option<Shown<'py>>,
    init: Option<(PyReadonlyArray2<'py, f32>, PyReadonlyArray2<'py, f32>)>,
    ids: Option<(Bound<'py, IdMap>, Bound<'py, IdMap>)>,
    callback: Option<Py<PyAny>>,
    config: Option<String>,
) -> PyResult<(Model, &'static str)> {
    let params: Params = serde_json::from_str(params)
        .map_err(|error| PyValueError::new_err(format!("parameters: {error}")))?;
    let params = params.check().or_raise()?;
    let shown = match &shown {
        Some((users, items, weights)) => {
            Some((users.as_slice()?, items.as_slice()?, weights.as_slice()?))
        }
        None => None,
    };
    let init = match &init {
        Some((users, items)) => Init::Given {
            users: copied(users)?,
            items: copied(items)?,
        },
        None => Init::Gaussian,
    };
    let job = Job {
        lent: &data.lend()?,
        shown,
        scheme: scheme.get(),
        params: &params,
        init,
    };
    let fitted = py.detach(|| job.follow(callback.as_ref()))?;
    let ids = match ids {
        Some((users, items)) => Ids {
            users: users.get().0.clone(),
            items: items.get().0.clone(),
        },
        None => Ids::dense(fitted.model.n_users() as u32, fitted.model.n_items() as u32),
    };
    let model = Model {
        trained: fitted.model,
        ids,
        config,
    };
    Ok((model, name(fitted.reason)))
}

fn name(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Iterations => "iterations",
        StopReason::Converged => "converged",
        StopReason::Patience => "patience",
        StopReason::Cancelled => "cancelled",
        StopReason::Observer => "callback",
    }
}

/// What a run is made of, free of Python.
struct Job<'a> {
    lent: &'a Lent<'a>,
    shown: Option<(&'a [u32], &'a [u32], &'a [f32])>,
    scheme: &'a Scheme,
    params: &'a CheckedParams,
    init: Init,
}

impl Job<'_> {
    /// Runs on another thread and answers for Python on this one.
    fn follow(self, callback: Option<&Py<PyAny>>) -> PyResult<Fitted> {
        let (cancel, scheme) = (Cancel::new(), self.scheme);
        let (sweeps, heard) = channel();
        let (answers, answered) = channel();
        let relay = Relay {
            sweeps,
            answered: callback.is_some().then_some(answered),
        };
        let (outcome, failure) = std::thread::scope(|scope| {
            let flag = cancel.clone();
            let run = scope.spawn(move || self.run(relay, flag));
            let failure = attend(&heard, &answers, callback, &cancel);
            (run.join(), failure)
        });
        failure?;
        match outcome {
            Ok(Ok(fitted)) => Ok(fitted),
            Ok(Err(error)) => Err(scheme.blame(error)),
            Err(_) => Err(PyRuntimeError::new_err(
                "the run panicked; this is a defect",
            )),
        }
    }

    fn run(mut self, mut relay: Relay, cancel: Cancel) -> Result<Fitted, FitError> {
        let init = std::mem::take(&mut self.init);
        let built = self.matrix()?;
        let data: &Interactions<'_> = match (&built, self.lent) {
            (Some(built), _) => built,
            (None, Lent::Matrix(matrix)) => matrix,
            (None, Lent::Rows(_)) => return Err(DataError::Offsets { row: 0 }.into()),
        };
        let run = Run {
            init,
            observer: Some(&mut relay),
            cancel,
            ..Run::default()
        };
        absentia::fit(data, &self.scheme.wish, self.params, run)
    }

    /// The matrix to train on, unless the one lent can be taken as it is.
    fn matrix(&self) -> Result<Option<Interactions<'_>>, DataError> {
        let built = match self.lent {
            Lent::Matrix(_) => None,
            Lent::Rows(rows) => Some(rows.interactions()?),
        };
        let Some((users, items, weights)) = self.shown else {
            return Ok(built);
        };
        let data = match (&built, self.lent) {
            (Some(built), _) => built,
            (None, Lent::Matrix(matrix)) => matrix,
            (None, Lent::Rows(_)) => return Ok(None),
        };
        Ok(Some(data.with_exposed(users, items, weights)?))
    }
}

/// Waits for the run to end, handing sweeps to the callback and signals to Python.
fn attend(
    heard: &Receiver<Sweep>,
    answers: &Sender<Control>,
    callback: Option<&Py<PyAny>>,
    cancel: &Cancel,
) -> PyResult<()> {
    let mut failure = Ok(());
    loop {
        let outcome = match heard.recv_timeout(POLL) {
            Ok(sweep) => tell(callback, &sweep),
            Err(RecvTimeoutError::Timeout) => signals().map(|()| Control::Continue),
            Err(RecvTimeoutError::Disconnected) => return failure,
        };
        let control = outcome.unwrap_or_else(|error| {
            cancel.cancel();
            if failure.is_ok() {
                failure = Err(error);
            }
            Control::Stop
        });
        // A run that has ended no longer listens.
        let _ = answers.send(control);
    }
}

fn tell(callback: Option<&Py<PyAny>>, sweep: &Sweep) -> PyResult<Control> {
    Python::attach(|py| {
        py.check_signals()?;
        let Some(callback) = callback else {
            return Ok(Control::Continue);
        };
        let parts = &sweep.objective;
        let arguments = (
            sweep.iteration,
            sweep.seconds,
            parts.observed,
            parts.missing,
            parts.regularization,
        );
        let stop = callback.bind(py).call1(arguments)?.is_truthy()?;
        Ok(if stop {
            Control::Stop
        } else {
            Control::Continue
        })
    })
}

/// Sends sweeps to the caller's thread and, where it has a callback, waits for its answer.
struct Relay {
    sweeps: Sender<Sweep>,
    answered: Option<Receiver<Control>>,
}

impl Observer for Relay {
    fn swept(&mut self, sweep: &Sweep) -> Control {
        let Some(answered) = &self.answered else {
            return Control::Continue;
        };
        if self.sweeps.send(sweep.clone()).is_err() {
            return Control::Stop;
        }
        answered.recv().unwrap_or(Control::Stop)
    }
}
