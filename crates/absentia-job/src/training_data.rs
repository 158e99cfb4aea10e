//! The data of a run: the matrix with its exposed entries, and the held-out rows.

use absentia::Interactions;
use absentia::data::{DataError, Duplicates, EventLog, Part, Pick, Split, Targets};
use absentia::evaluate::{EvaluateError, TestSet};
use absentia::relations::Relations;
use absentia_io::model::Ids;
use absentia_io::time::TimeUnit;

use crate::defaults;
use crate::error::JobError;
use crate::held_out::{ExposedPairs, pairs_of, without_held_out};
use crate::job::Job;
use crate::listener::{Event, Listener};
use crate::memory::while_held;
use crate::preparation::Preparation;
use crate::rows::Rows;
use crate::text::SplitRule;
use crate::validation::HeldOutRows;

/// Data that is ready to be trained on, with its ids.
#[derive(Debug)]
pub struct TrainingData {
    /// Ids of users and items.
    pub ids: Ids,
    /// The matrix.
    pub data: Interactions<'static>,
    /// Rows to measure models on.
    pub held_out: Option<TestSet>,
    /// Whether the data has ratings: its own, or counts of repeated pairs.
    pub has_ratings: bool,
    /// Whether the data came with weights.
    pub has_weights: bool,
    /// How pairs that occur more than once were merged.
    pub duplicates: Duplicates,
    /// Relations that are trained with the data.
    pub related: Option<Relations<'static>>,
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
    /// Relations that are trained with the data.
    pub related: Option<&'d Relations<'d>>,
}

impl Input<'_> {
    /// The unit of the data's times.
    #[must_use]
    pub fn unit(&self) -> TimeUnit {
        TimeUnit::of_times(self.data.times())
    }

    /// Bytes of what is in memory beside the matrix.
    #[must_use]
    pub fn bytes_beside_data(&self) -> u64 {
        self.ids.users.bytes() + self.ids.items.bytes() + self.held_out.map_or(0, TestSet::bytes)
    }
}

impl TrainingData {
    /// Holds rows out, and adds pairs that were shown and not taken.
    ///
    /// # Errors
    /// Files that cannot be read, rows that cannot be split as given.
    pub(crate) fn of_rows(
        mut rows: Rows,
        job: &Job,
        listener: &dyn Listener,
    ) -> Result<Self, JobError> {
        let (reading, preparation, exposed) = (&job.reading, &job.preparation, &job.exposed);
        exposed.check()?;
        // With these, a value of 0 has the target 0.
        if !matches!(job.settings.targets, Some(Targets::Raw | Targets::Log)) {
            rows.report_ratings(preparation, true, listener);
        }
        let held_out = match job.validation.held_out() {
            HeldOutRows::None => None,
            HeldOutRows::Files(files) => {
                let test = pairs_of(&mut rows, &files, reading, preparation, listener)?;
                if let Some(log) = without_held_out(&rows.log, &test, listener)? {
                    rows.log = log;
                }
                Some(test)
            }
            HeldOutRows::Split { rule, pick } => {
                Some(hold_out(&mut rows, preparation, rule, pick, listener)?)
            }
        };
        let shown = match &exposed.files[..] {
            [] => None,
            _ => Some(while_held(listener, rows.bytes(), || {
                ExposedPairs::read(&mut rows, exposed, reading, listener)
            })?),
        };
        let mut prepared = Self::new(rows, preparation, listener)?;
        prepared.held_out = held_out;
        if let Some(shown) = shown {
            prepared.data = job.with_exposed(&prepared.input(), shown, listener)?;
        }
        listener.event(&Event::Ready {
            interactions: prepared.data.n_interactions(),
            users: prepared.data.n_users(),
            items: prepared.data.n_items(),
        });
        Ok(prepared)
    }

    /// The matrix of rows as they are.
    ///
    /// # Errors
    /// Pairs that occur more than once, where those are rejected.
    pub(crate) fn new(
        rows: Rows,
        preparation: &Preparation,
        listener: &dyn Listener,
    ) -> Result<Self, JobError> {
        let duplicates = rows.duplicates(preparation);
        let data = rows.interactions(preparation, listener)?;
        let is_counted = duplicates == Duplicates::Sum && data.len() < rows.log.len();
        Ok(Self {
            data,
            held_out: None,
            has_ratings: rows.log.value().is_some() || is_counted,
            has_weights: rows.log.weight().is_some(),
            duplicates,
            related: None,
            ids: Ids {
                related: Vec::new(),
                users: rows.users,
                items: rows.items,
            },
        })
    }

    /// The data as a run takes it.
    #[must_use]
    pub fn input(&self) -> Input<'_> {
        Input {
            data: &self.data,
            ids: &self.ids,
            held_out: self.held_out.as_ref(),
            related: self.related.as_ref(),
        }
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
        let usual = Pick::usual(rows.log.time().is_some());
        if rows.log.time().is_none() {
            listener.event(&Event::HeldOutWithoutTimes(usual));
        }
        usual
    });
    if matches!(rule, SplitRule::Users { .. }) {
        return Err(JobError::UsersHeldOut);
    }
    rows.merge_repeats(preparation, listener)?;
    let unit = TimeUnit::of_times(rows.log.time());
    let split = rule.split(pick, defaults::FOLD_IN, unit);
    let parts = split_rows(&rows.log, &split, 0, listener)?;
    let known = split.is_by_time().then(|| rows.log.known(&parts));
    let is_known = |row: usize| known.as_ref().is_none_or(|(known, _)| known[row]);
    let held = rows
        .log
        .select(|row| parts[row] != Part::Train && is_known(row));
    if let Some((_, unknown)) = known.as_ref().filter(|(_, unknown)| unknown.rows > 0) {
        listener.event(&Event::Unknown(*unknown));
    }
    rows.log.retain(|row| parts[row] == Part::Train);
    listener.event(&Event::HeldOut { rows: held.len() });
    let test = TestSet::from_pairs(held.user(), held.item()).map_err(EvaluateError::from)?;
    Ok(test)
}

/// Reports users of whom fewer rows are held out than the share.
pub fn report_held_out_less(log: &EventLog, split: &Split, listener: &dyn Listener) {
    let users = log.held_out_less(split);
    if users > 0 {
        listener.event(&Event::HeldOutLess { users });
    }
}

/// The part that each row belongs to; reports users of whom fewer rows are held out than the share.
///
/// # Errors
/// The split needs times and there are none, or it is out of range.
pub fn split_rows(
    log: &EventLog,
    split: &Split,
    seed: u64,
    listener: &dyn Listener,
) -> Result<Vec<Part>, JobError> {
    let parts = log.split(split, seed).map_err(|error| match error {
        DataError::Lacks { .. } => JobError::SplitLacks(error),
        error => error.into(),
    })?;
    report_held_out_less(log, split, listener);
    Ok(parts)
}
