//! The loop of a run: when to stop, to report, to write a checkpoint and to cancel.

use std::time::Instant;

use super::error::FitError;
use super::observer::{Cancel, Control, Observer, Sweep};
use super::{Run, StopReason, Validation};
use crate::params::Params;
use crate::solver::Objective;

/// What a run trains: factors that sweeps improve, and what is done with them between sweeps.
pub(super) trait Factorisation: Send {
    /// The parameters of the run.
    fn params(&self) -> &Params;

    /// Makes a sweep and yields the objective after it, or `None` if it was cancelled and undone.
    fn sweep(&mut self, iteration: usize, cancel: &Cancel) -> Result<Option<Objective>, FitError>;

    /// The validation metric of the factors as they are.
    fn measure(&self, history: &[Sweep], validation: &mut Validation<'_>) -> f64;

    /// The sweep with the best metric so far and the metric, if one was measured.
    fn best(&self) -> Option<(usize, f64)>;

    /// Keeps the factors as they are as the best ones.
    fn keep_best(&mut self, iteration: usize, score: f64);

    /// Makes a checkpoint.
    fn checkpoint(
        &mut self,
        history: &[Sweep],
        observer: Option<&mut (dyn Observer + '_)>,
    ) -> Result<Control, FitError>;
}

/// A run between two sweeps.
pub(super) struct TrainingLoop<F> {
    pub(super) trained: F,
    pub(super) history: Vec<Sweep>,
}

impl<F: Factorisation> TrainingLoop<F> {
    /// Makes sweeps until there is a reason to stop, and yields it. Callbacks run on the calling thread
    /// and need not be `Send`: only the sweeps enter the pool.
    pub(super) fn run(
        &mut self,
        pool: &rayon::ThreadPool,
        run: &mut Run<'_>,
    ) -> Result<StopReason, FitError> {
        loop {
            if let Some(reason) = self.why_over(run.validation.as_ref()) {
                return Ok(reason);
            }
            if run.cancel.is_cancelled() {
                return Ok(StopReason::Cancelled);
            }
            let Some(mut sweep) = pool.install(|| self.sweep(&run.cancel))? else {
                return Ok(StopReason::Cancelled);
            };
            if let Some(validation) = &mut run.validation
                && validation.is_due(sweep.iteration, self.trained.params())
            {
                sweep.validation = Some(self.trained.measure(&self.history, validation));
            }
            self.record(sweep.clone());
            if self.report(&sweep, run)? == Control::Stop {
                return Ok(StopReason::Observer);
            }
        }
    }

    /// Reports a sweep to the observer, and makes a checkpoint when one is due.
    fn report(&mut self, sweep: &Sweep, run: &mut Run<'_>) -> Result<Control, FitError> {
        let observer = run.observer.as_deref_mut();
        let mut control = observer.map_or(Control::Continue, |observer| observer.swept(sweep));
        let every = run.checkpoint_every;
        if every.is_some_and(|every| sweep.iteration.is_multiple_of(every.max(1)))
            && self
                .trained
                .checkpoint(&self.history, run.observer.as_deref_mut())?
                == Control::Stop
        {
            control = Control::Stop;
        }
        Ok(control)
    }

    /// One sweep over both sides, or `None` if it was cancelled and undone.
    fn sweep(&mut self, cancel: &Cancel) -> Result<Option<Sweep>, FitError> {
        let start = Instant::now();
        let iteration = self.iterations() + 1;
        let Some(objective) = self.trained.sweep(iteration, cancel)? else {
            return Ok(None);
        };
        if !objective.total().is_finite() {
            return Err(FitError::Diverged { iteration });
        }
        Ok(Some(Sweep {
            iteration,
            objective,
            seconds: start.elapsed().as_secs_f64(),
            validation: None,
        }))
    }

    /// Number of sweeps made.
    pub(super) fn iterations(&self) -> usize {
        self.history.last().map_or(0, |sweep| sweep.iteration)
    }

    fn record(&mut self, sweep: Sweep) {
        let to_beat = self
            .trained
            .best()
            .map_or(f64::NEG_INFINITY, |(_, score)| score);
        // A tie keeps the earlier model; NaN never wins.
        if let Some(score) = sweep.validation.filter(|&score| score > to_beat) {
            self.trained.keep_best(sweep.iteration, score);
        }
        self.history.push(sweep);
    }

    /// The reason to end the run now, if there is one.
    fn why_over(&self, validation: Option<&Validation<'_>>) -> Option<StopReason> {
        let params = self.trained.params();
        if params.solver.is_direct() && !self.history.is_empty() {
            return Some(StopReason::Converged);
        }
        if let (Some(tolerance), [.., before, last]) = (params.tolerance, &self.history[..]) {
            let (before, last) = (before.objective.total(), last.objective.total());
            if (before - last).abs() <= tolerance * before.abs() {
                return Some(StopReason::Converged);
            }
        }
        let patience = validation.and_then(|validation| validation.patience);
        if let (Some((best, _)), Some(patience)) = (self.trained.best(), patience) {
            let later = self
                .history
                .iter()
                .filter(|sweep| sweep.iteration > best && sweep.validation.is_some());
            if later.count() >= patience {
                return Some(StopReason::Patience);
            }
        }
        (self.iterations() >= params.iterations).then_some(StopReason::Iterations)
    }
}
