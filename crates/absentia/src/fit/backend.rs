//! The interface between a run and the hardware that it trains on.
//!
//! A sweep is the same everywhere. With Q fixed it improves every row of P, sums the caches of P, does
//! the same for Q, and reads the sums of the objective. A [`Backend`] does these steps for one
//! [`Problem`]; the run decides when to stop, to report, to write a checkpoint and to cancel. A
//! [`Device`] makes backends: [`Cpu`] is the one that [`fit`](crate::fit()) uses.

use super::observer::{Cancel, Sweep};
use crate::error::Axis;
use crate::linalg::Dense;
use crate::model::Factors;
use crate::params::Solver;
use crate::sides::Sides;
use crate::solver::Objective;

pub use super::cpu::{Cpu, CpuBackend};
pub use super::problem::{Problem, ProblemParts};
pub use crate::row_sums::{CHUNK_ROWS, RowSum, Summand};
pub use crate::solver::{EntryLoss, Halt, NotConvex};

/// How exactly the sums of the objective are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Precision {
    /// From what the last half-sweep computed, with the rounding error of single precision.
    Fast,
    /// Predictions of observed entries from the factors, in double precision; caches as they are.
    Exact,
    /// Everything from the factors, in double precision.
    Double,
    /// The same, with the loss of missing entries summed entry by entry, `O(MNK)`: nothing cancels.
    EveryEntry,
}

impl Precision {
    /// From the cheapest to the most exact.
    pub const ALL: [Self; 4] = [Self::Fast, Self::Exact, Self::Double, Self::EveryEntry];
}

/// The objective of the current factors, as a backend sums it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ObjectiveSums {
    /// The objective and its parts.
    pub objective: Objective,
    /// How far off it may be, by the rounding of its sums.
    pub rounding: f64,
}

/// The steps of a sweep over one problem, on some hardware.
///
/// A backend holds the factors of both sides and the caches `S_t = Σ b_t q qᵀ` of each. All of its
/// results depend on the problem and on the factors alone, not on how its work is scheduled. Sums over
/// rows are [`RowSum`]s: parts of them merge to the same bits wherever they were made.
pub trait Backend: Send {
    /// Improves every row of one side with the other side held fixed, reading the caches of the other
    /// side as [`sum_caches`](Self::sum_caches) left them. `measured` says that the sums of the
    /// objective will be requested before the next half-sweep.
    ///
    /// # Errors
    /// A row without a minimum, or cancellation; the factors are then those from before the call.
    fn half_sweep(&mut self, axis: Axis, measured: bool, cancel: &Cancel) -> Result<(), Halt>;

    /// Does what [`half_sweep`](Self::half_sweep) does, as exactly as the hardware can: a sweep that
    /// raised the objective is made again with it.
    ///
    /// # Errors
    /// Those of [`half_sweep`](Self::half_sweep).
    fn half_sweep_in_double(&mut self, axis: Axis, cancel: &Cancel) -> Result<(), Halt> {
        self.half_sweep(axis, false, cancel)
    }

    /// Sums the caches over the rows of one side as they are now.
    ///
    /// # Errors
    /// Hardware that fails.
    fn sum_caches(&mut self, axis: Axis) -> Result<(), Halt>;

    /// Restores the factors that a side had before its last half-sweep.
    ///
    /// # Errors
    /// Hardware that fails.
    fn undo(&mut self, axis: Axis) -> Result<(), Halt>;

    /// Sums the objective. The caches of both sides have been summed since the factors changed.
    ///
    /// # Errors
    /// Hardware that fails.
    fn objective_sums(&mut self, precision: Precision) -> Result<ObjectiveSums, Halt>;
}

/// A backend whose factors are in the memory of this process.
pub trait LocalBackend: Backend {
    /// The factors as they are.
    fn factors(&self) -> Sides<Factors>;
}

/// A backend whose factors are in other processes.
pub trait RemoteBackend: Backend {
    /// Stores the state of the run after its last sweep, from which it can be resumed.
    ///
    /// # Errors
    /// What cannot be written, hardware that fails.
    fn checkpoint(&mut self, history: &[Sweep]) -> Result<(), Halt>;
}

/// Hardware that can make backends.
pub trait Device: Sync {
    /// The backend for one problem.
    type Backend<'p>: LocalBackend;

    /// Whether its backends read blocks of features, whose entries are not among those of the problem.
    fn takes_features(&self) -> bool {
        false
    }

    /// Yields a backend that starts from the given factors, whose rows are padded to whole lanes.
    fn backend<'p>(
        &self,
        problem: &'p Problem<'p>,
        solver: Solver,
        start: Sides<Dense>,
    ) -> Self::Backend<'p>;
}
