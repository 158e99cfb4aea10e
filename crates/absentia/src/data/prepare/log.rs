//! Events as columns, and the steps that look at one row at a time.

use crate::data::{DataError, Duplicates, Interactions, Triplets};
use crate::error::Axis;

/// Events as parallel columns, in any order: user, item and, if known, value and time.
///
/// ```
/// use absentia::data::EventLog;
///
/// let mut log = EventLog::new(vec![0, 0, 1], vec![2, 0, 1])?.values(vec![5.0, 2.0, 4.0])?;
/// let report = log.keep_values_from(4.0)?;
/// assert_eq!((report.before, report.after), (3, 2));
/// # Ok::<(), absentia::data::DataError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventLog {
    pub(in crate::data) user: Vec<u32>,
    pub(in crate::data) item: Vec<u32>,
    pub(in crate::data) value: Option<Vec<f32>>,
    pub(in crate::data) time: Option<Vec<i64>>,
    pub(in crate::data) weight: Option<Vec<f32>>,
}

/// The columns of a log.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LogColumns {
    /// User of each row.
    pub user: Vec<u32>,
    /// Item of each row.
    pub item: Vec<u32>,
    /// Value of each row, where given.
    pub value: Option<Vec<f32>>,
    /// Time of each row, where given.
    pub time: Option<Vec<i64>>,
    /// Weight of each row, where given.
    pub weight: Option<Vec<f32>>,
}

/// What a step left of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Report {
    /// Rows before the step.
    pub before: usize,
    /// Rows after it.
    pub after: usize,
}

impl EventLog {
    /// Takes user and item of each event.
    ///
    /// # Errors
    /// Columns of different lengths, or more rows than can be numbered.
    pub fn new(user: Vec<u32>, item: Vec<u32>) -> Result<Self, DataError> {
        check_len("items", user.len(), item.len())?;
        if user.len() > u32::MAX as usize {
            let count = user.len() as u64;
            return Err(DataError::TooManyTriplets { count });
        }
        Ok(Self {
            user,
            item,
            ..Self::default()
        })
    }

    /// Takes the value (rating, count) of each event.
    ///
    /// # Errors
    /// A column of another length, or a value that is not finite.
    pub fn values(mut self, value: Vec<f32>) -> Result<Self, DataError> {
        check_len("values", self.len(), value.len())?;
        check_finite("value", &value)?;
        self.value = Some(value);
        Ok(self)
    }

    /// Takes the time of each event, in any unit.
    ///
    /// # Errors
    /// A column of another length.
    pub fn times(mut self, time: Vec<i64>) -> Result<Self, DataError> {
        check_len("times", self.len(), time.len())?;
        self.time = Some(time);
        Ok(self)
    }

    /// Takes the weight of each event.
    ///
    /// # Errors
    /// A column of another length, or a weight that is not finite.
    pub fn weights(mut self, weight: Vec<f32>) -> Result<Self, DataError> {
        check_len("weights", self.len(), weight.len())?;
        check_finite("weight", &weight)?;
        self.weight = Some(weight);
        Ok(self)
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.user.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.user.is_empty()
    }

    /// User of each row.
    #[must_use]
    pub fn user(&self) -> &[u32] {
        &self.user
    }

    /// Item of each row.
    #[must_use]
    pub fn item(&self) -> &[u32] {
        &self.item
    }

    /// Value of each row, where given.
    #[must_use]
    pub fn value(&self) -> Option<&[f32]> {
        self.value.as_deref()
    }

    /// Time of each row, where given.
    #[must_use]
    pub fn time(&self) -> Option<&[i64]> {
        self.time.as_deref()
    }

    /// Weight of each row, where given.
    #[must_use]
    pub fn weight(&self) -> Option<&[f32]> {
        self.weight.as_deref()
    }

    /// The column of one side.
    #[must_use]
    pub fn ids(&self, axis: Axis) -> &[u32] {
        match axis {
            Axis::User => &self.user,
            Axis::Item => &self.item,
        }
    }

    /// Number of rows of each user or item, up to the largest id that occurs.
    #[must_use]
    pub fn counts(&self, axis: Axis) -> Vec<u32> {
        let ids = self.ids(axis);
        let size = ids.iter().max().map_or(0, |&id| id as usize + 1);
        let mut counts = vec![0; size];
        for &id in ids {
            counts[id as usize] += 1;
        }
        counts
    }

    /// The users or items that still occur, rising.
    #[must_use]
    pub fn present(&self, axis: Axis) -> Vec<u32> {
        let counts = self.counts(axis);
        let present = (0..counts.len() as u32).filter(|&id| counts[id as usize] > 0);
        present.collect()
    }

    /// Numbers one side again, without ids that no row has. Yields the earlier ids, in order.
    pub fn renumber(&mut self, axis: Axis) -> Vec<u32> {
        let present = self.present(axis);
        let mut place = vec![0; present.last().map_or(0, |&last| last as usize + 1)];
        for (at, &id) in (0..).zip(&present) {
            place[id as usize] = at;
        }
        let ids = match axis {
            Axis::User => &mut self.user,
            Axis::Item => &mut self.item,
        };
        for id in ids {
            *id = place[*id as usize];
        }
        present
    }

    /// Takes the log apart.
    #[must_use]
    pub fn into_columns(self) -> LogColumns {
        LogColumns {
            user: self.user,
            item: self.item,
            value: self.value,
            time: self.time,
            weight: self.weight,
        }
    }

