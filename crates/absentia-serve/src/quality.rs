//! How well events are predicted before they are learned: the live model, the model as it was trained, and
//! recent popularity, on the same sample of events.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use absentia_online::{Measured, Prequential};
use serde::Serialize;

/// Length of the lists that are measured.
pub const CUTOFF: u32 = 20;
/// Events that are remembered one by one, for curves.
const REMEMBERED: usize = 5000;

/// Where the item of an event was ranked before the event was learned; none if it was not found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ranks {
    /// By the live model.
    pub live: Option<u32>,
    /// By the model as it was trained.
    pub trained: Option<u32>,
    /// By recent popularity.
    pub popular: Option<u32>,
    /// Whether the live model did not know the user.
    pub is_new_user: bool,
    /// Whether it did not know the item.
    pub is_new_item: bool,
}

/// Means over events that were measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Means {
    /// Number of events.
    pub events: u64,
    /// Share of events whose item was among the first ones.
    pub hit_rate: f64,
    /// Normalised discounted gain of the item among the first ones.
    pub ndcg: f64,
    /// Mean of 1 / rank.
    pub mrr: f64,
}

impl From<Measured> for Means {
    fn from(measured: Measured) -> Self {
        Self {
            events: measured.events,
            hit_rate: measured.hit_rate,
            ndcg: measured.ndcg,
            mrr: measured.mrr,
        }
    }
}

/// How far the caches are from recomputed sums.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Drift {
    /// The largest difference, relative to the largest sum.
    pub relative: f64,
    /// The last record that was learned then.
    pub sequence: u64,
}

/// What was measured since a model became active, or since the start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Version of the model.
    pub model: u64,
    /// The last record before the first event that was measured.
    pub since: u64,
    /// The last record that the model as it was trained knows.
    pub trained_up_to: u64,
    /// Length of the lists.
    pub cutoff: u32,
    /// Interactions that were learned.
    pub events: u64,
    /// Measured events of users that the live model did not know.
    pub new_users: u64,
    /// Measured events on items that the live model did not know.
    pub new_items: u64,
    /// The live model on those that were measured.
    pub live: Means,
    /// The model as it was trained.
    pub trained: Means,
    /// Recent popularity.
    pub popular: Means,
    /// The caches, once they were compared.
    pub drift: Option<Drift>,
}

/// What was measured.
#[derive(Debug, Default)]
pub struct Quality(Mutex<QualityState>);

#[derive(Debug)]
struct QualityState {
    model: u64,
    since: u64,
    trained_up_to: u64,
    events: u64,
    new_users: u64,
    new_items: u64,
    live: Prequential,
    trained: Prequential,
    popular: Prequential,
    latest: VecDeque<Ranks>,
    drift: Option<Drift>,
}

impl Default for QualityState {
    fn default() -> Self {
        Self {
            model: 0,
            since: 0,
            trained_up_to: 0,
            events: 0,
            new_users: 0,
            new_items: 0,
            live: Prequential::new(CUTOFF),
            trained: Prequential::new(CUTOFF),
            popular: Prequential::new(CUTOFF),
            latest: VecDeque::new(),
            drift: None,
        }
    }
}

impl Quality {
    /// Starts again with another model.
    pub(crate) fn begin(&self, model: u64, since: u64) {
        *self.lock() = QualityState {
            model,
            since,
            ..QualityState::default()
        };
    }

    /// Takes the last record that the model as it was trained knows.
    pub(crate) fn trained_up_to(&self, sequence: u64) {
        self.lock().trained_up_to = sequence;
    }

    /// Counts interactions, whether they are measured or not.
    pub(crate) fn count(&self, interactions: u64) {
        self.lock().events += interactions;
    }

    /// Adds an event that was measured with a model, unless another one is measured by now.
    pub(crate) fn add(&self, model: u64, ranks: Ranks) {
        let mut inner = self.lock();
        if inner.model != model {
            return;
        }
        inner.new_users += u64::from(ranks.is_new_user);
        inner.new_items += u64::from(ranks.is_new_item);
        inner.live.add(ranks.live);
        inner.trained.add(ranks.trained);
        inner.popular.add(ranks.popular);
        if inner.latest.len() == REMEMBERED {
            inner.latest.pop_front();
        }
        inner.latest.push_back(ranks);
    }

    /// Takes the result of comparing the caches.
    pub(crate) fn drifted(&self, drift: Drift) {
        self.lock().drift = Some(drift);
    }

    /// The result so far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let inner = self.lock();
        Summary {
            model: inner.model,
            since: inner.since,
            trained_up_to: inner.trained_up_to,
            cutoff: CUTOFF,
            events: inner.events,
            new_users: inner.new_users,
            new_items: inner.new_items,
            live: inner.live.means().into(),
            trained: inner.trained.means().into(),
            popular: inner.popular.means().into(),
            drift: inner.drift,
        }
    }

    /// The latest events that were measured, oldest first.
    #[must_use]
    pub fn latest(&self) -> Vec<Ranks> {
        self.lock().latest.iter().copied().collect()
    }

    fn lock(&self) -> MutexGuard<'_, QualityState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
