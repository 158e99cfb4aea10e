//! A model that learns from events, with the ids of its rows.

use absentia::error::Axis;
use absentia::fit::{Cancel, Observer};
use absentia::model::RowWeights;
use absentia::online::{Applied, Event, Online, OnlineError, Operation, TrainFrom};
use absentia::ranking::Scored;
use absentia_io::IdMap;
use absentia_io::model::Ids;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::LearnError;
use crate::record::Record;

/// Longest id of a user or item in an event.
pub const MAX_ID_BYTES: usize = 1024;

/// A model that learns from events, with the ids of its rows.
#[derive(Debug)]
pub struct Learner {
    online: Online,
    ids: Ids,
    /// The configuration of the run that trained the model, saved with it.
    pub(crate) config: Option<String>,
}

impl Learner {
    /// Joins a model with its ids.
    #[must_use]
    pub fn new(online: Online, ids: Ids) -> Self {
        Self {
            online,
            ids,
            config: None,
        }
    }

    /// The model by row number.
    #[must_use]
    pub fn online(&self) -> &Online {
        &self.online
    }

    /// The ids of the rows.
    #[must_use]
    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    /// Number of operations so far: what a record of a log is known by.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.online.sequence()
    }

    /// Sets the number of threads of a refit; the result does not depend on it.
    pub fn set_threads(&mut self, threads: Option<usize>) {
        self.online.set_threads(threads);
    }

    /// Applies a record; users and items of events that are new are added first.
    ///
    /// # Errors
    /// Ids that are too long, users and items that there are not where they are needed, and what the
    /// engine rejects. Nothing has changed then.
    pub fn apply(&mut self, record: &Record) -> Result<Applied, LearnError> {
        self.apply_unless(record, &Cancel::new())
    }

    /// [`apply`](Self::apply), in which a refit looks at a flag: one that is cancelled changes nothing.
    ///
    /// # Errors
    /// As [`apply`](Self::apply), and a refit that was cancelled.
    pub fn apply_unless(
        &mut self,
        record: &Record,
        cancel: &Cancel,
    ) -> Result<Applied, LearnError> {
        let operation = match record {
            Record::Insert {
                user,
                item,
                value,
                weight,
                time,
            } => {
                let (user, item) = self.event_rows(user, item, *value, *weight)?;
                Operation::Insert(Event {
                    user,
                    item,
                    value: *value,
                    weight: *weight,
                    time: *time,
                })
            }
            Record::Expose { user, item, weight } => {
                let (user, item) = self.event_rows(user, item, 1.0, *weight)?;
                Operation::Expose {
                    user,
                    item,
                    weight: *weight,
                }
            }
            Record::Remove {
                user,
                item,
                time,
                later,
            } => Operation::Remove {
                user: self.row(Axis::User, user)?,
                item: self.row(Axis::Item, item)?,
                time: *time,
                later: *later,
            },
            Record::Erase { user } => Operation::Erase {
                user: self.row(Axis::User, user)?,
            },
            Record::Rebuild => Operation::Rebuild,
            Record::Refit { sweeps } => Operation::Refit { sweeps: *sweeps },
            Record::Settings(settings) => Operation::Settings(*settings),
        };
        let applied = self.online.apply_unless(&operation, cancel);
        applied.map_err(|error| LearnError::by_id(error, &self.ids))
    }

    /// Forgets everything about a user, the id included: the row stays, without entries and under another
    /// name, and a later event of the same id is one of a new user.
    ///
    /// # Errors
    /// A user that there is not.
    pub fn erase_with_id(&mut self, user: &str) -> Result<Applied, LearnError> {
        let row = self.row(Axis::User, user)?;
        let applied = self.online.apply(&Operation::Erase { user: row })?;
        let mut name = format!("erased-{row}");
        while self.ids.users.get(&name).is_some() {
            name.push('-');
        }
        self.ids.users.rename(row, &name)?;
        Ok(applied)
    }

    /// Trains all rows on everything that was observed so far; see [`Online::train`].
    ///
    /// # Errors
    /// As [`Online::train`]; nothing has changed then.
    pub fn train(
        &mut self,
        from: TrainFrom,
        sweeps: Option<usize>,
        observer: &mut dyn Observer,
        cancel: &Cancel,
    ) -> Result<(), LearnError> {
        Ok(self.online.train(from, sweeps, observer, cancel)?)
    }

    /// The row of an id, if there is one.
    #[must_use]
    pub fn find(&self, axis: Axis, id: &str) -> Option<u32> {
        self.axis_ids(axis).get(id)
    }

    /// The row of an id that has to be there. The error looks through all ids for similar ones; where an id
    /// may well be new, [`find`](Self::find) is the quick way.
    ///
    /// # Errors
    /// An id that there is not.
    pub fn row(&self, axis: Axis, id: &str) -> Result<u32, LearnError> {
        self.find(axis, id).ok_or_else(|| LearnError::Unknown {
            axis,
            id: shortened(id),
            similar: self.axis_ids(axis).similar(id),
        })
    }

    /// The best items of a user that the user has not interacted with and that are not in `deny`, best
    /// first; of equal scores, the item of the smaller row. Nothing for a user without factors, such as one
    /// without interactions.
    ///
    /// # Errors
    /// A user or an item that there is not.
    pub fn recommend(
        &self,
        user: &str,
        n: usize,
        deny: &[String],
    ) -> Result<Vec<(String, f32)>, LearnError> {
        let row = self.row(Axis::User, user)?;
        let denied: Result<Vec<u32>, LearnError> =
            deny.iter().map(|id| self.row(Axis::Item, id)).collect();
        let denied = denied?;
        if self.online.is_blank(Axis::User, row) {
            return Ok(Vec::new());
        }
        let name = |item: u32| {
            let name = self.ids.items.name(item);
            name.map(std::borrow::Cow::into_owned).unwrap_or_default()
        };
        let best = self.online.recommend(row, n, &denied)?;
        let named = best
            .into_iter()
            .map(|Scored { item, score }| (name(item), score));
        Ok(named.collect())
    }

    /// The rows of an event, added where they are new; nothing is added for an event that is rejected.
    fn event_rows(
        &mut self,
        user: &str,
        item: &str,
        value: f32,
        weight: f32,
    ) -> Result<(u32, u32), LearnError> {
        for (axis, id) in [(Axis::User, user), (Axis::Item, item)] {
            if id.is_empty() || id.len() > MAX_ID_BYTES {
                return Err(LearnError::IdLength {
                    axis,
                    bytes: id.len(),
                    most: MAX_ID_BYTES,
                });
            }
        }
        let known = (self.find(Axis::User, user), self.find(Axis::Item, item));
        if let (Some(user), Some(item)) = known {
            return Ok((user, item));
        }
        let event = Event::new(
            known.0.unwrap_or(self.online.n_rows(Axis::User) as u32),
            known.1.unwrap_or(self.online.n_rows(Axis::Item) as u32),
        );
        let checked = self.online.check_new(&event.value(value).weight(weight));
        checked.map_err(|error| match error {
            // Rows that are not added have no id yet.
            OnlineError::Pair { fault, .. } => LearnError::Pair {
                user: user.to_owned(),
                item: item.to_owned(),
                fault,
            },
            error => error.into(),
        })?;
        let user = self.known_or_added(Axis::User, user)?;
        let item = self.known_or_added(Axis::Item, item)?;
        Ok((user, item))
    }

    fn known_or_added(&mut self, axis: Axis, id: &str) -> Result<u32, LearnError> {
        if let Some(row) = self.find(axis, id) {
            return Ok(row);
        }
        self.online.apply(&Operation::Add {
            axis,
            hash: xxh3_64(id.as_bytes()),
            weights: RowWeights::Frozen,
        })?;
        let ids = match axis {
            Axis::User => &mut self.ids.users,
            Axis::Item => &mut self.ids.items,
        };
        Ok(ids.intern(id)?)
    }

    fn axis_ids(&self, axis: Axis) -> &IdMap {
        match axis {
            Axis::User => &self.ids.users,
            Axis::Item => &self.ids.items,
        }
    }
}

/// An id as messages show it.
fn shortened(id: &str) -> String {
    const MOST: usize = 60;
    match id.char_indices().nth(MOST) {
        None => id.to_owned(),
        Some((end, _)) => format!("{}…", &id[..end]),
    }
}
