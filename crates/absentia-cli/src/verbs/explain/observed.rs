//! The interactions that explain a score: those of the training files, or those that the model keeps.

use absentia::error::Axis;
use absentia::model::NewEntry;
use absentia::ranking::UserItems;
use absentia_job::keys::Keys as _;
use anyhow::Result;

use super::{Explain, Pair};
use crate::args::{warn_of_preparation, warn_without};
use crate::failure::Refusal;
use crate::folding::{entries_of, entries_of_items};
use crate::loading::{Rows, read_known};
use crate::store::Stored;
use crate::ui::Ui;

const PASS_FILES: &str = "pass the files the model was trained on as --train FILE";

/// What was observed of a user and an item.
pub(super) struct Observed {
    /// The interactions of the one that explains the score; none if it is new.
    pub(super) entries: Vec<NewEntry>,
    /// Whether the two are a pair of the data.
    pub(super) is_pair: bool,
}

impl Explain {
    /// What was observed, by the training files or by the model.
    pub(super) fn observed(&self, stored: &mut Stored, pair: &Pair, ui: &Ui) -> Result<Observed> {
        if !self.train.is_empty() {
            return self.observed_in_files(stored, pair, ui);
        }
        let mut prepare = self.prepare.clone();
        let mut fields = prepare.fields().into_iter();
        let is_prepared = fields.any(|(_, field)| field.written().is_some());
        warn_without(is_prepared, "preparation of rows", "--train", ui);
        let Some(seen) = &stored.seen else {
            let text = "without --train it is not known which interactions explain the score";
            let hint = format!("{PASS_FILES}; models of `train --keep-seen` need none");
            return Err(Refusal::usage(text).hint(hint).into());
        };
        if !stored.model.parts().transform.needs_pairs_only() {
            let text = "the targets or the confidence of the model depend on ratings or times, which it does not keep";
            return Err(Refusal::usage(text).hint(PASS_FILES).into());
        }
        Ok(self.observed_by_model(seen, pair))
    }

    fn observed_in_files(&self, stored: &mut Stored, pair: &Pair, ui: &Ui) -> Result<Observed> {
        let ids = stored.take_ids();
        let mut train = Rows::new(read_known(&self.train, &self.read, ids, ui)?)?;
        train.prepare(&self.prepare, &self.read, ui)?;
        train.merge_repeats(&self.prepare, ui)?;
        warn_of_preparation(&self.prepare, ui);
        let is_pair = |row: usize| {
            let (user, item) = (train.log.user()[row], train.log.item()[row]);
            (Some(user), Some(item)) == (pair.user, pair.item)
        };
        let observed = Observed {
            is_pair: (0..train.log.len()).any(is_pair),
            entries: self.own_entries(&train, pair),
        };
        (stored.users, stored.items) = train.take_ids();
        Ok(observed)
    }

    fn own_entries(&self, train: &Rows, pair: &Pair) -> Vec<NewEntry> {
        let Some(own) = pair.own(self.by) else {
            return Vec::new();
        };
        match self.by {
            Axis::User => {
                let log = train.log.select(|row| train.log.user()[row] == own);
                entries_of(&log, train.users.len()).swap_remove(own as usize)
            }
            Axis::Item => {
                let log = train.log.select(|row| train.log.item()[row] == own);
                entries_of_items(&log, train.items.len()).swap_remove(own as usize)
            }
        }
    }

    fn observed_by_model(&self, seen: &UserItems, pair: &Pair) -> Observed {
        let has = |user: u32, item: u32| {
            let items = seen.get(user).unwrap_or_default();
            items.binary_search(&item).is_ok()
        };
        let others = match (self.by, pair.own(self.by)) {
            (_, None) => Vec::new(),
            (Axis::User, Some(user)) => seen.get(user).unwrap_or_default().to_vec(),
            (Axis::Item, Some(item)) => {
                let users = seen.users().iter().copied();
                users.filter(|&user| has(user, item)).collect()
            }
        };
        Observed {
            entries: others.into_iter().map(NewEntry::new).collect(),
            is_pair: pair.known().is_some_and(|(user, item)| has(user, item)),
        }
    }
}
