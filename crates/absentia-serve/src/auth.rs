//! Keys of the API: made once, stored as digests, compared in constant time, each with a scope.
//!
//! A key is `absk_ID_SECRET`. The id is not secret and finds the entry; of the secret only the digest is
//! stored. Without a key, requests are accepted on a loopback address if they name a loopback host, so that
//! a page of another origin cannot reach the server under a name of its own.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use subtle::ConstantTimeEq;

use crate::clock::now_ms;
use crate::store::{Change, KeyEntry, Store, StoreError, StoreReader, digest_of, hex};

/// What a key allows; each scope allows what those before it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Recommendations, look-ups, metrics.
    Read,
    /// Events, catalogue, erasing users.
    Write,
    /// Models.
    Admin,
}

impl Scope {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    /// The scope of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Read, Self::Write, Self::Admin]
            .into_iter()
            .find(|scope| scope.name() == name)
    }
}

/// Who sent a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Id of the key; empty without one.
    pub key: String,
    /// What is allowed.
    pub scope: Scope,
}

/// Why a key was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no such key, or its secret is another one.
    Unknown,
    /// It has expired.
    Expired,
}

/// The keys in memory.
#[derive(Debug, Default)]
pub struct Keys {
    entries: RwLock<HashMap<String, KeyEntry>>,
}

impl Keys {
    /// Reads all keys; also while the server runs, because keys can be made by another process.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn load(&self, store: &dyn StoreReader) -> Result<(), StoreError> {
        let keys = store.keys()?.into_iter().map(|key| (key.id.clone(), key));
        *self.entries.write().unwrap_or_else(PoisonError::into_inner) = keys.collect();
        Ok(())
    }

    /// Whether there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.is_empty()
    }

    /// Whose key this is.
    ///
    /// # Errors
    /// A key that is not accepted.
    pub fn check(&self, text: &str) -> Result<Principal, Refused> {
        let parts = text
            .strip_prefix("absk_")
            .and_then(|rest| rest.split_once('_'));
        let (id, secret) = parts.unwrap_or(("", ""));
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get(id);
        // An unknown id takes as long as a wrong secret.
        let expected = entry.map_or([0; 32], |entry| entry.digest);
        let is_equal: bool = secret_digest(secret).ct_eq(&expected).into();
        let Some(entry) = entry.filter(|_| is_equal) else {
            return Err(Refused::Unknown);
        };
        if entry.expires.is_some_and(|expires| expires <= now_ms()) {
            return Err(Refused::Expired);
        }
        Ok(Principal {
            key: entry.id.clone(),
            scope: Scope::parse(&entry.scope).ok_or(Refused::Unknown)?,
        })
    }
}

fn secret_digest(secret: &str) -> [u8; 32] {
    digest_of(&[b"key", secret.as_bytes()])
}

/// Makes a key that expires after some days, stores its digest and yields its text, which is shown once.
///
/// # Errors
/// The database cannot be written, or the machine has no random numbers.
pub fn new_key(
    store: &mut dyn Store,
    scope: Scope,
    days: Option<u32>,
) -> Result<String, StoreError> {
    let mut random = [0; 40];
    getrandom::fill(&mut random)
        .map_err(|error| StoreError::Failed(format!("no random numbers: {error}")))?;
    let (id, secret) = (hex(&random[..8]), hex(&random[8..]));
    let key = KeyEntry {
        digest: secret_digest(&secret),
        scope: scope.name().to_owned(),
        expires: days.map(|days| now_ms() + i64::from(days) * 86_400_000),
        id: id.clone(),
    };
    store.commit(&[Change::Key(key)])?;
    Ok(format!("absk_{id}_{secret}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::SqliteStore;

    #[test]
    fn a_key_is_known_by_its_secret_alone_and_expires() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.db");
        let mut store = SqliteStore::open(&path, 0).unwrap();
        let (write, expired) = (
            new_key(&mut store, Scope::Write, None).unwrap(),
            new_key(&mut store, Scope::Admin, Some(0)).unwrap(),
        );
        let keys = Keys::default();
        assert!(keys.is_empty());
        keys.load(&store).unwrap();
        assert_eq!(keys.check(&write).map(|p| p.scope), Ok(Scope::Write));
        assert_eq!(keys.check(&expired), Err(Refused::Expired));
        let mut other = write.clone();
        other.pop();
        for wrong in [
            "",
            "absk_",
            "absk__",
            &other,
            &write[..20],
            &format!("{write}0"),
        ] {
            assert_eq!(keys.check(wrong), Err(Refused::Unknown), "{wrong}");
        }
        let stored = std::fs::read(&path).unwrap();
        let wal = std::fs::read(path.with_extension("db-wal")).unwrap();
        let secret = write.rsplit('_').next().unwrap().as_bytes();
        for bytes in [stored, wal] {
            assert!(!bytes.windows(secret.len()).any(|window| window == secret));
        }
    }
}
