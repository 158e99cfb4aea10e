//! What each operation does to the state.

use super::Online;
use super::error::OnlineError;
use super::operation::{Applied, Event, Operation};
use super::pair::{PairEntry, PairEvent};
use super::refit::TrainFrom;
use super::start::check_settings;
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
            Operation::Remove { user, item, time } => self.remove((*user, *item), *time),
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
            Operation::Settings(settings) => check_settings(*settings).map(|()| {
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
        check_numbers(at, [("value", event.value), ("weight", event.weight)])?;
        check_weight(at, event.weight)?;
        let pair = PairEntry::Taken(PairEvent {
            value: event.value,
            weight: event.weight,
            time: event.time.unwrap_or(self.latest),
            boost: self.settings.weight_of_new,
        });
        self.targets.of_pair(at, pair).map(drop)
    }

    fn insert(&mut self, event: &Event) -> Result<u32, OnlineError> {
        let at = (event.user, event.item);
        self.check(at)?;
        check_numbers(at, [("value", event.value), ("weight", event.weight)])?;
        check_weight(at, event.weight)?;
        let time = event.time.unwrap_or(self.latest);
        let new = PairEvent {
            value: event.value,
            weight: event.weight,
            time: if self.observed.has_times() { time } else { 0 },
            boost: self.settings.weight_of_new,
        };
        let before = self.observed.pair(at);
        let merged = self.observed.histories.with(at, before, new);
        let pair = PairEntry::Taken(merged.map_err(|error| of_pair(at, error))?);
        let rc = self.targets.of_pair(at, pair)?;
        self.observed.histories.push(at, before, new);
        self.latest = self.latest.max(time);
        self.put(at, Some(pair), rc);
        let folded = self.fold_in(at);
        Ok(self.steps(at) + folded)
    }

    fn remove(&mut self, at: (u32, u32), time: Option<i64>) -> Result<u32, OnlineError> {
        self.check(at)?;
        let before = self.observed.pair(at);
        let meant = time.filter(|_| self.observed.has_times());
        let without = self.observed.histories.without(at, before, meant);
        let (user, item) = at;
        let (pair, position) = without
            .ok_or(OnlineError::NoEvent { user, item, time })?
            .map_err(|error| of_pair(at, error))?;
        let rc = match pair {
            Some(pair) => self.targets.of_pair(at, pair)?,
            None => (0.0, 0.0),
        };
        self.observed.histories.remove(at, position);
        self.put(at, pair, rc);
        Ok(self.steps(at))
    }

    fn expose(&mut self, at: (u32, u32), weight: f32) -> Result<u32, OnlineError> {
        self.check(at)?;
        check_numbers(at, [("weight", weight)])?;
        check_weight(at, weight)?;
        let pair = match self.observed.pair(at) {
            Some(PairEntry::Taken(taken)) => {
                // The interaction counts; that the pair was shown is remembered.
                self.observed.histories.expose(at, taken, weight);
                return Ok(0);
            }
            Some(PairEntry::Exposed(known)) => PairEntry::Exposed(known.max(weight)),
            None => PairEntry::Exposed(weight),
        };
        let rc = self.targets.of_pair(at, pair)?;
        self.put(at, Some(pair), rc);
        Ok(self.steps(at))
    }

    fn erase(&mut self, user: u32) -> Result<u32, OnlineError> {
        self.known(Axis::User, user)?;
        let items = self.columns(Axis::User, user).to_vec();
        self.set_factors(Axis::User, user as usize, &vec![0.0; self.params.factors]);
        // The last first: nothing behind it has to move.
        for &item in items.iter().rev() {
            let change = self.observed.put((user, item), None, (0.0, 0.0));
            self.weights.entry((user, item), change.entries);
            self.follow_count(Axis::Item, item);
        }
        self.observed.histories.erase(user);
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
                self.draw_start(Axis::Item, item);
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

/// The error about a pair, which a rule for rows of a file names by position.
fn of_pair((user, item): (u32, u32), error: DataError) -> OnlineError {
    match error {
        DataError::NotFinite { what, value, .. } => OnlineError::NotFinite {
            user,
            item,
            what,
            value,
        },
        error => error.into(),
    }
}

fn check_numbers<const N: usize>(
    (user, item): (u32, u32),
    numbers: [(&'static str, f32); N],
) -> Result<(), OnlineError> {
    match numbers.into_iter().find(|(_, value)| !value.is_finite()) {
        Some((what, value)) => Err(OnlineError::NotFinite {
            user,
            item,
            what,
            value,
        }),
        None => Ok(()),
    }
}

fn check_weight((user, item): (u32, u32), value: f32) -> Result<(), OnlineError> {
    if value >= 0.0 {
        return Ok(());
    }
    Err(OnlineError::NegativeWeight { user, item, value })
}
