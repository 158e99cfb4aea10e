//! One row per pair of user and item.

use super::groups::RowGroups;
use super::log::{EventLog, Report};
use crate::data::repeats::{MergedRow, RowColumns};
use crate::data::{DataError, Duplicates, Merging};

impl EventLog {
    /// How rows of the same pair are merged, for the columns that the log has.
    #[must_use]
    pub fn merging(&self, duplicates: Duplicates) -> Merging {
        self.columns().merging(duplicates)
    }

    /// Merges rows of the same user and item; remaining rows keep their order.
    ///
    /// Values, weights and times are merged as [`Triplets::build`](crate::data::Triplets::build)
    /// does it. A log without values gets them where repeats are counted.
    ///
    /// # Errors
    /// A repeated pair under [`Duplicates::Error`], or a sum that is not finite.
    pub fn deduplicate(&mut self, duplicates: Duplicates) -> Result<Report, DataError> {
        let item = &self.item;
        let groups = RowGroups::new(&self.user).sort_by_key(|row| (item[row as usize], row));
        let same = |a: &u32, b: &u32| item[*a as usize] == item[*b as usize];
        let (columns, merging) = (self.columns(), self.merging(duplicates));
        let (mut merged, mut dropped) = (Vec::new(), vec![false; self.len()]);
        for rows in groups.iter() {
            for pair in rows.chunk_by(same).filter(|pair| pair.len() > 1) {
                if merging == Merging::Reject {
                    let (user, item) = (self.user[pair[0] as usize], item[pair[0] as usize]);
                    return Err(DataError::Duplicate { user, item });
                }
                let row = columns.merge(pair, merging)?;
                for &other in pair {
                    dropped[other as usize] = other != row.kept;
                }
                merged.push(row);
            }
        }
        drop(groups);
        self.store(&merged, merging);
        Ok(self.retain(|row| !dropped[row]))
    }

    fn columns(&self) -> RowColumns<'_> {
        RowColumns {
            values: self.value.as_deref(),
            weights: self.weight.as_deref(),
            times: self.time.as_deref(),
        }
    }

    /// Stores what rows add up to.
    fn store(&mut self, merged: &[MergedRow], merging: Merging) {
        if !matches!(merging, Merging::Count | Merging::Sum) {
            return;
        }
        if merging == Merging::Count && !merged.is_empty() {
            self.value = Some(vec![1.0; self.len()]);
        }
        for row in merged {
            let at = row.kept as usize;
            if let Some(value) = &mut self.value {
                value[at] = row.value;
            }
            if let Some(weight) = &mut self.weight {
                weight[at] = row.weight;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> EventLog {
        EventLog::new(vec![1, 0, 1, 1], vec![2, 2, 0, 2])
            .unwrap()
            .values(vec![3.0, 5.0, 1.0, 2.0])
            .unwrap()
            .times(vec![9, 1, 1, 4])
            .unwrap()
    }

    #[test]
    fn each_policy_keeps_what_it_says() {
        let merged = |duplicates| {
            let mut log = log();
            assert_eq!(log.deduplicate(duplicates).unwrap().after, 3);
            log
        };
        let last = merged(Duplicates::Last);
        // The first of the two rows of user 1 and item 2 is the later one.
        assert_eq!(last.value(), Some(&[3.0, 5.0, 1.0][..]));
        assert_eq!(merged(Duplicates::Auto), last);
        let largest = merged(Duplicates::Max);
        assert_eq!(largest.value(), Some(&[3.0, 5.0, 1.0][..]));
        let sum = merged(Duplicates::Sum);
        assert_eq!(sum.value(), Some(&[5.0, 5.0, 1.0][..]));
        assert_eq!(sum.time(), Some(&[9, 1, 1][..]));
        let refused = log().deduplicate(Duplicates::Error);
        assert_eq!(refused, Err(DataError::Duplicate { user: 1, item: 2 }));
    }

    #[test]
    fn the_merged_log_builds_the_same_matrix_as_the_raw_one() {
        let without_values = EventLog::new(vec![1, 0, 1, 1], vec![2, 2, 0, 2]).unwrap();
        for log in [log(), without_values] {
            for policy in [
                Duplicates::Auto,
                Duplicates::Sum,
                Duplicates::Last,
                Duplicates::Max,
            ] {
                let mut merged = log.clone();
                merged.deduplicate(policy).unwrap();
                let built = merged.interactions(2, 3, Duplicates::Error).unwrap();
                assert_eq!(built, log.interactions(2, 3, policy).unwrap());
            }
        }
    }

    #[test]
    fn rows_without_values_are_counted_where_pairs_are_repeated() {
        let mut log = EventLog::new(vec![1, 0, 1, 1], vec![2, 2, 0, 2]).unwrap();
        log.deduplicate(Duplicates::Auto).unwrap();
        assert_eq!(log.user(), [0, 1, 1]);
        assert_eq!(log.value(), Some(&[1.0, 1.0, 2.0][..]));
        let mut log = EventLog::new(vec![1, 0], vec![2, 2]).unwrap();
        log.deduplicate(Duplicates::Auto).unwrap();
        assert_eq!(log.value(), None);
    }
}
