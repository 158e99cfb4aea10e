//! Users the model has not seen, folded in from their history.

use absentia::Dense;
use absentia::Model;
use absentia::data::{Duplicates, EventLog};
use absentia::error::Axis;
use absentia::evaluate::TestSet;
use absentia::model::{NewEntry, RowWeights};
use absentia::ranking::{FactorScorer, UserItems};
use absentia_io::{Dataset, IdMap, Unknown, expand, read_with_ids};
use absentia_job::text::RelationSpec;
use absentia_job::{Reading, merge_repeats};
use anyhow::Result;
use rayon::prelude::*;

use crate::failure::Refusal;
use crate::loading::take_log;
use crate::relating::{Attributes, known};
use crate::store::Stored;
use crate::ui::Ui;

/// Folded-in users: their ids, their history, and their factors.
pub(crate) struct FoldedUsers {
    pub(crate) users: IdMap,
    pub(crate) seen: UserItems,
    factors: Dense,
}

/// Held-out items of folded-in users.
pub(crate) struct FoldedTest {
    pub(crate) pairs: TestSet,
    pub(crate) unknown_rows: u64,
}

impl FoldedUsers {
    /// Reads histories and folds every user in; items the model does not know are left out.
    pub(crate) fn read(
        (patterns, relations): (&[String], &[RelationSpec]),
        args: &Reading,
        stored: &Stored,
        ui: &Ui,
    ) -> Result<Self> {
        let attributes = Attributes::read_all(relations, stored, ui)?;
        let mut history = read_items_known(patterns, args, IdMap::new(), stored, Unknown::Add)?;
        if history.unknown_rows > 0 {
            ui.warn(format!(
                "{}: left out {} rows whose item the model does not know",
                patterns.join(", "),
                history.unknown_rows
            ));
        }
        let mut log = take_log(&mut history)?;
        merge_repeats(&mut log, Duplicates::default(), false, ui)?;
        let entries = entries_of(&log, history.users.len());
        let bar = ui
            .progress()
            .count("folding in", entries.len() as u64, "users");
        let fold_in = stored.model.fold_in(Axis::User);
        let rows: Result<Vec<Vec<f32>>, _> = entries
            .par_iter()
            .enumerate()
            .map(|(user, entries)| {
                bar.advance(1);
                let id = history.users.name(user as u32).unwrap_or_default();
                let weights = RowWeights::Frozen;
                fold_in.solve_related(&known(0, &id, entries, &attributes, &weights))
            })
            .collect();
        bar.finish();
        let (rows, k) = (rows?, stored.model.n_factors());
        Ok(Self {
            factors: Dense::from_fn(rows.len(), k, |row, factor| rows[row][factor]),
            seen: UserItems::from_pairs(log.user(), log.item())?,
            users: history.users,
        })
    }

    /// Reads the held-out items of these users.
    pub(crate) fn test(
        &self,
        patterns: &[String],
        args: &Reading,
        stored: &Stored,
        ui: &Ui,
    ) -> Result<FoldedTest> {
        let users = self.users.clone();
        let test = read_items_known(patterns, args, users, stored, Unknown::Skip)?;
        if test.unknown_rows > 0 {
            ui.warn(format!(
                "{}: left out {} rows whose user was not folded in or whose item is not known",
                patterns.join(", "),
                test.unknown_rows
            ));
        }
        Ok(FoldedTest {
            pairs: TestSet::from_pairs(&test.user, &test.item)?,
            unknown_rows: test.unknown_rows,
        })
    }

    /// Scores of the folded-in users for all items.
    pub(crate) fn scorer<'a>(&'a self, model: &'a Model) -> Result<FactorScorer<'a>> {
        let scorer = FactorScorer::new(&self.factors, model.item_factors())?;
        Ok(match model.item_scale() {
            Some(scale) => scorer.scaled(scale)?,
            None => scorer,
        })
    }
}

/// Reads rows whose items are the model's and whose users may be new.
fn read_items_known(
    patterns: &[String],
    args: &Reading,
    users: IdMap,
    stored: &Stored,
    unknown: Unknown,
) -> Result<Dataset> {
    let paths = expand(patterns)?;
    let items = stored.items.clone();
    let n_items = items.len();
    let mut data = read_with_ids(&paths, &args.options(), (users, items), unknown, &())?;
    // A reader that adds users adds items too: those are dropped again.
    let keep: Vec<bool> = data
        .item
        .iter()
        .map(|&item| (item as usize) < n_items)
        .collect();
    let dropped = keep.iter().filter(|keep| !**keep).count();
    if dropped > 0 {
        data.unknown_rows += dropped as u64;
        retain(&mut data.user, &keep);
        retain(&mut data.item, &keep);
        data.value
            .iter_mut()
            .for_each(|column| retain(column, &keep));
        data.time
            .iter_mut()
            .for_each(|column| retain(column, &keep));
        data.weight
            .iter_mut()
            .for_each(|column| retain(column, &keep));
    }
    if data.is_empty() {
        let refusal = Refusal::data(format!("{}: no item is known", patterns.join(", ")));
        return Err(refusal
            .hint("check that the ids are those of the training data")
            .into());
    }
    Ok(data)
}

fn retain<T>(column: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    column.retain(|_| keep.next().copied().unwrap_or(false));
}

/// The entries of each user, by item. Pairs occur once in the log.
pub(crate) fn entries_of(log: &EventLog, n_users: usize) -> Vec<Vec<NewEntry>> {
    entries_by(log, (log.user(), log.item()), n_users)
}

/// A row of a log as an entry of its user or item.
pub(crate) fn entry_of(log: &EventLog, row: usize, index: u32) -> NewEntry {
    let mut entry = NewEntry::new(index);
    if let Some(value) = log.value() {
        entry.value = value[row];
    }
    if let Some(weight) = log.weight() {
        entry.weight = weight[row];
    }
    if let Some(time) = log.time() {
        entry.time = Some(time[row]);
    }
    entry
}

/// The entries of each item, by user.
pub(crate) fn entries_of_items(log: &EventLog, n_items: usize) -> Vec<Vec<NewEntry>> {
    entries_by(log, (log.item(), log.user()), n_items)
}

fn entries_by(log: &EventLog, (own, other): (&[u32], &[u32]), rows: usize) -> Vec<Vec<NewEntry>> {
    let mut entries: Vec<Vec<NewEntry>> = vec![Vec::new(); rows];
    for (row, (&own, &other)) in own.iter().zip(other).enumerate() {
        entries[own as usize].push(entry_of(log, row, other));
    }
    for list in &mut entries {
        list.sort_unstable_by_key(|entry| entry.index);
    }
    entries
}
