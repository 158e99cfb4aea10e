//! What each operation does to the state.

use super::Online;
use super::error::{OnlineError, PairFault};
use super::operation::{Applied, Event, Operation};
use super::pair::{PairEntry, PairEvent};
use super::refit::TrainFrom;
use super::step::RowStep;
use crate::data::{DataError, recent_now};
use crate::error::Axis;
use crate::fit::Cancel;
use crate::model::RowWeights;

impl Online {
    /// Applies an operation. One that is rejected has changed nothing.
    ///
    /// # Errors
    /// Rows that there are not, numbers that are not finite, negative weights, nothing to remove, a
    /// refit that fails.
    pub fn apply(&mut self, operation: &Operation) -> Result<Applied, OnlineError> {
        self.apply_unless(operation, &Cancel::new())
    }

    /// [`apply`](Self::apply), in which a refit looks at a flag: one that is cancelled changes nothing. All
    /// other operations are too quick for that.
    ///
    /// # Errors
    /// As [`apply`](Self::apply), and a refit that was cancelled.
    pub fn apply_unless(
        &mut self,
        operation: &Operation,
        cancel: &Cancel,
    ) -> Result<Applied, OnlineError> {
        let rows_left = match operation {
            Operation::Add {
                axis,
                hash,
                weights,
            } => self.add(*axis, *hash, weights).map(|()| 0),
            Operation::Insert(event) => self.insert(event),
            Operation::Remove {
                user,
                item,
                time,
                later,
            } => self.remove((*user, *item), *time, *later),
            Operation::Expose { user, item, weight } => self.expose((*user, *item), *weight),
            Operation::Erase { user } => self.erase(*user),
            Operation::Rebuild => {
                self.rebuild();
                Ok(0)
            }
            Operation::Refit { sweeps } => {
                let sweeps = Some(*sweeps as usize);
                let trained = self.train(TrainFrom::Present, sweeps, &mut (), cancel);
                trained.map(|()| 0)
            }
            Operation::Settings(settings) => settings.check().map(|()| {
                self.settings = *settings;
                0
            }),
        }?;
        self.sequence += 1;
        Ok(Applied {
            sequence: self.sequence,
            rows_left,
        })
    }

    fn add(&mut self, axis: Axis, hash: u64, weights: &RowWeights) -> Result<(), OnlineError> {
        if self.n_rows(axis) >= u32::MAX as usize {
            return Err(OnlineError::TooMany { axis });
        }
        self.weights.add(axis, weights)?;
        self.observed.add(axis);
        self.factors[axis].push_row(&vec![0.0; self.params.factors]);
        self.hashes[axis].push(hash);
        let typical = self.targets.typical[axis];
        self.targets.counts[axis].push(typical);
        if axis == Axis::Item
            && let Some(recent) = &mut self.recent_counts
        {
            recent.push(recent_now(typical));
        }
        self.weights.rescale(&self.observed);
        Ok(())
    }

    /// Rejects an event of a pair that would not become an entry; users and items behind the last one
    /// count as new ones.
    ///
    /// # Errors
    /// Numbers that are not finite, negative weights.
    pub fn check_new(&self, event: &Event) -> Result<(), OnlineError> {
        let at = (event.user, event.item);
        check_event(event).map_err(|fault| of_pair(at, fault))?;
        let pair = PairEntry::Taken(PairEvent {
            value: event.value,
            weight: event.weight,
            time: event.time.unwrap_or(self.latest),
            boost: self.settings.weight_of_new,
        });
        self.target(at, pair).map(drop)
    }

    fn insert(&mut self, event: &Event) -> Result<u32, OnlineError> {
        let at = (event.user, event.item);
        self.check(at)?;
        check_event(event).map_err(|fault| of_pair(at, fault))?;
        let time = event.time.unwrap_or(self.latest);
        let new = PairEvent {
            value: event.value,
            weight: event.weight,
            time: if self.observed.has_times() { time } else { 0 },
            boost: self.settings.weight_of_new,
        };
        let before = self.observed.pair(at);
        let merged = self.observed.histories.with(at, before, new);
        let pair = PairEntry::Taken(merged.map_err(|error| of_merging(at, error))?);
        let rc = self.target(at, pair)?;
        self.observed.histories.push(at, before, new);
        if self.observed.has_times() {
            self.latest = self.latest.max(time);
        }
        self.put(at, Some(pair), rc);
        let folded = self.fold_in(at);
        Ok(self.steps(at) + folded)
    }

    fn remove(
        &mut self,
        at: (u32, u32),
        time: Option<i64>,
        later: Option<u32>,
    ) -> Result<u32, OnlineError> {
        self.check(at)?;
        let before = self.observed.pair(at);
        let meant = time.filter(|_| self.observed.has_times());
        let without = self.observed.histories.without(at, before, (meant, later));
        let (pair, position) = without
            .ok_or_else(|| of_pair(at, PairFault::NoEvent { time }))?
            .map_err(|error| of_merging(at, error))?;
        let rc = match pair {
            Some(pair) => self.target(at, pair)?,
            None => (0.0, 0.0),
        };
        self.observed.histories.remove(at, position);
        self.put(at, pair, rc);
        Ok(self.steps(at))
    }

