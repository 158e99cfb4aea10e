//! Lists of items by row and by user, in two flat arrays.

use crate::data::Interactions;

use super::error::{RankError, check_rising};

/// One strictly rising list of items per row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemLists {
    /// Ends of the rows; row `r` starts where row `r − 1` ends.
    ends: Vec<usize>,
    items: Vec<u32>,
}

impl ItemLists {
    /// Yields lists without rows.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a row, sorted and with repeats dropped.
    pub fn push(&mut self, row: impl IntoIterator<Item = u32>) {
        self.push_with(|items| items.extend(row));
    }

    /// Appends a row of the items that `fill` appends to a vector.
    pub(crate) fn push_with(&mut self, fill: impl FnOnce(&mut Vec<u32>)) {
        let start = self.items.len();
        fill(&mut self.items);
        if check_rising("row", &self.items[start..]).is_err() {
            sort_tail(&mut self.items, start);
        }
        self.ends.push(self.items.len());
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// Number of items in all rows together.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether all rows are empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The items of a row, rising.
    #[must_use]
    pub fn row(&self, row: usize) -> &[u32] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.items[start..self.ends[row]]
    }

    /// All items, row after row.
    #[must_use]
    pub fn items(&self) -> &[u32] {
        &self.items
    }
}

fn sort_tail(items: &mut Vec<u32>, start: usize) {
    items[start..].sort_unstable();
    let mut kept = start;
    for at in start..items.len() {
        if kept == start || items[kept - 1] != items[at] {
            items[kept] = items[at];
            kept += 1;
        }
    }
    items.truncate(kept);
}

impl FromIterator<Vec<u32>> for ItemLists {
    fn from_iter<T: IntoIterator<Item = Vec<u32>>>(rows: T) -> Self {
        let mut lists = Self::new();
        for row in rows {
            lists.push(row);
        }
        lists
    }
}

/// Non-empty lists of items for some users, users rising.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserItems {
    users: Vec<u32>,
    lists: ItemLists,
}

impl UserItems {
    /// Gathers pairs in any order; repeats count once.
    ///
    /// # Errors
    /// Columns of different lengths.
    pub fn from_pairs(users: &[u32], items: &[u32]) -> Result<Self, RankError> {
        if users.len() != items.len() {
            return Err(RankError::Length {
                what: "items",
                expected: users.len(),
                got: items.len(),
            });
        }
        let mut pairs: Vec<_> = users.iter().copied().zip(items.iter().copied()).collect();
        pairs.sort_unstable();
        let mut gathered = Self::default();
        for group in pairs.chunk_by(|a, b| a.0 == b.0) {
            gathered.users.push(group[0].0);
            gathered.lists.push(group.iter().map(|&(_, item)| item));
        }
        Ok(gathered)
    }

    /// Takes the interactions of a matrix, without its exposed entries.
    #[must_use]
    pub fn from_interactions(data: &Interactions<'_>) -> Self {
        let mut gathered = Self::default();
        for user in 0..data.n_users() as u32 {
            if data.seen(user).next().is_some() {
                gathered.users.push(user);
                gathered.lists.push(data.seen(user));
            }
        }
        gathered
    }

    /// The users that have a list, rising.
    #[must_use]
    pub fn users(&self) -> &[u32] {
        &self.users
    }

    /// The lists, in the order of [`users`](Self::users).
    #[must_use]
    pub fn lists(&self) -> &ItemLists {
        &self.lists
    }

    /// The items of a user, or `None` if the user has no list.
    #[must_use]
    pub fn get(&self, user: u32) -> Option<&[u32]> {
        let at = self.users.binary_search(&user).ok()?;
        Some(self.lists.row(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_in_any_order_are_gathered_by_user() {
        let set = UserItems::from_pairs(&[4, 1, 4, 4], &[7, 0, 2, 7]).unwrap();
        assert_eq!(set.users(), [1, 4]);
        assert_eq!(set.get(4), Some(&[2, 7][..]));
        assert_eq!(set.get(2), None);
        assert!(UserItems::from_pairs(&[1], &[]).is_err());
    }
}
