//! Rows of files with the ids of their numbers.

use std::collections::HashSet;

use absentia::Interactions;
use absentia::data::{DataError, Duplicates, EventLog};
use absentia::error::Axis;
use absentia::memory::Stage;
use absentia_io::time::{Moment, TimeError, TimeUnit};
use absentia_io::{Dataset, IdMap};

use crate::error::JobError;
use crate::files::{read_files, read_known};
use crate::listener::{Event, Listener, Step};
use crate::memory::while_held;
use crate::preparation::{Preparation, merge_repeats};
use crate::reading::Reading;

/// Rows and the ids of their numbers.
#[derive(Debug)]
pub struct Rows {
    /// The rows.
    pub log: EventLog,
    /// Ids of users.
    pub users: IdMap,
    /// Ids of items.
    pub items: IdMap,
    /// Whether the rows came with ratings.
    is_rated: bool,
}

/// Takes the rows of a data set and leaves its ids.
///
/// # Errors
/// More rows than can be numbered.
pub fn take_log(dataset: &mut Dataset) -> Result<EventLog, DataError> {
    let user = std::mem::take(&mut dataset.user);
    let mut log = EventLog::new(user, std::mem::take(&mut dataset.item))?;
    if let Some(value) = dataset.value.take() {
        log = log.values(value)?;
    }
    if let Some(time) = dataset.time.take() {
        log = log.times(time)?;
    }
    if let Some(weight) = dataset.weight.take() {
        log = log.weights(weight)?;
    }
    Ok(log)
}

impl Rows {
    /// Takes what was read from files.
    ///
    /// # Errors
    /// More rows than can be numbered.
    pub fn new(mut dataset: Dataset) -> Result<Self, DataError> {
        let log = take_log(&mut dataset)?;
        let (users, items) = (dataset.users, dataset.items);
        Ok(Self {
            is_rated: log.value().is_some(),
            log,
            users,
            items,
        })
    }

    /// Takes rows of a table in memory. Times of a unit that is given become whole seconds, as in files.
    ///
    /// # Errors
    /// More rows than can be numbered, times that cannot be of the unit.
    pub fn of_table(mut dataset: Dataset, reading: &Reading) -> Result<Self, JobError> {
        if let Some((times, unit)) = dataset.time.as_mut().zip(reading.time_unit) {
            for time in times {
                let beyond = TimeError::Beyond { time: *time, unit };
                *time = unit.given(*time).ok_or(beyond)?;
            }
        }
        Ok(Self::new(dataset)?)
    }

    /// Reads and prepares files.
    ///
    /// # Errors
    /// Files that cannot be read, steps that the data does not allow, no row that is left.
    pub fn read(
        files: &[String],
        reading: &Reading,
        preparation: &Preparation,
        listener: &dyn Listener,
    ) -> Result<Self, JobError> {
        let rows = Self::new(read_files(files, reading, listener)?)?;
        rows.prepared(reading, preparation, listener)
    }

    /// Drops and merges rows as the preparation says, and the ids that have none any more.
    ///
    /// # Errors
    /// Steps that the data does not allow, no row that is left.
    pub fn prepared(
        mut self,
        reading: &Reading,
        preparation: &Preparation,
        listener: &dyn Listener,
    ) -> Result<Self, JobError> {
        self.report_times(reading, listener)?;
        self.prepare(preparation, reading, listener)?;
        if self.log.is_empty() {
            return Err(JobError::NoRowsLeft);
        }
        self.forget_absent();
        Ok(self)
    }

    /// What becomes of repeated pairs. Counts of rows that were merged before are not ratings of the data.
    #[must_use]
    pub fn duplicates(&self, preparation: &Preparation) -> Duplicates {
        let given = preparation.duplicates.unwrap_or_default();
        given.resolved(self.is_rated)
    }

