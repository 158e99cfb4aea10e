//! Events as they are sent, checked and turned into records.

use std::collections::HashMap;

use absentia::error::Axis;
use absentia::online::Event;
use absentia_io::time::TimeUnit;
use absentia_online::{Learner, MAX_ID_BYTES, Record};
use serde::{Deserialize, Serialize};

use super::event_time::EventTime;
use crate::error::ApiError;
use crate::settings::{Kind, MAX_KEY_BYTES, Meaning, Settings};
use crate::store::{
    Change, Digest, EventColumns, EventOutcome, EventStatus, EventsReply, StoreReader, StoredEvent,
    digest_of, given_id, is_given,
};

/// An event as it is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewEvent {
    /// Its id, by which a retry is recognised and by which it can be deleted; given by the server if not set.
    #[serde(default)]
    pub id: Option<String>,
    /// The user.
    pub user: String,
    /// The item.
    pub item: String,
    /// The kind.
    pub kind: String,
    /// Its value, for kinds that have one.
    #[serde(default)]
    pub value: Option<f64>,
    /// When it happened; the latest time so far if not set.
    #[serde(default)]
    pub time: Option<EventTime>,
}

/// The digest of an event's id.
pub(super) fn event_digest(id: &str) -> Digest {
    digest_of(&[b"event", id.as_bytes()])
}

/// Events of one commit while they are checked.
pub(super) struct Checking<'a> {
    pub(super) settings: &'a Settings,
    pub(super) learner: &'a Learner,
    pub(super) store: &'a dyn StoreReader,
    /// The last sequence number so far.
    pub(super) sequence: u64,
    /// The latest time so far.
    pub(super) latest: i64,
    /// When the server received them.
    pub(super) received: i64,
    /// Events of this commit by the digest of their id.
    pub(super) known: HashMap<Digest, (u64, Digest)>,
}

