//! The active model: what it has learned, the index of its items, shortlists of its users, and what has changed since.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use absentia::error::Axis;
use absentia::ranking::{ChangedItems, IndexedItems, Shortlists};
use absentia_online::{LearnError, Learner, Record};

use super::folder::apply;
use super::prepared::{ChangedUsers, Prepared, Renewed};

/// Rows whose factors have changed since some moment.
#[derive(Debug, Default)]
struct Changes {
    /// Items, rising.
    items: Vec<u32>,
    users: Users,
}

#[derive(Debug)]
enum Users {
    Some(HashSet<u32>),
    All,
}

impl Default for Users {
    fn default() -> Self {
        Self::Some(HashSet::new())
    }
}

/// A model at one sequence number.
#[derive(Debug)]
pub struct State {
    /// The model with its ids.
    pub learner: Learner,
    /// The last record that it has learned.
    pub sequence: u64,
    index: Arc<IndexedItems>,
    shortlists: Option<Shortlists>,
    /// Whether every user who was to get a shortlist has one.
    has_all_shortlists: bool,
    /// The most shortlists that there may be.
    most_shortlists: usize,
    /// What differs from what is prepared: of the users only those who may have a shortlist.
    changes: Changes,
    /// Copies of the items that differ, as they are now.
    changed_items: Arc<ChangedItems>,
    /// What has changed since the rows were copied for the next index, if one is made.
    changes_since_copy: Option<Changes>,
    /// Users who have changed since rows were copied for new shortlists, if some are made.
    changed_since_renewal: Option<Users>,
}

impl State {
    /// Makes the index of a model that has learned up to a record. Shortlists follow in the background.
    #[must_use]
    pub fn new(learner: Learner, sequence: u64) -> Self {
        let index = learner.online().index_items();
        let changed_items = learner.online().changed_items(&index, &[]);
        Self {
            index: Arc::new(index),
            shortlists: None,
            has_all_shortlists: false,
            most_shortlists: 0,
            learner,
            sequence,
            changes: Changes::default(),
            changed_items: Arc::new(changed_items),
            changes_since_copy: None,
            changed_since_renewal: None,
        }
    }

    /// Learns a record; one that is rejected changes nothing but the sequence number, and may leave a new item without
    /// interactions.
    ///
    /// # Errors
    /// What the model rejects.
    pub fn learn(&mut self, sequence: u64, record: &Record) -> Result<(), LearnError> {
        self.sequence = sequence;
        let mut changes = self.erased_or_refit(record);
        let before = self.learner.online().n_rows(Axis::Item) as u32;
        let applied = apply(&mut self.learner, record);
        // Even a record that is rejected may have brought a new item.
        changes
            .items
            .extend(before..self.learner.online().n_rows(Axis::Item) as u32);
        if applied.is_ok()
            && let Record::Insert { user, item, .. }
            | Record::Expose { user, item, .. }
            | Record::Remove { user, item, .. } = record
        {
            changes.items.extend(self.learner.find(Axis::Item, item));
            changes.add_user(self.learner.find(Axis::User, user));
        }
        if let Some(since_copy) = &mut self.changes_since_copy {
            since_copy.add(&changes);
        }
        changes.users.retain(|user| self.may_have_shortlist(user));
        if let Some(since_renewal) = &mut self.changed_since_renewal {
            since_renewal.add(&changes.users);
        }
        self.changes.add(&changes);
        self.copy_changed(&changes);
        applied
    }

    /// Copies items that have just changed. Whoever ranks at this moment keeps the copies of before.
    fn copy_changed(&mut self, changes: &Changes) {
        let online = self.learner.online();
        if let Users::All = changes.users {
            let copies = online.changed_items(&self.index, &self.changes.items);
            self.changed_items = Arc::new(copies);
        } else if !changes.items.is_empty() {
            let copies = Arc::make_mut(&mut self.changed_items);
            for &item in &changes.items {
                online.copy_changed(&self.index, copies, item);
            }
        }
    }

    /// The rows that a record changes beside those of a pair, which are known before it is learned.
    fn erased_or_refit(&self, record: &Record) -> Changes {
        let online = self.learner.online();
        let mut changes = Changes::default();
        match record {
            Record::Erase { user } => {
                if let Ok(row) = self.learner.row(Axis::User, user) {
                    changes.items = online.columns(Axis::User, row).to_vec();
                    changes.add_user(Some(row));
                }
            }
            Record::Refit { .. } => {
                changes.items = (0..online.n_rows(Axis::Item) as u32).collect();
                changes.users = Users::All;
            }
            _ => {}
        }
        changes
    }

    /// Whether a user has interacted with an item.
    #[must_use]
    pub fn has_taken(&self, user: &str, item: &str) -> bool {
        let rows = (
            self.learner.row(Axis::User, user),
            self.learner.row(Axis::Item, item),
        );
        match rows {
            (Ok(user), Ok(item)) => self.learner.online().has_seen(user, item),
            _ => false,
        }
    }

    /// The index, and copies of the items that differ from it: what lists of this moment are made from.
    #[must_use]
    pub fn ranked_items(&self) -> (Arc<IndexedItems>, Arc<ChangedItems>) {
        (self.index.clone(), self.changed_items.clone())
    }

    /// Shortlists by the index, if some were made.
    #[must_use]
    pub fn shortlists(&self) -> Option<(&Shortlists, &ChangedItems)> {
        let shortlists = self.shortlists.as_ref()?;
        Some((shortlists, &self.changed_items))
    }

    /// Whether a user has not changed since the shortlist of the user was made: the list of the user, if there is one, is of the
    /// present factors and seen items.
    #[must_use]
    pub fn is_unchanged(&self, user: u32) -> bool {
        match &self.changes.users {
            Users::Some(changed) => !changed.contains(&user),
            Users::All => false,
        }
    }

