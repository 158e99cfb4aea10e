//! The data of a run: the matrix with its exposed entries, and the held-out rows.

use absentia::Interactions;
use absentia::data::{DataError, EventLog, Part, Pick, Split, Targets};
use absentia::evaluate::{EvaluateError, TestSet};
use absentia_io::model::Ids;
use absentia_io::time::TimeUnit;

use crate::defaults;
use crate::error::JobError;
use crate::exposed_entries::ExposedEntries;
use crate::held_out::{ExposedPairs, not_to_train, pairs_of, without_held_out};
use crate::listener::{Event, Listener};
use crate::preparation::Preparation;
use crate::reading::Reading;
use crate::rows::Rows;
use crate::settings::GivenSettings;
use crate::text::SplitRule;
use crate::validation::HeldOutRows;

/// Data that was read from files and is ready to be trained on.
#[derive(Debug)]
pub struct TrainingData {
    /// Ids of users and items.
    pub ids: Ids,
    /// The matrix.
    pub data: Interactions<'static>,
    /// Rows to measure models on.
    pub held_out: Option<TestSet>,
    /// Whether the data came with ratings.
    pub has_ratings: bool,
    /// Whether the data came with weights.
    pub has_weights: bool,
}

/// Data ready to be trained on, wherever it came from.
#[derive(Clone, Copy, Debug)]
pub struct Input<'d> {
    /// The matrix.
    pub data: &'d Interactions<'d>,
    /// Ids of users and items.
    pub ids: &'d Ids,
    /// Rows to measure models on.
    pub held_out: Option<&'d TestSet>,
}

impl Input<'_> {
    /// The unit of the data's times.
    #[must_use]
    pub fn unit(&self) -> TimeUnit {
        TimeUnit::of_times(self.data.times())
    }
}

impl TrainingData {
    /// Reads files, holds rows out, and adds pairs that were shown and not taken.
    ///
    /// # Errors
    /// Files that cannot be read, data that cannot be prepared or split as given.
    pub fn read(
        files: &[String],
        reading: &Reading,
        preparation: &Preparation,
        exposed: &ExposedEntries,
        held_out: &HeldOutRows,
        listener: &dyn Listener,
    ) -> Result<Self, JobError> {
        if exposed.weight.is_some() && exposed.files.is_empty() {
            return Err(JobError::ExposedWeightAlone);
        }
        let mut rows = Rows::read(files, reading, preparation, listener)?;
        rows.report_ratings(preparation, listener);
        let has_ratings = rows.log.value().is_some();
        let has_weights = rows.log.weight().is_some();
        let held_out = match held_out {
            HeldOutRows::None => None,
            HeldOutRows::Files(files) => {
                let test = pairs_of(&mut rows, files, reading, preparation, listener)?;
                if let Some(log) = without_held_out(&rows.log, &test, listener)? {
                    rows.log = log;
                }
                Some(test)
            }
            HeldOutRows::Split { rule, pick } => {
                Some(hold_out(&mut rows, preparation, *rule, *pick, listener)?)
            }
        };
        let mut data = rows.interactions(preparation.duplicates())?;
        if !exposed.files.is_empty() {
            let given = (exposed, preparation);
            let held_out = held_out.as_ref();
            data = with_exposed(&mut rows, &data, held_out, given, reading, listener)?;
        }
        listener.event(&Event::Ready {
            interactions: data.n_interactions(),
            users: data.n_users(),
            items: data.n_items(),
        });
        Ok(Self {
            ids: Ids {
                users: rows.users,
                items: rows.items,
            },
            data,
            held_out,
            has_ratings,
            has_weights,
        })
    }

    /// The data as a run takes it.
    #[must_use]
    pub fn input(&self) -> Input<'_> {
        Input {
            data: &self.data,
            ids: &self.ids,
            held_out: self.held_out.as_ref(),
        }
    }

    /// Rejects or reports rules for targets and confidence that need a column which the data does not have.
    ///
    /// # Errors
    /// Weights of entries are to come from a column that is not there.
    pub fn check_rules(
        &self,
        settings: &GivenSettings,
        listener: &dyn Listener,
    ) -> Result<(), JobError> {
        let confidence = settings.confidence.unwrap_or_default();
        if confidence.needs_column() && !self.has_weights {
            return Err(JobError::NoWeightColumn);
        }
        if self.has_ratings {
            return Ok(());
        }
        if let Some(targets @ (Targets::Raw | Targets::Log)) = settings.targets {
            listener.event(&Event::TargetsWithoutRatings(targets));
        }
        if confidence.needs_ratings() {
            listener.event(&Event::ConfidenceWithoutRatings(confidence));
        }
        Ok(())
    }
}

fn hold_out(
    rows: &mut Rows,
    preparation: &Preparation,
    rule: SplitRule,
    pick: Option<Pick>,
    listener: &dyn Listener,
) -> Result<TestSet, JobError> {
    let pick = pick.unwrap_or_else(|| {
        if rows.log.time().is_some() {
            return Pick::Latest;
        }
        listener.event(&Event::HeldOutWithoutTimes(Pick::Random));
        Pick::Random
    });
    if matches!(rule, SplitRule::Users { .. }) {
        return Err(JobError::UsersHeldOut);
    }
    // A pair must not be in training and held out at once.
    let merged = rows.log.deduplicate(preparation.duplicates());
    merged.map_err(|error| rows.named(error))?;
    let unit = TimeUnit::of_times(rows.log.time());
    let split = rule.split(pick, defaults::FOLD_IN, unit);
    let parts = split_rows(&rows.log, &split, 0)?;
    let held = rows.log.select(|row| parts[row] != Part::Train);
    rows.log.retain(|row| parts[row] == Part::Train);
    listener.event(&Event::HeldOut { rows: held.len() });
    let test = TestSet::from_pairs(held.user(), held.item()).map_err(EvaluateError::from)?;
    Ok(test)
}

/// The part that each row belongs to.
///
/// # Errors
/// The split needs times and there are none, or it is out of range.
pub fn split_rows(log: &EventLog, split: &Split, seed: u64) -> Result<Vec<Part>, JobError> {
    log.split(split, seed).map_err(|error| match error {
        DataError::Lacks { .. } => JobError::SplitLacks(error),
        error => error.into(),
    })
}

fn with_exposed(
    rows: &mut Rows,
    data: &Interactions<'_>,
    held_out: Option<&TestSet>,
    (exposed, preparation): (&ExposedEntries, &Preparation),
    reading: &Reading,
    listener: &dyn Listener,
) -> Result<Interactions<'static>, JobError> {
    let mut shown = ExposedPairs::read(rows, exposed, reading, listener)?;
    let held_out = not_to_train(rows, held_out, reading, preparation)?;
    let dropped = shown.drop_pairs(&held_out);
    let merged = data.with_exposed(&shown.users, &shown.items, &shown.weights)?;
    let pairs = merged.len() - merged.n_interactions();
    listener.event(&Event::Exposed { pairs, dropped });
    Ok(merged)
}
