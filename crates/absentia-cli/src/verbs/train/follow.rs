//! Following a run: bars, lines of JSON, checkpoints, Ctrl-C.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use absentia::fit::{Cancel, Checkpoint, Control, Observer, Sweep};
use absentia_io::model::Ids;
use absentia_job::Fingerprint;
use absentia_report::terminal::TrainingBar;
use serde::Serialize;

use crate::store;
use crate::ui::Ui;

/// One sweep as a line of JSON.
#[derive(Serialize)]
pub(crate) struct SweepLine {
    iteration: usize,
    objective: f64,
    observed: f64,
    missing: f64,
    regularization: f64,
    seconds: f64,
    validation: Option<f64>,
}

impl From<&Sweep> for SweepLine {
    fn from(sweep: &Sweep) -> Self {
        Self {
            iteration: sweep.iteration,
            objective: sweep.objective.total(),
            observed: sweep.objective.observed,
            missing: sweep.objective.missing,
            regularization: sweep.objective.regularization,
            seconds: sweep.seconds,
            validation: sweep.validation,
        }
    }
}

/// Where checkpoints go, and what is saved with them.
struct CheckpointFile<'a> {
    path: PathBuf,
    ids: &'a Ids,
    config: &'a toml::Table,
    fingerprint: &'a Fingerprint,
}

/// Shows the sweeps of a run and keeps its checkpoints.
pub(crate) struct Follow<'a> {
    ui: &'a Ui,
    bar: TrainingBar,
    metric: Option<String>,
    keeper: Option<CheckpointFile<'a>>,
    lines: bool,
    trouble: Option<anyhow::Error>,
}

impl<'a> Follow<'a> {
    pub(crate) fn new(ui: &'a Ui, iterations: usize) -> Self {
        Self {
            ui,
            bar: ui.progress().training("training", iterations as u64),
            metric: None,
            keeper: None,
            lines: true,
            trouble: None,
        }
    }

    /// Prints no JSON a sweep.
    pub(crate) fn without_lines(mut self) -> Self {
        self.lines = false;
        self
    }

    /// Names the metric that sweeps come with.
    pub(crate) fn metric(mut self, name: &str) -> Self {
        self.metric = Some(name.to_owned());
        self
    }

    /// Keeps checkpoints in a file.
    pub(crate) fn checkpoints(
        mut self,
        path: &Path,
        ids: &'a Ids,
        (config, fingerprint): (&'a toml::Table, &'a Fingerprint),
    ) -> Self {
        self.keeper = Some(CheckpointFile {
            path: path.to_owned(),
            ids,
            config,
            fingerprint,
        });
        self
    }

    /// Removes the bar and yields what went wrong on the way.
    pub(crate) fn finish(self) -> Option<anyhow::Error> {
        self.bar.finish();
        self.trouble
    }
}

impl Observer for Follow<'_> {
    fn swept(&mut self, sweep: &Sweep) -> Control {
        let metric = self.metric.as_deref().zip(sweep.validation);
        self.bar
            .sweep(sweep.iteration as u64, sweep.objective.total(), metric);
        // When nobody reads any more, what was trained so far is still saved.
        if self.lines && self.ui.json(&SweepLine::from(sweep)).is_err() {
            return Control::Stop;
        }
        Control::Continue
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Control {
        if let Some(keeper) = &self.keeper
            && let Err(error) = store::save_checkpoint(
                &keeper.path,
                checkpoint,
                keeper.ids,
                (keeper.config, keeper.fingerprint),
            )
        {
            self.bar
                .say(&format!("warning: {error:#}; training continues"));
            self.trouble = Some(error);
        }
        Control::Continue
    }
}

/// Lets the first Ctrl-C end the run in order and the second one the program.
pub(crate) fn end_on_interrupt(cancel: &Cancel) -> anyhow::Result<()> {
    static PRESSED: AtomicBool = AtomicBool::new(false);
    let cancel = cancel.clone();
    ctrlc::set_handler(move || {
        if PRESSED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        cancel.cancel();
    })?;
    Ok(())
}
