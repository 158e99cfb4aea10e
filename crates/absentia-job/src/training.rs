//! The one pipeline of a run: settings are chosen, memory is checked, and a model is trained.

use std::path::Path;

use absentia::error::Axis;
use absentia::evaluate::MetricName;
use absentia::fit::backend::Cpu;
use absentia::fit::{
    Cancel, Checkpoint, FitError, Fitted, Init, Observer, Run, StopReason, fit_related,
};
use absentia::weights::{Scheme, SchemeSpec};
use absentia::{CheckedParams, Params};
use absentia_io::model::Ids;
use absentia_search::{Automatic, choose_settings};

use crate::error::JobError;
use crate::fingerprint::Fingerprint;
use crate::listener::{Choice, Event, Listener};
use crate::memory::Plan;
use crate::resume::resume;
use crate::settings::half_life_of;
use crate::text::Device;
use crate::training_data::Input;
use crate::validator::Validator;

/// A run on data that is ready: everything that decides its result.
#[derive(Clone, Debug)]
pub struct Training<'d> {
    /// The data.
    pub input: Input<'d>,
    /// The parameters; those that are automatic have a default until they are chosen.
    pub params: Params,
    /// The weights on missing entries as they are written, where they can be.
    pub weights: Option<SchemeSpec>,
    /// The weights on missing entries.
    pub scheme: Scheme,
    /// What is left to choose.
    pub automatic: Automatic,
    device: Device,
    /// Whether memory is known to suffice.
    is_checked: bool,
}

/// How the models of a run are measured during training.
#[derive(Clone, Copy, Debug)]
pub struct Measuring {
    /// The metric that chooses the best model.
    pub metric: MetricName,
    /// Sweeps between measurements.
    pub every: usize,
    /// Measurements without improvement after which the run ends.
    pub patience: Option<usize>,
}

/// How a run is started and observed; it does not change the result of a sweep.
#[derive(Default)]
pub struct Execution<'o> {
    /// The factors to start from.
    pub init: Init,
    /// The checkpoint to resume from.
    pub resume: Option<Checkpoint>,
    /// How models are measured; needs held-out rows.
    pub measuring: Option<Measuring>,
    /// Is notified of every sweep and every checkpoint.
    pub observer: Option<&'o mut dyn Observer>,
    /// Ends the run.
    pub cancel: Cancel,
    /// Sweeps between checkpoints.
    pub checkpoint_every: Option<usize>,
}

impl<'d> Training<'d> {
    /// A run on data that is ready, with weights whose text is not known.
    pub(crate) fn new(
        input: Input<'d>,
        params: Params,
        scheme: Scheme,
        automatic: Automatic,
        device: Device,
    ) -> Self {
        Self {
            input,
            params,
            weights: None,
            scheme,
            automatic,
            device,
            is_checked: false,
        }
    }

    /// Rejects a run that does not fit into memory. A run that fits is not checked again.
    ///
    /// # Errors
    /// Says what is needed and what there is.
    pub fn check_memory(&mut self, listener: &dyn Listener) -> Result<(), JobError> {
        if self.is_checked {
            return Ok(());
        }
        let plan = self.plan();
        if listener.memory().is_none() {
            plan.check()?;
        }
        for stage in plan.stages {
            listener.enter(stage)?;
        }
        self.is_checked = true;
        Ok(())
    }

    /// The memory that the run needs, and the memory that it may use.
    #[must_use]
    pub fn plan(&self) -> Plan {
        Plan::new(
            (self.input.data, self.input.related),
            &self.scheme,
            &self.params,
            self.automatic,
            self.input.held_out.is_some(),
            self.input.bytes_beside_data(),
        )
    }

    /// Reads a checkpoint, if it exists, takes the chosen settings from it, and yields it.
    ///
    /// # Errors
    /// A checkpoint that cannot be read, or of other data or settings.
    pub fn resume(
        &mut self,
        path: &Path,
        own: &Fingerprint,
    ) -> Result<Option<Checkpoint>, JobError> {
        let before = self.weights.clone();
        let checkpoint = resume(
            path,
            own,
            &mut self.params,
            &mut self.weights,
            self.automatic,
        )?;
        if checkpoint.is_some() {
            self.automatic = Automatic::default();
            let changed = self.weights.as_ref().filter(|_| self.weights != before);
            if let Some(scheme) = changed.and_then(SchemeSpec::scheme) {
                self.scheme = scheme;
            }
        }
        Ok(checkpoint)
    }

