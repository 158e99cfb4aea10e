//! The state of a run that is needed to resume it.

use super::observer::Sweep;
use crate::model::{Factors, Model};

/// The best factors seen by a validation metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// The sweep that produced them.
    pub iteration: usize,
    /// Their score.
    pub score: f64,
    /// Factors of the users.
    pub users: Factors,
    /// Factors of the items.
    pub items: Factors,
}

/// A run between two sweeps: the current model, and what the stopping rules need.
///
/// A run that is resumed from it ends in the same bits as one that never stopped.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// The current model; its history has one record for each sweep.
    pub model: Model,
    /// The best factors so far, when a validation metric chooses.
    pub best: Option<Best>,
}

impl Checkpoint {
    /// Number of sweeps made.
    #[must_use]
    pub fn iterations(&self) -> usize {
        self.model
            .history()
            .last()
            .map_or(0, |sweep: &Sweep| sweep.iteration)
    }
}
