//! What can happen to an online model, as data: a list of operations replays to the same bits.

use super::error::OnlineError;
use crate::error::Axis;
use crate::model::RowWeights;

/// An interaction of a user with an item.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Event {
    /// Row of the user.
    pub user: u32,
    /// Row of the item.
    pub item: u32,
    /// Raw value, treated as those of the training data were.
    pub value: f32,
    /// Weight column, for models trained with one.
    pub weight: f32,
    /// Time, in the unit of the training data; the latest time seen so far if `None`.
    pub time: Option<i64>,
}

impl Event {
    /// Yields an event of value and weight 1, without time.
    #[must_use]
    pub fn new(user: u32, item: u32) -> Self {
        Self {
            user,
            item,
            value: 1.0,
            weight: 1.0,
            time: None,
        }
    }

    /// Sets the raw value.
    #[must_use]
    pub fn value(mut self, value: f32) -> Self {
        self.value = value;
        self
    }

    /// Sets the weight.
    #[must_use]
    pub fn weight(mut self, weight: f32) -> Self {
        self.weight = weight;
        self
    }

    /// Sets the time.
    #[must_use]
    pub fn time(mut self, time: i64) -> Self {
        self.time = Some(time);
        self
    }
}

/// How events are learned.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct Settings {
    /// Coordinate passes over the user's row and then the item's, for each event; 0 records events
    /// without learning from them.
    pub steps: u32,
    /// What the weight `c_ui` of an entry is multiplied by if an event made or changed it after the last
    /// refit.
    pub weight_of_new: f32,
}

/// Largest number of passes of an event.
const MAX_STEPS: u32 = 1000;

impl Default for Settings {
    fn default() -> Self {
        Self {
            steps: 1,
            weight_of_new: 1.0,
        }
    }
}

impl Settings {
    /// Rejects settings out of range.
    ///
    /// # Errors
    /// Too many steps, a weight that is negative or not finite.
    pub fn check(self) -> Result<(), OnlineError> {
        if self.steps > MAX_STEPS {
            return Err(OnlineError::Setting {
                name: "steps",
                got: self.steps.into(),
                range: "at most 1000",
            });
        }
        let weight = self.weight_of_new;
        if !(weight.is_finite() && weight >= 0.0) {
            return Err(OnlineError::Setting {
                name: "weight of new entries",
                got: weight.into(),
                range: "finite and at least 0",
            });
        }
        Ok(())
    }
}

/// One change of an online model.
///
/// Rows are row numbers. What an operation does depends on the state and on the operation alone, never
/// on a clock or on the number of threads.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Operation {
    /// Adds a user or item without entries behind the last one.
    Add {
        /// The side.
        axis: Axis,
        /// A hash of its id, from which its start is drawn if its first entry is with a row that is new
        /// as well.
        hash: u64,
        /// Its weights on missing entries; [`RowWeights::Frozen`] is the mean of its side.
        weights: RowWeights,
    },
    /// Learns an interaction.
    Insert(Event),
    /// Forgets an interaction of a pair, or that the pair was shown if there is none.
    Remove {
        /// Row of the user.
        user: u32,
        /// Row of the item.
        item: u32,
        /// Time of the interaction; the last one that was learned if `None`.
        time: Option<i64>,
        /// Interactions of the pair that were learned after the one that is meant, which tells it from
        /// others of the same time; the last one of that time if `None`.
        later: Option<u32>,
    },
    /// Learns that an item was shown and not taken.
    Expose {
        /// Row of the user.
        user: u32,
        /// Row of the item.
        item: u32,
        /// Weight of the entry, whose target is 0.
        weight: f32,
    },
    /// Forgets everything about a user; the row stays, without entries.
    Erase {
        /// Row of the user.
        user: u32,
    },
    /// Recomputes the caches.
    Rebuild,
    /// Trains all rows from the present factors, with everything that is frozen between refits resolved
    /// again.
    Refit {
        /// Number of sweeps.
        sweeps: u32,
    },
    /// Changes how later events are learned.
    Settings(Settings),
}

/// What an operation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// Number of operations since the model was trained, this one included.
    pub sequence: u64,
    /// Rows that could not be improved and stayed as they were: their quadratic has no minimum, because
    /// weights on missing entries are negative.
    pub rows_left: u32,
}
