//! Predicting a sample of events before they are learned, and when caches are compared with recomputed sums.
//!
//! The writer notes what a prediction is made from before it learns the event; a background thread ranks, so that
//! the event is acknowledged meanwhile.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use absentia::error::Axis;
use absentia::model::Model;
use absentia::online::Online;
use absentia::ranking::{ChangedItems, IndexedItems};
use absentia_io::model::load_model;
use absentia_online::Record;

use super::folder::Folder;
use super::live::State;
use crate::background::{self, Pace};
use crate::core::Core;
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
        rank_by_counts(&self.counts, online.counts(Axis::Item), item as usize)
    }
}

/// Recent counts of items that have none.
const NONE: [u32; 256] = [0; 256];

/// The rank of an item by its recent count, then by its count, then by row. Items behind the last recent count have none.
///
/// Without branches, so that the compiler compares many items at a time: the writer waits for it.
#[allow(clippy::needless_bitwise_bool, reason = "a lazy operator is a branch")]
fn rank_by_counts(recent: &[u32], all: &[u32], item: usize) -> u32 {
    let own = (recent.get(item).copied().unwrap_or(0), all[item]);
    let before = |from: usize, recent: &[u32], all: &[u32]| {
        let counts = recent.iter().zip(all).enumerate();
        let is_before = counts.map(|(at, (&recent, &all))| {
            let is_equal = (all > own.1) | ((all == own.1) & (from + at < item));
            u32::from((recent > own.0) | ((recent == own.0) & is_equal))
        });
        is_before.sum::<u32>()
    };
    let known = recent.len().min(all.len());
    let mut rank = 1 + before(0, &recent[..known], &all[..known]);
    for from in (known..all.len()).step_by(NONE.len()) {
        rank += before(from, &NONE, &all[from..]);
    }
    rank
}

/// What one event is predicted from: the models as they were before it was learned.
struct Question {
    /// Version of the live model.
    version: u64,
    item: Option<u32>,
    /// Factors of the user and what lists are made from, if the live model knows anything about the user.
    live: Option<(Vec<f32>, Arc<IndexedItems>, Arc<ChangedItems>)>,
    trained: Option<(u32, Arc<TrainedModel>)>,
    popular: Option<u32>,
    is_new_user: bool,
}

impl Question {
    fn answer(&self) -> Ranks {
        let live = self.item.zip(self.live.as_ref());
        let live =
            live.map(|(item, (user, index, changed))| index.rank_of(user, item, changed).ok());
        let trained = self.item.zip(self.trained.as_ref());
        Ranks {
            live: live.flatten(),
            trained: trained.and_then(|(item, (user, trained))| trained.rank(*user, item)),
            popular: self.popular,
            is_new_user: self.is_new_user,
            is_new_item: self.item.is_none(),
        }
    }
}

/// What the writer needs to predict events.
pub(super) struct Prediction {
    core: Arc<Core>,
    trained: Option<Arc<TrainedModel>>,
    recent: Recent,
    /// Percent of its time that the thread which ranks may work; the writer ranks itself if 100.
    percent: u32,
    /// What is predicted once the event that it is about is acknowledged.
    noted: Option<Question>,
    thread: OnceLock<Sender<Question>>,
    /// Whether that thread waits for a question.
    is_free: Arc<AtomicBool>,
    next_check: Instant,
}

impl Prediction {
    pub(super) fn new(core: Arc<Core>) -> Self {
        Self {
            percent: core.settings.limits.quality_percent,
            core,
            trained: None,
            recent: Recent::default(),
            noted: None,
            thread: OnceLock::new(),
            is_free: Arc::new(AtomicBool::new(true)),
            next_check: Instant::now(),
        }
    }

    /// Starts again with another model: the latest stored events are what is recent.
    pub(super) fn begin(
        &mut self,
        trained: Option<TrainedModel>,
        state: &State,
        store: &dyn StoreReader,
    ) {
        self.trained = trained.map(Arc::new);
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
        self.trained = trained.map(Arc::new);
    }

    /// Whether the next event is to be predicted.
    pub(super) fn is_due(&self) -> bool {
        self.percent > 0 && self.trained.is_some() && self.is_free.load(Ordering::Acquire)
    }

    /// Notes what an event that is not learned yet is predicted from.
    pub(super) fn note(&mut self, version: u64, state: &State, user: &str, item: &str) {
        let question = self.question(version, state, user, item);
        if self.percent == 100 {
            self.core.quality.add(version, question.answer());
            return;
        }
        self.is_free.store(false, Ordering::Release);
        self.noted = Some(question);
    }

    /// Lets the thread that ranks predict what was noted. Before the event is acknowledged, it would take the processor
    /// from those who send the answer.
    pub(super) fn predict_noted(&mut self) {
        if let Some(question) = self.noted.take() {
            let thread = self.thread.get_or_init(|| self.start());
            let _ = thread.send(question);
        }
    }

    fn question(&self, version: u64, state: &State, user: &str, item: &str) -> Question {
        let (learner, online) = (&state.learner, state.learner.online());
        let item = learner.find(Axis::Item, item);
        let user = learner.find(Axis::User, user);
        let known = user.filter(|&user| !online.is_blank(Axis::User, user));
        Question {
            version,
            item,
            live: known.map(|user| {
                let factors = online.factors(Axis::User).row(user as usize).to_vec();
                let (index, changed) = state.ranked_items();
                (factors, index, changed)
            }),
            trained: user.zip(self.trained.clone()),
            popular: item.map(|item| self.recent.rank(online, item)),
            is_new_user: user.is_none(),
        }
    }

    /// Starts the thread that ranks. It ends with the writer.
    fn start(&self) -> Sender<Question> {
        let (send, questions): (_, Receiver<Question>) = channel();
        let (core, is_free) = (self.core.clone(), self.is_free.clone());
        let percent = self.percent.clamp(1, 100);
        thread::spawn(move || {
            let _alone = background::begin(Pace::Idle);
            for question in questions {
                let begun = Instant::now();
                core.quality.add(question.version, question.answer());
                drop(question);
                thread::sleep(begun.elapsed() * (100 - percent) / percent);
                is_free.store(true, Ordering::Release);
            }
        });
        send
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
    fn ranks_by_counts_are_places_in_the_sorted_list() {
        let recent: Vec<u32> = (0..700).map(|item| item * 7 % 3).collect();
        let all: Vec<u32> = (0..1000).map(|item| item * 11 % 5).collect();
        let mut order: Vec<usize> = (0..1000).collect();
        let recent_of = |item: usize| recent.get(item).copied().unwrap_or(0);
        order.sort_by_key(|&item| std::cmp::Reverse((recent_of(item), all[item])));
        for (place, &item) in order.iter().enumerate() {
            assert_eq!(rank_by_counts(&recent, &all, item), place as u32 + 1);
        }
    }

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
