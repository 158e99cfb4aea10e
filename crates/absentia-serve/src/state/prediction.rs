//! Predicting a sample of events before they are learned, and comparing the caches with sums made anew.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use absentia::error::Axis;
use absentia::model::Model;
use absentia::online::Online;
use absentia_io::model::load_model;
use absentia_online::Record;

use super::folder::Folder;
use super::live::State;
use crate::error::ServeError;
use crate::quality::Ranks;
use crate::store::StoreReader;

/// Events that recent popularity counts.
const RECENT: usize = 10_000;
/// Time between two comparisons of the caches.
const BETWEEN_CHECKS: Duration = Duration::from_secs(60);

/// The factors of a model as it was trained. Rows are those of the live model, which has more of them.
#[derive(Debug)]
pub struct TrainedModel {
    model: Model,
    /// The last record that it knows.
    pub sequence: u64,
}

impl TrainedModel {
    /// Reads the model of a version as it was trained.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(crate) fn read(folder: &Folder, version: u64) -> Result<Option<Self>, ServeError> {
        let Some((path, sequence)) = folder.as_trained(version) else {
            return Ok(None);
        };
        let model = load_model(&path).map_err(absentia_online::LearnError::from)?;
        let model = model.model;
        Ok(Some(Self { model, sequence }))
    }

    fn rank(&self, user: u32, item: u32) -> Option<u32> {
        let is_known = (user as usize) < self.model.n_users();
        let factors = is_known.then(|| self.model.user_factors().row(user as usize));
        let is_blank = factors.is_none_or(|row| row.iter().all(|&x| x == 0.0));
        (!is_blank).then(|| self.model.rank_of(user, item).ok())?
    }
}

/// How often each item occurs among the latest events.
#[derive(Debug, Default)]
struct Recent {
    latest: VecDeque<u32>,
    counts: Vec<u32>,
}

impl Recent {
    fn add(&mut self, item: u32) {
        let place = item as usize;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
        self.latest.push_back(item);
        if self.latest.len() > RECENT
            && let Some(old) = self.latest.pop_front()
        {
            self.counts[old as usize] -= 1;
        }
    }

    /// The rank of an item; equal ones by all of their interactions, and then by row.
    fn rank(&self, online: &Online, item: u32) -> u32 {
        let all = online.counts(Axis::Item);
        let key = |item: usize| (self.counts.get(item).copied().unwrap_or(0), all[item]);
        let (own, place) = (key(item as usize), item as usize);
        let is_before = |&other: &usize| key(other) > own || (key(other) == own && other < place);
        1 + (0..all.len()).filter(is_before).count() as u32
    }
}

/// What the writer needs to predict events: it takes a share of its time at most.
pub(super) struct Prediction {
    trained: Option<TrainedModel>,
    recent: Recent,
    /// Percent of the writer's time.
    percent: u32,
    next: Instant,
    next_check: Instant,
}

impl Prediction {
    pub(super) fn new(percent: u32) -> Self {
        let now = Instant::now();
        Self {
            trained: None,
            recent: Recent::default(),
            percent,
            next: now,
            next_check: now,
        }
    }

    /// Begins anew with another model: the latest stored events are what is recent.
    pub(super) fn begin(
        &mut self,
        trained: Option<TrainedModel>,
        state: &State,
        store: &dyn StoreReader,
    ) {
        self.trained = trained;
        self.recent = Recent::default();
        self.next_check = Instant::now();
        let after = state.sequence.saturating_sub(RECENT as u64);
        // Without them, the first predictions know less.
        for (_, record) in store.records(after, RECENT).unwrap_or_default() {
            if let Some(record) = record {
                self.learned(state, &record);
            }
        }
    }

    /// Replaces the model as it was trained.
    pub(super) fn replace_trained(&mut self, trained: Option<TrainedModel>) {
        self.trained = trained;
    }

    /// Whether the next event is to be predicted.
    pub(super) fn is_due(&self) -> bool {
        self.percent > 0 && self.trained.is_some() && Instant::now() >= self.next
    }

    /// Predicts an event that is not learned yet.
    pub(super) fn predict(&mut self, state: &State, user: &str, item: &str) -> Option<Ranks> {
        let begun = Instant::now();
        let learner = &state.learner;
        let row = learner.find(Axis::Item, item);
        let known_user = learner.row(Axis::User, user);
        let is_new_user = known_user.is_err();
        let trained = match (known_user, row, &self.trained) {
            (Ok(user), Some(item), Some(trained)) => trained.rank(user, item),
            _ => None,
        };
        let ranks = Ranks {
            live: learner.rank_of(user, item).ok()?,
            trained,
            popular: row.map(|row| self.recent.rank(learner.online(), row)),
            is_new_user,
            is_new_item: row.is_none(),
        };
        let pause = 100 / self.percent.clamp(1, 100) - 1;
        self.next = Instant::now() + begun.elapsed() * pause;
        Some(ranks)
    }

    /// Counts an event that was learned.
    pub(super) fn learned(&mut self, state: &State, record: &Record) {
        if let Record::Insert { item, .. } = record
            && let Ok(row) = state.learner.row(Axis::Item, item)
        {
            self.recent.add(row);
        }
    }

    /// Whether it is time to compare the caches; the next time is then a while later.
    pub(super) fn takes_check(&mut self) -> bool {
        let is_due = self.percent > 0 && Instant::now() >= self.next_check;
        if is_due {
            self.next_check = Instant::now() + BETWEEN_CHECKS;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_events_leave_the_window_in_their_order() {
        let mut recent = Recent::default();
        for _ in 0..RECENT {
            recent.add(3);
        }
        assert_eq!(recent.counts, [0, 0, 0, RECENT as u32]);
        recent.add(1);
        assert_eq!(recent.counts, [0, 1, 0, RECENT as u32 - 1]);
        assert_eq!(recent.latest.len(), RECENT);
    }
}
