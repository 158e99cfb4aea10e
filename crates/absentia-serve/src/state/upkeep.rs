//! What the writer does beside its commands: learning with predictions, saving, indexes, checks.

use std::time::{Duration, Instant};

use absentia_online::Record;
use serde_json::json;

use super::background::Done;
use super::live::{Live, State};
use super::prediction::TrainedModel;
use super::prepared::Rows;
use super::writer::Writer;
use crate::core::Storage;
use crate::error::ApiError;
use crate::log;
use crate::quality::Drift;
use crate::store::Change;

/// Records that are learned before readers get their turn.
const TURN: usize = 8;
/// How long rows are copied at a time: requests wait for it.
const COPYING: Duration = Duration::from_micros(500);
/// Rows that are copied between two looks at the clock.
const ROWS_PER_COPY: usize = 64;
/// Items that may differ from the index although the next one costs little.
const SOME_ITEMS: usize = 32;
/// A preparation is given up when this many times the usual number of items have changed since it began.
const TOO_MANY: usize = 8;
/// An index or shortlists cost little if making them takes at most one part in this many of the time.
const PARTS: u32 = 4;
/// New shortlists of users who have changed take at most one part in this many of the time.
const RENEWING_PARTS: u32 = 4;
/// Users whose shortlists are renewed at a time: events wait while their rows are copied.
const RENEWED: usize = 512;
/// Time between two attempts to write to a database that was full.
const BETWEEN_PROBES: Duration = Duration::from_secs(2);

impl Writer {
    /// Applies committed records; readers get their turn in between. What some of them are predicted from is noted
    /// before they are learned.
    pub(super) fn learn(&mut self, changes: &[Change]) -> Result<(), ApiError> {
        let live = self.core.live();
        let mut outcome = Ok(());
        let records = changes.iter().filter_map(|change| match change {
            Change::Append {
                sequence, record, ..
            } => Some((*sequence, record)),
            _ => None,
        });
        let mut records = records.peekable();
        while let Some((_, first)) = records.peek() {
            self.note_prediction(&live, first);
            let mut interactions = 0;
            let mut state = live.write();
            for turn in 0..TURN {
                let next =
                    |(_, record): &(u64, &Record)| turn == 0 || !self.is_to_be_predicted(record);
                let Some((sequence, record)) = records.next_if(next) else {
                    break;
                };
                if let Err(error) = state.learn(sequence, record) {
                    log::line(
                        "record_not_learned",
                        json!({"sequence": sequence, "message": error.to_string()}),
                    );
                    self.core.metrics.count_rejected();
                    outcome = Err(ApiError::from(error));
                } else if let Record::Insert { .. } = record {
                    interactions += 1;
                    self.prediction.learned(&state, record);
                }
            }
            self.core.status.learned(state.sequence);
            drop(state);
            self.core.quality.count(interactions);
        }
        outcome
    }

    fn is_to_be_predicted(&self, record: &Record) -> bool {
        matches!(record, Record::Insert { .. }) && self.prediction.is_due()
    }

    fn note_prediction(&mut self, live: &Live, record: &Record) {
        if let Record::Insert { user, item, .. } = record
            && self.is_to_be_predicted(record)
        {
            let state = live.read();
            self.prediction.note(live.version, &state, user, item);
        }
    }

    /// The model as it was trained, if its file can be read.
    pub(super) fn trained(&self) -> Option<TrainedModel> {
        let version = self.core.live().version;
        TrainedModel::read(&self.folder, version).unwrap_or_else(|error| {
            let message = format!("events are not predicted: {error}");
            log::line("state_not_loaded", json!({"message": message}));
            None
        })
    }

    /// Begins to measure the active model.
    pub(super) fn begin_prediction(&mut self, trained: Option<TrainedModel>) {
        let live = self.core.live();
        let state = live.read();
        self.core.quality.begin(live.version, state.sequence);
        if let Some(trained) = &trained {
            self.core.quality.trained_up_to(trained.sequence);
        }
        self.prediction.begin(trained, &state, &*self.store);
    }

    /// Goes on with another copy of the model as it was trained.
    pub(super) fn replace_trained(&mut self, trained: Option<TrainedModel>) {
        if let Some(trained) = &trained {
            self.core.quality.trained_up_to(trained.sequence);
        }
        self.prediction.replace_trained(trained);
    }

    /// Takes over what background threads have done, and starts them where it is time.
    pub(super) fn housekeeping(&mut self) {
        self.prediction.predict_noted();
        let finished = self.background.finished();
        self.take_over(finished);
        self.begin_preparing();
        self.begin_renewing();
        self.begin_saving();
        self.begin_check();
        self.probe();
    }

    pub(super) fn take_over(&self, finished: Vec<Done>) {
        let live = self.core.live();
        for done in finished {
            match done {
                Done::Prepared(version, prepared, _) if version == live.version => {
                    // Nobody else changes the state between the two locks.
                    let changed = live.read().changed_since_copy(&prepared);
                    if let Some(changed) = changed {
                        let before = live.write().take_prepared(*prepared, changed);
                        drop(before);
                        self.core.metrics.count_index();
                    }
                }
                Done::Renewed(version, renewed, _) if version == live.version => {
                    live.write().take_renewed(&renewed);
                }
                Done::Saved(saved) => self.core.status.saved(saved),
                Done::Checked(version, drift) if version == live.version => {
                    self.core.quality.drifted(drift);
                }
                // Of a version that is no longer active.
                Done::Prepared(..) | Done::Renewed(..) | Done::Checked(..) => {}
            }
        }
    }

