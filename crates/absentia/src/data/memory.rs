//! The memory of preparing rows and of building the matrix, beside what is there before.

use super::entries::{Entries, Values};
use super::interactions::Interactions;
use super::prepare::EventLog;

impl EventLog {
    /// Bytes of the columns. Rows that were dropped still take theirs.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let floats = |column: &Option<Vec<f32>>| column.as_ref().map_or(0, |x| 4 * x.capacity());
        let ids = 4 * (self.user.capacity() + self.item.capacity());
        let times = self.time.as_ref().map_or(0, |x| 8 * x.capacity());
        (ids + floats(&self.value) + floats(&self.weight) + times) as u64
    }

    /// Bytes that building the matrix takes beside the log, the matrix included.
    #[must_use]
    pub fn bytes_to_build(&self, n_users: usize, n_items: usize) -> u64 {
        let rows = self.len() as u64;
        let (users, items) = (n_users as u64, n_items as u64);
        // Without values, repeated pairs are counted. Whether there are any is not known yet: half of the
        // counts are.
        let values = if self.value.is_some() { 4 } else { 2 };
        let numbers = values + 4 * u64::from(self.weight.is_some());
        let times = 8 * u64::from(self.time.is_some());
        let by_user = rows * (4 + numbers + times) + 8 * users;
        // First the rows sorted by item, then the transposed matrix.
        let sorting = 8 * rows + 16 * users;
        let transposing = rows * (4 + numbers) + 24 * items;
        by_user + sorting.max(transposing)
    }

    /// Bytes that gathering rows by user takes: to merge repeated pairs, to count them, to hold rows out.
    #[must_use]
    pub fn bytes_to_group(&self, n_users: usize) -> u64 {
        // The rows in order, a mark of each, and offsets and slices of users.
        5 * self.len() as u64 + 32 * n_users as u64
    }
}

impl Interactions<'_> {
    /// Bytes that holding a share of the rows out takes beside this matrix: the most on the way, and
    /// what the rest takes then.
    #[must_use]
    pub fn bytes_to_hold_out(&self, share: f64) -> (u64, u64) {
        let entries = self.len() as u64;
        let rest = (entries as f64 * (1.0 - share)) as u64;
        let pairs = 8 * (entries - rest);
        let times = u64::from(self.times().is_some());
        // Targets and weights are stored for every entry until it is known whether they differ.
        let rows = rest * (12 + 8 * times) + 8 * self.n_users() as u64;
        let drift = (1 - times) * 12 * entries;
        let stored = rest as f64 / entries.max(1) as f64 * self.bytes() as f64;
        let transposed = 4 * rest * (1 + u64::from(self.varies().0) + u64::from(self.varies().1));
        ((rows + pairs + transposed).max(drift), stored as u64)
    }

    /// Most entries of a row, of users or of items.
    #[must_use]
    pub fn longest_row(&self) -> usize {
        let longest = |rows: &Entries<'_>| (0..rows.rows()).map(|row| rows.row_len(row)).max();
        longest(&self.by_user)
            .max(longest(&self.by_item))
            .unwrap_or(0)
    }

    /// Whether targets, and weights, differ from entry to entry.
    #[must_use]
    pub fn varies(&self) -> (bool, bool) {
        let each = |values: &Values<'_>| matches!(values, Values::Each(_));
        (each(self.by_user.targets()), each(self.by_user.weights()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DataError;

    #[test]
    fn a_log_counts_its_columns() -> Result<(), DataError> {
        let log = EventLog::new(vec![0; 100], vec![0; 100])?;
        assert_eq!(log.bytes(), 800);
        let plain = log.bytes_to_build(1, 1);
        let log = log.values(vec![1.0; 100])?.times(vec![0; 100])?;
        assert_eq!(log.bytes(), 2000);
        // Times, counts that are certain now, and offsets of the transposed matrix, which with counts takes
        // more than sorting.
        assert_eq!(log.bytes_to_build(1, 1), plain + 800 + 200 + 8);
        Ok(())
    }
}
