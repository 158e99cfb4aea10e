//! From files to prepared rows with their ids.

use std::collections::HashSet;

use absentia::Interactions;
use absentia::data::{Duplicates, EventLog};
use absentia::error::Axis;
use absentia::suggest::did_you_mean;
use absentia_io::{Dataset, IdMap, Unknown, expand, read, read_with_ids};
use absentia_report::format::counted;
use anyhow::Result;

use crate::args::{DataArgs, ReadArgs};
use crate::failure::Refusal;
use crate::ui::Ui;

/// Rows and the ids their numbers stand for.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) log: EventLog,
    pub(crate) users: IdMap,
    pub(crate) items: IdMap,
}

/// Reads and prepares the data of a command.
pub(crate) fn load(args: &DataArgs, ui: &Ui) -> Result<Loaded> {
    let dataset = read_files(&args.data, &args.read, ui)?;
    let mut loaded = Loaded::new(dataset)?;
    if !args.prepare.exclude.is_empty() {
        loaded.exclude(&args.prepare.exclude, &args.read, ui)?;
    }
    let applied = args.prepare.apply(&mut loaded.log, ui);
    applied.map_err(|error| loaded.named(error))?;
    if loaded.log.is_empty() {
        let refusal = Refusal::data("no row is left after preparation");
        let hint = "loosen --min-rating, --k-core, --since, --until, --sample or --exclude";
        return Err(refusal.hint(hint).into());
    }
    loaded.forget_absent()?;
    Ok(loaded)
}

/// Rows rated 0 or less are rarely meant as something that was liked, but count like all others.
pub(crate) fn warn_of_unliked(loaded: &Loaded, args: &DataArgs, ui: &Ui) {
    let ratings = loaded.log.value().unwrap_or_default();
    let unliked = ratings.iter().filter(|&&rating| rating <= 0.0).count();
    if unliked > 0 && args.prepare.min_rating.is_none() {
        ui.warn(format!(
            "{unliked} of {} are rated 0 or less and count as interactions like the others; \
             --min-rating leaves them out, --targets raw tells them apart",
            counted(ratings.len() as u64, "row")
        ));
    }
}

/// Reads files as they are.
pub(crate) fn read_files(patterns: &[String], args: &ReadArgs, ui: &Ui) -> Result<Dataset> {
    let paths = expand(patterns)?;
    let dataset = read(&paths, &args.options(), &ui.reading())?;
    said_bad_rows(&dataset, ui);
    Ok(dataset)
}

/// Reads files whose ids are known, leaving out rows with others; the maps come back in the data.
pub(crate) fn read_known(
    patterns: &[String],
    args: &ReadArgs,
    ids: (IdMap, IdMap),
    ui: &Ui,
) -> Result<Dataset> {
    let paths = expand(patterns)?;
    let dataset = read_with_ids(&paths, &args.options(), ids, Unknown::Skip, &ui.reading())?;
    said_bad_rows(&dataset, ui);
    if dataset.unknown_rows > 0 {
        ui.warn(format!(
            "{}: left out {} of {} rows whose user or item the model does not know",
            patterns.join(", "),
            dataset.unknown_rows,
            dataset.unknown_rows + dataset.len() as u64
        ));
    }
    if dataset.is_empty() {
        let refusal = Refusal::data(format!(
            "{}: none of its users and items are known",
            patterns.join(", ")
        ));
        return Err(refusal
            .hint(
                "check that the ids are those of the training data; users held out whole are \
                 measured by `evaluate --fold-in FILE`, from their history",
            )
            .into());
    }
    Ok(dataset)
}

/// Rows and users of some files, known or not; where a rating is given, of rows rated so or more.
pub(crate) fn rows_and_users_in(
    patterns: &[String],
    args: &ReadArgs,
    least: Option<f32>,
) -> Result<(u64, usize)> {
    let dataset = read(&expand(patterns)?, &args.options(), &())?;
    let counts = |at: &usize| match (least, &dataset.value) {
        (Some(least), Some(ratings)) => ratings[*at] >= least,
        _ => true,
    };
    let rows = (0..dataset.user.len()).filter(counts);
    let mut users: Vec<u32> = rows.map(|at| dataset.user[at]).collect();
    let rows = users.len() as u64;
    users.sort_unstable();
    users.dedup();
    Ok((rows, users.len()))
}

fn said_bad_rows(dataset: &Dataset, ui: &Ui) {
    let bad = &dataset.bad_rows;
    if bad.count() > 0 {
        ui.warn(format!(
            "left out {}, among them:",
            counted(bad.count(), "bad row")
        ));
        for row in bad.examples() {
            ui.warn(format!("  {row}"));
        }
    }
}

/// Yields the rows of a data set without its ids.
pub(crate) fn log_of(dataset: &mut Dataset) -> Result<EventLog> {
    let user = std::mem::take(&mut dataset.user);
    let mut log = EventLog::new(user, std::mem::take(&mut dataset.item))?;
    if let Some(value) = dataset.value.take() {
        log = log.values(value)?;
    }
    if let Some(time) = dataset.time.take() {
        log = log.times(time)?;
    }
    if let Some(weight) = dataset.weight.take() {
        log = log.weights(weight)?;
    }
    Ok(log)
}

impl Loaded {
    pub(crate) fn new(mut dataset: Dataset) -> Result<Self> {
        let log = log_of(&mut dataset)?;
        let (users, items) = (dataset.users, dataset.items);
        Ok(Self { log, users, items })
    }

    /// Lends the ids to a reader, which gives them back in what it read.
    pub(crate) fn take_ids(&mut self) -> (IdMap, IdMap) {
        (
            std::mem::take(&mut self.users),
            std::mem::take(&mut self.items),
        )
    }