    /// Keeps the rows for which `keep` is true, in their order.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) -> Report {
        let before = self.len();
        retain(&mut self.user, &keep);
        retain(&mut self.item, &keep);
        if let Some(value) = &mut self.value {
            retain(value, &keep);
        }
        if let Some(time) = &mut self.time {
            retain(time, &keep);
        }
        if let Some(weight) = &mut self.weight {
            retain(weight, &keep);
        }
        let after = self.len();
        Report { before, after }
    }

    /// Yields the rows for which `keep` says so, leaving the log as it is.
    #[must_use]
    pub fn select(&self, keep: impl Fn(usize) -> bool) -> Self {
        Self {
            user: select(&self.user, &keep),
            item: select(&self.item, &keep),
            value: self.value.as_ref().map(|column| select(column, &keep)),
            time: self.time.as_ref().map(|column| select(column, &keep)),
            weight: self.weight.as_ref().map(|column| select(column, &keep)),
        }
    }

    /// Keeps rows whose value is at least `minimum`: those that count as positive.
    ///
    /// # Errors
    /// A log without values, or a minimum that is NaN.
    pub fn keep_values_from(&mut self, minimum: f32) -> Result<Report, DataError> {
        if minimum.is_nan() {
            return Err(DataError::Parameter {
                name: "minimum value",
                got: minimum,
                range: "a number",
            });
        }
        let value = self.value.as_ref().ok_or(DataError::Lacks {
            transform: "a minimum value",
            needs: "values",
        })?;
        let keep: Vec<bool> = value.iter().map(|&value| value >= minimum).collect();
        Ok(self.retain(|row| keep[row]))
    }

    /// Keeps rows with `from ≤ time < to`; an end that is not given is open.
    ///
    /// # Errors
    /// A log without times.
    pub fn keep_times(&mut self, from: Option<i64>, to: Option<i64>) -> Result<Report, DataError> {
        let inside = |t: i64| from.is_none_or(|from| from <= t) && to.is_none_or(|to| t < to);
        let time = self.time.as_ref().ok_or(DataError::Lacks {
            transform: "a time window",
            needs: "times",
        })?;
        let keep: Vec<bool> = time.iter().map(|&time| inside(time)).collect();
        Ok(self.retain(|row| keep[row]))
    }

    /// Yields the matrix of the log; see [`Triplets::build`].
    ///
    /// # Errors
    /// As [`Triplets::build`].
    pub fn interactions(
        &self,
        n_users: usize,
        n_items: usize,
        duplicates: Duplicates,
    ) -> Result<Interactions<'static>, DataError> {
        let mut triplets = Triplets::new(&self.user, &self.item);
        if let Some(value) = &self.value {
            triplets = triplets.values(value);
        }
        if let Some(time) = &self.time {
            triplets = triplets.times(time);
        }
        if let Some(weight) = &self.weight {
            triplets = triplets.weights(weight);
        }
        triplets.build(n_users, n_items, duplicates)
    }
}

fn retain<T>(column: &mut Vec<T>, keep: &impl Fn(usize) -> bool) {
    let mut row = 0;
    column.retain(|_| {
        row += 1;
        keep(row - 1)
    });
}

fn select<T: Copy>(column: &[T], keep: &impl Fn(usize) -> bool) -> Vec<T> {
    let rows = column.iter().enumerate();
    rows.filter(|(row, _)| keep(*row))
        .map(|(_, &value)| value)
        .collect()
}

fn check_len(what: &'static str, expected: usize, got: usize) -> Result<(), DataError> {
    if expected == got {
        return Ok(());
    }
    Err(DataError::Length {
        what,
        expected,
        got,
    })
}

fn check_finite(what: &'static str, column: &[f32]) -> Result<(), DataError> {
    match column.iter().position(|value| !value.is_finite()) {
        Some(entry) => Err(DataError::NotFinite {
            entry: entry as u64,
            what,
            value: column[entry],
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_half_open_and_keep_columns_together() {
        let mut log = EventLog::new(vec![0, 1, 2, 3], vec![9, 8, 7, 6])
            .unwrap()
            .times(vec![10, 20, 30, 40])
            .unwrap()
            .weights(vec![1.0, 2.0, 3.0, 4.0])
            .unwrap();
        let report = log.keep_times(Some(20), Some(40)).unwrap();
        assert_eq!((report.before, report.after), (4, 2));
        assert_eq!((log.user(), log.item()), (&[1, 2][..], &[8, 7][..]));
        assert_eq!(log.time(), Some(&[20, 30][..]));
        assert_eq!(log.weight(), Some(&[2.0, 3.0][..]));
        assert_eq!(log.present(Axis::Item), [7, 8]);
    }

    #[test]
    fn columns_that_are_lacking_or_bad_are_named() {
        let mut log = EventLog::new(vec![0], vec![0]).unwrap();
        assert!(matches!(
            log.keep_values_from(1.0),
            Err(DataError::Lacks { .. })
        ));
        assert!(matches!(
            log.keep_times(None, None),
            Err(DataError::Lacks { .. })
        ));
        assert!(log.clone().values(vec![f32::NAN]).is_err());
        assert!(log.times(vec![]).is_err());
        assert!(EventLog::new(vec![0], vec![]).is_err());
    }
}
