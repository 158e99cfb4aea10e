//! Training: the run on a thread of its own, Python's callback on the caller's.

use std::sync::mpsc::{Receiver, channel};

use absentia::Interactions;
use absentia::data::DataError;
use absentia::fit::{Cancel, Control, Fitted, Init, Observer, StopReason, Sweep};
use absentia_io::model::Ids;
use absentia_job::{Automatic, Execution, Input, Job, JobError, Training};
use pyo3::prelude::*;

use crate::data::{Column, Data, borrow};
use crate::error::{OrRaise, Raise};
use crate::factors::{Numbers, Table};
use crate::ids::IdMap;
use crate::model::Model;
use crate::pool::{Tell, detached, followed, released};
use crate::weights::Scheme;

/// Users, items and weights of pairs that were shown and not taken.
type Shown = (Column<u32>, Column<u32>, Column<f32>);

/// Trains a model; yields it with the reason why the run ended, and the weights that were chosen in
/// place of the defaults, as they are written.
///
/// `settings` are the keys of a job as JSON; what is left out has its default or is chosen. `scheme`
/// is given where weights are not left to the job. `callback(iteration, seconds, observed, missing,
/// regularization)` ends the run by returning something true.
#[pyfunction]
#[pyo3(signature = (data, settings, *, scheme=None, shown=None, init=None, ids=None, callback=None, config=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of one call")]
pub(crate) fn fit(
    py: Python<'_>,
    data: Data,
    settings: &str,
    scheme: Option<Py<Scheme>>,
    shown: Option<Shown>,
    init: Option<(Table, Table)>,
    ids: Option<(Py<IdMap>, Py<IdMap>)>,
    callback: Option<Py<PyAny>>,
    config: Option<String>,
) -> PyResult<(Model, &'static str, Option<String>)> {
    let call = Call {
        data,
        shown,
        scheme: scheme.as_ref().map(|scheme| scheme.clone_ref(py)),
        job: crate::job::parse(settings)?,
        ids: ids.map(|(users, items)| Ids {
            users: users.get().0.clone(),
            items: items.get().0.clone(),
        }),
        init,
    };
    let ended = call.follow(py, callback);
    let ended = match &scheme {
        Some(scheme) => scheme.get().stop_if_err(ended),
        None => ended,
    };
    let Ended {
        fitted,
        ids,
        chosen,
    } = ended?;
    let model = Model {
        trained: fitted.model,
        ids,
        config,
    };
    Ok((model, name(fitted.reason), chosen))
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

/// A run that has ended.
struct Ended {
    fitted: Fitted,
    ids: Ids,
    /// The weights that were chosen for it.
    chosen: Option<String>,
}

/// A call to train on data in memory.
struct Call {
    data: Data,
    shown: Option<Shown>,
    scheme: Option<Py<Scheme>>,
    job: Job,
    ids: Option<Ids>,
    init: Option<(Table, Table)>,
}

impl Call {
    fn follow(self, py: Python<'_>, callback: Option<Py<PyAny>>) -> PyResult<Ended> {
        let (answers, answered) = channel();
        let listens = callback.is_some();
        let work = move |py: Python<'_>, cancel: &Cancel, tell: Tell<Sweep>| {
            let relay = listens.then_some(Relay { tell, answered });
            self.run(py, relay, cancel)
        };
        followed(py, work, move |sweep| {
            let outcome = callback.as_ref().map_or(Ok(Control::Continue), |callback| {
                Python::attach(|py| hear(callback.bind(py), &sweep))
            });
            // A run that has ended no longer listens; one whose callback failed ends.
            let _ = answers.send(*outcome.as_ref().unwrap_or(&Control::Stop));
            outcome.map(|_| ())
        })
    }

    fn run(self, py: Python<'_>, relay: Option<Relay>, cancel: &Cancel) -> PyResult<Ended> {
        let init = match &self.init {
            Some((users, items)) => Some((borrow(py, users)?, borrow(py, items)?)),
            None => None,
        };
        let init = match &init {
            Some((users, items)) => Some((Numbers::of(users)?, Numbers::of(items)?)),
            None => None,
        };
        let data = self.data.borrow(py)?;
        let lent = data.lend()?;
        let shown = match &self.shown {
            Some((users, items, weights)) => {
                Some((borrow(py, users)?, borrow(py, items)?, borrow(py, weights)?))
            }
            None => None,
        };
        let shown = match &shown {
            Some((users, items, weights)) => {
                Some((users.as_slice()?, items.as_slice()?, weights.as_slice()?))
            }
            None => None,
        };
        let mut relay = relay;
        let built = detached(py, None, || {
            let whole = lent.whole()?;
            let with_exposed = match shown {
                Some((users, items, weights)) => {
                    Some(whole.matrix().with_exposed(users, items, weights)?)
                }
                None => None,
            };
            Ok::<_, DataError>((whole, with_exposed))
        })?;
        let (whole, with_exposed) = built.or_raise()?;
        let data = with_exposed.as_ref().unwrap_or_else(|| whole.matrix());
        let dense = || Ids::dense(data.n_users() as u32, data.n_items() as u32);
        let ids = self.ids.unwrap_or_else(dense);
        let scheme = self.scheme.as_ref().map(Py::get);
        let ran = released(py, || {
            let given = scheme.map(|scheme| &scheme.requested);
            let mut training = training(&self.job, given, data, &ids)?;
            match training.choose(cancel, &()) {
                // A call that was interrupted goes on to a run that ends at once.
                Ok(()) | Err(JobError::InterruptedChoosing) => {}
                Err(error) => return Err(error),
            }
            let chosen = training.weights.as_ref().map(ToString::to_string);
            let fitted = training.fit(Execution {
                init: init.map_or(Init::Gaussian, |(users, items)| Init::Given {
                    users: users.copied(),
                    items: items.copied(),
                }),
                observer: relay.as_mut().map(|relay| relay as &mut dyn Observer),
                cancel: cancel.clone(),
                ..Execution::default()
            })?;
            Ok((fitted, chosen))
        });
        let (fitted, chosen) = ran.map_err(|error: JobError| match scheme {
            Some(scheme) => scheme.blame(error),
            None => error.raise(),
        })?;
        Ok(Ended {
            fitted,
            ids,
            chosen,
        })
    }
}

/// The run of a job on a matrix in memory; with weights of an object, those of the job do not count.
fn training<'d>(
    job: &Job,
    given: Option<&absentia::weights::Scheme>,
    data: &'d Interactions<'d>,
    ids: &'d Ids,
) -> Result<Training<'d>, JobError> {
    let input = Input {
        data,
        ids,
        held_out: None,
    };
    let Some(scheme) = given else {
        return job.training(input);
    };
    let automatic = Automatic {
        recipe: false,
        ..job.automatic()
    };
    let params = job.params(input.unit());
    Ok(Training::new(
        input,
        params,
        None,
        scheme.clone(),
        automatic,
    ))
}

fn hear(callback: &Bound<'_, PyAny>, sweep: &Sweep) -> PyResult<Control> {
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
struct Relay {
    tell: Tell<Sweep>,
    answered: Receiver<Control>,
}

impl Observer for Relay {
    fn swept(&mut self, sweep: &Sweep) -> Control {
        if !(self.tell)(sweep.clone()) {
            return Control::Stop;
        }
        self.answered.recv().unwrap_or(Control::Stop)
    }
}
