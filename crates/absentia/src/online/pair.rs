//! What is known of a pair of user and item: its interactions, and whether it was shown.

use std::collections::BTreeMap;

use crate::data::{DataError, Duplicates, Merging, RowColumns};

/// An interaction of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PairEvent {
    /// Raw value.
    pub value: f32,
    /// Weight column.
    pub weight: f32,
    /// Time; 0 where there are no times.
    pub time: i64,
    /// What the weight of the entry is multiplied by until the next refit.
    pub boost: f32,
}

/// What a pair is in the objective, if it is an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PairEntry {
    /// Its interactions, merged.
    Taken(PairEvent),
    /// Shown and not taken, with the weight of that.
    Exposed(f32),
}

impl PairEntry {
    /// The raw values of its entry.
    pub(super) fn event(self) -> PairEvent {
        match self {
            PairEntry::Taken(event) => event,
            PairEntry::Exposed(weight) => PairEvent {
                value: 0.0,
                weight,
                time: i64::MIN,
                boost: 1.0,
            },
        }
    }
}

/// The history of a pair whose entry does not say it all: several interactions, or an interaction with a
/// pair that was shown.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PairHistory {
    /// Weight of the exposed entry that is restored if no interaction is left.
    pub exposed: Option<f32>,
    /// The interactions in the order in which they were learned.
    pub events: Vec<PairEvent>,
}

/// Number of interactions of a pair that can be removed one by one. Of more, the oldest are merged.
pub const MAX_EVENTS: usize = 1024;

/// Histories of pairs, by user and item.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Histories {
    pub(super) duplicates: Duplicates,
    /// Whether interactions have times.
    pub(super) has_times: bool,
    pub(super) pairs: BTreeMap<(u32, u32), PairHistory>,
}

impl Histories {
    /// The pair with one more interaction.
    pub(super) fn with(
        &self,
        (user, item): (u32, u32),
        pair: Option<PairEntry>,
        event: PairEvent,
    ) -> Result<PairEvent, DataError> {
        let Some(PairEntry::Taken(taken)) = pair else {
            return Ok(event);
        };
        match self.pairs.get(&(user, item)) {
            Some(history) => {
                let events = history.events.iter().copied().chain([event]);
                self.merged((user, item), &events.collect::<Vec<_>>())
            }
            None => self.merged((user, item), &[taken, event]),
        }
    }

    /// Records an interaction of a pair that was `pair`.
    pub(super) fn push(&mut self, at: (u32, u32), pair: Option<PairEntry>, event: PairEvent) {
        let Some(pair) = pair else { return };
        let merging = self.merging();
        let history = self.pairs.entry(at).or_insert_with(|| match pair {
            PairEntry::Taken(taken) => PairHistory {
                exposed: None,
                events: vec![taken],
            },
            PairEntry::Exposed(weight) => PairHistory {
                exposed: Some(weight),
                events: Vec::new(),
            },
        });
        history.events.push(event);
        if history.events.len() > MAX_EVENTS {
            let oldest = [history.events[0], history.events[1]];
            // A sum that is not finite was rejected before.
            if let Ok(merged) = merged(merging, at, &oldest) {
                history.events[1] = merged;
                history.events.remove(0);
            }
        }
    }

    /// The pair without one of its interactions, and the position of that one in its history: the last one
    /// of a time, or the one after which a number of others were learned.
    pub(super) fn without(
        &self,
        at: (u32, u32),
        pair: Option<PairEntry>,
        (time, later): (Option<i64>, Option<u32>),
    ) -> Option<Result<(Option<PairEntry>, usize), DataError>> {
        let is_meant = |event: &PairEvent| time.is_none_or(|time| event.time == time);
        let Some(history) = self.pairs.get(&at) else {
            return match pair.filter(|_| later.unwrap_or(0) == 0)? {
                PairEntry::Taken(event) => is_meant(&event).then_some(Ok((None, 0))),
                PairEntry::Exposed(_) => time.is_none().then_some(Ok((None, 0))),
            };
        };
        let position = match later {
            None => history.events.iter().rposition(is_meant)?,
            Some(later) => {
                let position = history.events.len().checked_sub(later as usize + 1)?;
                is_meant(&history.events[position]).then_some(position)?
            }
        };
        let mut rest = history.events.clone();
        rest.remove(position);
        if rest.is_empty() {
            return Some(Ok((history.exposed.map(PairEntry::Exposed), position)));
        }
        let merged = self.merged(at, &rest);
        Some(merged.map(|merged| (Some(PairEntry::Taken(merged)), position)))
    }

    /// Removes an interaction from the history of a pair.
    pub(super) fn remove(&mut self, at: (u32, u32), position: usize) {
        let Some(history) = self.pairs.get_mut(&at) else {
            return;
        };
        history.events.remove(position);
        let entry_suffices =
            history.events.is_empty() || (history.events.len() == 1 && history.exposed.is_none());
        if entry_suffices {
            self.pairs.remove(&at);
        }
    }

    /// Records that a pair with an interaction was shown.
    pub(super) fn expose(&mut self, at: (u32, u32), taken: PairEvent, weight: f32) {
        let history = self.pairs.entry(at).or_insert_with(|| PairHistory {
            exposed: None,
            events: vec![taken],
        });
        history.exposed = Some(history.exposed.map_or(weight, |known| known.max(weight)));
    }

    /// Removes the histories of a user's pairs.
    pub(super) fn erase(&mut self, user: u32) {
        let items: Vec<u32> = self
            .pairs
            .range((user, 0)..=(user, u32::MAX))
            .map(|(&(_, item), _)| item)
            .collect();
        for item in items {
            self.pairs.remove(&(user, item));
        }
    }

    /// Ends the extra weight of everything learned so far.
    pub(super) fn end_boosts(&mut self) {
        for history in self.pairs.values_mut() {
            for event in &mut history.events {
                event.boost = 1.0;
            }
        }
    }

    fn merging(&self) -> Merging {
        self.duplicates.merging(true, self.has_times)
    }

    fn merged(&self, at: (u32, u32), events: &[PairEvent]) -> Result<PairEvent, DataError> {
        merged(self.merging(), at, events)
    }
}

/// The interactions of a pair as one, by the rule for repeated pairs.
fn merged(
    merging: Merging,
    (user, item): (u32, u32),
    events: &[PairEvent],
) -> Result<PairEvent, DataError> {
    if merging == Merging::Reject && events.len() > 1 {
        return Err(DataError::Duplicate { user, item });
    }
    let column = |number: fn(&PairEvent) -> f32| events.iter().map(number).collect::<Vec<f32>>();
    let (values, weights) = (column(|event| event.value), column(|event| event.weight));
    let times: Vec<i64> = events.iter().map(|event| event.time).collect();
    let columns = RowColumns {
        values: Some(&values),
        weights: Some(&weights),
        times: Some(&times),
    };
    let rows: Vec<u32> = (0..events.len() as u32).collect();
    let merged = columns.merge(&rows, merging)?;
    // A sum is new if any part of it is.
    let latest = match merging {
        Merging::Sum | Merging::Count => events.len() - 1,
        _ => merged.kept as usize,
    };
    Ok(PairEvent {
        value: merged.value,
        weight: merged.weight,
        time: merged.time,
        boost: events[latest].boost,
    })
}