    /// Begins the next index if many items have changed; with shortlists if they take little of the time.
    fn begin_preparing(&mut self) {
        if self.background.copying.is_some() {
            return self.copy_rows();
        }
        let live = self.core.live();
        let limit = self.core.settings.limits.shortlist_bytes();
        let due = {
            let state = live.read();
            if self.background.prepares {
                if has_changed_too_much(&state) {
                    self.background.stop_preparing();
                }
                return;
            }
            let is_cheap = |with_shortlists| self.background.may_prepare(with_shortlists, PARTS);
            Due::of(&state, limit > 0, is_cheap)
        };
        let limit = match due {
            Due::All => limit,
            Due::Index => 0,
            Due::Nothing => return,
        };
        live.write().copy_begun();
        self.background.copying = Some(Rows::begin(live.read().learner.online(), limit));
    }

    /// Begins to make new shortlists of users who have changed: until then their lists are ranked.
    fn begin_renewing(&mut self) {
        let live = self.core.live();
        let is_due = live.read().has_lists_to_renew();
        if is_due && self.background.may_renew(RENEWING_PARTS) {
            let users = live.write().begin_renewal(RENEWED);
            let copies = live.read().changed_users(users);
            self.background.renew(live.version, copies);
        }
    }

    /// Copies some more rows for the next index, and begins to make it after the last ones.
    fn copy_rows(&mut self) {
        let live = self.core.live();
        let state = live.read();
        let Some(mut rows) = self.background.copying.take() else {
            return;
        };
        if has_changed_too_much(&state) {
            // The copies are out of date; the next ones start again.
            return;
        }
        let begun = Instant::now();
        while begun.elapsed() < COPYING {
            if rows.copy_more(state.learner.online(), ROWS_PER_COPY) {
                drop(state);
                self.background.prepare(live.version, rows);
                return;
            }
        }
        self.background.copying = Some(rows);
    }

    /// Begins to save the state if it has learned much since it was saved last.
    fn begin_saving(&mut self) {
        let live = self.core.live();
        let due = self.sequence.saturating_sub(self.saved);
        if !self.background.saves && due >= self.core.settings.limits.snapshot_events {
            let state = live.read();
            let place = (live.version, state.sequence);
            if let Ok(copy) = state.learner.copy_state() {
                drop(state);
                self.saved = place.1;
                self.background.save(&self.folder, copy, place);
            }
        }
    }

    pub(super) fn save_at_the_end(&mut self) {
        let live = self.core.live();
        let state = live.read();
        if state.sequence > self.saved {
            let path = self.folder.state(live.version, state.sequence);
            let saved = state.learner.save(&path);
            self.core
                .status
                .saved(saved.map_err(|error| error.to_string()));
            self.folder.thin(live.version);
        }
    }

    /// Begins to compare the caches with recomputed sums, if something was learned since.
    fn begin_check(&mut self) {
        let live = self.core.live();
        let sequence = live.read().sequence;
        let last = self.core.quality.summary().drift;
        let has_learned = sequence > last.map_or(0, |drift| drift.sequence);
        if has_learned && !self.background.checks && self.prediction.takes_check() {
            let check = live.read().learner.online().cache_check();
            self.background.check(live.version, move || Drift {
                relative: check.drift(),
                sequence,
            });
        }
    }

    /// Tries whether a database that was full has room again, so that the server becomes ready by itself.
    fn probe(&mut self) {
        let is_full = self.core.status.storage() == Storage::Full;
        if is_full && Instant::now() >= self.next_probe {
            self.next_probe = Instant::now() + BETWEEN_PROBES;
            let probed = self.store.probe();
            self.core.status.note_commit(&probed);
        }
    }
}

/// What is to be prepared again.
enum Due {
    /// The index and shortlists.
    All,
    /// The index alone: events come so fast that shortlists would be out of date before they pay.
    Index,
    Nothing,
}

impl Due {
    fn of(state: &State, has_shortlists: bool, is_cheap: impl Fn(bool) -> bool) -> Self {
        let items = state.n_changed();
        let is_old = items > SOME_ITEMS && is_cheap(has_shortlists);
        let is_too_old = items > if has_shortlists { TOO_MANY } else { 1 } * many_items(state);
        if has_shortlists && (is_old || (!state.has_all_shortlists() && is_cheap(true))) {
            Self::All
        } else if is_old || is_too_old {
            Self::Index
        } else {
            Self::Nothing
        }
    }
}

/// Whether so many items have changed since rows were copied that what is prepared from them is out of date.
fn has_changed_too_much(state: &State) -> bool {
    state.n_changed_since_copy() > TOO_MANY * many_items(state)
}

/// Items that may differ from the index before the next one is made. Each makes every list a little slower,
/// and an index costs about as much as scoring all items a hundred times.
fn many_items(state: &State) -> usize {
    (state.learner.ids().items.len() / 64).clamp(64, 1024)
}
