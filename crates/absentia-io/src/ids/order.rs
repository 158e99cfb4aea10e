//! The order of ids: integers by number, then text by bytes.

use rayon::prelude::*;

use super::IdMap;
use super::store::{Store, canonical_integer};

impl IdMap {
    /// Numbers the rows from `first` on by their ids: integers by number, then text by bytes.
    ///
    /// Yields the new row of every old one, or `None` if the rows were in order. Row numbers that
    /// callers hold must be replaced by those.
    pub fn sort_from(&mut self, first: usize) -> Option<Vec<u32>> {
        let old_of_new = self.order_from(first)?;
        let mut new_of_old = vec![0; old_of_new.len()];
        for (new, &old) in old_of_new.iter().enumerate() {
            new_of_old[old as usize] = new as u32;
        }
        self.store = self.store.in_order(&old_of_new);
        self.index.renumber(&new_of_old);
        Some(new_of_old)
    }

    /// The old row of every new one, unless all stay where they are.
    fn order_from(&self, first: usize) -> Option<Vec<u32>> {
        let first = first.min(self.len());
        if self.is_dense() || first == self.len() {
            return None;
        }
        let mut rows: Vec<u32> = (0..self.len() as u32).collect();
        match &self.store {
            Store::Integers(ids) => {
                if ids[first..].is_sorted() {
                    return None;
                }
                rows[first..].par_sort_unstable_by_key(|&row| ids[row as usize]);
            }
            store => {
                let key = |row: u32| {
                    let text = store.text(row as usize);
                    let number = canonical_integer(text);
                    // Text is after every number, which `None` would not be.
                    (number.is_none(), number, text)
                };
                let keys: Vec<_> = rows.par_iter().map(|&row| key(row)).collect();
                if keys[first..].is_sorted() {
                    return None;
                }
                rows[first..]
                    .par_sort_unstable_by(|&a, &b| keys[a as usize].cmp(&keys[b as usize]));
            }
        }
        Some(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(names: &[&str]) -> IdMap {
        names.iter().collect()
    }

    fn names(ids: &IdMap) -> Vec<String> {
        ids.iter().map(std::borrow::Cow::into_owned).collect()
    }

    #[test]
    fn integers_go_by_number_and_text_by_bytes_after_them() {
        let mut ids = map(&["10", "9", "-3"]);
        assert_eq!(ids.sort_from(0), Some(vec![2, 1, 0]));
        assert_eq!(names(&ids), ["-3", "9", "10"]);
        assert_eq!(ids.get("10"), Some(2));
        let mut ids = map(&["b", "10", "Z", "é", "9", "010", "a"]);
        ids.sort_from(0);
        assert_eq!(names(&ids), ["9", "10", "010", "Z", "a", "b", "é"]);
        for (row, name) in names(&ids).iter().enumerate() {
            assert_eq!(ids.get(name), Some(row as u32));
        }
    }

    #[test]
    fn rows_before_the_first_stay() {
        let mut ids = map(&["z", "c", "b", "a"]);
        assert_eq!(ids.sort_from(2), Some(vec![0, 1, 3, 2]));
        assert_eq!(names(&ids), ["z", "c", "a", "b"]);
        assert_eq!(ids.sort_from(2), None);
        assert_eq!(ids.sort_from(9), None);
    }

    #[test]
    fn row_numbers_are_in_order() {
        assert_eq!(IdMap::dense(7).sort_from(0), None);
        assert_eq!(IdMap::new().sort_from(0), None);
    }

    #[test]
    fn new_ids_can_follow() {
        let mut ids = map(&["b", "a"]);
        ids.sort_from(0);
        assert_eq!(ids.intern("b").unwrap(), 1);
        assert_eq!(ids.intern("aa").unwrap(), 2);
    }
}