    /// Chooses what is automatic, on rows held out of the data, once memory is known to suffice.
    ///
    /// # Errors
    /// Too little memory, parameters out of range, data that cannot be trained on, an interruption.
    pub fn choose(&mut self, cancel: &Cancel, listener: &dyn Listener) -> Result<(), JobError> {
        self.check_memory(listener)?;
        self.params.clone().check()?;
        let mut automatic = std::mem::take(&mut self.automatic);
        automatic.by_time &= self.input.data.times().is_some();
        let (entries, solver) = (self.input.data.len(), self.params.solver);
        if !automatic.trains_models(entries, solver) && !automatic.regularization {
            return Ok(());
        }
        listener.event(&Event::Choosing {
            most_models: automatic.max_models(),
        });
        let tried = || listener.event(&Event::ModelTried);
        let chosen = choose_settings(
            (self.input.data, self.input.related),
            &self.scheme,
            &self.params,
            automatic,
            cancel,
            &tried,
        );
        let choice = chosen.as_ref().ok().map(|chosen| Choice {
            automatic,
            chosen,
            changed: chosen.params != self.params,
            half_life: half_life_of(&chosen.params, self.input.unit()),
        });
        listener.event(&Event::Chosen(choice));
        let chosen = chosen.map_err(|error| named(error.into(), self.input.ids))?;
        if let Some(weights) = chosen.weights() {
            self.weights = Some(weights);
        }
        if let Some(scheme) = chosen.scheme {
            self.scheme = scheme;
        }
        self.params = chosen.params;
        Ok(())
    }

    /// Trains the model.
    ///
    /// # Errors
    /// Too little memory, parameters out of range, data or weights that cannot be trained on; a
    /// validation metric that is 0 after every sweep.
    pub fn fit(&mut self, execution: Execution<'_>) -> Result<Fitted, JobError> {
        self.check_memory(&())?;
        let checked: CheckedParams = self.params.clone().check()?;
        let validator = match (self.input.held_out, execution.measuring) {
            (Some(test), Some(measuring)) => {
                Some(Validator::new(self.input.data, test, measuring.metric)?)
            }
            _ => None,
        };
        let measured = validator.as_ref().zip(execution.measuring);
        let run = Run {
            init: execution.init,
            resume: execution.resume,
            validation: measured.map(|(validator, measuring)| absentia::fit::Validation {
                metric: Box::new(|model| validator.measure(model)),
                every: measuring.every,
                patience: measuring.patience,
            }),
            observer: match execution.observer {
                Some(observer) => Some(observer),
                None => None,
            },
            cancel: execution.cancel,
            checkpoint_every: execution.checkpoint_every,
        };
        let fitted = match self.device {
            Device::Cpu => {
                let main = (self.input.data, &self.scheme);
                fit_related(&Cpu, main, self.input.related, &checked, run)
            }
        };
        let fitted = fitted.map_err(|error| named(error.into(), self.input.ids))?;
        if let Some((_, measuring)) = measured {
            check_scores(&fitted, measuring.metric)?;
        }
        Ok(fitted)
    }
}

/// Rejects a model that was chosen by a metric which is 0 after every sweep, unless the run was ended
/// before all sweeps were made.
fn check_scores(fitted: &Fitted, metric: MetricName) -> Result<(), JobError> {
    let history = fitted.checkpoint.model.history().iter();
    let scores: Vec<f64> = history.filter_map(|sweep| sweep.validation).collect();
    let is_ended = matches!(fitted.reason, StopReason::Cancelled | StopReason::Observer);
    // A score that is not a number chooses nothing either.
    if is_ended || scores.is_empty() || scores.iter().any(|&score| score > 0.0) {
        return Ok(());
    }
    Err(JobError::NothingScored {
        metric: metric.to_string(),
        sweeps: scores.len(),
    })
}

/// The error with the id of the user or item instead of its row number.
fn named(error: JobError, ids: &Ids) -> JobError {
    let name = |axis: Axis, row: usize| {
        let ids = match axis {
            Axis::User => &ids.users,
            Axis::Item => &ids.items,
        };
        ids.name(row as u32).unwrap_or_default().into_owned()
    };
    match error {
        JobError::Fit(FitError::NotConvex {
            axis,
            row,
            curvature,
        }) => JobError::NotConvex {
            axis,
            id: name(axis, row),
            curvature,
        },
        JobError::Fit(FitError::RowWeight { axis, row, total }) => JobError::RowWeight {
            axis,
            id: name(axis, row),
            total,
        },
        error => error,
    }
}
