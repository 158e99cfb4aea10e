//! Observing a run, and ending it from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::memory::MemoryPlan;
use super::state::Checkpoint;
use crate::solver::Objective;

/// What one sweep over both sides did.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sweep {
    /// Number of the sweep, from 1.
    pub iteration: usize,
    /// The objective after it.
    pub objective: Objective,
    /// Seconds it took, validation not counted.
    pub seconds: f64,
    /// The validation metric after it, where it was measured.
    pub validation: Option<f64>,
}

/// Progress of the estimate of learned weights, which precedes the sweeps of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Estimate {
    /// Sweeps of the estimate that were made.
    pub done: usize,
    /// Sweeps of the estimate in total.
    pub total: usize,
}

/// Whether a run continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// It continues.
    Continue,
    /// It ends here, keeping what it has.
    Stop,
}

/// Is notified of the progress of a run; every method has a default that does nothing.
pub trait Observer {
    /// Called once the sizes are known, before anything is trained.
    fn started(&mut self, plan: &MemoryPlan) {
        let _ = plan;
    }

    /// Called after every sweep that is made to estimate learned weights.
    fn estimating(&mut self, estimate: &Estimate) -> Control {
        let _ = estimate;
        Control::Continue
    }

    /// Called after every sweep.
    fn swept(&mut self, sweep: &Sweep) -> Control {
        let _ = sweep;
        Control::Continue
    }

    /// Called with the state of the run, as often as [`Run::checkpoint_every`] says.
    ///
    /// [`Run::checkpoint_every`]: super::Run::checkpoint_every
    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Control {
        let _ = checkpoint;
        Control::Continue
    }
}

/// Ignores everything.
impl Observer for () {}

/// A flag that ends a run from another thread; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Yields a flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag: the run ends with the model of its last complete sweep, or of its start if
    /// there is none.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is set.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn flag(&self) -> &AtomicBool {
        &self.0
    }
}
