//! The writing thread: validate, commit, apply in order, acknowledge.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use absentia::error::Axis;
use absentia_online::{Record, StateCopy};
use tokio::sync::oneshot;

use super::background::Background;
use super::erase;
use super::events::{Checking, NewEvent, event_digest};
use super::folder::Folder;
use super::live::{Live, State};
use super::prediction::{Prediction, TrainedModel};
use super::removal::removal;
use crate::clock::now_ms;
use crate::core::Core;
use crate::error::ApiError;
use crate::store::{
    Activation, CatalogueEntry, Change, Digest, EventsReply, ModelEntry, Reply, Store, StoreError,
};

/// Events that are committed together at most.
const GROUP: usize = 4096;
/// Commands that are taken at a time.
const COMMANDS: usize = 64;

/// Where the answer to a command goes.
type AnswerTo<T> = oneshot::Sender<Result<T, ApiError>>;
/// Events, what a retry is known by, and where the answer goes.
type EventsRequest = (Vec<NewEvent>, Option<Idempotency>, AnswerTo<(String, bool)>);

/// A request that may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// Digest of the key and of who sent it.
    pub key: Digest,
    /// Digest of the request.
    pub request: Digest,
}

/// An event that was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The record that removed it.
    pub sequence: u64,
}

/// A user that was erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erased {
    /// The record that erased the user.
    pub sequence: u64,
}

/// What the writer is asked to do.
pub enum Command {
    /// Learns events; answers with the body of the reply, and whether it is one of an earlier request.
    Events {
        /// The events.
        events: Vec<NewEvent>,
        /// What a retry is known by.
        idempotency: Option<Idempotency>,
        /// Where the answer goes.
        answer: AnswerTo<(String, bool)>,
    },
    /// Removes an event.
    RemoveEvent {
        /// Its id.
        id: String,
        /// Where the answer goes.
        answer: AnswerTo<Removed>,
    },
    /// Erases a user.
    EraseUser {
        /// Id of the user.
        user: String,
        /// Where the answer goes.
        answer: AnswerTo<Erased>,
    },
    /// Adds or replaces catalogue entries.
    Catalogue {
        /// Of users or items.
        axis: Axis,
        /// The entries.
        entries: Vec<CatalogueEntry>,
        /// Where the answer goes.
        answer: AnswerTo<()>,
    },
    /// Copies the state.
    Copy {
        /// Where the copy goes, with its sequence number.
        answer: AnswerTo<(StateCopy, u64)>,
    },
    /// Registers a model whose state is saved.
    Register {
        /// The model.
        model: ModelEntry,
        /// Where the answer goes.
        answer: AnswerTo<()>,
    },
    /// Makes a state that was opened the active one, after it has learned what it lacks.
    Activate {
        /// Its number in the register.
        version: u64,
        /// The state.
        state: Box<State>,
        /// The model as it was trained.
        trained: Option<Box<TrainedModel>>,
        /// Whether this goes back to it.
        is_roll_back: bool,
        /// Where the answer goes.
        answer: AnswerTo<u64>,
    },
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Command")
    }
}

/// The writing thread's state.
pub struct Writer {
    pub(super) core: Arc<Core>,
    pub(super) store: Box<dyn Store>,
    pub(super) folder: Arc<Folder>,
    pub(super) background: Background,
    pub(super) prediction: Prediction,
    /// The last record that was committed.
    pub(super) sequence: u64,
    /// The last record that was saved with a state.
    pub(super) saved: u64,
    /// When a database that is full is tried again.
    pub(super) next_probe: Instant,
}

impl Writer {
    /// A writer on a store whose records are all learned.
    #[must_use]
    pub fn new(core: Arc<Core>, store: Box<dyn Store>, folder: Arc<Folder>, saved: u64) -> Self {
        let (version, sequence) = (core.live().version, core.live().read().sequence);
        let prediction = Prediction::new(core.clone());
        Self {
            core,
            store,
            folder,
            background: Background::new(version),
            prediction,
            sequence,
            saved,
            next_probe: Instant::now(),
        }
    }

    /// Works until the queue is closed, and then saves the state.
    pub fn run(mut self) {
        let trained = self.trained();
        self.begin_prediction(trained);
        while let Some(commands) = self.core.writes.take(1, COMMANDS, self.patience()) {
            let mut events = Vec::new();
            for command in commands {
                if let Command::Events { .. } = &command {
                    events.push(command);
                    continue;
                }
                self.events(std::mem::take(&mut events));
                self.single(command);
            }
            self.events(events);
            self.housekeeping();
        }
        self.save_at_the_end();
    }

    /// How long to wait for commands before other work goes on.
    fn patience(&self) -> Duration {
        let millis = if self.background.copying.is_some() {
            1
        } else {
            100
        };
        Duration::from_millis(millis)
    }

