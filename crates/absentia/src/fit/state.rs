//! What a run knows beside its factors, and what it takes to go on with it later.

use super::observer::Sweep;
use crate::model::{Factors, Model};

/// The best factors seen by a validation metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// Sweep they came from.
    pub iteration: usize,
    /// Their score.
    pub score: f64,
    /// Factors of the users.
    pub users: Factors,
    /// Factors of the items.
    pub items: Factors,
}

/// A run between two sweeps: the model as it stands, and what stopping rules remember.
///
/// Going on from one ends in the same bits as never having stopped.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// The model as it stands; its history tells how many sweeps it took.
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
