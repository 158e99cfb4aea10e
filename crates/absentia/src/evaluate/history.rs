//! What users have seen before the test, wherever that is kept.

use std::borrow::Cow;

use crate::data::Interactions;

use super::lists::{ItemLists, UserItems};

/// Items that are not to be ranked for a user.
///
/// Users are row numbers of the scorer, which need not be rows of the training matrix: users who
/// were folded in bring the part of their history they were folded in from.
pub trait SeenItems: Sync {
    /// Appends the items of the user, in any order.
    fn append_seen(&self, user: u32, into: &mut Vec<u32>);
}

impl SeenItems for Interactions<'_> {
    /// Appends the interactions; a user beyond the matrix has none.
    fn append_seen(&self, user: u32, into: &mut Vec<u32>) {
        if (user as usize) < self.n_users() {
            into.extend(self.seen(user));
        }
    }
}

impl SeenItems for ItemLists {
    /// Appends row `user`; a user beyond the rows has nothing.
    fn append_seen(&self, user: u32, into: &mut Vec<u32>) {
        if (user as usize) < self.rows() {
            into.extend_from_slice(self.row(user as usize));
        }
    }
}

impl SeenItems for UserItems {
    fn append_seen(&self, user: u32, into: &mut Vec<u32>) {
        into.extend_from_slice(self.get(user).unwrap_or_default());
    }
}

/// What several sources say together, for example seen items and a user's own deny list.
impl SeenItems for Vec<&dyn SeenItems> {
    fn append_seen(&self, user: u32, into: &mut Vec<u32>) {
        for source in self {
            source.append_seen(user, into);
        }
    }
}

/// What an evaluation needs to know about training: who saw what, and how popular items were.
#[derive(Clone)]
pub struct History<'a> {
    pub(super) seen: &'a dyn SeenItems,
    pub(super) item_counts: Cow<'a, [u32]>,
}

impl<'a> History<'a> {
    /// Takes both from a training matrix whose rows are the scorer's users.
    #[must_use]
    pub fn of(train: &'a Interactions<'_>) -> Self {
        Self {
            seen: train,
            item_counts: Cow::Owned(train.item_counts()),
        }
    }

    /// Takes seen items and the number of training interactions `n_i` of each item apart.
    ///
    /// This is the way for strong generalisation: `seen` is what the users were folded in from,
    /// the counts are those of the training users.
    pub fn new(seen: &'a dyn SeenItems, item_counts: impl Into<Cow<'a, [u32]>>) -> Self {
        Self {
            seen,
            item_counts: item_counts.into(),
        }
    }
}