    /// The matrix of the rows.
    pub(crate) fn interactions(&self, duplicates: Duplicates) -> Result<Interactions<'static>> {
        let (users, items) = (self.users.len(), self.items.len());
        let built = self.log.interactions(users, items, duplicates);
        built.map_err(|error| self.named(error))
    }

    /// Says which user and item an error means instead of their row numbers.
    pub(crate) fn named(&self, error: absentia::data::DataError) -> anyhow::Error {
        if let absentia::data::DataError::Duplicate { user, item } = error {
            let refusal = Refusal::data(format!(
                "user {:?} and item {:?} occur together more than once",
                self.users.name(user).unwrap_or_default(),
                self.items.name(item).unwrap_or_default()
            ));
            return refusal
                .hint("merge them with --duplicates sum, last or max")
                .into();
        }
        error.into()
    }

    /// Drops the pairs that some files hold.
    fn exclude(&mut self, patterns: &[String], args: &ReadArgs, ui: &Ui) -> Result<()> {
        let dataset = read_known(patterns, args, self.take_ids(), ui)?;
        let pairs = dataset.user.iter().zip(&dataset.item);
        let excluded: HashSet<(u32, u32)> = pairs.map(|(&user, &item)| (user, item)).collect();
        let (users, items) = (self.log.user().to_vec(), self.log.item().to_vec());
        let report = self
            .log
            .retain(|row| !excluded.contains(&(users[row], items[row])));
        ui.note(format!(
            "excluded: kept {} of {} rows",
            report.after, report.before
        ));
        (self.users, self.items) = (dataset.users, dataset.items);
        Ok(())
    }

    /// Forgets ids that no row has any more; row numbers given by the caller stay as they are.
    fn forget_absent(&mut self) -> Result<()> {
        for axis in [Axis::User, Axis::Item] {
            let ids = match axis {
                Axis::User => &mut self.users,
                Axis::Item => &mut self.items,
            };
            if ids.is_dense() {
                continue;
            }
            let present = self.log.present(axis);
            if present.len() < ids.len() {
                *ids = kept(ids, &present);
                self.log = renumbered(&self.log, axis, &present)?;
            }
        }
        Ok(())
    }

    /// The rows for which `keep` says so, as a data set to be written.
    pub(crate) fn part(&self, keep: impl Fn(usize) -> bool) -> Dataset {
        let log = self.log.select(keep);
        Dataset {
            users: self.users.clone(),
            items: self.items.clone(),
            user: log.user().to_vec(),
            item: log.item().to_vec(),
            value: log.value().map(<[f32]>::to_vec),
            time: log.time().map(<[i64]>::to_vec),
            weight: log.weight().map(<[f32]>::to_vec),
            ..Dataset::default()
        }
    }
}

fn kept(ids: &IdMap, present: &[u32]) -> IdMap {
    let names = present.iter().filter_map(|&row| ids.name(row));
    names.collect()
}

/// The log with the ids of one side replaced by their place among those present.
fn renumbered(log: &EventLog, axis: Axis, present: &[u32]) -> Result<EventLog> {
    let mut place = vec![0; present.last().map_or(0, |&last| last as usize + 1)];
    for (at, &row) in present.iter().enumerate() {
        place[row as usize] = at as u32;
    }
    let ids = |side| -> Vec<u32> {
        if side == axis {
            let rows = log.ids(side).iter();
            rows.map(|&row| place[row as usize]).collect()
        } else {
            log.ids(side).to_vec()
        }
    };
    let mut changed = EventLog::new(ids(Axis::User), ids(Axis::Item))?;
    if let Some(value) = log.value() {
        changed = changed.values(value.to_vec())?;
    }
    if let Some(time) = log.time() {
        changed = changed.times(time.to_vec())?;
    }
    if let Some(weight) = log.weight() {
        changed = changed.weights(weight.to_vec())?;
    }
    Ok(changed)
}

/// The row of an id, or an error that suggests similar ones.
pub(crate) fn row_of(ids: &IdMap, axis: Axis, id: &str) -> Result<u32> {
    if let Some(row) = ids.get(id) {
        return Ok(row);
    }
    let hint = did_you_mean(&ids.similar(id))
        .unwrap_or_else(|| format!("the model knows {} {axis}s, none like it", ids.len()));
    let refusal = Refusal::not_found(format!("{axis} {id:?} is not in the model"));
    Err(refusal.hint(hint).into())
}

/// The ids of a file, one a line; blank lines are left out.
pub(crate) fn id_list(path: &std::path::Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(path).map_err(|source| absentia_io::Error::Io {
        path: path.to_owned(),
        source,
    })?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_without_rows_are_forgotten() -> Result<()> {
        let dataset = Dataset {
            users: ["ann", "bob", "cid"].iter().collect(),
            items: ["x", "y"].iter().collect(),
            user: vec![2, 0],
            item: vec![1, 1],
            ..Dataset::default()
        };
        let mut loaded = Loaded::new(dataset)?;
        loaded.forget_absent()?;
        assert_eq!(loaded.users.iter().collect::<Vec<_>>(), ["ann", "cid"]);
        assert_eq!(loaded.items.iter().collect::<Vec<_>>(), ["y"]);
        assert_eq!(loaded.log.user(), [1, 0]);
        assert_eq!(loaded.log.item(), [0, 0]);
        Ok(())
    }

    #[test]
    fn an_unknown_id_offers_near_ones() {
        let ids: IdMap = ["ann", "bob"].iter().collect();
        assert_eq!(row_of(&ids, Axis::User, "bob").ok(), Some(1));
        let error = row_of(&ids, Axis::User, "bo").expect_err("unknown");
        assert!(error.to_string().contains("\"bo\""));
    }
}