    /// Drops the rows that a preparation does not keep. Ids are left as they are.
    ///
    /// # Errors
    /// Files that cannot be read, steps that the data does not allow.
    pub fn prepare(
        &mut self,
        preparation: &Preparation,
        reading: &Reading,
        listener: &dyn Listener,
    ) -> Result<(), JobError> {
        if !preparation.exclude.is_empty() {
            self.exclude(&preparation.exclude, reading, listener)?;
        }
        let work = preparation.bytes(&self.log, self.users.len());
        listener.enter(self.stage("preparing rows").with("work", work))?;
        let duplicates = self.duplicates(preparation);
        let prepared = preparation.apply(&mut self.log, duplicates, listener);
        prepared.map_err(|error| self.named(error))
    }

    /// Reports the unit of times unless they are seconds; refuses times that cannot be.
    pub(crate) fn report_times(
        &self,
        reading: &Reading,
        listener: &dyn Listener,
    ) -> Result<(), JobError> {
        let Some(times) = self.log.time().filter(|_| reading.time_unit.is_none()) else {
            return Ok(());
        };
        let unit = TimeUnit::recognise(times)?;
        if let Some(latest) = times.iter().max().filter(|_| unit != TimeUnit::Seconds) {
            let latest = Moment(unit.seconds(*latest));
            listener.event(&Event::Times { unit, latest });
        }
        Ok(())
    }

    /// Reports rows rated 0 or less: they rarely mean that an item was liked, but count as
    /// interactions. `can_choose` says whether targets can be chosen that follow ratings.
    pub fn report_ratings(
        &self,
        preparation: &Preparation,
        can_choose: bool,
        listener: &dyn Listener,
    ) {
        let ratings = self.log.value().unwrap_or_default();
        let rows = ratings.iter().filter(|&&rating| rating <= 0.0).count();
        if rows > 0 && preparation.min_rating.is_none() {
            let of = ratings.len();
            listener.event(&Event::RatedZeroOrLess {
                rows,
                of,
                can_choose,
            });
        }
    }