    fn single(&mut self, command: Command) {
        match command {
            Command::Events { .. } => self.events(vec![command]),
            Command::RemoveEvent { id, answer } => {
                let _ = answer.send(self.remove(&id));
            }
            Command::EraseUser { user, answer } => {
                let _ = answer.send(self.erase(&user));
            }
            Command::Catalogue {
                axis,
                entries,
                answer,
            } => {
                let change = |entry: &CatalogueEntry| Change::Catalogue(axis, entry.clone());
                let changes: Vec<Change> = entries.iter().map(change).collect();
                let committed = self.commit(&changes);
                if committed.is_ok() {
                    self.core
                        .change_catalogue(|catalogue| catalogue.take(axis, entries));
                }
                let _ = answer.send(committed.map_err(ApiError::from));
            }
            Command::Copy { answer } => {
                let live = self.core.live();
                let state = live.read();
                let copy = state.learner.copy_state().map_err(ApiError::from);
                let _ = answer.send(copy.map(|copy| (copy, state.sequence)));
            }
            Command::Register { model, answer } => {
                let committed = self.commit(&[Change::Model(model)]);
                let _ = answer.send(committed.map_err(ApiError::from));
            }
            Command::Activate {
                version,
                state,
                trained,
                is_roll_back,
                answer,
            } => {
                let activation = Activation {
                    version,
                    at: now_ms(),
                    is_roll_back,
                };
                let trained = trained.map(|trained| *trained);
                let _ = answer.send(self.activate(activation, *state, trained));
            }
        }
    }

    pub(super) fn commit(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        let committed = self.store.commit(changes);
        self.core.status.note_commit(&committed);
        if committed.is_ok() {
            let appended = changes.iter().rev().find_map(|change| match change {
                Change::Append { sequence, .. } => Some(*sequence),
                _ => None,
            });
            self.sequence = appended.unwrap_or(self.sequence);
            self.core.status.committed(self.sequence);
        }
        committed
    }

    /// Commits and learns the events of several requests together.
    fn events(&mut self, commands: Vec<Command>) {
        let mut commands = commands.into_iter().peekable();
        while commands.peek().is_some() {
            let (mut group, mut count) = (Vec::new(), 0);
            while let Some(Command::Events {
                events,
                idempotency,
                answer,
            }) = commands.next_if(|_| count < GROUP)
            {
                count += events.len();
                group.push((events, idempotency, answer));
            }
            self.group(group);
        }
    }

    fn group(&mut self, requests: Vec<EventsRequest>) {
        let mut changes = Vec::new();
        let mut waiting = Vec::with_capacity(requests.len());
        let mut replies: HashMap<Digest, Reply> = HashMap::new();
        let live = self.core.live();
        let state = live.read();
        let mut checking = Checking {
            settings: &self.core.settings,
            learner: &state.learner,
            store: &*self.store,
            sequence: self.sequence,
            latest: state.learner.online().latest(),
            received: now_ms(),
            known: HashMap::new(),
        };
        for (events, idempotency, answer) in requests {
            match request(&mut checking, &mut replies, &events, idempotency) {
                Ok(Checked::Earlier(body)) => waiting.push((answer, body, true)),
                Ok(Checked::New(more, body)) => {
                    changes.extend(more);
                    waiting.push((answer, body, false));
                }
                Err(error) => {
                    let _ = answer.send(Err(error));
                }
            }
        }
        drop(state);
        if !changes.is_empty() {
            if let Err(error) = self.commit(&changes) {
                let error = ApiError::from(error);
                for (answer, ..) in waiting {
                    let _ = answer.send(Err(error.clone()));
                }
                return;
            }
            // Events were checked before, so that none is rejected; if one is, it is stored and logged.
            let _ = self.learn(&changes);
            self.core.metrics.count_events(count_appended(&changes));
        }
        for (answer, body, is_earlier) in waiting {
            let _ = answer.send(Ok((body, is_earlier)));
        }
    }

    fn remove(&mut self, id: &str) -> Result<Removed, ApiError> {
        let gone = || ApiError::not_found("event_not_found", "there is no such event");
        let event = self.store.event(&event_digest(id))?.ok_or_else(gone)?;
        if event.deleted_by.is_some() {
            return Err(gone());
        }
        let record = event.record.ok_or_else(gone)?;
        let (Record::Insert { user, item, .. } | Record::Expose { user, item, .. }) = &record
        else {
            return Err(gone());
        };
        let is_exposure = matches!(record, Record::Expose { .. });
        if is_exposure && self.core.live().read().has_taken(user, item) {
            let message = "the item was taken after it was shown; delete that event first";
            return Err(ApiError::new(409, "conflict", message));
        }
        let of_pair = self.store.events_of_pair(user, item)?;
        let mut sequence = self.sequence;
        let mut changes = Vec::new();
        for record in removal(&record, event.sequence, &of_pair) {
            sequence += 1;
            changes.push(Change::Append {
                sequence,
                record,
                event: None,
            });
        }
        changes.push(Change::Deleted {
            sequence: event.sequence,
            by: sequence,
        });
        self.commit(&changes)?;
        self.learn(&changes)?;
        Ok(Removed { sequence })
    }

