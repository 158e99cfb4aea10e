//! What all parts of the server share.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Instant;

use crate::auth::Keys;
use crate::catalogue::Catalogue;
use crate::jobs::Jobs;
use crate::metrics::Metrics;
use crate::quality::Quality;
use crate::queue::Queue;
use crate::ranking::Pool;
use crate::settings::Settings;
use crate::state::{Command, Folder, Live};
use crate::store::StoreError;

/// What all parts of the server share.
#[derive(Debug)]
pub struct Core {
    /// Kinds of events, limits.
    pub settings: Settings,
    /// Requests for the writing thread.
    pub writes: Queue<Command>,
    /// Requests for the ranking threads.
    pub rankings: Arc<Pool>,
    /// Counters.
    pub metrics: Metrics,
    /// How well events are predicted.
    pub quality: Quality,
    /// How the server is.
    pub status: Status,
    /// Keys of the API.
    pub keys: Keys,
    /// Training and activation in the background.
    pub jobs: Jobs,
    /// The data folder.
    pub folder: Arc<Folder>,
    live: RwLock<Arc<Live>>,
    catalogue: RwLock<Catalogue>,
}

impl Core {
    /// Joins the parts.
    #[must_use]
    pub fn new(
        settings: Settings,
        folder: Arc<Folder>,
        live: Live,
        catalogue: Catalogue,
        keys: Keys,
    ) -> Self {
        let limits = settings.limits;
        Self {
            writes: Queue::new(limits.waiting_writes),
            rankings: Arc::new(Pool::new(limits)),
            metrics: Metrics::default(),
            quality: Quality::default(),
            status: Status::default(),
            jobs: Jobs::default(),
            keys,
            folder,
            live: RwLock::new(Arc::new(live)),
            catalogue: RwLock::new(catalogue),
            settings,
        }
    }

    /// The active model.
    #[must_use]
    pub fn live(&self) -> Arc<Live> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.clone()
    }

    /// Replaces the active model. Nobody waits while the memory of the one before is given back.
    pub(crate) fn replace_live(&self, live: Live) {
        let mut active = self.live.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *active, Arc::new(live));
        drop(active);
        drop(before);
    }

    /// The catalogue.
    pub fn catalogue(&self) -> RwLockReadGuard<'_, Catalogue> {
        self.catalogue
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the catalogue.
    pub(crate) fn change_catalogue(&self, change: impl FnOnce(&mut Catalogue)) {
        let catalogue = self.catalogue.write();
        change(&mut catalogue.unwrap_or_else(PoisonError::into_inner));
    }
}

/// How the server is.
#[derive(Debug)]
pub struct Status {
    started: Instant,
    committed: AtomicU64,
    learned: AtomicU64,
    storage: AtomicU8,
    is_stopping: AtomicBool,
    snapshot_error: Mutex<Option<String>>,
    snapshots: AtomicU64,
}

/// Whether events can be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// They can.
    Writable,
    /// The last one did not fit.
    Full,
    /// Writing failed; nothing is written until the server is started again.
    Failed,
}

impl Default for Status {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            committed: AtomicU64::new(0),
            learned: AtomicU64::new(0),
            storage: AtomicU8::new(0),
            is_stopping: AtomicBool::new(false),
            snapshot_error: Mutex::new(None),
            snapshots: AtomicU64::new(0),
        }
    }
}

impl Status {
    /// Seconds since the start.
    #[must_use]
    pub fn uptime(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// The last record that is stored.
    #[must_use]
    pub fn last_committed(&self) -> u64 {
        self.committed.load(Ordering::Relaxed)
    }

    /// The last record that is learned; the difference to the last one that is stored is the lag.
    #[must_use]
    pub fn last_learned(&self) -> u64 {
        self.learned.load(Ordering::Relaxed)
    }

    /// Whether events can be stored.
    #[must_use]
    pub fn storage(&self) -> Storage {
        match self.storage.load(Ordering::Relaxed) {
            0 => Storage::Writable,
            1 => Storage::Full,
            _ => Storage::Failed,
        }
    }

    /// Whether the server is shutting down.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Number of states that were saved, and what went wrong with the last one.
    #[must_use]
    pub fn snapshots(&self) -> (u64, Option<String>) {
        let error = self
            .snapshot_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        (self.snapshots.load(Ordering::Relaxed), error.clone())
    }

    pub(crate) fn committed(&self, sequence: u64) {
        self.committed.store(sequence, Ordering::Relaxed);
    }

    pub(crate) fn learned(&self, sequence: u64) {
        self.learned.store(sequence, Ordering::Relaxed);
    }

    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn note_commit(&self, committed: &Result<(), StoreError>) {
        let state = match committed {
            Ok(()) => 0,
            // Nothing is known that was not known before.
            Err(StoreError::Busy) => return,
            Err(StoreError::Full) => 1,
            Err(_) => 2,
        };
        self.storage.store(state, Ordering::Relaxed);
    }

    pub(crate) fn saved(&self, saved: Result<(), String>) {
        let mut error = self
            .snapshot_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if saved.is_ok() {
            self.snapshots.fetch_add(1, Ordering::Relaxed);
        }
        *error = saved.err();
    }
}
