//! Sources of items that are not to be ranked for a user.

use crate::data::Interactions;

use super::lists::{ItemLists, UserItems};

/// Items that are not to be ranked for a user.
///
/// Users are row numbers of the scorer, which need not be rows of the training matrix: for users
/// who were folded in, they are the rows of the entries that were folded in.
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

/// The items of several sources, for example seen items and a user's own deny list.
impl SeenItems for Vec<&dyn SeenItems> {
    fn append_seen(&self, user: u32, into: &mut Vec<u32>) {
        for source in self {
            source.append_seen(user, into);
        }
    }
}