    fn erase(&mut self, user: &str) -> Result<Erased, ApiError> {
        let live = self.core.live();
        let has_row = live.read().learner.find(Axis::User, user).is_some();
        let has_events = !self.store.events_of_user(user, 1)?.is_empty();
        let has_title = self.store.catalogue_entry(Axis::User, user)?.is_some();
        if !(has_row || has_events || has_title) {
            let message = "nothing is known of this user";
            return Err(ApiError::not_found("user_not_found", message));
        }
        // No saved state with the user may appear later. Copies in memory are not shown: the user has changed since.
        let finished = self.background.wait_for_save();
        self.take_over(finished);
        let (sequence, user) = (self.sequence + 1, user.to_owned());
        let changes = [
            Change::Append {
                sequence,
                record: Record::Erase { user: user.clone() },
                event: None,
            },
            Change::EraseBegun {
                user: user.clone(),
                sequence,
            },
        ];
        self.commit(&changes)?;
        if has_row {
            let _ = self.learn(&changes);
        } else {
            // Nothing is known that could be erased from the model.
            live.write().sequence = sequence;
            self.core.status.learned(sequence);
        }
        erase::finish(
            &mut *self.store,
            &live,
            &self.folder,
            &[(user.clone(), sequence)],
        )
        .map_err(|error| {
            let message = format!("erasing has begun and goes on at the next start: {error}");
            ApiError::new(500, "erasure_unfinished", message)
        })?;
        self.core
            .change_catalogue(|catalogue| catalogue.forget(Axis::User, &user));
        self.saved = sequence;
        // The one in memory has the user.
        let trained = self.trained();
        self.replace_trained(trained);
        Ok(Erased { sequence })
    }

    fn activate(
        &mut self,
        activation: Activation,
        mut state: State,
        trained: Option<TrainedModel>,
    ) -> Result<u64, ApiError> {
        loop {
            let records = self.store.records(state.sequence, GROUP)?;
            let Some(&(last, _)) = records.last() else {
                break;
            };
            for (sequence, record) in records {
                if let Some(record) = record {
                    let _ = state.learn(sequence, &record);
                }
            }
            state.sequence = last;
        }
        self.commit(&[Change::Activate(activation)])?;
        self.core.status.learned(state.sequence);
        self.core.replace_live(Live::new(activation.version, state));
        self.background.begin_version(activation.version);
        self.saved = 0;
        self.begin_prediction(trained);
        Ok(self.sequence)
    }
}

fn count_appended(changes: &[Change]) -> u64 {
    let appended = changes.iter();
    appended
        .filter(|change| matches!(change, Change::Append { .. }))
        .count() as u64
}

/// A request that was checked.
enum Checked {
    /// It was answered before, with this body.
    Earlier(String),
    /// Its changes and the body of its answer.
    New(Vec<Change>, String),
}

fn request(
    checking: &mut Checking<'_>,
    replies: &mut HashMap<Digest, Reply>,
    events: &[NewEvent],
    idempotency: Option<Idempotency>,
) -> Result<Checked, ApiError> {
    if let Some(Idempotency { key, request }) = idempotency {
        let earlier = match replies.get(&key) {
            Some(reply) => Some(reply.clone()),
            None => checking.store.reply(&key)?,
        };
        if let Some(reply) = earlier {
            if reply.request == request {
                return Ok(Checked::Earlier(reply.body));
            }
            let message = "this key was used before, for another request";
            return Err(
                ApiError::new(422, "idempotency_key_reused", message).field("Idempotency-Key")
            );
        }
    }
    let (mut changes, reply): (Vec<Change>, EventsReply) = checking.request(events)?;
    let body = serde_json::to_string(&reply).unwrap_or_default();
    if let Some(Idempotency { key, request }) = idempotency {
        let reply = Reply {
            request,
            body: body.clone(),
        };
        replies.insert(key, reply.clone());
        let hours = i64::from(checking.settings.limits.idempotency_hours);
        changes.push(Change::Reply {
            key,
            reply,
            received: checking.received,
            keep_after: checking.received - hours * 3_600_000,
        });
    }
    Ok(Checked::New(changes, body))
}
