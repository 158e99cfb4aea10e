//! An operation that names users and items by id.

use absentia::online::Settings;
use serde::{Deserialize, Serialize};

/// One change of a model that learns from events, as a log stores it.
///
/// ```
/// use absentia_online::Record;
///
/// let text = r#"{"op":"insert","user":"ann","item":"heat"}"#;
/// let record: Record = serde_json::from_str(text)?;
/// assert_eq!(record, Record::insert("ann", "heat"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Record {
    /// Learns an interaction; users and items that are new are added.
    Insert {
        /// Id of the user.
        user: String,
        /// Id of the item.
        item: String,
        /// Raw value, treated as those of the training data were.
        #[serde(default = "one")]
        value: f32,
        /// Weight column, for models trained with one.
        #[serde(default = "one")]
        weight: f32,
        /// Time, in the unit of the training data; the latest time so far if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time: Option<i64>,
    },
    /// Forgets an interaction, or that the item was shown if there is none.
    Remove {
        /// Id of the user.
        user: String,
        /// Id of the item.
        item: String,
        /// Time of the interaction; the last one that was learned if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time: Option<i64>,
        /// Interactions of the pair that were learned after the one that is meant; the last one of its time
        /// if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        later: Option<u32>,
    },
    /// Learns that an item was shown and not taken.
    Expose {
        /// Id of the user.
        user: String,
        /// Id of the item.
        item: String,
        /// Weight of the entry.
        #[serde(default = "one")]
        weight: f32,
    },
    /// Forgets everything about a user but the id.
    Erase {
        /// Id of the user.
        user: String,
    },
    /// Recomputes the caches.
    Rebuild,
    /// Trains all rows from the present factors.
    Refit {
        /// Number of sweeps.
        sweeps: u32,
    },
    /// Changes how later events are learned.
    Settings(Settings),
}

fn one() -> f32 {
    1.0
}

impl Record {
    /// An interaction of value and weight 1, without time.
    #[must_use]
    pub fn insert(user: impl Into<String>, item: impl Into<String>) -> Self {
        Self::Insert {
            user: user.into(),
            item: item.into(),
            value: 1.0,
            weight: 1.0,
            time: None,
        }
    }
}
