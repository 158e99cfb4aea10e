//! The memory of a model that learns from events.

use std::collections::HashSet;

use absentia::error::Axis;
use absentia::memory::Stage;

use crate::learner::Learner;
use crate::record::Record;

/// Bytes of some records.
#[must_use]
pub fn record_bytes(records: &[Record]) -> u64 {
    let text = |text: &String| (text.len() as u64 + 8).next_multiple_of(16).max(32);
    let own = |record: &Record| match record {
        Record::Insert { user, item, .. }
        | Record::Remove { user, item, .. }
        | Record::Expose { user, item, .. } => text(user) + text(item),
        Record::Erase { user } => text(user),
        _ => 0,
    };
    let texts: u64 = records.iter().map(own).sum();
    texts + size_of_val(records) as u64
}

impl Learner {
    /// The memory of learning some events and saving the result, beside the model and the events.
    #[must_use]
    pub fn learning_stage(&self, events: &[Record], is_saved: bool) -> Stage {
        let (mut users, mut items) = (HashSet::new(), HashSet::new());
        for event in events {
            if let Record::Insert { user, item, .. } | Record::Expose { user, item, .. } = event {
                if self.ids().users.get(user).is_none() {
                    users.insert(user);
                }
                if self.ids().items.get(item).is_none() {
                    items.insert(item);
                }
            }
        }
        let (entries, rows) = (events.len() as u64, (users.len() + items.len()) as u64);
        let stage = Stage::new("learning").with(
            "new entries and rows",
            self.online().growth_bytes(entries, rows),
        );
        if !is_saved {
            return stage;
        }
        // Values, weights, boosts, times and marks of exposed entries are copied once more to be written.
        let columns = (3 * 4 + 8 + 1) * (self.online().n_entries() + entries);
        stage
            .with("what is saved", self.online().snapshot_bytes(entries))
            .with("columns of entries", columns)
    }

    /// The memory of training a copy of the model on a number of threads and saving the result, beside the model.
    #[must_use]
    pub fn training_stage(&self, threads: usize) -> Stage {
        let (online, ids) = (self.online(), self.ids());
        let rows = online.n_rows(Axis::User) + online.n_rows(Axis::Item);
        let saving = self.learning_stage(&[], true).total();
        Stage::new("training")
            .with(
                "copy of the model",
                online.growth_bytes(online.n_entries(), rows as u64),
            )
            .with("copy of the ids", ids.users.bytes() + ids.items.bytes())
            // One after the other.
            .with(
                "copying, training and saving",
                online.training_bytes(threads).max(saving),
            )
    }
}
