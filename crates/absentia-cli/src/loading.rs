//! From files and ids on the command line to rows.

use absentia::error::Axis;
use absentia::fit::FitError;
use absentia::memory::Stage;
use absentia::ranking::UserItems;
use absentia::suggest::did_you_mean;
use absentia_io::{Dataset, IdMap, expand, read};
use absentia_job::{JobError, Listener as _, Reading};
pub(crate) use absentia_job::{Rows, read_files, read_known};
use anyhow::Result;

use crate::args::{DataArgs, warn_of_preparation};
use crate::failure::Refusal;
use crate::ui::Ui;

/// Reads and prepares the data of a command.
pub(crate) fn load(args: &DataArgs, ui: &Ui) -> Result<Rows, JobError> {
    warn_of_preparation(&args.prepare, ui);
    Rows::read(&args.data, &args.read, &args.prepare, ui)
}

/// Rows and users of some files, known or not; where a rating is given, of rows rated so or more.
pub(crate) fn rows_and_users_in(
    patterns: &[String],
    reading: &Reading,
    least: Option<f32>,
) -> Result<(u64, usize)> {
    let dataset = read(&expand(patterns)?, &reading.options(), &())?;
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

/// Counts the memory of gathering rows into the lists of what users have seen.
pub(crate) fn enter_gathering(data: &Dataset, ui: &Ui) -> Result<(), FitError> {
    let lists = UserItems::bytes_to_gather(data.len(), data.users.len());
    ui.enter(
        Stage::new("gathering what users have seen")
            .with("rows", data.column_bytes())
            .with("lists", lists),
    )
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

/// The ids of a file, or of standard input, one a line, with the numbers of their lines; blank lines are
/// left out.
pub(crate) fn id_list(path: &std::path::Path) -> Result<Vec<(usize, String)>> {
    let text = absentia_io::read_text(path)?;
    let lines = (1..).zip(text.lines().map(str::trim));
    let ids = lines.filter(|(_, line)| !line.is_empty());
    Ok(ids.map(|(at, line)| (at, line.to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_id_suggests_similar_ones() {
        let ids: IdMap = ["ann", "bob"].iter().collect();
        assert_eq!(row_of(&ids, Axis::User, "bob").ok(), Some(1));
        let error = row_of(&ids, Axis::User, "bo").expect_err("unknown");
        assert!(error.to_string().contains("\"bo\""));
    }
}
