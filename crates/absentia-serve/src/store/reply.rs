//! The answer to a request with events, which is kept for its retry.

use serde::{Deserialize, Serialize};

/// Whether an event was new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventStatus {
    /// It was new.
    Accepted,
    /// It was known.
    Duplicate,
}

/// What became of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventOutcome {
    /// Its id; the one that the server gives if its user was erased.
    pub id: String,
    /// Its sequence number.
    pub sequence: u64,
    /// Whether it was new.
    pub status: EventStatus,
}

/// The answer to a request with events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventsReply {
    /// Events that were new.
    pub accepted: usize,
    /// Events that were known.
    pub duplicates: usize,
    /// The last record after this request.
    pub sequence: u64,
    /// What became of each event.
    pub events: Vec<EventOutcome>,
}

/// Ids that the server gives begin with this.
const GIVEN: &str = "seq-";

/// The id of an event that has none of its own.
#[must_use]
pub fn given_id(sequence: u64) -> String {
    format!("{GIVEN}{sequence}")
}

/// Whether an id is one that the server gives.
#[must_use]
pub fn is_given(id: &str) -> bool {
    id.starts_with(GIVEN)
}
