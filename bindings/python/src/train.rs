//! Training: the run on a thread of its own, Python's callback on the caller's.

use std::sync::mpsc::{Receiver, channel};

use absentia::data::Duplicates;
use absentia::fit::{Cancel, Control, Fitted, Init, Observer, StopReason, Sweep};
use absentia_io::model::Ids;
use absentia_job::{Execution, ExposedPairs, Input, Job, JobError, Listener, Training};
use pyo3::prelude::*;

use crate::data::{Column, Data, Entries, borrow, borrow_some, slice_some};
use crate::error::{OrRaise, Raise};
use crate::factors::{BorrowedTable, Table};
use crate::model::Model;
use crate::notices::Notices;
use crate::pool::{SendEvent, detached, interruptible_with_events, released};
use crate::weights::Scheme;

/// Users and items of pairs that were shown and not taken, the weight of each pair, and a weight for all.
pub(crate) type Exposed = (Column<u32>, Column<u32>, Option<Column<f32>>, Option<f32>);

/// Trains a model; yields it with the reason why the run ended, and the weights that were chosen in
/// place of the defaults, as they are written.
///
/// `settings` are the keys of a job as JSON; what is left out has its default or is chosen. `scheme`
/// is given where weights are not left to the job, `init` where factors do not start from a file of the job or
/// at random. `callback(iteration, seconds, observed, missing, regularization)` ends the run by returning
/// something true.
#[pyfunction]
#[pyo3(signature = (data, settings, *, scheme=None, exposed=None, init=None, callback=None))]
pub(crate) fn fit(
    py: Python<'_>,
    data: Data,
    settings: &str,
    scheme: Option<Py<Scheme>>,
    exposed: Option<Exposed>,
    init: Option<(Table, Table)>,
    callback: Option<Py<PyAny>>,
) -> PyResult<(Model, &'static str, Option<String>)> {
    let call = Call {
        data,
        exposed,
        scheme: scheme.as_ref().map(|scheme| scheme.clone_ref(py)),
        job: crate::job::parse(settings)?,
        init,
    };
    let finished = call.run_with_callback(py, callback);
    let finished = match &scheme {
        Some(scheme) => scheme.get().stop_if_err(finished),
        None => finished,
    };
    let Finished {
        fitted,
        ids,
        weights,
        config,
    } = finished?;
    let model = Model {
        trained: fitted.model,
        ids,
        config,
        seen: None,
    };
    Ok((model, name(fitted.reason), weights))
}

pub(crate) fn name(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Iterations => "iterations",
        StopReason::Converged => "converged",
        StopReason::Patience => "patience",
        StopReason::Cancelled => "cancelled",
        StopReason::Observer => "callback",
    }
}

/// A run that has ended.
struct Finished {
    fitted: Fitted,
    ids: Ids,
    /// The weights on missing entries as they are written, if the job chose them.
    weights: Option<String>,
    /// The configuration that repeats the run, if there is one.
    config: Option<String>,
}

/// A call to train on data that is ready.
struct Call {
    data: Data,
    exposed: Option<Exposed>,
    scheme: Option<Py<Scheme>>,
    job: Job,
    init: Option<(Table, Table)>,
}

impl Call {
    fn run_with_callback(self, py: Python<'_>, callback: Option<Py<PyAny>>) -> PyResult<Finished> {
        observed(py, callback, move |py, relay, cancel| {
            self.run(py, relay, cancel)
        })
    }

