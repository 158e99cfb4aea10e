//! The clock of the machine, for what is shown to people and for keys that expire; nothing that is learned
//! depends on it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds of unix time; 0 if the clock is before 1970.
#[must_use]
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}
