//! What a commit writes.

use absentia_online::Record;
use rusqlite::{Connection, OptionalExtension, Statement, Transaction, params};

use super::erase::erase;
use super::sqlite::{number, record_digest};
use super::{Change, Digest, EventColumns, chained, user_digest};

/// Replies that are kept however old they are.
const NEWEST_REPLIES: i64 = 100_000;

const APPEND: &str =
    "INSERT INTO records (seq, record, digest, event, content, kind, user, item, received)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

/// Makes some changes, all or none.
pub(super) fn write(connection: &mut Connection, changes: &[Change]) -> rusqlite::Result<()> {
    let behaviour = rusqlite::TransactionBehavior::Immediate;
    let transaction = connection.transaction_with_behavior(behaviour)?;
    let (mut digests, mut first, mut last) = (Vec::new(), 0, 0);
    let mut appending = transaction.prepare_cached(APPEND)?;
    for change in changes {
        let Change::Append {
            sequence,
            record,
            event,
        } = change
        else {
            apply(&transaction, change)?;
            continue;
        };
        last = *sequence;
        if digests.is_empty() {
            first = last;
        }
        digests.push(append(&mut appending, last, record, event.as_ref())?);
    }
    drop(appending);
    if !digests.is_empty() {
        let before = transaction
            .prepare_cached("SELECT digest FROM batches ORDER BY last DESC LIMIT 1")?
            .query_row((), |row| row.get::<_, Digest>(0));
        let before = before.optional()?.unwrap_or_default();
        transaction
            .prepare_cached("INSERT INTO batches (last, first, digest) VALUES (?1, ?2, ?3)")?
            .execute(params![
                last.cast_signed(),
                first.cast_signed(),
                chained(&before, &digests)
            ])?;
    }
    transaction.commit()
}

/// Makes one change that appends no record.
fn apply(to: &Transaction<'_>, change: &Change) -> rusqlite::Result<usize> {
    match change {
        Change::Append { .. } => Ok(0),
        Change::Reply {
            key,
            reply,
            received,
            keep_after,
        } => {
            to.execute(
                "INSERT INTO replies (key, request, body, received) VALUES (?1, ?2, ?3, ?4)",
                params![key, reply.request, reply.body, received],
            )?;
            // The oldest ones, if they are old by the clock and not among the newest: a clock that jumps
            // ahead does not make the server forget what may still be sent again.
            to.execute(
                "DELETE FROM replies WHERE n IN (SELECT n FROM replies
                 WHERE n <= (SELECT max(n) FROM replies) - ?1 AND received < ?2 ORDER BY n LIMIT 2)",
                params![NEWEST_REPLIES, keep_after],
            )
        }
        Change::Deleted { sequence, by } => to.execute(
            "UPDATE records SET deleted_by = ?2 WHERE seq = ?1",
            params![sequence.cast_signed(), by.cast_signed()],
        ),
        Change::EraseBegun { user, sequence } => to.execute(
            "INSERT OR REPLACE INTO erasures (user, seq, id) VALUES (?1, ?2, ?3)",
            params![user_digest(user), sequence.cast_signed(), user],
        ),
        Change::EraseDone { user, sequence } => erase(to, user, *sequence),
        Change::Model(model) => to.execute(
            "INSERT INTO models (version, source, digest, seq, created) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                model.version.cast_signed(),
                model.source,
                model.digest,
                model.sequence.cast_signed(),
                model.created
            ],
        ),
        Change::Activate(activation) => to.execute(
            "INSERT INTO activations (version, time, roll_back) VALUES (?1, ?2, ?3)",
            params![
                activation.version.cast_signed(),
                activation.at,
                activation.is_roll_back
            ],
        ),
        Change::Catalogue(axis, entry) => to.execute(
            "INSERT OR REPLACE INTO catalogue (axis, id, title, category, hidden)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                number(*axis),
                entry.id,
                entry.title,
                entry.category,
                entry.hidden
            ],
        ),
        Change::Key(key) => to.execute(
            "INSERT INTO keys (id, scope, digest, expires) VALUES (?1, ?2, ?3, ?4)",
            params![key.id, key.scope, key.digest, key.expires],
        ),
    }
}

fn append(
    appending: &mut Statement<'_>,
    sequence: u64,
    record: &Record,
    event: Option<&EventColumns>,
) -> rusqlite::Result<Digest> {
    let text = serde_json::to_string(record)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let digest = record_digest(sequence, &text);
    let user = event.map(|event| event.user.as_str()).or(match record {
        Record::Insert { user, .. }
        | Record::Expose { user, .. }
        | Record::Remove { user, .. }
        | Record::Erase { user } => Some(user),
        _ => None,
    });
    appending.execute(params![
        sequence.cast_signed(),
        text,
        digest,
        event.map(|event| event.id),
        event.map(|event| event.content),
        event.map(|event| &event.kind),
        user,
        event.map(|event| &event.item),
        event.map_or(0, |event| event.received),
    ])?;
    Ok(digest)
}
