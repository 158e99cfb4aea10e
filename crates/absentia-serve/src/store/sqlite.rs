//! The store in one `SQLite` file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use absentia::error::Axis;
use absentia_online::Record;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, params};

use super::write::write;
use super::{
    Activation, CatalogueEntry, Change, Digest, KeyEntry, ModelEntry, Reply, Store, StoreError,
    StoreReader, StoredEvent, digest_of, schema, verify, wal,
};

/// The database of a data folder: write-ahead log, every commit synchronised to disk.
#[derive(Debug)]
pub struct SqliteStore {
    connection: Connection,
    path: PathBuf,
    has_failed: bool,
}

const EVENT: &str = "SELECT seq, record, kind, content, received, deleted_by FROM records ";

/// Bytes that are written to see whether there is room again.
const PROBE_BYTES: i32 = 1 << 16;

impl SqliteStore {
    /// Opens a database, or creates it; `limit` is its largest size in bytes, 0 for none.
    ///
    /// # Errors
    /// A file that is no database of this program, or of a later version.
    pub fn open(path: &Path, limit: u64) -> Result<Self, StoreError> {
        let log = path.with_extension("db-wal");
        let damaged = wal::damaged_frame(&log)
            .map_err(|error| StoreError::Damaged(format!("{}: {error}", log.display())))?;
        if let Some(frame) = damaged {
            let log = log.display();
            let detail = format!("frame {frame} of {log} was altered, and commits follow it");
            return Err(StoreError::Damaged(detail));
        }
        let connection = connected(path)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        // What is erased is overwritten.
        connection.pragma_update(None, "secure_delete", true)?;
        if limit > 0 {
            let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
            connection.pragma_update_and_check(
                None,
                "max_page_count",
                limit.div_ceil(page.max(1) as u64).cast_signed(),
                |_| Ok(()),
            )?;
        }
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        match version {
            schema::VERSION => {}
            0..schema::VERSION => {
                let tables = match version {
                    0 => schema::TABLES.to_owned(),
                    1 => [schema::FROM_1, schema::FROM_2].concat(),
                    _ => schema::FROM_2.to_owned(),
                };
                let script = format!(
                    "BEGIN IMMEDIATE; {tables} PRAGMA user_version = {}; COMMIT;",
                    schema::VERSION
                );
                connection.execute_batch(&script)?;
            }
            later => {
                let detail = format!(
                    "its version is {later}, and this program knows {}",
                    schema::VERSION
                );
                return Err(StoreError::Damaged(detail));
            }
        }
        wal::make_room(&log);
        Ok(Self {
            connection,
            path: path.to_owned(),
            has_failed: false,
        })
    }
}

impl SqliteStore {
    /// What became of writing. After a failure whose consequences are not known, nothing is written any more.
    fn noted(&mut self, written: rusqlite::Result<()>) -> Result<(), StoreError> {
        written.map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::Full,
            // Another process writes for a long time. Nothing has changed.
            Some(ErrorCode::DatabaseBusy) => StoreError::Busy,
            _ => {
                // A synchronisation that failed may have dropped pages: trying again would hide that.
                self.has_failed = true;
                StoreError::Failed(error.to_string())
            }
        })
    }
}

fn connected(path: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    Ok(connection)
}

impl Store for SqliteStore {
    fn commit(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        if self.has_failed {
            return Err(StoreError::Stopped);
        }
        let committed = write(&mut self.connection, changes).and_then(|()| {
            let erases = |change: &Change| matches!(change, Change::EraseDone { .. });
            if !changes.iter().any(erases) {
                return Ok(());
            }
            // The log has copies of what was erased.
            self.connection
                .pragma(None, "wal_checkpoint", "truncate", |_| Ok(()))?;
            wal::make_room(&self.path.with_extension("db-wal"));
            Ok(())
        });
        self.noted(committed)
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        if self.has_failed {
            return Err(StoreError::Stopped);
        }
        let bytes = i64::from(PROBE_BYTES);
        let written = self
            .connection
            .execute(
                "INSERT INTO probe (bytes) VALUES (zeroblob(?1))",
                params![bytes],
            )
            .and_then(|_| self.connection.execute("DELETE FROM probe", ()));
        self.noted(written.map(drop))
    }