    /// Bytes of the rows and their ids.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.stage("").total()
    }

    /// A stage in which the rows and their ids are in memory.
    #[must_use]
    pub fn stage(&self, name: &'static str) -> Stage {
        Stage::new(name)
            .with("rows", self.log.bytes())
            .with("ids", self.users.bytes() + self.items.bytes())
    }

    /// Takes the ids out, for a reader that returns them with the data it read.
    pub fn take_ids(&mut self) -> (IdMap, IdMap) {
        (
            std::mem::take(&mut self.users),
            std::mem::take(&mut self.items),
        )
    }

    /// Leaves one row of every pair of user and item: no pair may be trained on and held out at once.
    ///
    /// # Errors
    /// Pairs that occur more than once, where those are rejected.
    pub fn merge_repeats(
        &mut self,
        preparation: &Preparation,
        listener: &dyn Listener,
    ) -> Result<(), JobError> {
        let grouping = self.log.bytes_to_group(self.users.len());
        listener.enter(self.stage("merging rows").with("rows by user", grouping))?;
        let duplicates = self.duplicates(preparation);
        let merged = merge_repeats(
            &mut self.log,
            duplicates,
            preparation.duplicates.is_none(),
            listener,
        );
        merged.map_err(|error| self.named(error))
    }

    /// The matrix of the rows.
    ///
    /// # Errors
    /// Pairs that occur more than once, where those are rejected.
    pub fn interactions(
        &self,
        preparation: &Preparation,
        listener: &dyn Listener,
    ) -> Result<Interactions<'static>, JobError> {
        let duplicates = self.duplicates(preparation);
        let (users, items) = (self.users.len(), self.items.len());
        let matrix = self.log.bytes_to_build(users, items);
        listener.enter(self.stage("building the matrix").with("matrix", matrix))?;
        let built = self.log.interactions(users, items, duplicates);
        let built = built.map_err(|error| self.named(error))?;
        let (of, left) = (self.log.len(), built.len());
        if left < of {
            listener.event(&Event::Merged {
                rows: of - left,
                of,
                merging: self.log.merging(duplicates),
                can_choose: preparation.duplicates.is_none(),
            });
        }
        Ok(built)
    }

    /// The error with the ids of the user and item it means instead of their row numbers.
    #[must_use]
    pub fn named(&self, error: DataError) -> JobError {
        match error {
            DataError::Duplicate { user, item } => JobError::Duplicate {
                user: self.users.name(user).unwrap_or_default().into_owned(),
                item: self.items.name(item).unwrap_or_default().into_owned(),
            },
            error => error.into(),
        }
    }

    /// Drops the pairs that some files hold.
    fn exclude(
        &mut self,
        files: &[String],
        reading: &Reading,
        listener: &dyn Listener,
    ) -> Result<(), JobError> {
        let (beside, ids) = (self.bytes(), self.take_ids());
        let read = || read_known(files, reading, ids, listener);
        let dataset = while_held(listener, beside, read)?;
        // The pairs as they are looked up, and as they are compared with.
        let excluded = 24 * dataset.len() as u64 + 8 * self.log.len() as u64;
        listener.enter(
            self.stage("dropping excluded pairs")
                .with("ids", dataset.id_bytes())
                .with("excluded pairs", dataset.column_bytes() + excluded),
        )?;
        let pairs = dataset.user.iter().zip(&dataset.item);
        let excluded: HashSet<(u32, u32)> = pairs.map(|(&user, &item)| (user, item)).collect();
        let (users, items) = (self.log.user().to_vec(), self.log.item().to_vec());
        let report = self
            .log
            .retain(|row| !excluded.contains(&(users[row], items[row])));
        listener.event(&Event::Prepared {
            step: Step::Excluded,
            report,
        });
        (self.users, self.items) = (dataset.users, dataset.items);
        Ok(())
    }

    /// Removes ids that no row has any more; row numbers given by the caller stay as they are.
    pub(crate) fn forget_absent(&mut self) {
        for axis in [Axis::User, Axis::Item] {
            let ids = match axis {
                Axis::User => &mut self.users,
                Axis::Item => &mut self.items,
            };
            if ids.is_dense() {
                continue;
            }
            if self.log.present(axis).len() < ids.len() {
                let present = self.log.renumber(axis);
                *ids = present.iter().filter_map(|&row| ids.name(row)).collect();
            }
        }
    }

    /// The rows for which `keep` says so, as a data set to be written.
    #[must_use]
    pub fn part(&self, keep: impl Fn(usize) -> bool) -> Dataset {
        dataset(
            self.log.select(keep),
            self.users.clone(),
            self.items.clone(),
        )
    }

    /// All rows, as a data set to be written.
    #[must_use]
    pub fn into_dataset(self) -> Dataset {
        dataset(self.log, self.users, self.items)
    }
}

fn dataset(log: EventLog, users: IdMap, items: IdMap) -> Dataset {
    let columns = log.into_columns();
    Dataset {
        users,
        items,
        user: columns.user,
        item: columns.item,
        value: columns.value,
        time: columns.time,
        weight: columns.weight,
        ..Dataset::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_without_rows_are_forgotten() -> Result<(), DataError> {
        let dataset = Dataset {
            users: ["ann", "bob", "cid"].iter().collect(),
            items: ["x", "y"].iter().collect(),
            user: vec![2, 0],
            item: vec![1, 1],
            ..Dataset::default()
        };
        let mut rows = Rows::new(dataset)?;
        rows.forget_absent();
        assert_eq!(rows.users.iter().collect::<Vec<_>>(), ["ann", "cid"]);
        assert_eq!(rows.items.iter().collect::<Vec<_>>(), ["y"]);
        assert_eq!(rows.log.user(), [1, 0]);
        assert_eq!(rows.log.item(), [0, 0]);
        Ok(())
    }
}
