//! Where events, the catalogue, keys and the register of models are stored.
//!
//! The traits are all that the server needs of a database: [`StoreReader`] looks things up, [`Store`] also
//! commits. A commit is a list of [`Change`]s that become visible and safe from a crash together. There is
//! one `SQLite` implementation, [`SqliteStore`].
//!
//! Records have sequence numbers without gaps. A record is stored with the digest of its text; the records
//! of a commit are a batch, whose digest is that of the batch before it and of its records' digests. When a
//! user is erased, the texts of the user's records are removed and their digests stay, so that the chain can
//! still be checked.

mod activations;
mod digest;
mod erase;
mod reply;
mod schema;
mod sqlite;
mod verify;
mod wal;
mod write;

pub use activations::{Activation, version_before};
pub use digest::{Digest, chained, digest_of, hex};
pub use reply::{EventOutcome, EventStatus, EventsReply, given_id, is_given};
pub use sqlite::SqliteStore;

use absentia::error::Axis;
use absentia_online::Record;
use serde::{Deserialize, Serialize};

/// Why the database was not read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No room on the disk, or the limit of the database is reached. Nothing was changed.
    #[error("the disk or the database is full")]
    Full,
    /// Writing failed, and the state of the file is not known: nothing is written any more.
    #[error("writing to the database failed: {0}")]
    Failed(String),
    /// Another process writes to the database. Nothing was changed.
    #[error("another process writes to the database")]
    Busy,
    /// Writing failed before.
    #[error("writing to the database failed before")]
    Stopped,
    /// Contents that were altered.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// Anything else that `SQLite` says.
    #[error("the database: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

/// What is known of the event that a record came from.
#[derive(Clone, Debug, PartialEq)]
pub struct EventColumns {
    /// Digest of the event's id.
    pub id: Digest,
    /// Digest of the event as it was sent.
    pub content: Digest,
    /// Kind.
    pub kind: String,
    /// User.
    pub user: String,
    /// Item.
    pub item: String,
    /// When it was received, in milliseconds of unix time by the server's clock; for display.
    pub received: i64,
}

/// A stored event.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvent {
    /// Its sequence number.
    pub sequence: u64,
    /// The record; none if its user was erased.
    pub record: Option<Record>,
    /// Kind.
    pub kind: Option<String>,
    /// Digest of the event as it was sent; none if its user was erased.
    pub content: Option<Digest>,
    /// When it was received.
    pub received: i64,
    /// The record that removed it.
    pub deleted_by: Option<u64>,
}

/// The answer to a request with an `Idempotency-Key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Digest of the request.
    pub request: Digest,
    /// Body of the answer.
    pub body: String,
}

/// A model in the register.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelEntry {
    /// Its number, from 1.
    pub version: u64,
    /// Where it came from, in words.
    pub source: String,
    /// Digest of the file it was made from; empty if it was trained here.
    pub digest: String,
    /// The last record that its file has learned.
    pub sequence: u64,
    /// When it was registered, in milliseconds of unix time.
    pub created: i64,
}

/// A key of the API, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyEntry {
    /// The part that is not secret.
    pub id: String,
    /// What it allows.
    pub scope: String,
    /// Digest of the secret.
    pub digest: Digest,
    /// When it expires, in milliseconds of unix time.
    pub expires: Option<i64>,
}

/// A user or item as people know it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueEntry {
    /// Id.
    pub id: String,
    /// Title or name.
    #[serde(default)]
    pub title: Option<String>,
    /// Category.
    #[serde(default)]
    pub category: Option<String>,
    /// Whether it is never recommended.
    #[serde(default)]
    pub hidden: bool,
}

/// One part of a commit.
#[derive(Clone, Debug)]
pub enum Change {
    /// Appends a record; sequence numbers rise by one.
    Append {
        /// Its sequence number.
        sequence: u64,
        /// The record.
        record: Record,
        /// The event it came from.
        event: Option<EventColumns>,
    },
    /// Remembers the answer to a request.
    Reply {
        /// Digest of the key.
        key: Digest,
        /// Request and answer.
        reply: Reply,
        /// When it was received, in milliseconds of unix time.
        received: i64,
        /// Earlier answers may be removed.
        keep_after: i64,
    },
    /// Marks an event as removed.
    Deleted {
        /// Its sequence number.
        sequence: u64,
        /// The record that removed it.
        by: u64,
    },
    /// Remembers that a user is to be erased.
    EraseBegun {
        /// Id of the user.
        user: String,
        /// The record that erases.
        sequence: u64,
    },
    /// Removes the texts of a user's records up to the one that erases, the ids of the user's events in stored
    /// answers, and the user's catalogue entry.
    EraseDone {
        /// Id of the user.
        user: String,
        /// The record that erases.
        sequence: u64,
    },
    /// Registers a model.
    Model(ModelEntry),
    /// Makes a model the active one.
    Activate(Activation),
    /// Adds or replaces a catalogue entry.
    Catalogue(Axis, CatalogueEntry),
    /// Adds a key.
    Key(KeyEntry),
}

