//! The active model: what it has learned, the index of its items, and the items changed since.

use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use absentia::error::Axis;
use absentia::ranking::{ChangedItems, IndexedItems};
use absentia_online::{LearnError, Learner, Record};

use super::folder::apply;

/// A model at one sequence number.
#[derive(Debug)]
pub struct State {
    /// The model with its ids.
    pub learner: Learner,
    /// The last record that it has learned.
    pub sequence: u64,
    index: Arc<IndexedItems>,
    /// Items that differ from the index, rising.
    changed: Vec<u32>,
    /// Copies of them as they are now, once a list has needed them.
    changed_items: OnceLock<Arc<ChangedItems>>,
    /// Those that changed since items were copied for the next index, if one is made.
    changed_since_copy: Option<Vec<u32>>,
}

impl State {
    /// Makes the index of a model that has learned up to a record.
    #[must_use]
    pub fn new(learner: Learner, sequence: u64) -> Self {
        Self {
            index: Arc::new(learner.online().index_items()),
            learner,
            sequence,
            changed: Vec::new(),
            changed_items: OnceLock::new(),
            changed_since_copy: None,
        }
    }

    /// Learns a record; one that is rejected changes nothing but the sequence number.
    ///
    /// # Errors
    /// What the model rejects.
    pub fn learn(&mut self, sequence: u64, record: &Record) -> Result<(), LearnError> {
        self.sequence = sequence;
        self.changed_items.take();
        let online = self.learner.online();
        let touched: Vec<u32> = match record {
            Record::Erase { user } => match self.learner.row(Axis::User, user) {
                Ok(row) => online.columns(Axis::User, row).to_vec(),
                Err(_) => Vec::new(),
            },
            Record::Refit { .. } => (0..online.n_rows(Axis::Item) as u32).collect(),
            _ => Vec::new(),
        };
        apply(&mut self.learner, record)?;
        let item = match record {
            Record::Insert { item, .. }
            | Record::Expose { item, .. }
            | Record::Remove { item, .. } => self.learner.find(Axis::Item, item),
            _ => None,
        };
        for item in touched.into_iter().chain(item) {
            mark(&mut self.changed, item);
            if let Some(changed) = &mut self.changed_since_copy {
                mark(changed, item);
            }
        }
        Ok(())
    }

    /// Whether a user has interacted with an item.
    #[must_use]
    pub fn has_taken(&self, user: &str, item: &str) -> bool {
        let rows = (
            self.learner.row(Axis::User, user),
            self.learner.row(Axis::Item, item),
        );
        match rows {
            (Ok(user), Ok(item)) => self.learner.online().seen(user).any(|seen| seen == item),
            _ => false,
        }
    }

    /// The index, and copies of the items that differ from it: what lists of this moment are made from.
    #[must_use]
    pub fn ranked_items(&self) -> (Arc<IndexedItems>, Arc<ChangedItems>) {
        let changed = self.changed_items.get_or_init(|| {
            let online = self.learner.online();
            Arc::new(online.changed_items(&self.index, &self.changed))
        });
        (self.index.clone(), changed.clone())
    }

    /// Number of items that differ from the index.
    #[must_use]
    pub fn n_changed(&self) -> usize {
        self.changed.len()
    }

    /// Remembers from now on what changes, for an index of the present items.
    pub(super) fn copy_begun(&mut self) {
        self.changed_since_copy = Some(Vec::new());
    }

    /// Takes an index of the items as they were when the copy was begun; yields the one before. Giving back
    /// its memory takes milliseconds, in which nobody should hold the lock.
    #[must_use]
    pub(super) fn take_index(&mut self, index: Arc<IndexedItems>) -> Arc<IndexedItems> {
        match self.changed_since_copy.take() {
            Some(changed) => {
                self.changed = changed;
                self.changed_items.take();
                std::mem::replace(&mut self.index, index)
            }
            None => index,
        }
    }
}

fn mark(changed: &mut Vec<u32>, item: u32) {
    if let Err(place) = changed.binary_search(&item) {
        changed.insert(place, item);
    }
}

/// The active model, which many threads read and one changes.
#[derive(Debug)]
pub struct Live {
    /// Its number in the register.
    pub version: u64,
    state: RwLock<State>,
}

impl Live {
    /// Makes a state readable.
    #[must_use]
    pub fn new(version: u64, state: State) -> Self {
        Self {
            version,
            state: RwLock::new(state),
        }
    }

    /// The state, which does not change while the guard exists. Ranking threads and the writer alone take
    /// it, and no thread twice at a time.
    pub fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}
