//! `reproduce`: every table and figure of the paper, in one report.

use std::path::PathBuf;

use absentia_lab::paper::{FinishedPart, Progress, Reproduction, Size, Target, parts_folder};
use anyhow::{Context as _, Result};
use serde_json::json;

use crate::cli::Context;
use crate::failure::Outcome;
use crate::guard::Files;
use crate::store;
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  $ absentia reproduce figure2 --size tiny --out paper/report.html
  $ absentia reproduce slips --size tiny --out paper/report.html

  a first look at everything:  absentia reproduce --quick all
  everything in full:          absentia reproduce all --out paper/report.html
  with the paper's own file:   absentia reproduce all --yelp yelp.rating
  with a file of your own:     absentia reproduce all --ratings ratings.csv

Finished parts are stored in a folder next to the report and are not computed again: an interrupted run
continues where it ended, and the report always shows all finished parts.";

/// Reproduce every table and figure of the paper in one report.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Reproduce {
    /// The results to reproduce.
    #[arg(value_name = "RESULT", required = true, num_args = 1..)]
    results: Vec<Target>,
    /// How much work: tiny takes seconds, quick five minutes and full an hour on two cores.
    #[arg(long, value_name = "SIZE", default_value = "full")]
    size: Size,
    /// The same as --size quick.
    #[arg(long, conflicts_with = "size")]
    quick: bool,
    /// The paper's own file, to compare with its published results: user, item, rating, time.
    #[arg(long, value_name = "FILE")]
    yelp: Option<PathBuf>,
    /// Another rating file to use, with times, in any format that `train` reads: users and items with
    /// ten ratings are used, and the latest rating of each user is held out.
    #[arg(long, value_name = "FILE")]
    ratings: Option<PathBuf>,
    /// Folder of real data sets; missing ones are left out.
    #[arg(long, value_name = "FOLDER", default_value = "../shared/data")]
    data: PathBuf,
    /// File to write the report to.
    #[arg(
        long,
        value_name = "FILE.html",
        default_value = "reproduction/report.html"
    )]
    out: PathBuf,
}

impl Reproduce {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        Files::default()
            .reads("--yelp", &self.yelp)
            .reads("--ratings", &self.ratings)
            .writes("--out", [&self.out])
            .writes("--out", self.stored_parts())
    }

    /// Finished parts of an earlier run, which this one may replace.
    fn stored_parts(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(parts_folder(&self.out));
        let entries = entries.into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Outcome> {
        store::check_writable(&self.out).or_else(|_| self.make_folder())?;
        let reproduction = Reproduction {
            results: self.results.clone(),
            size: if self.quick { Size::Quick } else { self.size },
            yelp: self.yelp.clone(),
            ratings: self.ratings.clone(),
            data: self.data.clone(),
            out: self.out.clone(),
            threads: context.threads,
        };
        reproduction.run(&context.ui)?;
        context.ui.say(format!("{}", self.out.display()))?;
        context.ui.json(&json!({"report": self.out}))?;
        Ok(Outcome::Done)
    }

    fn make_folder(&self) -> Result<()> {
        if let Some(folder) = self.out.parent() {
            std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        store::check_writable(&self.out)
    }
}

impl Progress for Ui {
    fn note(&self, text: &str) {
        Ui::note(self, text);
    }

    fn finished(&self, part: &FinishedPart<'_>) -> std::io::Result<()> {
        for (caption, table) in part.tables() {
            self.say(format!("{caption}:"))?;
            self.table(&table)?;
        }
        self.json(part)
    }
}
