//! Rows that models are measured on: prepared like the data, and unknown to the training.

use std::collections::HashSet;

use absentia::data::EventLog;
use absentia::evaluate::{EvaluateError, TestSet};
use absentia_io::ColumnRef;
use absentia_search::SearchError;

use crate::error::JobError;
use crate::exposed_entries::ExposedEntries;
use crate::files::read_known;
use crate::listener::{Event, Listener, Step};
use crate::memory::while_held;
use crate::preparation::Preparation;
use crate::reading::Reading;
use crate::rows::{Rows, take_log};
use crate::training_data::Input;

/// The pairs of files, of users and items that the rows know, rated as high as the data has to be.
///
/// # Errors
/// Files that cannot be read, of which no row is known, or without the ratings that are required.
pub fn pairs_of(
    rows: &mut Rows,
    files: &[String],
    reading: &Reading,
    preparation: &Preparation,
    listener: &dyn Listener,
) -> Result<TestSet, JobError> {
    let (beside, ids) = (rows.bytes(), rows.take_ids());
    let read = || read_known(files, reading, ids, listener);
    let mut dataset = while_held(listener, beside, read)?;
    let mut log = take_log(&mut dataset)?;
    (rows.users, rows.items) = (dataset.users, dataset.items);
    if let Some(minimum) = preparation.min_rating {
        let files = || files.to_vec();
        if log.value().is_none() {
            return Err(JobError::HeldOutWithoutRatings { files: files() });
        }
        let report = log.keep_values_from(minimum)?;
        let step = Step::HeldOutRating;
        listener.event(&Event::Prepared { step, report });
        if log.is_empty() {
            return Err(JobError::HeldOutRatedLow {
                files: files(),
                minimum,
            });
        }
    }
    let test = TestSet::from_pairs(log.user(), log.item()).map_err(EvaluateError::from)?;
    Ok(test)
}

/// The rows whose pairs are not held out, for a model must not be measured on what it was trained on;
/// nothing where all rows are such.
///
/// # Errors
/// Every row is held out.
pub fn without_held_out(
    log: &EventLog,
    held_out: &TestSet,
    listener: &dyn Listener,
) -> Result<Option<EventLog>, JobError> {
    let pairs = pairs_in(held_out);
    let is_held_out = |row: usize| pairs.contains(&(log.user()[row], log.item()[row]));
    let rows = (0..log.len()).filter(|&row| is_held_out(row)).count();
    if rows == 0 {
        return Ok(None);
    }
    if rows == log.len() {
        return Err(SearchError::EverythingHeldOut.into());
    }
    let of = log.len();
    listener.event(&Event::Overlap { rows, of });
    Ok(Some(log.select(|row| !is_held_out(row))))
}

/// Pairs that must not be trained on as zeros: those held out, and those excluded from the data, which
/// are held out for later.
///
/// # Errors
/// Files of excluded pairs that cannot be read.
pub(crate) fn not_to_train(
    input: &Input<'_>,
    reading: &Reading,
    preparation: &Preparation,
) -> Result<HashSet<(u32, u32)>, JobError> {
    let mut pairs = input.held_out.map(pairs_in).unwrap_or_default();
    if !preparation.exclude.is_empty() {
        let ids = (input.ids.users.clone(), input.ids.items.clone());
        // What there is to say about these files was said when they were read first.
        match read_known(&preparation.exclude, reading, ids, &()) {
            Ok(excluded) => pairs.extend(excluded.user.into_iter().zip(excluded.item)),
            Err(JobError::NothingKnown { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(pairs)
}

/// The pairs of a test set.
fn pairs_in(test: &TestSet) -> HashSet<(u32, u32)> {
    let users = test.users().iter().enumerate();
    let pairs = users.flat_map(|(row, &user)| {
        let items = test.lists().row(row).iter();
        items.map(move |&item| (user, item))
    });
    pairs.collect()
}

/// Pairs that were shown and not taken, with their weights.
#[derive(Clone, Debug, Default)]
pub struct ExposedPairs {
    pub(crate) users: Vec<u32>,
    pub(crate) items: Vec<u32>,
    pub(crate) weights: Vec<f32>,
}

impl ExposedPairs {
    /// Pairs with the weight that was given for all, or else with their own, or else with weight 1.
    #[must_use]
    pub fn new(
        users: Vec<u32>,
        items: Vec<u32>,
        own: Option<Vec<f32>>,
        given: Option<f32>,
    ) -> Self {
        let weights = match (given, own) {
            (Some(weight), _) => vec![weight; users.len()],
            (None, Some(weights)) => weights,
            (None, None) => vec![1.0; users.len()],
        };
        Self {
            users,
            items,
            weights,
        }
    }

    /// Reads the pairs of users and items that the rows know.
    ///
    /// # Errors
    /// Files that cannot be read, or of which no row is known.
    pub(crate) fn read(
        rows: &mut Rows,
        exposed: &ExposedEntries,
        reading: &Reading,
        listener: &dyn Listener,
    ) -> Result<Self, JobError> {
        // A weight that is given takes the place of a column, which the files need not have then.
        let mut reading = reading.clone();
        if exposed.weight.is_some() {
            reading.weight_col = Some(ColumnRef::Absent);
        }
        let shown = read_known(&exposed.files, &reading, rows.take_ids(), listener)?;
        (rows.users, rows.items) = (shown.users, shown.items);
        let given = exposed.weight;
        Ok(Self::new(shown.user, shown.item, shown.weight, given))
    }

    /// Drops some pairs, and yields how many they were.
    pub(crate) fn drop_pairs(&mut self, pairs: &HashSet<(u32, u32)>) -> usize {
        let before = self.users.len();
        let given = self.users.iter().zip(&self.items);
        let keep: Vec<bool> = given
            .map(|(&user, &item)| !pairs.contains(&(user, item)))
            .collect();
        retain(&mut self.users, &keep);
        retain(&mut self.items, &keep);
        retain(&mut self.weights, &keep);
        before - self.users.len()
    }
}

fn retain<T>(values: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    values.retain(|_| keep.next().copied().unwrap_or_default());
}
