//! What lists are made from, prepared beside the writer: an index of the items, shortlists of users, and those of users who
//! have changed since.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use absentia::Dense;
use absentia::error::Axis;
use absentia::online::Online;
use absentia::ranking::{IndexedItems, ItemLists, RankError, Shortlists};

/// Items of a shortlist: enough for a list of the usual length after some of them have changed.
const DEPTH: usize = 64;
/// Users that are ranked together.
const TOGETHER: usize = 4096;

/// An index of the items and the best items of many users, both of one moment.
#[derive(Debug)]
pub struct Prepared {
    /// The index.
    pub index: Arc<IndexedItems>,
    /// The best items of users, without those that they had seen; none if they were not made, or nobody is to get one.
    pub shortlists: Option<Shortlists>,
    /// Whether every user who was to get a shortlist has one.
    pub is_complete: bool,
    /// The most shortlists that there may be.
    pub most: usize,
}

/// Copies of the rows of a model from which lists are prepared. They are made in parts while the model learns: what
/// changes meanwhile counts as changed since the first part.
pub(super) struct Rows {
    /// The most shortlists that there may be.
    most: usize,
    n_items: usize,
    items: Dense,
    item_scales: Option<Vec<f32>>,
    /// Users that get a shortlist.
    users: Vec<u32>,
    of_users: UserRows,
}

/// Factors of users and what they have seen.
struct UserRows {
    factors: Dense,
    seen: Vec<Vec<u32>>,
}

/// Copies of the rows of users who have changed since their shortlists were made.
pub(super) struct ChangedUsers {
    index: Arc<IndexedItems>,
    users: Vec<u32>,
    rows: UserRows,
}

/// New shortlists of users who had changed.
pub(super) struct Renewed {
    /// What they were made from.
    pub(super) index: Arc<IndexedItems>,
    pub(super) shortlists: Shortlists,
    pub(super) users: Vec<u32>,
}

impl Prepared {
    /// Bytes of the shortlists of a model, and of the rows that they are made from.
    pub(crate) fn bytes_of_shortlists(online: &Online, limit: u64) -> (u64, u64) {
        let users = listed_users(online, limit);
        let row = 4 * online.factors(Axis::User).cols() as u64;
        // Lists of what was seen grow by doubling, and each is a vector.
        let seen = if users > 0 { 8 * online.n_entries() } else { 0 };
        let users = users as u64;
        let row = row + 64;
        (users * Shortlists::bytes_of_one(DEPTH), users * row + seen)
    }
}

/// Number of users whose shortlists take at most some bytes.
fn listed_users(online: &Online, limit: u64) -> usize {
    most_lists(limit).min(online.n_rows(Axis::User))
}

/// Number of shortlists that take at most some bytes.
fn most_lists(limit: u64) -> usize {
    usize::try_from(limit / Shortlists::bytes_of_one(DEPTH)).unwrap_or(usize::MAX)
}

impl Rows {
    /// Begins to copy what is needed for an index and for shortlists of at most some bytes: those of the users with most
    /// interactions.
    pub(super) fn begin(online: &Online, limit: u64) -> Self {
        let users = most_active(online.counts(Axis::User), listed_users(online, limit));
        let k = online.factors(Axis::Item).cols();
        Self {
            most: most_lists(limit),
            n_items: online.n_rows(Axis::Item),
            items: Dense::zeros(0, k),
            item_scales: online.item_scales(),
            of_users: UserRows::with_capacity(k, users.len()),
            users,
        }
    }

    /// Copies a number of rows of a model, all items first; yields whether these were the last ones.
    pub(super) fn copy_more(&mut self, online: &Online, rows: usize) -> bool {
        for _ in 0..rows {
            if self.items.rows() < self.n_items {
                let row = online.factors(Axis::Item).row(self.items.rows());
                self.items.push_row(row);
            } else if let Some(&user) = self.users.get(self.of_users.seen.len()) {
                self.of_users.copy(online, user);
            } else {
                return true;
            }
        }
        false
    }

    /// Makes the index, and shortlists until all users have one or `stop` is set: then items change faster than lists
    /// can be made, and those that there are should be used.
    pub(super) fn prepare(self, stop: &AtomicBool) -> Prepared {
        let index = Arc::new(IndexedItems::new(self.items, self.item_scales));
        let mut shortlists = Shortlists::new(DEPTH, self.users.len());
        for from in (0..self.users.len()).step_by(TOGETHER) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let places = from..self.users.len().min(from + TOGETHER);
            let added =
                self.of_users
                    .rank(&mut shortlists, &index, &self.users[places.clone()], places);
            // Rows and items come from one model, so that they fit each other.
            if added.is_err() {
                break;
            }
        }
        Prepared {
            index,
            is_complete: shortlists.len() == self.users.len(),
            shortlists: (self.most > 0).then_some(shortlists),
            most: self.most,
        }
    }
}

impl UserRows {
    fn with_capacity(k: usize, users: usize) -> Self {
        Self {
            factors: Dense::zeros(0, k),
            seen: Vec::with_capacity(users),
        }
    }

    fn copy(&mut self, online: &Online, user: u32) {
        self.seen.push(online.seen(user).collect());
        let row = online.factors(Axis::User).row(user as usize);
        self.factors.push_row(row);
    }

    /// Makes shortlists of some users, whose rows are at these places.
    fn rank(
        &self,
        shortlists: &mut Shortlists,
        index: &IndexedItems,
        users: &[u32],
        places: Range<usize>,
    ) -> Result<(), RankError> {
        let factors = Dense::from_fn(places.len(), self.factors.cols(), |row, f| {
            self.factors.row(places.start + row)[f]
        });
        let seen: ItemLists = self.seen[places].iter().cloned().collect();
        shortlists.add(index, users, &factors, &seen)
    }
}

impl ChangedUsers {
    /// Copies the present rows of some users.
    pub(super) fn copy(online: &Online, index: Arc<IndexedItems>, users: Vec<u32>) -> Self {
        let k = online.factors(Axis::User).cols();
        let mut rows = UserRows::with_capacity(k, users.len());
        for &user in &users {
            rows.copy(online, user);
        }
        Self { index, users, rows }
    }

    /// Makes their shortlists.
    pub(super) fn rank(self) -> Renewed {
        let Self { index, users, rows } = self;
        let mut shortlists = Shortlists::new(DEPTH, users.len());
        // Rows and items come from one model, so that they fit each other.
        let _ = rows.rank(&mut shortlists, &index, &users, 0..users.len());
        Renewed {
            index,
            shortlists,
            users,
        }
    }
}

/// The users with most interactions, equal ones by row, most active first.
fn most_active(counts: &[u32], number: usize) -> Vec<u32> {
    let mut users: Vec<u32> = (0..counts.len() as u32).collect();
    let order = |&user: &u32| (std::cmp::Reverse(counts[user as usize]), user);
    if number < users.len() {
        users.select_nth_unstable_by_key(number, order);
        users.truncate(number);
    }
    users.sort_unstable_by_key(order);
    users
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_active_users_come_first() {
        let counts = [3, 0, 7, 3, 9, 1];
        assert_eq!(most_active(&counts, 4), [4, 2, 0, 3]);
        assert_eq!(most_active(&counts, 9), [4, 2, 0, 3, 5, 1]);
        assert!(most_active(&counts, 0).is_empty());
    }
}