    fn verify(&self) -> Result<(), StoreError> {
        verify::chain(&self.connection)
    }
}

/// The digest of a record's text at its place.
pub(super) fn record_digest(sequence: u64, text: &str) -> Digest {
    digest_of(&[&sequence.to_le_bytes(), text.as_bytes()])
}

/// The number that stands for users or items.
pub(super) fn number(axis: Axis) -> i64 {
    match axis {
        Axis::User => 0,
        Axis::Item => 1,
    }
}

fn parsed(sequence: u64, text: &str) -> Result<Record, StoreError> {
    serde_json::from_str(text)
        .map_err(|error| StoreError::Damaged(format!("record {sequence} is not readable: {error}")))
}

fn stored_event(row: &Row<'_>) -> rusqlite::Result<(StoredEvent, Option<String>)> {
    let event = StoredEvent {
        sequence: row.get::<_, i64>(0)? as u64,
        record: None,
        kind: row.get(2)?,
        content: row.get(3)?,
        received: row.get(4)?,
        deleted_by: row.get::<_, Option<i64>>(5)?.map(|by| by as u64),
    };
    Ok((event, row.get(1)?))
}

fn with_record((event, text): (StoredEvent, Option<String>)) -> Result<StoredEvent, StoreError> {
    let record = text.map(|text| parsed(event.sequence, &text)).transpose()?;
    Ok(StoredEvent { record, ..event })
}

fn catalogue_entry(row: &Row<'_>) -> rusqlite::Result<CatalogueEntry> {
    Ok(CatalogueEntry {
        id: row.get(0)?,
        title: row.get(1)?,
        category: row.get(2)?,
        hidden: row.get(3)?,
    })
}

impl StoreReader for SqliteStore {
    fn reader(&self) -> Result<Box<dyn StoreReader>, StoreError> {
        let connection = connected(&self.path)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(Box::new(Self {
            connection,
            path: self.path.clone(),
            has_failed: true,
        }))
    }

    fn last_sequence(&self) -> Result<u64, StoreError> {
        let last: Option<i64> =
            self.connection
                .query_row("SELECT max(seq) FROM records", (), |row| row.get(0))?;
        Ok(last.unwrap_or(0) as u64)
    }

