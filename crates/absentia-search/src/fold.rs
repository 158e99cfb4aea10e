//! Rows that settings are chosen by, held out of the data in one or several ways.

use absentia::data::{Duplicates, EventLog, Interactions, Part, Pick, Split};
use absentia::evaluate::{EvaluateError, TestSet};

use crate::error::SearchError;

/// Numbers of users with a held-out row below which scores are averaged over this many folds.
const FOLDS_BELOW: [(usize, usize); 3] = [(2000, 5), (5000, 3), (10_000, 2)];
/// The share of all rows that several folds by time may hold out together: what is left must resemble the data.
const MOST_BY_TIME: f64 = 0.3;

/// A matrix to train on and the rows held out of it.
#[derive(Clone, Debug)]
pub struct Fold<'d> {
    /// What is trained on.
    pub train: Interactions<'d>,
    /// What settings are chosen by.
    pub held_out: TestSet,
}

impl Fold<'static> {
    /// Holds a share of every user's rows out of a matrix.
    pub(crate) fn of_matrix(
        data: &Interactions<'_>,
        share: f64,
        seed: u64,
    ) -> Result<Self, SearchError> {
        let held = data.hold_out(share, seed);
        let held_out = TestSet::from_pairs(&held.users, &held.items);
        Ok(Self {
            train: held.rest,
            held_out: held_out.map_err(EvaluateError::from)?,
        })
    }

    /// Holds rows out of a log by a rule; pairs occur once in it, so that there is nothing to merge. Of rows that are
    /// held out by time, those of users and items without earlier rows are left out.
    ///
    /// # Errors
    /// The rule needs times that the log does not have.
    pub fn of_log(
        log: &EventLog,
        (users, items): (usize, usize),
        rule: &Split,
        seed: u64,
    ) -> Result<Self, SearchError> {
        let parts = log.split(rule, seed)?;
        let known = rule.is_by_time().then(|| log.known(&parts).0);
        let is_known = |row: usize| known.as_ref().is_none_or(|known| known[row]);
        let held = log.select(|row| parts[row] != Part::Train && is_known(row));
        let train = log.select(|row| parts[row] == Part::Train);
        let held_out = TestSet::from_pairs(held.user(), held.item());
        Ok(Self {
            train: train.interactions(users, items, Duplicates::Last)?,
            held_out: held_out.map_err(EvaluateError::from)?,
        })
    }

    /// Holds rows out of a log by a rule, in one of several ways: by another seed, or of a log that ends earlier.
    fn number(
        log: &EventLog,
        shape: (usize, usize),
        rule: &Split,
        number: usize,
    ) -> Result<Self, SearchError> {
        let Split::TimeShare { test, .. } = *rule else {
            return Self::of_log(log, shape, rule, number as u64);
        };
        if number == 0 {
            return Self::of_log(log, shape, rule, 0);
        }
        let later = Split::TimeShare {
            test: test * number as f64,
            valid: 0.0,
        };
        let parts = log.split(&later, 0)?;
        let earlier = log.select(|row| parts[row] == Part::Train);
        Self::of_log(&earlier, shape, rule, 0)
    }

    /// Thins the held-out rows: a row is kept with a probability proportional to a power of its item's
    /// number of interactions. Powers above 0 favour popular items, powers below 0 rare ones.
    ///
    /// Later requests often favour more popular items than a random row of the training data; settings
    /// chosen by random rows would then favour rare items too much.
    ///
    /// # Errors
    /// None that a fold can cause.
    pub fn tilt(&mut self, power: f64) -> Result<(), SearchError> {
        if power != 0.0 {
            self.held_out = tilted(&self.held_out, &self.train.item_counts(), power)?;
        }
        Ok(())
    }
}

/// How rows are held out of a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HoldOut {
    /// The rule.
    pub rule: Split,
    /// Number of folds; chosen by the number of users with a held-out row if `None`.
    pub folds: Option<usize>,
}

impl HoldOut {
    /// The rows to pick where nothing else is requested: the latest where there are times.
    #[must_use]
    pub fn default_pick(log: &EventLog) -> Pick {
        if log.time().is_some() {
            Pick::Latest
        } else {
            Pick::Drift
        }
    }

    /// The maximum number of folds that differ.
    fn most_folds(&self) -> usize {
        let is_random = match self.rule {
            Split::HoldOut { pick, .. }
            | Split::Ratio { pick, .. }
            | Split::Share { pick, .. }
            | Split::HeldOutUsers { pick, .. } => pick != Pick::Latest,
            Split::Cold { .. } => true,
            // Each fold ends where the one before begins.
            Split::TimeShare { test, .. } => {
                // A little more, so that three tenths are three times a tenth.
                return ((MOST_BY_TIME / test.max(1e-9) + 1e-9) as usize).max(1);
            }
            Split::TimeCut { .. } => false,
        };
        if is_random { usize::MAX } else { 1 }
    }

