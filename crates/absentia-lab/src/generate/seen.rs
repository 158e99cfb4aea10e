//! Which items a user was shown.

/// A set of item numbers, one bit each: what a thread needs to generate users.
pub struct Seen {
    words: Vec<u64>,
}

impl Seen {
    pub(super) fn new(items: usize) -> Self {
        Self {
            words: vec![0; items.div_ceil(64)],
        }
    }

    /// Adds an item and yields whether it is new.
    pub(super) fn insert(&mut self, item: u32) -> bool {
        let (word, bit) = (&mut self.words[item as usize / 64], 1 << (item % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    pub(super) fn contains(&self, item: u32) -> bool {
        self.words[item as usize / 64] >> (item % 64) & 1 == 1
    }

    /// Removes `items`, which must be all there are: clearing the list costs less than the set.
    pub(super) fn remove_all(&mut self, items: &[u32]) {
        for &item in items {
            self.words[item as usize / 64] = 0;
        }
    }
}