    fn records(&self, after: u64, limit: usize) -> Result<Vec<(u64, Option<Record>)>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT seq, record, digest FROM records WHERE seq > ?1 ORDER BY seq LIMIT ?2",
        )?;
        let mut rows =
            statement.query(params![after.cast_signed(), (limit as u64).cast_signed()])?;
        let mut records = Vec::new();
        while let Some(row) = rows.next()? {
            let sequence = row.get::<_, i64>(0)? as u64;
            let text: Option<String> = row.get(1)?;
            let digest: Digest = row.get(2)?;
            if let Some(text) = &text
                && record_digest(sequence, text) != digest
            {
                return Err(StoreError::Damaged(format!(
                    "record {sequence} was altered"
                )));
            }
            let record = text.map(|text| parsed(sequence, &text)).transpose()?;
            records.push((sequence, record));
        }
        Ok(records)
    }

    fn event(&self, id: &Digest) -> Result<Option<StoredEvent>, StoreError> {
        let query = format!("{EVENT} WHERE event = ?1");
        let mut statement = self.connection.prepare_cached(&query)?;
        let found = statement.query_row(params![id], stored_event).optional()?;
        found.map(with_record).transpose()
    }

    fn events_of_user(&self, user: &str, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        let query =
            format!("{EVENT} WHERE user = ?1 AND event IS NOT NULL ORDER BY seq DESC LIMIT ?2");
        let mut statement = self.connection.prepare_cached(&query)?;
        let rows =
            statement.query_map(params![user, (limit as u64).cast_signed()], stored_event)?;
        rows.map(|row| with_record(row?)).collect()
    }

    fn events_of_pair(&self, user: &str, item: &str) -> Result<Vec<(u64, Record)>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT seq, record FROM records
             WHERE user = ?1 AND item = ?2 AND record IS NOT NULL AND deleted_by IS NULL ORDER BY seq",
        )?;
        let rows = statement.query_map(params![user, item], |row| {
            Ok((row.get::<_, i64>(0)? as u64, row.get::<_, String>(1)?))
        })?;
        rows.map(|row| {
            let (sequence, text) = row?;
            Ok((sequence, parsed(sequence, &text)?))
        })
        .collect()
    }

    fn newest_events(&self, limit: usize) -> Result<Vec<(i64, String)>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT received, kind FROM records WHERE kind IS NOT NULL ORDER BY seq DESC LIMIT ?1",
        )?;
        let limit = (limit as u64).cast_signed();
        let found = statement.query_map(params![limit], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    fn items_of_kinds(&self, user: &str, kinds: &[String]) -> Result<Vec<String>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT item, kind FROM records WHERE user = ?1 AND item IS NOT NULL AND deleted_by IS NULL",
        )?;
        let mut rows = statement.query(params![user])?;
        let mut items = Vec::new();
        while let Some(row) = rows.next()? {
            let kind: String = row.get(1)?;
            if kinds.contains(&kind) {
                items.push(row.get(0)?);
            }
        }
        Ok(items)
    }

    fn reply(&self, key: &Digest) -> Result<Option<Reply>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT request, body FROM replies WHERE key = ?1")?;
        let found = statement.query_row(params![key], |row| {
            Ok(Reply {
                request: row.get(0)?,
                body: row.get(1)?,
            })
        });
        Ok(found.optional()?)
    }

    fn models(&self) -> Result<Vec<ModelEntry>, StoreError> {
        let mut statement = self
            .connection
            .prepare("SELECT version, source, digest, seq, created FROM models ORDER BY version")?;
        let rows = statement.query_map((), |row| {
            Ok(ModelEntry {
                version: row.get::<_, i64>(0)? as u64,
                source: row.get(1)?,
                digest: row.get(2)?,
                sequence: row.get::<_, i64>(3)? as u64,
                created: row.get(4)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn activations(&self) -> Result<Vec<Activation>, StoreError> {
        let mut statement = self
            .connection
            .prepare("SELECT version, time, roll_back FROM activations ORDER BY at")?;
        let rows = statement.query_map((), |row| {
            Ok(Activation {
                version: row.get::<_, i64>(0)? as u64,
                at: row.get(1)?,
                is_roll_back: row.get(2)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn keys(&self) -> Result<Vec<KeyEntry>, StoreError> {
        let mut statement = self
            .connection
            .prepare("SELECT id, scope, digest, expires FROM keys ORDER BY id")?;
        let rows = statement.query_map((), |row| {
            Ok(KeyEntry {
                id: row.get(0)?,
                scope: row.get(1)?,
                digest: row.get(2)?,
                expires: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn catalogue(
        &self,
        axis: Axis,
        after: &str,
        limit: usize,
    ) -> Result<Vec<CatalogueEntry>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, title, category, hidden FROM catalogue
             WHERE axis = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
        )?;
        let arguments = params![number(axis), after, (limit as u64).cast_signed()];
        let rows = statement.query_map(arguments, catalogue_entry)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn catalogue_entry(&self, axis: Axis, id: &str) -> Result<Option<CatalogueEntry>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, title, category, hidden FROM catalogue WHERE axis = ?1 AND id = ?2",
        )?;
        let found = statement.query_row(params![number(axis), id], catalogue_entry);
        Ok(found.optional()?)
    }

    fn erasures_begun(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let mut statement = self
            .connection
            .prepare("SELECT id, seq FROM erasures WHERE id IS NOT NULL ORDER BY seq")?;
        let rows =
            statement.query_map((), |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn erased_users(&self) -> Result<Vec<Digest>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT user FROM erasures")?;
        let rows = statement.query_map((), |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