    /// Holds rows out of a log, in as many ways as there are folds.
    ///
    /// # Errors
    /// Users are held out whole; more folds than the rule has; no row is held out, or
    /// every row is; the rule needs times that the log does not have.
    pub fn folds(
        &self,
        log: &EventLog,
        shape: (usize, usize),
    ) -> Result<Vec<Fold<'static>>, SearchError> {
        if matches!(self.rule, Split::HeldOutUsers { .. }) {
            return Err(SearchError::WholeUsers);
        }
        let most = self.most_folds();
        if self.folds.is_some_and(|folds| folds > most) {
            return Err(SearchError::TooManyFolds { most });
        }
        let first = Fold::of_log(log, shape, &self.rule, 0)?;
        let users = first.held_out.users().len();
        if users == 0 {
            return Err(SearchError::NothingHeldOut);
        }
        if first.train.n_interactions() == 0 {
            return Err(SearchError::EverythingHeldOut);
        }
        let mut folds = vec![first];
        for number in 1..self.number_of_folds(users) {
            let fold = Fold::number(log, shape, &self.rule, number)?;
            // A log that ends early may have nothing to hold out.
            if !fold.held_out.users().is_empty() && fold.train.n_interactions() > 0 {
                folds.push(fold);
            }
        }
        Ok(folds)
    }

    /// Number of folds where this many users have a held-out row.
    #[must_use]
    pub fn number_of_folds(&self, users: usize) -> usize {
        let few = FOLDS_BELOW.iter().find(|(below, _)| users < *below);
        let by_users = || few.map_or(1, |(_, folds)| (*folds).min(self.most_folds()));
        self.folds.unwrap_or_else(by_users)
    }
}

/// Held-out pairs, each kept with a probability proportional to a power of its item's count.
pub(crate) fn tilted(
    held_out: &TestSet,
    counts: &[u32],
    power: f64,
) -> Result<TestSet, EvaluateError> {
    let mut known: Vec<u32> = held_out
        .lists()
        .items()
        .iter()
        .map(|&item| counts[item as usize])
        .collect();
    known.sort_unstable();
    // The item of the median pair is kept half of the time.
    let median = f64::from(known.get(known.len() / 2).copied().unwrap_or(1).max(1));
    let (mut users, mut items) = (Vec::new(), Vec::new());
    for (row, &user) in held_out.users().iter().enumerate() {
        for &item in held_out.lists().row(row) {
            let share = 0.5 * (f64::from(counts[item as usize].max(1)) / median).powf(power);
            if hashed_unit(user, item) < share {
                users.push(user);
                items.push(item);
            }
        }
    }
    Ok(TestSet::from_pairs(&users, &items)?)
}

/// At most `size` users with their items, spread evenly.
pub(crate) fn every_nth_user(test: &TestSet, size: usize) -> TestSet {
    let step = test.users().len().div_ceil(size.max(1)).max(1);
    users_at((0..test.users().len()).step_by(step), test)
}

/// The users at some places of a test set, with their items.
pub(crate) fn users_at(places: impl Iterator<Item = usize>, test: &TestSet) -> TestSet {
    let (mut users, mut items) = (Vec::new(), Vec::new());
    for place in places {
        for &item in test.lists().row(place) {
            users.push(test.users()[place]);
            items.push(item);
        }
    }
    // The columns have the same length, which is all that could be wrong with them.
    TestSet::from_pairs(&users, &items).unwrap_or_default()
}

/// A number in [0, 1) that depends on two numbers alone.
pub(crate) fn hashed_unit(user: u32, item: u32) -> f64 {
    let mut x = (u64::from(user) << 32 | u64::from(item)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_by_time_end_where_the_one_before_begins() {
        let user: Vec<u32> = (0..1000).map(|row| row * 7 % 50).collect();
        let item: Vec<u32> = (0..1000).map(|row| row * 11 % 40).collect();
        let log = EventLog::new(user, item).unwrap();
        let log = log.times((0..1000).collect()).unwrap();
        let by_time = |test: f64, folds| HoldOut {
            rule: Split::TimeShare { test, valid: 0.0 },
            folds,
        };
        let folds = by_time(0.1, None).folds(&log, (50, 40)).unwrap();
        let latest: Vec<i64> = folds
            .iter()
            .map(|fold| fold.train.latest_time().unwrap())
            .collect();
        // A tenth of 1,000 rows, of the 900 before them, and of 800.
        assert_eq!(latest, [899, 809, 719]);
        assert_eq!(by_time(0.2, None).folds(&log, (50, 40)).unwrap().len(), 1);
        assert_eq!(
            by_time(0.1, Some(1)).folds(&log, (50, 40)).unwrap().len(),
            1
        );
        let refused = by_time(0.1, Some(4)).folds(&log, (50, 40));
        assert!(matches!(
            refused,
            Err(SearchError::TooManyFolds { most: 3 })
        ));
    }

    #[test]
    fn a_tilt_changes_how_popular_held_out_items_are() {
        let users: Vec<u32> = (0..4000).map(|at| at / 4).collect();
        let items: Vec<u32> = (0..4000).map(|at| at % 4 * 25 + at / 4 % 25).collect();
        let held_out = TestSet::from_pairs(&users, &items).unwrap();
        let counts: Vec<u32> = (1..=100).collect();
        let mean = |set: &TestSet| {
            let items = set.lists().items();
            let total: f64 = items.iter().map(|&i| f64::from(counts[i as usize])).sum();
            total / items.len() as f64
        };
        let up = tilted(&held_out, &counts, 0.5).unwrap();
        let down = tilted(&held_out, &counts, -0.5).unwrap();
        assert!(mean(&up) > mean(&held_out) + 5.0);
        assert!(mean(&down) < mean(&held_out) - 5.0);
    }
}
