//! `convert`: interactions from any format to any other.

use std::path::PathBuf;

use absentia_io::{Format, id_list_paths, is_standard, output_name, writing_bytes};
use absentia_job::Listener as _;
use absentia_report::format::counted;
use serde::Serialize;

use crate::args::DataArgs;
use crate::cli::Context;
use crate::failure::{Outcome, Refusal};
use crate::guard::Files;
use crate::loading::load;
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  $ absentia convert ratings.csv --out ratings.parquet
  $ absentia convert ratings.csv --out positive.tsv.gz --min-rating 4 --k-core 2
  $ gzip -c ratings.csv | absentia convert - --out - --to jsonl --min-rating 4 | head -n 3";

/// Write interaction files in another format, optionally filtered first.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Convert {
    /// File to write; its extension says the format, .gz and .zst compress. `-` writes to standard output,
    /// as CSV unless --to says otherwise.
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Format to write, instead of what the extension says.
    #[arg(long, value_name = "NAME")]
    to: Option<Format>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

#[derive(Serialize)]
struct Converted<'a> {
    rows: usize,
    users: usize,
    items: usize,
    out: &'a PathBuf,
    format: &'a str,
    id_lists: &'a [PathBuf],
}

impl Convert {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        let format = self.to.or_else(|| Format::from_path(&self.out));
        let lists = format.map_or_else(Vec::new, |format| id_list_paths(&self.out, format));
        Files::default()
            .reads_data(&self.data)
            .writes("--out", [&self.out])
            .writes("--out", lists)
    }

    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Outcome> {
        let ui = &context.ui;
        let format = format_for(&self.out, self.to)?;
        let mut loaded = load(&self.data, ui)?;
        // A matrix has one entry for a pair; what reads it would merge repeats by rules of its own.
        if matches!(format, Format::MatrixMarket | Format::Npz) {
            loaded.merge_repeats(&self.data.prepare, ui)?;
        }
        let writing = writing_bytes(loaded.log.len(), loaded.users.len(), format);
        ui.enter(loaded.stage("writing").with("work", writing))?;
        let dataset = loaded.into_dataset();
        let lists = absentia_io::write_with_ids(&dataset, &self.out, format)?;
        ui.json(&Converted {
            rows: dataset.len(),
            users: dataset.users.len(),
            items: dataset.items.len(),
            out: &self.out,
            format: format.name(),
            id_lists: &lists,
        })?;
        ui.note(format!(
            "wrote {} of {} and {} to {} ({format})",
            counted(dataset.len() as u64, "row"),
            counted(dataset.users.len() as u64, "user"),
            counted(dataset.items.len() as u64, "item"),
            output_name(&self.out)
        ));
        said_id_lists(&lists, format, ui);
        Ok(Outcome::Done)
    }
}

/// Says where the ids are that a format has no room for.
pub(crate) fn said_id_lists(lists: &[PathBuf], format: Format, ui: &Ui) {
    if let [users, items] = lists {
        ui.note(format!(
            "{format} holds row numbers: the ids of the rows are in {} and {}",
            users.display(),
            items.display()
        ));
    }
}

/// The format a file is to be written in.
pub(crate) fn format_for(path: &std::path::Path, to: Option<Format>) -> anyhow::Result<Format> {
    let usual = || is_standard(path).then_some(Format::Csv);
    let format = to.or_else(|| Format::from_path(path)).or_else(usual);
    format.ok_or_else(|| {
        Refusal::usage(format!("{}: no known extension", path.display()))
            .hint("name the format with --to, as in --to csv")
            .into()
    })
}