    fn run(self, py: Python<'_>, mut relay: Option<Relay>, cancel: &Cancel) -> PyResult<Finished> {
        let init = match &self.init {
            Some((users, items)) => Some((borrow(py, users)?, borrow(py, items)?)),
            None => None,
        };
        let init = match &init {
            Some((users, items)) => Some((BorrowedTable::of(users)?, BorrowedTable::of(items)?)),
            None => None,
        };
        let exposed = self.exposed.as_ref();
        let exposed = exposed.map(|pairs| exposed_pairs(py, pairs)).transpose()?;
        let data = self.data.borrow(py)?;
        let entries = data.view()?;
        let in_files = self.job.relation.len();
        let is_in_files = entries.related().map_or(0, |all| all.relations.len()) == in_files;
        let is_repeatable = init.is_none() && exposed.is_none() && is_in_files;
        let (job, notices) = (&self.job, Notices::of(&self.job));
        notices.add_unused(job);
        let built = detached(py, None, || {
            check_columns(job, &entries, &notices)?;
            let matrix = entries.transposed()?;
            let (users, items) = (matrix.matrix().n_users(), matrix.matrix().n_items());
            let ids = match &entries {
                Entries::Dataset(dataset) => dataset.ids.clone(),
                Entries::Rows(_) => Ids::dense(users as u32, items as u32),
            };
            let input = Input {
                data: matrix.matrix(),
                ids: &ids,
                held_out: entries.held_out(),
                related: entries.related(),
            };
            let exposed = exposed.map(|pairs| job.with_exposed(&input, pairs, &notices));
            let exposed = exposed.transpose()?;
            Ok::<_, JobError>((matrix, ids, exposed))
        })?;
        notices.log(py)?;
        let (matrix, ids, exposed) = built.or_raise()?;
        let input = Input {
            data: exposed.as_ref().unwrap_or_else(|| matrix.matrix()),
            ids: &ids,
            held_out: entries.held_out(),
            related: entries.related(),
        };
        let scheme = self.scheme.as_ref().map(Py::get);
        let ran = released(py, || {
            let mut training = match scheme {
                Some(scheme) => job.training_with(input, scheme.requested.clone()),
                None => job.training(input)?,
            };
            match training.choose(cancel, &()) {
                // A call that was interrupted goes on to a run that ends at once.
                Ok(()) | Err(JobError::InterruptedChoosing) => {}
                Err(error) => return Err(error),
            }
            let init = match init {
                Some((users, items)) => Init::Given {
                    users: users.copied(),
                    items: items.copied(),
                },
                None => job.start(&training)?,
            };
            let fitted = training.fit(Execution {
                init,
                measuring: Some(job.measuring()?),
                observer: relay.as_mut().map(|relay| relay as &mut dyn Observer),
                cancel: cancel.clone(),
                ..Execution::default()
            })?;
            let weights = training.weights.as_ref().map(ToString::to_string);
            let is_sparse = matches!(entries, Entries::Rows(_));
            let config = is_repeatable.then(|| config(job, training, is_sparse));
            let config = config.flatten();
            Ok((fitted, weights, config))
        });
        let (fitted, weights, config) = ran.map_err(|error: JobError| match scheme {
            Some(scheme) => scheme.exception(error),
            None => error.raise(),
        })?;
        Ok(Finished {
            fitted,
            ids,
            weights,
            config,
        })
    }
}

/// Runs `work` on a thread of its own; the callback gets the sweeps that it relays, on the caller's thread.
pub(crate) fn observed<T: Send + 'static>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(Python<'_>, Option<Relay>, &Cancel) -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    let (answers, answered) = channel();
    let listens = callback.is_some();
    let work = move |py: Python<'_>, cancel: &Cancel, send: SendEvent<Sweep>| {
        let relay = listens.then_some(Relay { send, answered });
        work(py, relay, cancel)
    };
    interruptible_with_events(py, work, move |sweep| {
        let outcome = callback.as_ref().map_or(Ok(Control::Continue), |callback| {
            Python::attach(|py| called(callback.bind(py), &sweep))
        });
        // A run that has ended no longer listens; one whose callback failed ends.
        let _ = answers.send(*outcome.as_ref().unwrap_or(&Control::Stop));
        outcome.map(|_| ())
    })
}

/// Rejects rules that need columns which the data does not have; for a data set, they were reported when it
/// was prepared.
fn check_columns(job: &Job, entries: &Entries<'_>, notices: &Notices) -> Result<(), JobError> {
    let listener: &dyn Listener = match entries {
        Entries::Dataset(_) => &(),
        Entries::Rows(_) => notices,
    };
    let has = (entries.has_ratings(), entries.has_weights());
    job.settings.check_columns(has, listener)
}

pub(crate) fn exposed_pairs(
    py: Python<'_>,
    (users, items, own, given): &Exposed,
) -> PyResult<ExposedPairs> {
    let own = borrow_some(py, own.as_ref())?;
    Ok(ExposedPairs::new(
        borrow(py, users)?.as_slice()?.to_vec(),
        borrow(py, items)?.as_slice()?.to_vec(),
        slice_some(own.as_ref())?.map(<[f32]>::to_vec),
        *given,
    ))
}

/// The configuration that repeats a run, if its weights on missing entries have a text. A sparse matrix adds
/// repeated entries, whatever the default is.
fn config(job: &Job, mut training: Training<'_>, is_sparse: bool) -> Option<String> {
    if training.weights.is_none() {
        training.weights = Some(training.scheme.spec()?);
    }
    let mut run = job.as_run(&training);
    if is_sparse {
        run.preparation.duplicates = Some(Duplicates::Sum);
    }
    toml::to_string(&run).ok()
}

fn called(callback: &Bound<'_, PyAny>, sweep: &Sweep) -> PyResult<Control> {
    callback.py().check_signals()?;
    let parts = &sweep.objective;
    let arguments = (
        sweep.iteration,
        sweep.seconds,
        parts.observed,
        parts.missing,
        parts.regularization,
    );
    Ok(if callback.call1(arguments)?.is_truthy()? {
        Control::Stop
    } else {
        Control::Continue
    })
}

/// Sends sweeps to the caller's thread and waits for its answers.
pub(crate) struct Relay {
    send: SendEvent<Sweep>,
    answered: Receiver<Control>,
}

impl Observer for Relay {
    fn swept(&mut self, sweep: &Sweep) -> Control {
        if !(self.send)(sweep.clone()) {
            return Control::Stop;
        }
        self.answered.recv().unwrap_or(Control::Stop)
    }
}
