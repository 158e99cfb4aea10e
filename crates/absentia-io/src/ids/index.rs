//! An open-addressing table of row numbers; the keys stay where the rows are stored.

const EMPTY: u32 = u32::MAX;

/// Finds row numbers by the hash of their key, at about eight bytes a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    slots: Vec<u32>,
    len: usize,
}

impl Index {
    /// The row with this hash for which `is_key` holds.
    pub(super) fn find(&self, hash: u64, mut is_key: impl FnMut(u32) -> bool) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut at = self.start(hash);
        loop {
            match self.slots[at] {
                EMPTY => return None,
                row if is_key(row) => return Some(row),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Bytes of the table.
    pub(super) fn bytes(&self) -> u64 {
        4 * self.slots.capacity() as u64
    }

    /// Adds a row that is known to be absent; `hash_of` gives the hashes of older rows when the table grows.
    pub(super) fn insert(&mut self, hash: u64, row: u32, hash_of: impl Fn(u32) -> u64) {
        if (self.len + 1) * 3 > self.slots.len() * 2 {
            self.grow((self.len + 1) * 2, hash_of);
        }
        self.place(hash, row);
        self.len += 1;
    }

    /// Makes room for `rows` rows in all.
    pub(super) fn grow(&mut self, rows: usize, hash_of: impl Fn(u32) -> u64) {
        let capacity = (rows + rows / 2 + 1).next_power_of_two().max(16);
        if capacity <= self.slots.len() {
            return;
        }
        let old = std::mem::replace(&mut self.slots, vec![EMPTY; capacity]);
        for row in old.into_iter().filter(|&row| row != EMPTY) {
            self.place(hash_of(row), row);
        }
    }

    /// Replaces every row by its new number.
    pub(super) fn renumber(&mut self, new_of_old: &[u32]) {
        for slot in self.slots.iter_mut().filter(|slot| **slot != EMPTY) {
            *slot = new_of_old[*slot as usize];
        }
    }

    fn place(&mut self, hash: u64, row: u32) {
        let mask = self.slots.len() - 1;
        let mut at = self.start(hash);
        while self.slots[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.slots[at] = row;
    }

    /// The high bits are the well-mixed ones of a product.
    fn start(&self, hash: u64) -> usize {
        (hash >> (64 - self.slots.len().trailing_zeros())) as usize
    }
}

/// Spreads the bits of an integer over all 64.
pub(super) fn mix(value: u64) -> u64 {
    let product = u128::from(value ^ 0x9E37_79B9_7F4A_7C15) * 0xA076_1D64_78BD_642F;
    ((product >> 64) as u64 ^ product as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_after_growth() {
        let keys: Vec<u64> = (0..1000).map(|i| i * 4096).collect();
        let mut index = Index::default();
        for (row, &key) in keys.iter().enumerate() {
            index.insert(mix(key), row as u32, |row| mix(keys[row as usize]));
        }
        for (row, &key) in keys.iter().enumerate() {
            assert_eq!(
                index.find(mix(key), |row| keys[row as usize] == key),
                Some(row as u32)
            );
        }
        assert_eq!(index.find(mix(7), |row| keys[row as usize] == 7), None);
    }
}