impl Checking<'_> {
    /// Turns the events of one request into changes; if one is wrong, none of them is accepted.
    pub(super) fn request(
        &mut self,
        events: &[NewEvent],
    ) -> Result<(Vec<Change>, EventsReply), ApiError> {
        let before = (self.sequence, self.latest);
        let (mut changes, mut outcomes) = (Vec::with_capacity(events.len()), Vec::new());
        for (at, event) in events.iter().enumerate() {
            match self.event(event) {
                Ok((change, outcome)) => {
                    changes.extend(change);
                    outcomes.push(outcome);
                }
                Err(mut error) => {
                    (self.sequence, self.latest) = before;
                    self.known.retain(|_, (sequence, _)| *sequence <= before.0);
                    error.field = error.field.map(|field| format!("events[{at}].{field}"));
                    return Err(error);
                }
            }
        }
        let reply = EventsReply {
            accepted: changes.len(),
            duplicates: events.len() - changes.len(),
            sequence: self.sequence,
            events: outcomes,
        };
        Ok((changes, reply))
    }

    fn event(&mut self, event: &NewEvent) -> Result<(Option<Change>, EventOutcome), ApiError> {
        let sequence = self.sequence + 1;
        let content = content_of(event)?;
        if let Some(id) = &event.id {
            check_id(id)?;
            if let Some(known) = self.earlier(id)? {
                return known
                    .as_duplicate(id, &content)
                    .map(|outcome| (None, outcome));
            }
        }
        let record = self.record(event)?;
        let id = event.id.clone().unwrap_or_else(|| given_id(sequence));
        let digest = event_digest(&id);
        self.known.insert(digest, (sequence, content));
        self.sequence = sequence;
        let change = Change::Append {
            sequence,
            record,
            event: Some(EventColumns {
                id: digest,
                content,
                kind: event.kind.clone(),
                user: event.user.clone(),
                item: event.item.clone(),
                received: self.received,
            }),
        };
        let status = EventStatus::Accepted;
        Ok((
            Some(change),
            EventOutcome {
                id,
                sequence,
                status,
            },
        ))
    }

    /// The event of an id that was accepted before.
    fn earlier(&self, id: &str) -> Result<Option<Known>, ApiError> {
        let digest = event_digest(id);
        if let Some(&(sequence, content)) = self.known.get(&digest) {
            let content = Some(content);
            return Ok(Some(Known { sequence, content }));
        }
        let known = |StoredEvent {
                         sequence, content, ..
                     }| Known { sequence, content };
        Ok(self.store.event(&digest)?.map(known))
    }

    fn record(&mut self, event: &NewEvent) -> Result<Record, ApiError> {
        for (field, id) in [("user", &event.user), ("item", &event.item)] {
            if id.is_empty() || id.len() > MAX_ID_BYTES {
                let message = format!("ids have 1 to {MAX_ID_BYTES} bytes");
                return Err(ApiError::invalid(field, message));
            }
        }
        let kind = self.kind(event)?;
        let (user, item) = (event.user.clone(), event.item.clone());
        if kind.meaning == Meaning::Exposure {
            let weight = kind.weight;
            return Ok(Record::Expose { user, item, weight });
        }
        let value = event.value.map_or(kind.value, |value| value as f32);
        let time = self.time(event)?;
        let beyond = |axis: Axis| self.learner.online().n_rows(axis) as u32;
        let ids = self.learner.ids();
        let row = Event::new(
            ids.users.get(&user).unwrap_or_else(|| beyond(Axis::User)),
            ids.items.get(&item).unwrap_or_else(|| beyond(Axis::Item)),
        );
        let row = row.value(value).weight(kind.weight);
        let checked = self.learner.online().check_new(&row);
        checked.map_err(|error| ApiError::invalid("value", error.to_string()))?;
        self.latest = self.latest.max(time.unwrap_or(0));
        Ok(Record::Insert {
            user,
            item,
            value,
            weight: kind.weight,
            time,
        })
    }

    fn kind(&self, event: &NewEvent) -> Result<Kind, ApiError> {
        let kinds = &self.settings.kinds;
        let Some(kind) = kinds.get(&event.kind) else {
            let names: Vec<&str> = kinds.keys().map(String::as_str).collect();
            let message = format!("there is no such kind; there are {}", names.join(", "));
            return Err(ApiError::invalid("kind", message));
        };
        if event.value.is_some_and(|value| !(value as f32).is_finite()) {
            return Err(ApiError::invalid(
                "value",
                "it must be finite in single precision",
            ));
        }
        if kind.needs_value && event.value.is_none() {
            let message = format!("an event of kind {} needs a value", event.kind);
            return Err(ApiError::invalid("value", message));
        }
        Ok(*kind)
    }

    /// The time that the event is learned with: none where the model has no times. No clock is asked.
    fn time(&self, event: &NewEvent) -> Result<Option<i64>, ApiError> {
        if event.time.is_some_and(EventTime::is_negative) {
            return Err(ApiError::invalid("time", "it must be at least 0"));
        }
        if self.latest <= 0 {
            return Ok(None);
        }
        let Some(time) = event.time else {
            return Ok(Some(self.latest));
        };
        let unit = |time: i64| TimeUnit::of_times(Some(&[time]));
        let is_number = matches!(time, EventTime::Number(_));
        let time = time.in_unit(unit(self.latest));
        if is_number && unit(time) != unit(self.latest) {
            let message = format!(
                "the model was trained on times in {}",
                unit(self.latest).name()
            );
            return Err(ApiError::invalid("time", message));
        }
        Ok(Some(time))
    }
}

/// An event that was accepted before.
struct Known {
    sequence: u64,
    /// Digest of the event as it was sent; none if its user was erased.
    content: Option<Digest>,
}

impl Known {
    /// What becomes of an event with the same id.
    fn as_duplicate(&self, id: &str, content: &Digest) -> Result<EventOutcome, ApiError> {
        let sequence = self.sequence;
        let id = match &self.content {
            Some(known) if known == content => id.to_owned(),
            Some(_) => {
                let message = "an event with this id and other contents was accepted before";
                return Err(ApiError::new(422, "event_id_reused", message).field("id"));
            }
            // The answer is kept: it must not bring back what was erased.
            None => given_id(sequence),
        };
        let status = EventStatus::Duplicate;
        Ok(EventOutcome {
            id,
            sequence,
            status,
        })
    }
}

fn check_id(id: &str) -> Result<(), ApiError> {
    if id.is_empty() || id.len() > MAX_KEY_BYTES {
        let message = format!("event ids have 1 to {MAX_KEY_BYTES} bytes");
        return Err(ApiError::invalid("id", message));
    }
    if is_given(id) {
        let message = "ids of this form are given by the server";
        return Err(ApiError::invalid("id", message));
    }
    Ok(())
}

fn content_of(event: &NewEvent) -> Result<Digest, ApiError> {
    let text =
        serde_json::to_vec(event).map_err(|error| ApiError::invalid("value", error.to_string()))?;
    Ok(digest_of(&[&text]))
}