    /// Number of items that differ from the index.
    #[must_use]
    pub fn n_changed(&self) -> usize {
        self.changes.items.len()
    }

    /// Number of items that have changed since the rows were copied for the next index.
    pub(super) fn n_changed_since_copy(&self) -> usize {
        let since_copy = self.changes_since_copy.as_ref();
        since_copy.map_or(0, |changes| changes.items.len())
    }

    /// Whether users have changed since their shortlists were made, but not all.
    pub(super) fn has_lists_to_renew(&self) -> bool {
        let some_changed = matches!(&self.changes.users, Users::Some(users) if !users.is_empty());
        self.has_shortlists() && some_changed
    }

    /// Whether shortlists were made.
    pub(super) fn has_shortlists(&self) -> bool {
        self.shortlists.is_some()
    }

    /// Whether shortlists were made of all users that were to get one.
    pub(super) fn has_all_shortlists(&self) -> bool {
        self.has_shortlists() && self.has_all_shortlists
    }

    /// Remembers from now on what changes, for an index of the present rows.
    pub(super) fn copy_begun(&mut self) {
        self.changes_since_copy = Some(Changes::default());
    }

    /// Copies of the items that have changed since the rows were copied from which something was prepared.
    pub(super) fn changed_since_copy(&self, prepared: &Prepared) -> Option<Arc<ChangedItems>> {
        let changes = self.changes_since_copy.as_ref()?;
        let online = self.learner.online();
        let copies = online.changed_items(&prepared.index, &changes.items);
        Some(Arc::new(copies))
    }

    /// Takes what was prepared, and the items that have changed since; yields what was there before. Giving back its memory
    /// takes milliseconds, in which nobody should hold the lock.
    #[must_use]
    pub(super) fn take_prepared(
        &mut self,
        prepared: Prepared,
        changed: Arc<ChangedItems>,
    ) -> Replaced {
        let replaced = Replaced {
            _index: std::mem::replace(&mut self.index, prepared.index),
            _shortlists: std::mem::replace(&mut self.shortlists, prepared.shortlists),
            _changed: std::mem::replace(&mut self.changed_items, changed),
        };
        self.has_all_shortlists = prepared.is_complete;
        self.most_shortlists = prepared.most;
        let mut changes = self.changes_since_copy.take().unwrap_or_default();
        changes.users.retain(|user| self.may_have_shortlist(user));
        self.changes = changes;
        replaced
    }

    /// Whether a user has a shortlist, or there is room for one more.
    fn may_have_shortlist(&self, user: u32) -> bool {
        let may_have = |lists: &Shortlists| lists.has(user) || lists.len() < self.most_shortlists;
        self.shortlists.as_ref().is_some_and(may_have)
    }

    /// At most some of the users who have changed since their shortlists were made, as many as there is room for. From now
    /// on it is remembered who changes again.
    pub(super) fn begin_renewal(&mut self, most: usize) -> Vec<u32> {
        self.changed_since_renewal = Some(Users::default());
        let (Some(lists), Users::Some(changed)) = (&self.shortlists, &mut self.changes.users)
        else {
            return Vec::new();
        };
        let mut room = self.most_shortlists.saturating_sub(lists.len());
        changed.retain(|&user| {
            let is_new = !lists.has(user);
            let fits = !is_new || room > 0;
            room -= usize::from(is_new && fits);
            fits
        });
        changed.iter().copied().take(most).collect()
    }

    /// Copies the rows of users for new shortlists.
    pub(super) fn changed_users(&self, users: Vec<u32>) -> ChangedUsers {
        ChangedUsers::copy(self.learner.online(), self.index.clone(), users)
    }

    /// Takes new shortlists of users, unless there is another index now. Users who have changed again keep the note.
    pub(super) fn take_renewed(&mut self, renewed: &Renewed) {
        let again = self.changed_since_renewal.take().unwrap_or_default();
        let (Some(shortlists), Users::Some(changed), Users::Some(again)) =
            (&mut self.shortlists, &mut self.changes.users, again)
        else {
            return;
        };
        if Arc::ptr_eq(&self.index, &renewed.index) && shortlists.take(&renewed.shortlists).is_ok()
        {
            for user in &renewed.users {
                if !again.contains(user) {
                    changed.remove(user);
                }
            }
        }
    }
}

/// What was there before something new was prepared.
pub(super) struct Replaced {
    _index: Arc<IndexedItems>,
    _shortlists: Option<Shortlists>,
    _changed: Arc<ChangedItems>,
}

impl Changes {
    fn add_user(&mut self, user: Option<u32>) {
        if let Users::Some(users) = &mut self.users {
            users.extend(user);
        }
    }

    fn add(&mut self, more: &Changes) {
        for &item in &more.items {
            if let Err(place) = self.items.binary_search(&item) {
                self.items.insert(place, item);
            }
        }
        self.users.add(&more.users);
    }
}

impl Users {
    fn retain(&mut self, is_kept: impl Fn(u32) -> bool) {
        if let Self::Some(users) = self {
            users.retain(|&user| is_kept(user));
        }
    }

    fn add(&mut self, more: &Self) {
        match (&mut *self, more) {
            (Users::Some(users), Users::Some(more)) => users.extend(more),
            (users, _) => *users = Users::All,
        }
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

    /// The state, which does not change while the guard exists. Ranking threads, jobs and the writer take it, and no thread
    /// twice at a time.
    pub fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, unless the writer has it or waits for it: threads that must not wait take it so.
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, State>> {
        match self.state.try_read() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(state)) => Some(state.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}
