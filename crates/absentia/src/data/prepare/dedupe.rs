//! One row per pair of user and item.

use super::groups::RowGroups;
use super::log::{EventLog, Report};
use crate::data::{DataError, Duplicates};

impl EventLog {
    /// Merges rows of the same user and item; remaining rows keep their order.
    ///
    /// Values, weights and times are merged as [`Triplets::build`](crate::data::Triplets::build)
    /// does it. Under [`Duplicates::Sum`] a log without values gets one: the number of rows.
    ///
    /// # Errors
    /// A repeated pair under [`Duplicates::Error`], or a sum that is not finite.
    pub fn deduplicate(&mut self, duplicates: Duplicates) -> Result<Report, DataError> {
        let item = std::mem::take(&mut self.item);
        let groups = RowGroups::new(&self.user).sort_by_key(|row| (item[row as usize], row));
        self.item = item;
        let mut dropped = vec![false; self.len()];
        if duplicates == Duplicates::Sum && self.value.is_none() {
            self.value = Some(vec![1.0; self.len()]);
        }
        for rows in groups.iter() {
            let item = &self.item;
            let same = |a: &u32, b: &u32| item[*a as usize] == item[*b as usize];
            let repeated: Vec<&[u32]> = rows.chunk_by(same).filter(|pair| pair.len() > 1).collect();
            for pair in repeated {
                self.merge(pair, duplicates, &mut dropped)?;
            }
        }
        Ok(self.retain(|row| !dropped[row]))
    }

    /// Merges rows of one pair, given in the order of the log, into one of them.
    fn merge(
        &mut self,
        rows: &[u32],
        duplicates: Duplicates,
        dropped: &mut [bool],
    ) -> Result<(), DataError> {
        let last = rows[rows.len() - 1] as usize;
        let kept = match duplicates {
            Duplicates::Sum | Duplicates::Last => last,
            Duplicates::Max => self.largest(rows),
            Duplicates::Error => {
                return Err(DataError::Duplicate {
                    user: self.user[last],
                    item: self.item[last],
                });
            }
        };
        if duplicates == Duplicates::Sum {
            sum_into(&mut self.value, rows, kept, "sum of values")?;
            sum_into(&mut self.weight, rows, kept, "sum of weights")?;
            if let Some(time) = &mut self.time {
                let latest = rows.iter().map(|&row| time[row as usize]).max();
                time[kept] = latest.unwrap_or(time[kept]);
            }
        }
        for &row in rows {
            dropped[row as usize] = row as usize != kept;
        }
        Ok(())
    }

    /// The row with the largest value, the last among equals.
    fn largest(&self, rows: &[u32]) -> usize {
        let value = |row: u32| self.value.as_ref().map_or(1.0, |value| value[row as usize]);
        let mut best = rows[0];
        for &row in rows {
            if value(row) >= value(best) {
                best = row;
            }
        }
        best as usize
    }
}

fn sum_into(
    column: &mut Option<Vec<f32>>,
    rows: &[u32],
    kept: usize,
    what: &'static str,
) -> Result<(), DataError> {
    let Some(column) = column else { return Ok(()) };
    let sum: f32 = rows.iter().map(|&row| column[row as usize]).sum();
    if !sum.is_finite() {
        return Err(DataError::NotFinite {
            entry: kept as u64,
            what,
            value: sum,
        });
    }
    column[kept] = sum;
    Ok(())
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
        assert_eq!(last.value(), Some(&[5.0, 1.0, 2.0][..]));
        let largest = merged(Duplicates::Max);
        assert_eq!(largest.value(), Some(&[3.0, 5.0, 1.0][..]));
        let sum = merged(Duplicates::Sum);
        assert_eq!(sum.value(), Some(&[5.0, 1.0, 5.0][..]));
        assert_eq!(sum.time(), Some(&[1, 1, 9][..]));
        let refused = log().deduplicate(Duplicates::Error);
        assert_eq!(refused, Err(DataError::Duplicate { user: 1, item: 2 }));
    }

    #[test]
    fn the_merged_log_builds_the_same_matrix_as_the_raw_one() {
        for policy in [Duplicates::Sum, Duplicates::Last, Duplicates::Max] {
            let mut merged = log();
            merged.deduplicate(policy).unwrap();
            let built = merged.interactions(2, 3, Duplicates::Error).unwrap();
            assert_eq!(built, log().interactions(2, 3, policy).unwrap());
        }
    }
}
