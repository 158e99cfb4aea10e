//! Which rows train, which validate and which test.
//!
//! Every split depends on the seed and on the rows themselves, never on their order: random choices
//! are hashes of seed, user and item. Rows are taken one by one, so drop duplicates first;
//! otherwise a pair can be in training and in the test at once.

use super::drift::Drift;
use super::error::DataError;
use super::prepare::{EventLog, RowGroups, mix};
use super::repeats::ordered;
use crate::error::Axis;

/// What a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Part {
    /// To train on.
    Train,
    /// To choose settings by.
    Valid,
    /// To measure once.
    Test,
    /// History of a held-out user, from which the user is folded in.
    FoldIn,
}

/// Which rows of a user are held out first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Pick {
    /// The latest, ties broken by larger value and then larger item id.
    #[default]
    Latest,
    /// Any, by a hash of seed, user and item.
    Random,
    /// Any, but rather items on one side of a random axis along which items with the same users lie
    /// side by side: as if demand had moved there.
    Drift,
}

impl Pick {
    /// The rows that are held out where nothing else is asked for: the latest, if there are times.
    #[must_use]
    pub const fn usual(has_times: bool) -> Self {
        if has_times {
            Self::Latest
        } else {
            Self::Random
        }
    }
}

/// How a log is split.
///
/// A user without enough rows to leave at least one for training keeps all of them there.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", tag = "kind"))]
pub enum Split {
    /// The same number of rows of every user. One for the test and none for validation is
    /// leave-one-out; the latest n is last-n. The test takes the first picks, validation the next.
    HoldOut {
        /// Rows of each user for the test.
        test: usize,
        /// Rows of each user for validation.
        valid: usize,
        /// Which rows.
        pick: Pick,
    },
    /// The same share of the rows of every user, rounded to whole rows.
    Ratio {
        /// Share for the test.
        test: f64,
        /// Share for validation.
        valid: f64,
        /// Which rows.
        pick: Pick,
    },
    /// As [`Ratio`](Self::Ratio) for the test alone, but at least one row of every user who keeps one
    /// to be trained on, and never the last one: users with few rows count as well.
    Share {
        /// Share for the test.
        test: f64,
        /// Which rows.
        pick: Pick,
    },
    /// Rows at or after a time, of all users. Users and items that only occur after the
    /// cut have nothing to be trained on.
    TimeCut {
        /// First time of the test.
        test_from: i64,
        /// First time of validation; no validation if not given.
        valid_from: Option<i64>,
    },
    /// The latest share of all rows, for a forecast: the test begins at the time of its earliest row, so that
    /// rows of the same time are in the same part. Users and items that only occur after the cut have nothing
    /// to be trained on.
    TimeShare {
        /// Share for the test.
        test: f64,
        /// Share for validation, before the test.
        valid: f64,
    },
    /// Whole users, for strong generalisation: training sees none of their rows. Users with one row
    /// only are never chosen.
    HeldOutUsers {
        /// Number of test users.
        test: usize,
        /// Number of validation users.
        valid: usize,
        /// Share of each one's rows to fold in from; at least one row, and at least one is left.
        fold_in: f64,
        /// Which rows are held out.
        pick: Pick,
    },
    /// A share of the items, or of the users, with all their rows, rounded to whole ones: what is left to train on
    /// says nothing about them.
    Cold {
        /// Whether items or users are held out.
        axis: Axis,
        /// Share for the test.
        test: f64,
        /// Share for validation.
        valid: f64,
    },
}

impl Split {
    /// Whether all rows from a time on are held out, those of users and items that were not there before too.
    #[must_use]
    pub fn is_by_time(&self) -> bool {
        matches!(self, Split::TimeCut { .. } | Split::TimeShare { .. })
    }

    /// The latest row of each user for the test and, if requested, the one before for validation.
    #[must_use]
    pub fn leave_one_out(pick: Pick, valid: bool) -> Self {
        Split::HoldOut {
            test: 1,
            valid: usize::from(valid),
            pick,
        }
    }
}

/// Held-out rows that nothing can be said about: their user or item has no row to be trained on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Unknown {
    /// Held-out rows.
    pub of: usize,
    /// Those of an unknown user or item.
    pub rows: usize,
    /// Users who have held-out rows and none to be trained on.
    pub users: usize,
    /// Items that have held-out rows and none to be trained on.
    pub items: usize,
}

/// How many rows went where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct SplitReport {
    /// Rows to train on.
    pub train: usize,
    /// Rows to validate on.
    pub valid: usize,
    /// Rows to test on.
    pub test: usize,
    /// Rows to fold in from.
    pub fold_in: usize,
}

impl SplitReport {
    /// Counts the parts.
    #[must_use]
    pub fn of(parts: &[Part]) -> Self {
        let mut report = Self::default();
        for part in parts {
            *match part {
                Part::Train => &mut report.train,
                Part::Valid => &mut report.valid,
                Part::Test => &mut report.test,
                Part::FoldIn => &mut report.fold_in,
            } += 1;
        }
        report
    }
}

