//! Training: the run on a thread of its own, Python's callback on the caller's.

use std::sync::mpsc::{Receiver, channel};

use absentia::data::DataError;
use absentia::fit::{Cancel, Control, FitError, Fitted, Init, Observer, Run, StopReason, Sweep};
use absentia::{CheckedParams, Interactions, Params};
use absentia_io::model::Ids;
use absentia_search::{Automatic, ChosenSettings, SearchError, choose_settings};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::data::{Column, Data, borrow};
use crate::error::OrRaise;
use crate::factors::{Numbers, Table};
use crate::ids::IdMap;
use crate::model::Model;
use crate::pool::{Tell, detached, followed, released};
use crate::weights::Scheme;

/// Users, items and weights of pairs that were shown and not taken.
type Shown = (Column<u32>, Column<u32>, Column<f32>);

/// Trains a model; yields it with the reason why the run ended, and the weights that were chosen in
/// place of those given, as they are written.
///
/// `params` is the engine's set of parameters as JSON; `open` says whether the penalty, the
/// post-scaling, and targets and weights are to be chosen instead. `callback(iteration, seconds, observed,
/// missing, regularization)` ends the run by returning something true.
#[pyfunction]
#[pyo3(signature = (data, scheme, params, *, open=None, shown=None, init=None, ids=None, callback=None, config=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of one call")]
pub(crate) fn fit(
    py: Python<'_>,
    data: Data,
    scheme: Py<Scheme>,
    params: &str,
    open: Option<(bool, bool, bool)>,
    shown: Option<Shown>,
    init: Option<(Table, Table)>,
    ids: Option<(Py<IdMap>, Py<IdMap>)>,
    callback: Option<Py<PyAny>>,
    config: Option<String>,
) -> PyResult<(Model, &'static str, Option<String>)> {
    let params: Params = serde_json::from_str(params)
        .map_err(|error| PyValueError::new_err(format!("parameters: {error}")))?;
    let job = Job {
        data,
        shown,
        scheme: scheme.clone_ref(py),
        params: params.check().or_raise()?,
        open: open.map_or_else(
            Automatic::default,
            |(regularization, post_scale, recipe)| Automatic {
                regularization,
                post_scale,
                recipe,
            },
        ),
        init,
    };
    let (fitted, chosen) = scheme.get().stop_if_err(job.follow(py, callback))?;
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

/// A run that has ended, and the weights that were chosen for it.
type Chosen = (Fitted, Option<String>);

/// What a run is made of.
struct Job {
    data: Data,
    shown: Option<Shown>,
    scheme: Py<Scheme>,
    params: CheckedParams,
    open: Automatic,
    init: Option<(Table, Table)>,
}

impl Job {
    fn follow(self, py: Python<'_>, callback: Option<Py<PyAny>>) -> PyResult<Chosen> {
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

    fn run(self, py: Python<'_>, relay: Option<Relay>, cancel: &Cancel) -> PyResult<Chosen> {
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
        let (scheme, params, open) = (self.scheme.get(), &self.params, self.open);
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
        let fitted = released(py, || {
            let run = Run {
                init: init.map_or(Init::Gaussian, |(users, items)| Init::Given {
                    users: users.copied(),
                    items: items.copied(),
                }),
                observer: relay.as_mut().map(|relay| relay as &mut dyn Observer),
                cancel: cancel.clone(),
                ..Run::default()
            };
            let settled = settled(data, &scheme.requested, params, open, cancel)?;
            let weights = settled.weights().map(|weights| weights.to_string());
            let params = settled.params.check().map_err(FitError::from)?;
            let scheme = settled.scheme.as_ref().unwrap_or(&scheme.requested);
            Ok((absentia::fit(data, scheme, &params, run)?, weights))
        });
        fitted.map_err(|error: SearchError| scheme.blame(error))
    }
}

/// Settles what is open; a call that was interrupted goes on to a run that ends at once.
fn settled(
    data: &Interactions<'_>,
    scheme: &absentia::weights::Scheme,
    params: &CheckedParams,
    open: Automatic,
    cancel: &Cancel,
) -> Result<ChosenSettings, SearchError> {
    match choose_settings(data, scheme, params, open, cancel, &|| {}) {
        Err(SearchError::Cancelled) => Ok(ChosenSettings::given((**params).clone())),
        settled => settled,
    }
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
