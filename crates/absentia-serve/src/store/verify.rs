//! Checking the chain of digests.

use rusqlite::Connection;

use super::sqlite::record_digest;
use super::{Digest, StoreError, chained};

/// Checks that records follow each other without gaps, that texts have their digests, and that batches
/// have the digests of their records and of the batch before.
pub(super) fn chain(connection: &Connection) -> Result<(), StoreError> {
    let mut records = connection.prepare("SELECT seq, record, digest FROM records ORDER BY seq")?;
    let mut batches =
        connection.prepare("SELECT first, last, digest FROM batches ORDER BY last")?;
    let (mut records, mut batches) = (records.query(())?, batches.query(())?);
    let damaged =
        |sequence: u64, what: &str| Err(StoreError::Damaged(format!("record {sequence} {what}")));
    let (mut sequence, mut before) = (0, Digest::default());
    while let Some(batch) = batches.next()? {
        let (first, last) = (
            batch.get::<_, i64>(0)? as u64,
            batch.get::<_, i64>(1)? as u64,
        );
        if first != sequence + 1 || last < first {
            return damaged(first, "does not follow the record before it");
        }
        let mut digests = Vec::with_capacity((last - first + 1).min(1 << 16) as usize);
        while sequence < last {
            sequence += 1;
            let Some(row) = records.next()? else {
                return damaged(sequence, "is missing");
            };
            if row.get::<_, i64>(0)? as u64 != sequence {
                return damaged(sequence, "is missing");
            }
            let text: Option<String> = row.get(1)?;
            let digest: Digest = row.get(2)?;
            if text.is_some_and(|text| record_digest(sequence, &text) != digest) {
                return damaged(sequence, "was altered");
            }
            digests.push(digest);
        }
        before = chained(&before, &digests);
        if before != batch.get::<_, Digest>(2)? {
            return damaged(last, "ends a batch whose digest is another one");
        }
    }
    match records.next()? {
        Some(row) => damaged(row.get::<_, i64>(0)? as u64, "is in no batch"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use absentia_online::Record;
    use rusqlite::Connection;

    use super::super::{
        Change, EventColumns, SqliteStore, Store, StoreError, StoreReader, digest_of,
    };

    fn event(sequence: u64, user: &str) -> Change {
        Change::Append {
            sequence,
            record: Record::insert(user, "heat"),
            event: Some(EventColumns {
                id: digest_of(&[&sequence.to_le_bytes()]),
                content: digest_of(&[b"content"]),
                kind: "view".into(),
                user: user.into(),
                item: "heat".into(),
                received: 7,
            }),
        }
    }

    #[test]
    fn damage_is_found_and_an_erased_user_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.db");
        let mut store = SqliteStore::open(&path, 0).unwrap();
        store.commit(&[event(1, "ann"), event(2, "bob")]).unwrap();
        store.commit(&[event(3, "ann")]).unwrap();
        store.verify().unwrap();
        let (user, sequence) = ("ann".to_owned(), 4);
        let erase = Change::Append {
            sequence,
            record: Record::Erase { user: user.clone() },
            event: None,
        };
        let begun = Change::EraseBegun {
            user: user.clone(),
            sequence,
        };
        store.commit(&[erase, begun]).unwrap();
        assert_eq!(store.erasures_begun().unwrap(), [("ann".to_owned(), 4)]);
        store
            .commit(&[Change::EraseDone { user, sequence }])
            .unwrap();
        store.verify().unwrap();
        assert!(store.erasures_begun().unwrap().is_empty());
        assert_eq!(store.erased_users().unwrap().len(), 1);
        let records = store.records(0, 10).unwrap();
        let texts: Vec<bool> = records.iter().map(|(_, record)| record.is_some()).collect();
        assert_eq!(texts, [false, true, false, false]);
        // The id of the event is still known.
        assert!(
            store
                .event(&digest_of(&[&1_u64.to_le_bytes()]))
                .unwrap()
                .is_some()
        );
        for damage in [
            "UPDATE records SET record = replace(record, 'heat', 'head') WHERE seq = 2",
            "DELETE FROM records WHERE seq = 3",
            "UPDATE records SET digest = zeroblob(32) WHERE seq = 1",
            "DELETE FROM batches WHERE last = 3",
            "DELETE FROM batches WHERE last = 4",
        ] {
            let connection = Connection::open(&path).unwrap();
            connection.execute_batch("BEGIN").unwrap();
            connection.execute_batch(damage).unwrap();
            let found = super::chain(&connection);
            assert!(matches!(found, Err(StoreError::Damaged(_))), "{damage}");
        }
    }

    #[test]
    fn a_full_database_refuses_and_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.db");
        let mut store = SqliteStore::open(&path, 200_000).unwrap();
        let mut sequence = 0;
        let full = loop {
            sequence += 1;
            if let Err(error) = store.commit(&[event(sequence, &"u".repeat(900))]) {
                break error;
            }
        };
        assert!(matches!(full, StoreError::Full), "{full}");
        assert_eq!(store.last_sequence().unwrap(), sequence - 1);
        store.verify().unwrap();
        // Not stopped: the next one is refused for the same reason, not because of the last failure.
        let again = store.commit(&[event(sequence, &"u".repeat(900))]);
        assert!(matches!(again, Err(StoreError::Full)));
    }
}