impl EventLog {
    /// Yields the part of each row.
    ///
    /// # Errors
    /// A share out of range, a latest pick or a time cut without times, or more held-out users
    /// than there are users with two rows.
    pub fn split(&self, split: &Split, seed: u64) -> Result<Vec<Part>, DataError> {
        match *split {
            Split::HoldOut { test, valid, pick } => self.split_users(pick, seed, |_| (test, valid)),
            Split::Ratio { test, valid, pick } => {
                check_share("test share", test)?;
                check_share("validation share", valid)?;
                check_share("share held out", test + valid)?;
                let rows = |share: f64, n: usize| (share * n as f64).round() as usize;
                self.split_users(pick, seed, |n| (rows(test, n), rows(valid, n)))
            }
            Split::Share { test, pick } => {
                check_share("test share", test)?;
                self.split_users(pick, seed, |n| (share_of(test, n).0, 0))
            }
            Split::TimeCut {
                test_from,
                valid_from,
            } => self.split_time(test_from, valid_from),
            Split::TimeShare { test, valid } => {
                check_share("test share", test)?;
                check_share("validation share", valid)?;
                check_share("share held out", test + valid)?;
                let test_from = self.latest_from(test)?;
                let valid_from = self.latest_from(test + valid)?;
                self.split_time(test_from, (valid > 0.0).then_some(valid_from))
            }
            Split::HeldOutUsers {
                test,
                valid,
                fold_in,
                pick,
            } => {
                check_share("fold-in share", fold_in)?;
                self.split_held_out([test, valid], fold_in, pick, seed)
            }
            Split::Cold { axis, test, valid } => {
                check_share("test share", test)?;
                check_share("validation share", valid)?;
                check_share("share held out", test + valid)?;
                Ok(self.split_cold(axis, [test, valid], seed))
            }
        }
    }

    /// Number of users of whom a [`Split::Share`] holds out fewer rows than their share, because one is kept
    /// to be trained on.
    #[must_use]
    pub fn held_out_less(&self, split: &Split) -> usize {
        let Split::Share { test, .. } = *split else {
            return 0;
        };
        let counts = self.counts(Axis::User);
        let is_short = |&&n: &&u32| share_of(test, n as usize).1;
        counts.iter().filter(is_short).count()
    }

    /// Whether user and item of each row have rows to be trained on, and how many held-out rows lack that.
    #[must_use]
    pub fn known(&self, parts: &[Part]) -> (Vec<bool>, Unknown) {
        let trained = |column: &[u32]| {
            let mut trained = vec![false; column.iter().max().map_or(0, |&last| last as usize + 1)];
            for (&index, _) in column
                .iter()
                .zip(parts)
                .filter(|(_, part)| **part == Part::Train)
            {
                trained[index as usize] = true;
            }
            trained
        };
        let (users, items) = (trained(&self.user), trained(&self.item));
        let pair = |row: usize| (self.user[row] as usize, self.item[row] as usize);
        let known: Vec<bool> = (0..self.len())
            .map(|row| users[pair(row).0] && items[pair(row).1])
            .collect();
        let held: Vec<usize> = (0..self.len())
            .filter(|&row| parts[row] != Part::Train)
            .collect();
        let distinct = |unknown: &mut dyn Iterator<Item = usize>| {
            unknown.collect::<std::collections::HashSet<_>>().len()
        };
        let of_users = held.iter().map(|&row| pair(row).0);
        let of_items = held.iter().map(|&row| pair(row).1);
        let unknown = Unknown {
            of: held.len(),
            rows: held.iter().filter(|&&row| !known[row]).count(),
            users: distinct(&mut of_users.filter(|&user| !users[user])),
            items: distinct(&mut of_items.filter(|&item| !items[item])),
        };
        (known, unknown)
    }

    /// Rows by user, those to hold out first in front.
    fn picked(&self, pick: Pick, seed: u64) -> Result<RowGroups, DataError> {
        let groups = RowGroups::new(&self.user);
        match pick {
            Pick::Latest => {
                let time = self.needed_times("a latest pick")?;
                Ok(groups.sort_by_key(|row| std::cmp::Reverse(self.late_key(time, row))))
            }
            Pick::Random => Ok(groups.sort_by_key(|row| {
                let at = row as usize;
                let hash = mix(seed, u64::from(self.user[at]), u64::from(self.item[at]));
                let time = self.time.as_ref().map_or(0, |time| time[at]);
                (hash, self.late_key_at(time, row))
            })),
            Pick::Drift => {
                let drift = Drift::new(&self.user, &self.item, seed);
                Ok(groups.sort_by_key(|row| {
                    let at = row as usize;
                    let key = drift.key(self.user[at], self.item[at]);
                    let time = self.time.as_ref().map_or(0, |time| time[at]);
                    (std::cmp::Reverse(key), self.late_key_at(time, row))
                }))
            }
        }
    }

    fn late_key(&self, time: &[i64], row: u32) -> (i64, u32, u32, u32) {
        self.late_key_at(time[row as usize], row)
    }

