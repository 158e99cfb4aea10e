//! The tables of the database.

/// Version of the tables.
pub(super) const VERSION: i64 = 1;

/// Creates the tables of version 1.
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
CREATE TABLE replies (key BLOB PRIMARY KEY, request BLOB NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE erasures (user BLOB PRIMARY KEY, seq INTEGER NOT NULL, id TEXT) WITHOUT ROWID;
CREATE TABLE models (
    version INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    digest TEXT NOT NULL,
    seq INTEGER NOT NULL,
    created INTEGER NOT NULL
);
CREATE TABLE activations (at INTEGER PRIMARY KEY AUTOINCREMENT, version INTEGER NOT NULL, time INTEGER NOT NULL);
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
