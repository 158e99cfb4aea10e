//! Users and items that a model does not know, from files.

use absentia::data::EventLog;
use absentia::model::NewEntry;
use absentia_job::text::RelationSpec;
use absentia_job::{GivenRows, Reading, entry_of, read_attributes, read_files};
use anyhow::Result;

use crate::store::Stored;
use crate::ui::Ui;

/// Reads what rows are folded in from: interactions, and attributes.
pub(crate) fn given_rows(
    (files, relations): (&[String], &[RelationSpec]),
    reading: &Reading,
    stored: &Stored,
    ui: &Ui,
) -> Result<GivenRows> {
    let known = stored.known();
    let relations = read_attributes(relations, known, ui)?;
    let rows = (!files.is_empty()).then(|| read_files(files, reading, ui));
    Ok(GivenRows::new(relations, rows.transpose()?, known, ui)?)
}

/// The entries of each user, by item. Pairs occur once in the log.
pub(crate) fn entries_of(log: &EventLog, n_users: usize) -> Vec<Vec<NewEntry>> {
    entries_by(log, (log.user(), log.item()), n_users)
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
