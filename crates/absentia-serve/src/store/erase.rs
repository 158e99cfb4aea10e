//! Removing what is stored of a user.

use std::collections::HashSet;

use absentia::error::Axis;
use rusqlite::{Transaction, params};

use super::reply::EventsReply;
use super::sqlite::number;
use super::{given_id, user_digest};

/// Removes the texts of a user's records up to the one that erases, the ids of the user's events in stored
/// answers, and the user's catalogue entry. Digests stay, of texts and of the ids of events: a late retry is
/// known.
pub(super) fn erase(to: &Transaction<'_>, user: &str, sequence: u64) -> rusqlite::Result<usize> {
    erase_from_replies(to, user, sequence)?;
    to.execute(
        "UPDATE records SET record = NULL, content = NULL, user = NULL, item = NULL, received = 0
         WHERE user = ?1 AND seq <= ?2",
        params![user, sequence.cast_signed()],
    )?;
    to.execute(
        "DELETE FROM catalogue WHERE axis = ?1 AND id = ?2",
        params![number(Axis::User), user],
    )?;
    to.execute(
        "UPDATE erasures SET id = NULL WHERE user = ?1",
        params![user_digest(user)],
    )
}

/// The ids of a user's events, which clients choose, may say something about the user: their numbers take their
/// place. Every answer that is kept is looked at, because a retry may be in any of them.
fn erase_from_replies(to: &Transaction<'_>, user: &str, sequence: u64) -> rusqlite::Result<()> {
    let mut events =
        to.prepare("SELECT seq FROM records WHERE user = ?1 AND seq <= ?2 AND event IS NOT NULL")?;
    let events = events.query_map(params![user, sequence.cast_signed()], |row| {
        Ok(row.get::<_, i64>(0)? as u64)
    })?;
    let events: HashSet<u64> = events.collect::<rusqlite::Result<_>>()?;
    if events.is_empty() {
        return Ok(());
    }
    let mut replies = to.prepare("SELECT n, body FROM replies")?;
    let mut replies = replies.query(())?;
    let mut changed = Vec::new();
    while let Some(row) = replies.next()? {
        if let Some(body) = without_ids(row.get_ref(1)?.as_str()?, &events) {
            changed.push((row.get::<_, i64>(0)?, body));
        }
    }
    let mut update = to.prepare("UPDATE replies SET body = ?2 WHERE n = ?1")?;
    for (n, body) in changed {
        update.execute(params![n, body])?;
    }
    Ok(())
}

/// An answer in which some events have no other id than their number; none if it has none of them.
fn without_ids(body: &str, events: &HashSet<u64>) -> Option<String> {
    let mut reply: EventsReply = serde_json::from_str(body).ok()?;
    let mut has_changed = false;
    for event in &mut reply.events {
        if events.contains(&event.sequence) {
            event.id = given_id(event.sequence);
            has_changed = true;
        }
    }
    has_changed.then(|| serde_json::to_string(&reply).ok())?
}
