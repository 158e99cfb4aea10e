//! The tables of the database.

/// Version of the tables.
pub(super) const VERSION: i64 = 3;

/// Changes the tables of version 2 into those of version 3: activations say whether they went back.
pub(super) const FROM_2: &str =
    "ALTER TABLE activations ADD COLUMN roll_back INTEGER NOT NULL DEFAULT 0;";

/// Changes the tables of version 1 into those of version 2: replies have numbers and times, so that old
/// ones can be removed.
pub(super) const FROM_1: &str = "
ALTER TABLE replies RENAME TO old_replies;
CREATE TABLE replies (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    key BLOB NOT NULL UNIQUE,
    request BLOB NOT NULL,
    body TEXT NOT NULL,
    received INTEGER NOT NULL
);
INSERT INTO replies (key, request, body, received) SELECT key, request, body, 0 FROM old_replies;
DROP TABLE old_replies;
CREATE TABLE probe (bytes BLOB NOT NULL);
";

/// Creates the tables of version 3.
pub(super) const TABLES: &str = "
CREATE TABLE records (
    seq INTEGER PRIMARY KEY,
    record TEXT,
    digest BLOB NOT NULL,
    event BLOB,
    content BLOB,
    kind TEXT,
    user TEXT,
    item TEXT,
    received INTEGER NOT NULL DEFAULT 0,
    deleted_by INTEGER
);
CREATE UNIQUE INDEX records_by_event ON records (event) WHERE event IS NOT NULL;
CREATE INDEX records_by_user ON records (user, seq) WHERE user IS NOT NULL;
CREATE TABLE batches (last INTEGER PRIMARY KEY, first INTEGER NOT NULL, digest BLOB NOT NULL);
CREATE TABLE replies (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    key BLOB NOT NULL UNIQUE,
    request BLOB NOT NULL,
    body TEXT NOT NULL,
    received INTEGER NOT NULL
);
CREATE TABLE probe (bytes BLOB NOT NULL);
CREATE TABLE erasures (user BLOB PRIMARY KEY, seq INTEGER NOT NULL, id TEXT) WITHOUT ROWID;
CREATE TABLE models (
    version INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    digest TEXT NOT NULL,
    seq INTEGER NOT NULL,
    created INTEGER NOT NULL
);
CREATE TABLE activations (
    at INTEGER PRIMARY KEY AUTOINCREMENT,
    version INTEGER NOT NULL,
    time INTEGER NOT NULL,
    roll_back INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    scope TEXT NOT NULL,
    digest BLOB NOT NULL,
    expires INTEGER
) WITHOUT ROWID;
CREATE TABLE catalogue (
    axis INTEGER NOT NULL,
    id TEXT NOT NULL,
    title TEXT,
    category TEXT,
    hidden INTEGER NOT NULL,
    PRIMARY KEY (axis, id)
) WITHOUT ROWID;
";