    /// Time, value, item and weight; rows equal in all of them are identical.
    fn late_key_at(&self, time: i64, row: u32) -> (i64, u32, u32, u32) {
        let at = row as usize;
        let column = |column: &Option<Vec<f32>>| column.as_ref().map_or(0, |x| ordered(x[at]));
        (
            time,
            column(&self.value),
            self.item[at],
            column(&self.weight),
        )
    }

    fn needed_times(&self, transform: &'static str) -> Result<&[i64], DataError> {
        self.time.as_deref().ok_or(DataError::Lacks {
            transform,
            needs: "times",
        })
    }

    /// Holds out `(test, valid)` rows of every user, as `sizes` says for the user's row count.
    fn split_users(
        &self,
        pick: Pick,
        seed: u64,
        sizes: impl Fn(usize) -> (usize, usize),
    ) -> Result<Vec<Part>, DataError> {
        let mut parts = vec![Part::Train; self.len()];
        for rows in self.picked(pick, seed)?.iter() {
            let (test, valid) = sizes(rows.len());
            if test.saturating_add(valid) < rows.len() {
                label(&mut parts, &rows[..test], Part::Test);
                label(&mut parts, &rows[test..test + valid], Part::Valid);
            }
        }
        Ok(parts)
    }

    fn split_time(&self, test_from: i64, valid_from: Option<i64>) -> Result<Vec<Part>, DataError> {
        let part = |&time: &i64| {
            if time >= test_from {
                Part::Test
            } else if valid_from.is_some_and(|from| time >= from) {
                Part::Valid
            } else {
                Part::Train
            }
        };
        let times = self.needed_times("a time cut")?;
        Ok(times.iter().map(part).collect())
    }

    /// Holds out all rows of some users or items.
    fn split_cold(&self, axis: Axis, [test, valid]: [f64; 2], seed: u64) -> Vec<Part> {
        let of_row = match axis {
            Axis::User => &self.user,
            Axis::Item => &self.item,
        };
        let mut present = self.present(axis);
        let side = match axis {
            Axis::User => 2,
            Axis::Item => 3,
        };
        let stream = mix(seed, 0, side);
        present.sort_by_cached_key(|&row| (mix(stream, u64::from(row), 0), row));
        let count = |share: f64| (share * present.len() as f64).round() as usize;
        let (test, valid) = (count(test), count(valid));
        let most = present.iter().max().map_or(0, |&row| row as usize + 1);
        let mut part_of = vec![Part::Train; most];
        label(&mut part_of, &present[..test], Part::Test);
        let valid_end = (test + valid).min(present.len());
        label(&mut part_of, &present[test..valid_end], Part::Valid);
        of_row.iter().map(|&row| part_of[row as usize]).collect()
    }

    /// The time of the first of the latest share of all rows.
    fn latest_from(&self, share: f64) -> Result<i64, DataError> {
        let mut times = self.needed_times("a split by time")?.to_vec();
        let place = ((1.0 - share) * times.len() as f64) as usize;
        if place >= times.len() {
            return Ok(i64::MAX);
        }
        Ok(*times.select_nth_unstable(place).1)
    }

    fn split_held_out(
        &self,
        [test, valid]: [usize; 2],
        fold_in: f64,
        pick: Pick,
        seed: u64,
    ) -> Result<Vec<Part>, DataError> {
        let counts = self.counts(Axis::User);
        let eligible = |&user: &u32| counts[user as usize] >= 2;
        let mut users: Vec<u32> = (0..counts.len() as u32).filter(eligible).collect();
        let wanted = test.saturating_add(valid);
        if wanted > users.len() {
            return Err(DataError::Parameter {
                name: "number of held-out users",
                got: wanted as f32,
                range: "at most the number of users with two rows or more",
            });
        }
        // A hash of its own, so that the choice of users is independent of the choice of rows.
        let stream = mix(seed, 0, 1);
        users.sort_by_cached_key(|&user| (mix(stream, u64::from(user), 0), user));
        let groups = self.picked(pick, seed)?;
        let mut parts = vec![Part::Train; self.len()];
        for (place, &user) in users[..wanted].iter().enumerate() {
            let rows = groups.rows(user as usize);
            let held_out = ((1.0 - fold_in) * rows.len() as f64).round() as usize;
            let (held_out, history) = rows.split_at(held_out.clamp(1, rows.len() - 1));
            let part = if place < test {
                Part::Test
            } else {
                Part::Valid
            };
            label(&mut parts, held_out, part);
            label(&mut parts, history, Part::FoldIn);
        }
        Ok(parts)
    }
}

fn label(parts: &mut [Part], rows: &[u32], part: Part) {
    for &row in rows {
        parts[row as usize] = part;
    }
}

/// How many of a user's rows a share holds out, and whether those are fewer than the share.
fn share_of(share: f64, rows: usize) -> (usize, bool) {
    let wanted = ((share * rows as f64).round() as usize).max(1);
    let most = rows.saturating_sub(1);
    (wanted.min(most), rows > 1 && wanted > most)
}

fn check_share(name: &'static str, share: f64) -> Result<(), DataError> {
    if (0.0..=1.0).contains(&share) {
        return Ok(());
    }
    Err(DataError::Parameter {
        name,
        got: share as f32,
        range: "between 0 and 1",
    })
}