    fn expose(&mut self, at: (u32, u32), weight: f32) -> Result<u32, OnlineError> {
        self.check(at)?;
        check_weight(weight).map_err(|fault| of_pair(at, fault))?;
        let pair = match self.observed.pair(at) {
            Some(PairEntry::Taken(taken)) => {
                // The interaction counts; that the pair was shown is remembered.
                self.observed.histories.expose(at, taken, weight);
                return Ok(0);
            }
            Some(PairEntry::Exposed(known)) => PairEntry::Exposed(known.max(weight)),
            None => PairEntry::Exposed(weight),
        };
        let rc = self.target(at, pair)?;
        self.put(at, Some(pair), rc);
        Ok(self.steps(at))
    }

    /// Target and weight of the entry that a pair becomes.
    fn target(&self, at: (u32, u32), pair: PairEntry) -> Result<(f32, f32), OnlineError> {
        let rc = self.targets.of_pair(at, pair);
        rc.map_err(|fault| of_pair(at, fault))
    }

    fn erase(&mut self, user: u32) -> Result<u32, OnlineError> {
        self.known(Axis::User, user)?;
        let items = self.columns(Axis::User, user).to_vec();
        self.set_factors(Axis::User, user as usize, &vec![0.0; self.params.factors]);
        for &item in &items {
            self.weights.entry((user, item), -1);
        }
        self.observed.erase(user);
        for &item in &items {
            self.follow_count(Axis::Item, item);
        }
        self.targets.counts.users[user as usize] = self.targets.typical.users;
        self.weights.forget(Axis::User, user as usize);
        self.follow_count(Axis::User, user);
        self.weights.rescale(&self.observed);
        let mut left = 0;
        for item in items {
            for _ in 0..self.settings.steps {
                left += u32::from(!self.improve(Axis::Item, item, RowStep::Coordinates));
            }
        }
        Ok(left)
    }

    /// Makes a pair what it is from now on: its entry, the counts, the weights and the caches.
    fn put(&mut self, at: (u32, u32), pair: Option<PairEntry>, rc: (f32, f32)) {
        let change = self.observed.put(at, pair, rc);
        if change.entries != 0 {
            self.weights.entry(at, change.entries);
        }
        if change.interactions != 0 {
            self.follow_count(Axis::User, at.0);
            self.follow_count(Axis::Item, at.1);
        }
        if change.entries != 0 || change.interactions != 0 {
            self.weights.rescale(&self.observed);
        }
    }

    /// Gives a row the weights that go with its count.
    fn follow_count(&mut self, axis: Axis, row: u32) {
        let row = row as usize;
        let (count, columns) = (
            self.observed.counts[axis][row],
            self.observed.rows[axis][row].indices(),
        );
        if let Some(before) = self.weights.count(axis, row, count, columns) {
            self.reweigh(axis, row, &before);
        }
    }

    /// Solves rows that have not learned anything yet; yields the number of those without a minimum.
    fn fold_in(&mut self, (user, item): (u32, u32)) -> u32 {
        if self.settings.steps == 0 {
            return 0;
        }
        let blank = (
            self.is_blank(Axis::User, user),
            self.is_blank(Axis::Item, item),
        );
        let (axis, row) = match blank {
            (false, false) => return 0,
            (false, true) => (Axis::Item, item),
            (true, false) => (Axis::User, user),
            (true, true) => {
                let start = self.start_of(Axis::Item, item);
                self.set_factors(Axis::Item, item as usize, &start);
                (Axis::User, user)
            }
        };
        u32::from(!self.improve(axis, row, RowStep::Exact))
    }

    /// The passes of an event: the user's row, then the item's.
    fn steps(&mut self, (user, item): (u32, u32)) -> u32 {
        let mut left = 0;
        for _ in 0..self.settings.steps {
            for (axis, row) in [(Axis::User, user), (Axis::Item, item)] {
                left += u32::from(!self.improve(axis, row, RowStep::Coordinates));
            }
        }
        left
    }

    fn check(&self, (user, item): (u32, u32)) -> Result<(), OnlineError> {
        self.known(Axis::User, user)?;
        self.known(Axis::Item, item)
    }

    fn known(&self, axis: Axis, row: u32) -> Result<(), OnlineError> {
        let count = self.n_rows(axis);
        if (row as usize) < count {
            return Ok(());
        }
        Err(OnlineError::Unknown { axis, row, count })
    }
}

/// What is wrong with a pair, as an error.
pub(super) fn of_pair((user, item): (u32, u32), fault: PairFault) -> OnlineError {
    OnlineError::Pair { user, item, fault }
}

/// The error about a pair that cannot be merged; the rule for rows of a file names it by position.
fn of_merging(at: (u32, u32), error: DataError) -> OnlineError {
    let fault = match error {
        DataError::NotFinite { what, value, .. } => PairFault::NotFinite { what, got: value },
        DataError::Duplicate { .. } => PairFault::Repeated,
        error => return error.into(),
    };
    of_pair(at, fault)
}

fn check_event(event: &Event) -> Result<(), PairFault> {
    check_finite("value", event.value)?;
    check_weight(event.weight)
}

fn check_weight(weight: f32) -> Result<(), PairFault> {
    check_finite("weight", weight)?;
    if weight >= 0.0 {
        return Ok(());
    }
    Err(PairFault::NegativeWeight { got: weight })
}

fn check_finite(what: &'static str, got: f32) -> Result<(), PairFault> {
    if got.is_finite() {
        return Ok(());
    }
    Err(PairFault::NotFinite { what, got })
}
