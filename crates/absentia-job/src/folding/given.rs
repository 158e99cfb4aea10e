//! Interactions and attributes of rows that are to be folded in.

use std::collections::HashMap;

use absentia::data::{Duplicates, EventLog};
use absentia::error::Axis;
use absentia::model::NewEntry;
use absentia_io::{Dataset, IdMap};

use super::{Attributes, KnownRows, entry_of};
use crate::error::JobError;
use crate::listener::{Event, Listener};
use crate::preparation::merge_repeats;
use crate::related::RelationRows;
use crate::rows::take_log;

/// Entries by the ids of their users or items.
type ById = HashMap<String, Vec<NewEntry>>;

/// What is known of rows that are to be folded in.
#[derive(Clone, Debug, Default)]
pub struct GivenRows {
    /// Attributes of users and items.
    pub attributes: Vec<Attributes>,
    /// Known items of users.
    of_users: ById,
    /// Known users of items that the model does not know.
    of_items: ById,
    /// Who took what, known or not.
    taken: HashMap<String, Vec<String>>,
}

impl GivenRows {
    /// Takes attributes and interactions, of which those between a user and an item that are both unknown are left out.
    ///
    /// # Errors
    /// Attributes that the model cannot use, and rows that cannot be merged.
    pub fn new(
        relations: Vec<RelationRows>,
        rows: Option<Dataset>,
        known: KnownRows<'_>,
        listener: &dyn Listener,
    ) -> Result<Self, JobError> {
        let mut given = Self {
            attributes: Attributes::all(relations, known, listener)?,
            ..Self::default()
        };
        if let Some(mut dataset) = rows {
            let mut log = take_log(&mut dataset)?;
            merge_repeats(&mut log, Duplicates::default(), false, listener)?;
            given.take(&log, &dataset, known, listener);
        }
        Ok(given)
    }

    fn take(
        &mut self,
        log: &EventLog,
        dataset: &Dataset,
        known: KnownRows<'_>,
        listener: &dyn Listener,
    ) {
        let mut left_out = 0;
        for row in 0..log.len() {
            let user = dataset.users.name(log.user()[row]).unwrap_or_default();
            let item = dataset.items.name(log.item()[row]).unwrap_or_default();
            let (user, item) = (user.into_owned(), item.into_owned());
            let taken = self.taken.entry(user.clone()).or_default();
            taken.push(item.clone());
            let (list, index) = match (known.users.get(&user), known.items.get(&item)) {
                (_, Some(index)) => (self.of_users.entry(user), index),
                (Some(index), None) => (self.of_items.entry(item), index),
                (None, None) => {
                    left_out += 1;
                    continue;
                }
            };
            list.or_default().push(entry_of(log, row, index));
        }
        if left_out > 0 {
            listener.event(&Event::BothUnknown {
                left_out,
                rows: log.len(),
            });
        }
    }

    fn of(&self, axis: Axis) -> &ById {
        match axis {
            Axis::User => &self.of_users,
            Axis::Item => &self.of_items,
        }
    }

    fn attributes_of(&self, axis: Axis) -> impl Iterator<Item = &Attributes> {
        let entity = usize::from(axis == Axis::Item);
        self.attributes
            .iter()
            .filter(move |one| one.entity == entity)
    }

    /// The interactions of an id.
    #[must_use]
    pub fn rows(&self, axis: Axis, id: &str) -> &[NewEntry] {
        self.of(axis).get(id).map_or(&[], Vec::as_slice)
    }

    /// Whether an id has interactions here.
    pub(super) fn has_rows(&self, axis: Axis, id: &str) -> bool {
        self.of(axis).contains_key(id)
    }

    /// Whether anything is given of an id.
    #[must_use]
    pub fn has(&self, axis: Axis, id: &str) -> bool {
        self.has_rows(axis, id) || self.attributes_of(axis).any(|one| !one.get(id).is_empty())
    }

    /// Some of the ids of which something is given, in order.
    #[must_use]
    pub fn ids(&self, axis: Axis, keep: impl Fn(&str) -> bool) -> IdMap {
        let ids = self.of(axis).keys().map(String::as_str);
        let ids = ids.chain(self.attributes_of(axis).flat_map(Attributes::ids));
        let mut ids: IdMap = ids.filter(|id| keep(id)).collect();
        ids.sort_from(0);
        ids
    }

    /// Leaves out new items without attributes, and yields the number of their interactions.
    pub fn keep_described_items(&mut self) -> usize {
        let mut of_items = std::mem::take(&mut self.of_items);
        let before: usize = of_items.values().map(Vec::len).sum();
        of_items.retain(|id, _| self.has(Axis::Item, id));
        self.of_items = of_items;
        before - self.of_items.values().map(Vec::len).sum::<usize>()
    }

    /// What a user took in these rows, new items included.
    #[must_use]
    pub fn taken(&self, user: &str) -> &[String] {
        self.taken.get(user).map_or(&[], Vec::as_slice)
    }

    /// Says of how many known users the interactions here replace all that the model was trained with, attributes
    /// included.
    pub(super) fn report_dropped(&self, known: KnownRows<'_>, listener: &dyn Listener) {
        let Some(related) = known.model.related() else {
            return;
        };
        for (at, relation) in related.relations.iter().enumerate() {
            let Some(side) = relation.side_of(0) else {
                continue;
            };
            let given = self.attributes.iter().find(|one| one.relation == at);
            let is_dropped = |id: &&String| {
                let row = known.users.get(id);
                let had = row.is_some_and(|row| relation.counts[side][row as usize] > 0);
                had && given.is_none_or(|one| one.get(id).is_empty())
            };
            let users = self.of_users.keys().filter(is_dropped).count();
            if users > 0 {
                listener.event(&Event::WithoutAttributes {
                    relation: &related.name(relation),
                    users,
                });
            }
        }
    }
}
