//! How well each event is predicted before it is learned.

use absentia::error::Axis;
use absentia::evaluate::gain;

use crate::error::LearnError;
use crate::learner::Learner;

impl Learner {
    /// The rank of an item among all items for a user, from 1; none if the user or the item is not known,
    /// or if all scores of the user are 0.
    ///
    /// # Errors
    /// None for a sound model.
    pub fn rank_of(&self, user: &str, item: &str) -> Result<Option<u32>, LearnError> {
        let rows = (self.find(Axis::User, user), self.find(Axis::Item, item));
        Ok(match rows {
            (Some(user), Some(item)) if !self.online().is_blank(Axis::User, user) => {
                Some(self.online().rank_of(user, item)?)
            }
            _ => None,
        })
    }
}

/// Sums of measures over events.
///
/// Every item is ranked, also those that the user has seen. An event of a user or on an item that the
/// model does not know counts as one whose item is not found; so does one of a user without factors, for
/// whom all scores are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prequential {
    cutoff: u32,
    events: u64,
    new_users: u64,
    new_items: u64,
    hits: f64,
    gain: f64,
    reciprocal: f64,
}

/// Means over events.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Measured {
    /// Number of events.
    pub events: u64,
    /// Events of users that were not known.
    pub new_users: u64,
    /// Events on items that were not known.
    pub new_items: u64,
    /// Share of events whose item was among the first N.
    pub hit_rate: f64,
    /// Mean of ln 2 / ln(rank + 1) of items among the first N.
    pub ndcg: f64,
    /// Mean of 1 / rank, whatever the rank.
    pub mrr: f64,
}

impl Prequential {
    /// Measures lists of a length.
    #[must_use]
    pub fn new(cutoff: u32) -> Self {
        Self {
            cutoff,
            ..Self::default()
        }
    }

    /// Measures the rank of an item for a user, before the event is learned; yields its rank.
    ///
    /// # Errors
    /// None for a sound model.
    pub fn measure(
        &mut self,
        learner: &Learner,
        user: &str,
        item: &str,
    ) -> Result<Option<u32>, LearnError> {
        self.new_users += u64::from(learner.find(Axis::User, user).is_none());
        self.new_items += u64::from(learner.find(Axis::Item, item).is_none());
        let rank = learner.rank_of(user, item)?;
        self.add(rank);
        Ok(rank)
    }

    /// Counts an event whose item had a rank, or was not found.
    pub fn add(&mut self, rank: Option<u32>) {
        self.events += 1;
        let Some(rank) = rank else {
            return;
        };
        let place = f64::from(rank);
        self.reciprocal += 1.0 / place;
        if rank <= self.cutoff {
            self.hits += 1.0;
            self.gain += gain(rank as usize);
        }
    }

    /// The means so far.
    #[must_use]
    pub fn means(&self) -> Measured {
        let events = self.events.max(1) as f64;
        Measured {
            events: self.events,
            new_users: self.new_users,
            new_items: self.new_items,
            hit_rate: self.hits / events,
            ndcg: self.gain / events,
            mrr: self.reciprocal / events,
        }
    }
}
