//! What the process that drives a run asks of its workers, and their answers.

use absentia::error::Axis;
use absentia::fit::backend::{EntryLoss, NotConvex, Precision, RowSum};
use absentia::fit::shard::{ObjectiveShare, SampledEntry};
use serde::{Deserialize, Serialize};

/// A step of all workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Improve the rows of a side.
    HalfSweep {
        /// The side.
        axis: Axis,
        /// Whether the loss of the entries is summed.
        measured: bool,
        /// The caches of all rows of the other side.
        caches: Option<Vec<f64>>,
        /// Items whose new factors come back with the answer.
        sampled: Vec<u32>,
    },
    /// Improve the rows of a side in double precision.
    HalfSweepInDouble {
        /// The side.
        axis: Axis,
        /// The caches of all rows of the other side, in double precision.
        caches: Option<Vec<f64>>,
        /// Whether every entry of the matrix is visited.
        by_entry: bool,
    },
    /// Restore the rows that a side had before its last half-sweep.
    Undo {
        /// The side.
        axis: Axis,
    },
    /// Sum the caches of the rows of a side.
    SumCaches {
        /// The side.
        axis: Axis,
    },
    /// Sum them in double precision.
    SumInDouble {
        /// The side.
        axis: Axis,
    },
    /// Sum the objective.
    SumObjective {
        /// How exactly.
        precision: Precision,
        /// Whether the last half-sweep has summed the loss and the penalties.
        measured: bool,
    },
}

impl Request {
    /// The side whose rows workers need of each other for it.
    #[must_use]
    pub fn reads(&self) -> Option<Axis> {
        match self {
            Request::HalfSweep { axis, .. } | Request::HalfSweepInDouble { axis, .. } => {
                Some(axis.other())
            }
            Request::SumObjective { .. } => Some(Axis::Item),
            Request::Undo { .. } | Request::SumCaches { .. } | Request::SumInDouble { .. } => None,
        }
    }

    /// Whether workers need all rows of that side, with their weights.
    #[must_use]
    pub fn reads_whole(&self) -> bool {
        match self {
            Request::HalfSweepInDouble { by_entry, .. } => *by_entry,
            Request::SumObjective { precision, .. } => *precision == Precision::EveryEntry,
            _ => false,
        }
    }

    /// The side whose rows it changes.
    #[must_use]
    pub fn writes(&self) -> Option<Axis> {
        match self {
            Request::HalfSweep { axis, .. }
            | Request::HalfSweepInDouble { axis, .. }
            | Request::Undo { axis } => Some(*axis),
            Request::SumCaches { .. }
            | Request::SumInDouble { .. }
            | Request::SumObjective { .. } => None,
        }
    }
}

/// The answer of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// Its rows have changed.
    Changed {
        /// What they add to the objective; empty where nothing was measured.
        loss: RowSum<EntryLoss>,
        /// What they add to the caches.
        caches: RowSum<Vec<f64>>,
        /// What it knows of the sample of entries.
        sample: Sample,
    },
    /// A row has no minimum; no row has changed.
    NotConvex(NotConvex),
    /// Sums over its rows.
    Sums(RowSum<Vec<f64>>),
    /// What its rows add to the objective.
    Objective(ObjectiveShare),
}

/// What a worker knows of the sample of entries that tells how large predictions are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The entries of its users, after a half-sweep of users.
    pub entries: Vec<SampledEntry>,
    /// Those of its items that were asked for, after a half-sweep of items.
    pub items: Vec<(u32, Vec<f32>)>,
}

/// The bytes of a message.
///
/// # Errors
/// A message that cannot be written, which is a defect.
pub fn to_bytes(message: &impl Serialize) -> Result<Vec<u8>, String> {
    postcard::to_stdvec(message).map_err(|error| error.to_string())
}

/// The message of some bytes.
///
/// # Errors
/// Bytes that are not those of such a message.
pub fn from_bytes<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<T, String> {
    postcard::from_bytes(bytes).map_err(|error| error.to_string())
}
