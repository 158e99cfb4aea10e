//! `split`: rows to train on, to choose settings by and to measure on.

use std::path::PathBuf;

use absentia::data::{DataError, EventLog, Part, Pick, Split, SplitReport};
use absentia_io::Format;

use crate::args::{DataArgs, parse_pick, parse_split};
use crate::cli::Context;
use crate::failure::{Outcome, Refusal};
use crate::loading::{Loaded, load};

const EXAMPLES: &str = "\
Examples:
  $ absentia split ratings.csv --out leave-one-out --by leave-one-out,valid
  $ absentia split ratings.csv --out random --by ratio:0.2,0.1 --pick random --seed 7
  $ absentia split ratings.csv --out strangers --by users:5 --pick random

The folder gets train, valid and test files, and for held-out users fold_in: the history they are
folded in from. Give the folder's files to train, evaluate and compare.";

/// Write train, validation and test files.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SplitCommand {
    /// Folder to write to; made if it is not there.
    #[arg(long, short, value_name = "FOLDER")]
    out: PathBuf,
    /// leave-one-out[,valid]; last:N[,VALID]; ratio:SHARE[,VALID] of every user's rows;
    /// time:FROM[,VALID-FROM] (unix or 2020-01-31); users:N[,VALID] held out whole.
    #[arg(
        long,
        visible_alias = "method",
        value_name = "RULE",
        default_value = "leave-one-out"
    )]
    by: String,
    /// Which rows of a user are held out: latest (ties by rating, then item) or random.
    #[arg(long, value_name = "RULE", default_value = "latest", value_parser = parse_pick)]
    pick: Pick,
    /// Share of a held-out user's rows that they are folded in from.
    #[arg(long, value_name = "SHARE", default_value_t = 0.8)]
    fold_in: f64,
    /// Seed of random picks.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Format to write.
    #[arg(long, value_name = "NAME", default_value = "csv")]
    to: Format,
    /// Compress: gz or zst.
    #[arg(long, value_name = "KIND", value_parser = ["gz", "zst"])]
    compress: Option<String>,
    #[command(flatten)]
    data: DataArgs,
}

impl SplitCommand {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Outcome> {
        let split = parse_split(&self.by, self.pick, self.fold_in)
            .map_err(|expected| Refusal::usage(format!("--by {}: {expected}", self.by)))?;
        let mut loaded = load(&self.data, &context.ui)?;
        // A pair must not be in training and in the test at once.
        let merged = loaded.log.deduplicate(self.data.prepare.duplicates());
        merged.map_err(|error| loaded.named(error))?;
        let parts = split_rows(&loaded.log, &split, self.seed)?;
        std::fs::create_dir_all(&self.out).map_err(|source| absentia_io::Error::Io {
            path: self.out.clone(),
            source,
        })?;
        for part in [Part::Train, Part::Valid, Part::Test, Part::FoldIn] {
            self.write(&loaded, &parts, part)?;
        }
        let report = SplitReport::of(&parts);
        context.ui.json(&report)?;
        context.ui.note(format!(
            "{}: {} rows to train on, {} to validate, {} to test{}",
            self.out.display(),
            report.train,
            report.valid,
            report.test,
            match report.fold_in {
                0 => String::new(),
                rows => format!(", {rows} to fold in from"),
            }
        ));
        Ok(Outcome::Done)
    }

    fn write(&self, loaded: &Loaded, parts: &[Part], part: Part) -> anyhow::Result<()> {
        if !parts.contains(&part) {
            return Ok(());
        }
        let name = match part {
            Part::Train => "train",
            Part::Valid => "valid",
            Part::Test => "test",
            Part::FoldIn => "fold_in",
        };
        let mut file = format!("{name}.{}", extension(self.to));
        if let Some(kind) = &self.compress {
            file = format!("{file}.{kind}");
        }
        let dataset = loaded.part(|row| parts[row] == part);
        Ok(absentia_io::write(&dataset, &self.out.join(file), self.to)?)
    }
}

/// The part of each row; says what to do where there are no times.
pub(crate) fn split_rows(log: &EventLog, split: &Split, seed: u64) -> anyhow::Result<Vec<Part>> {
    log.split(split, seed).map_err(|error| match error {
        DataError::Lacks { .. } => Refusal::data(format!("cannot split: {error}"))
            .hint("name the column with --time-col, or pick rows at random")
            .into(),
        error => error.into(),
    })
}

fn extension(format: Format) -> &'static str {
    match format {
        Format::Delimited => "csv",
        Format::Adjacency => "adj",
        Format::ArrowStream => "arrows",
        format => format.name(),
    }
}
