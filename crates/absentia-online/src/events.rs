//! A table of events as records, in the order in which they happened.

use absentia_io::Dataset;
use absentia_io::time::TimeUnit;

use crate::error::LearnError;
use crate::learner::Learner;
use crate::record::Record;

impl Learner {
    /// Rejects times in another unit than those of the interactions so far.
    ///
    /// # Errors
    /// The units differ.
    pub fn check_unit(&self, times: &[i64]) -> Result<(), LearnError> {
        let latest = self.online().latest();
        let (got, expected) = (
            TimeUnit::of_times(Some(times)),
            TimeUnit::of_times(Some(&[latest])),
        );
        if latest > 0 && !times.is_empty() && got != expected {
            return Err(LearnError::OtherUnit { got, expected });
        }
        Ok(())
    }
}

/// The rows of a table as records: by time, rows of equal time and tables without times in the order of
/// the rows.
///
/// # Errors
/// Times in another unit than those that the model was trained on.
pub fn events_of(table: &Dataset, learner: &Learner) -> Result<Vec<Record>, LearnError> {
    let mut order: Vec<usize> = (0..table.len()).collect();
    if let Some(times) = &table.time {
        learner.check_unit(times)?;
        order.sort_by_key(|&at| times[at]);
    }
    let name = |ids: &absentia_io::IdMap, row: u32| {
        let name = ids.name(row);
        name.map(std::borrow::Cow::into_owned).unwrap_or_default()
    };
    let record = |at: usize| Record::Insert {
        user: name(&table.users, table.user[at]),
        item: name(&table.items, table.item[at]),
        value: table.value.as_ref().map_or(1.0, |values| values[at]),
        weight: table.weight.as_ref().map_or(1.0, |weights| weights[at]),
        time: table.time.as_ref().map(|times| times[at]),
    };
    Ok(order.into_iter().map(record).collect())
}
