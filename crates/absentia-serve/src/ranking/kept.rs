//! Lists that were sent and are still right: a request that comes again is answered without ranking.
//!
//! A list is kept as the bytes of its answer, with the number of changes to the model and the catalogue when
//! it was begun. It is sent again while this number is the same: then ranking would give the same bytes.
//! Whoever changes something that lists are made from says so ([`changed`](KeptLists::changed)) after the
//! change can be seen and before it is acknowledged.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

/// Bytes that an entry takes beside its texts, roughly.
const ENTRY: usize = 128;

/// Lists that were sent, up to a number of bytes.
#[derive(Debug)]
pub struct KeptLists {
    changes: AtomicU64,
    hits: AtomicU64,
    lists: Mutex<Generations>,
    /// Bytes of one generation at most; nothing is kept if 0.
    limit: usize,
}

/// Lists by their request. When the younger generation is full, it becomes the older one, whose lists go unless
/// they were sent again since.
#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Box<str>, Kept>,
    old: HashMap<Box<str>, Kept>,
    /// Bytes of the younger one.
    bytes: usize,
}

#[derive(Clone, Debug)]
struct Kept {
    changes: u64,
    body: Bytes,
}

impl KeptLists {
    /// Keeps lists of some bytes in all.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        Self {
            changes: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            lists: Mutex::default(),
            limit: usize::try_from(bytes / 2).unwrap_or(usize::MAX),
        }
    }

    /// Notes that lists may be others from now on.
    pub fn changed(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// What a list that is begun now is kept with.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// Number of lists that were sent again.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// The list of a request, if nothing has changed since it was made.
    #[must_use]
    pub fn get(&self, request: &str) -> Option<Bytes> {
        if self.limit == 0 {
            return None;
        }
        let body = self.lists().get(request, self.changes(), self.limit)?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(body)
    }

    /// Keeps the list of a request that was begun at a number of changes.
    pub fn keep(&self, request: &str, changes: u64, body: &Bytes) {
        // What has changed meanwhile would never be sent.
        if self.limit > 0 && changes == self.changes() {
            let body = body.clone();
            self.lists()
                .put(request.into(), Kept { changes, body }, self.limit);
        }
    }

    fn lists(&self) -> std::sync::MutexGuard<'_, Generations> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn get(&mut self, request: &str, changes: u64, limit: usize) -> Option<Bytes> {
        if let Some(kept) = self.young.get(request) {
            return (kept.changes == changes).then(|| kept.body.clone());
        }
        let (request, kept) = self.old.remove_entry(request)?;
        if kept.changes != changes {
            return None;
        }
        let body = kept.body.clone();
        self.put(request, kept, limit);
        Some(body)
    }

    fn put(&mut self, request: Box<str>, kept: Kept, limit: usize) {
        let size = ENTRY + request.len();
        let bytes = size + kept.body.len();
        if bytes > limit {
            return;
        }
        if let Some(before) = self.young.insert(request, kept) {
            self.bytes -= size + before.body.len();
        }
        self.bytes += bytes;
        if self.bytes > limit {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_sent_again_until_something_changes() {
        let kept = KeptLists::new(1 << 16);
        let (begun, body) = (kept.changes(), Bytes::from_static(b"list"));
        assert_eq!(kept.get("/a"), None);
        kept.keep("/a", begun, &body);
        assert_eq!((kept.get("/a"), kept.hits()), (Some(body.clone()), 1));
        kept.changed();
        assert_eq!(kept.get("/a"), None);
        // Begun before the change: nobody knows what it was made from.
        kept.keep("/a", begun, &body);
        assert_eq!(kept.get("/a"), None);
        kept.keep("/a", kept.changes(), &body);
        assert_eq!(kept.get("/a"), Some(body.clone()));
        let none = KeptLists::new(0);
        none.keep("/a", none.changes(), &body);
        assert_eq!(none.get("/a"), None);
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_is_sent_again_stays_longest() {
        let (limit, body) = (20_000, Bytes::from(vec![7; 100]));
        let kept = KeptLists::new(limit);
        kept.keep("/often", 0, &body);
        for at in 0..1000 {
            kept.keep(&format!("/{at}"), 0, &body);
            assert!(kept.get("/often").is_some(), "{at}");
            let lists = kept.lists();
            let all = lists.young.iter().chain(&lists.old);
            let bytes: usize = all
                .map(|(key, kept)| ENTRY + key.len() + kept.body.len())
                .sum();
            assert!(bytes <= limit as usize + 300, "{bytes}");
        }
        assert!(kept.get("/999").is_some() && kept.get("/0").is_none());
        kept.keep("/huge", 0, &Bytes::from(vec![7; 30_000]));
        assert_eq!(kept.get("/huge"), None);
    }
}