/// Looks things up.
pub trait StoreReader: Send {
    /// A connection for another thread, which sees what was committed.
    ///
    /// # Errors
    /// The database cannot be opened.
    fn reader(&self) -> Result<Box<dyn StoreReader>, StoreError>;

    /// The number of the last record; 0 if there is none.
    ///
    /// # Errors
    /// The database cannot be read.
    fn last_sequence(&self) -> Result<u64, StoreError>;

    /// Up to `limit` records after a number; none for those whose user was erased.
    ///
    /// # Errors
    /// The database cannot be read, or a text is not that of its digest.
    fn records(&self, after: u64, limit: usize) -> Result<Vec<(u64, Option<Record>)>, StoreError>;

    /// The event of an id.
    ///
    /// # Errors
    /// The database cannot be read.
    fn event(&self, id: &Digest) -> Result<Option<StoredEvent>, StoreError>;

    /// The newest events of a user, newest first.
    ///
    /// # Errors
    /// The database cannot be read.
    fn events_of_user(&self, user: &str, limit: usize) -> Result<Vec<StoredEvent>, StoreError>;

    /// The events of a user and an item that were not removed, oldest first, with their sequence numbers.
    ///
    /// # Errors
    /// The database cannot be read.
    fn events_of_pair(&self, user: &str, item: &str) -> Result<Vec<(u64, Record)>, StoreError>;

    /// When the newest events were received, in milliseconds of unix time, and their kinds; newest first.
    ///
    /// # Errors
    /// The database cannot be read.
    fn newest_events(&self, limit: usize) -> Result<Vec<(i64, String)>, StoreError>;

    /// Items of a user's events of some kinds.
    ///
    /// # Errors
    /// The database cannot be read.
    fn items_of_kinds(&self, user: &str, kinds: &[String]) -> Result<Vec<String>, StoreError>;

    /// The answer to an earlier request.
    ///
    /// # Errors
    /// The database cannot be read.
    fn reply(&self, key: &Digest) -> Result<Option<Reply>, StoreError>;

    /// All models, oldest first.
    ///
    /// # Errors
    /// The database cannot be read.
    fn models(&self) -> Result<Vec<ModelEntry>, StoreError>;

    /// Activations in their order; the model of the last one is active.
    ///
    /// # Errors
    /// The database cannot be read.
    fn activations(&self) -> Result<Vec<Activation>, StoreError>;

    /// All keys.
    ///
    /// # Errors
    /// The database cannot be read.
    fn keys(&self) -> Result<Vec<KeyEntry>, StoreError>;

    /// Catalogue entries whose ids come after `after`, by id.
    ///
    /// # Errors
    /// The database cannot be read.
    fn catalogue(
        &self,
        axis: Axis,
        after: &str,
        limit: usize,
    ) -> Result<Vec<CatalogueEntry>, StoreError>;

    /// One catalogue entry.
    ///
    /// # Errors
    /// The database cannot be read.
    fn catalogue_entry(&self, axis: Axis, id: &str) -> Result<Option<CatalogueEntry>, StoreError>;

    /// Users whose erasure has begun and is not done, with the records that erase them.
    ///
    /// # Errors
    /// The database cannot be read.
    fn erasures_begun(&self) -> Result<Vec<(String, u64)>, StoreError>;

    /// Digests of the ids of erased users.
    ///
    /// # Errors
    /// The database cannot be read.
    fn erased_users(&self) -> Result<Vec<Digest>, StoreError>;
}

/// A database with one writer.
pub trait Store: StoreReader {
    /// Makes changes visible and safe from a crash, all or none.
    ///
    /// # Errors
    /// [`StoreError::Full`] and [`StoreError::Busy`]: nothing has changed, and later commits may succeed.
    /// After any other error nothing is written any more.
    fn commit(&mut self, changes: &[Change]) -> Result<(), StoreError>;

    /// Writes something and removes it, to see whether there is room again after [`StoreError::Full`].
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    fn probe(&mut self) -> Result<(), StoreError>;

    /// Checks every digest.
    ///
    /// # Errors
    /// Damage, with the first record that shows it.
    fn verify(&self) -> Result<(), StoreError>;
}

/// The digest of a user's id, by which an erased user is known.
#[must_use]
pub fn user_digest(user: &str) -> Digest {
    digest_of(&[b"user", user.as_bytes()])
}
