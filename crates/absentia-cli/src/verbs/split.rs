//! `split`: rows to train on, to choose settings by and to measure on.

use std::path::{Path, PathBuf};

use absentia::data::{EventLog, Part, Pick, SplitReport, Unknown};
use absentia::error::Axis;
use absentia_io::time::TimeUnit;
use absentia_io::{FileSet, Format, id_list_paths, writing_bytes};
use absentia_job::text::SplitRule;
use absentia_job::{Listener as _, defaults, split_rows, unknown_text};
use absentia_report::format::counted;

use crate::args::{DataArgs, parse_folder, warn_of_pick, warn_without};
use crate::cli::Context;
use crate::failure::{Outcome, Refusal};
use crate::guard::Files;
use crate::loading::{Rows, load};
use crate::ui::Ui;
use crate::verbs::convert::said_id_lists;

const EXAMPLES: &str = "\
Examples:
  $ absentia split ratings.csv --out leave-one-out --by leave-one-out,valid
  $ absentia split ratings.csv --out random --by ratio:0.2,0.1 --pick random --seed 7
  $ absentia split ratings.csv --out forecast --by time:0.1
  $ absentia split ratings.csv --out strangers --by users:5 --pick random
  $ absentia split ratings.csv --out new-items --by cold-items:0.2

The folder gets train, valid and test files, and for held-out users fold_in: the history they are
folded in from. Give the folder's files to train, evaluate and compare. Files of an earlier split are
replaced all at once, which takes a folder without folders in it that is not the current one.";

/// Write train, validation and test files.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SplitCommand {
    /// Folder to write to; created if it does not exist.
    #[arg(long, short, value_name = "FOLDER", value_parser = parse_folder)]
    out: PathBuf,
    /// What is held out: leave-one-out[,valid], one row of every user; last:N[,VALID], N of them;
    /// ratio:SHARE[,VALID], a share of them, rounded; share:SHARE, a share, but at least one;
    /// time:FROM[,VALID-FROM], all rows from a time on (unix or 2020-01-31); time:SHARE[,VALID], the latest of all rows, as in time:0.1;
    /// users:N[,VALID] held out whole, except for a history to fold them in from; cold-items:SHARE[,VALID] or
    /// cold-users:SHARE[,VALID]: all rows of some items or users.
    #[arg(
        long,
        visible_alias = "method",
        value_name = "RULE",
        default_value = "leave-one-out"
    )]
    by: SplitRule,
    /// Which rows of a user are held out: latest (ties by rating, then item); random; or drift, random
    /// rows that favour some kinds of items, as if demand had moved there.
    #[arg(long, value_name = "RULE", default_value_t = Pick::Latest)]
    pick: Pick,
    /// Share of a held-out user's rows that they are folded in from.
    #[arg(long, value_name = "SHARE", default_value_t = defaults::FOLD_IN)]
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
    pub(crate) data: DataArgs,
}

/// What a split gave.
#[derive(serde::Serialize)]
struct SplitLine {
    #[serde(flatten)]
    report: SplitReport,
    /// Of the latest share of all rows: what cannot be measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<Unknown>,
}

impl SplitCommand {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        let written = self.names().into_iter().map(|name| self.out.join(name));
        Files::default()
            .reads_data(&self.data)
            .writes("--out", written)
    }

    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Outcome> {
        let mut loaded = load(&self.data, &context.ui)?;
        loaded.merge_repeats(&self.data.prepare, &context.ui)?;
        self.enter_stages(&loaded, &context.ui)?;
        check_users(&loaded.log, self.by)?;
        self.warn_of_unused(&context.ui);
        let unit = TimeUnit::of_times(loaded.log.time());
        let split = self.by.split(self.pick, self.fold_in, unit);
        let parts = split_rows(&loaded.log, &split, self.seed, &context.ui)?;
        self.check_stale(&parts)?;
        let set = FileSet::create(&self.out, self.names())?;
        for part in PARTS {
            self.write(&loaded, &parts, part, &set)?;
        }
        set.commit()?;
        if !(loaded.users.is_dense() && loaded.items.is_dense()) {
            let written = PARTS.into_iter().filter(|part| parts.contains(part));
            for part in written {
                let lists = id_list_paths(&self.path(part), self.to);
                said_id_lists(&lists, self.to, &context.ui);
            }
        }
        let report = SplitReport::of(&parts);
        warn_of_empty(self.by, &report, &context.ui);
        let is_forecast = matches!(self.by, SplitRule::TimeShare { .. });
        let unknown = is_forecast.then(|| loaded.log.known(&parts).1);
        context.ui.json(&SplitLine { report, unknown })?;
        context.ui.note(format!(
            "{}: {} to train on, {} to validate, {} to test{}",
            self.out.display(),
            counted(report.train as u64, "row"),
            report.valid,
            report.test,
            match report.fold_in {
                0 => String::new(),
                rows => format!(", {rows} to fold in from"),
            }
        ));
        if let Some(unknown) = unknown.filter(|unknown| unknown.rows > 0) {
            context.ui.note(unknown_text(unknown));
        }
        Ok(Outcome::Done)
    }

    /// Warns of arguments that have no effect on the rule.
    fn warn_of_unused(&self, ui: &Ui) {
        let users = matches!(self.by, SplitRule::Users { .. });
        let other_share = self.fold_in.to_bits() != defaults::FOLD_IN.to_bits();
        warn_without(!users && other_share, "--fold-in", "--by users:N", ui);
        let is_latest = self.pick == Pick::Latest;
        warn_of_pick((!is_latest).then_some(self.pick), self.by, ui);
        let cold = matches!(self.by, SplitRule::Cold { .. });
        let unseeded = is_latest && !users && !cold && self.seed != 0;
        warn_without(unseeded, "--seed", "--pick random or drift", ui);
    }

    fn write(
        &self,
        loaded: &Rows,
        parts: &[Part],
        part: Part,
        set: &FileSet,
    ) -> Result<(), absentia_io::Error> {
        if !parts.contains(&part) {
            return Ok(());
        }
        let dataset = loaded.part(|row| parts[row] == part);
        set.write(&self.file_name(part), |path| {
            absentia_io::write(&dataset, path, self.to)?;
            absentia_io::write_id_lists(&dataset, path, self.to).map(drop)
        })
    }

    /// The names of all files that may be written.
    fn names(&self) -> Vec<String> {
        let parts = PARTS.map(|part| PathBuf::from(self.file_name(part)));
        let lists = parts.iter().flat_map(|path| id_list_paths(path, self.to));
        let names = parts.iter().cloned().chain(lists);
        names.map(|path| path.display().to_string()).collect()
    }

    /// Counts the memory of splitting, and of writing a part that may be nearly all rows.
    fn enter_stages(&self, loaded: &Rows, ui: &Ui) -> anyhow::Result<()> {
        let (rows, users) = (loaded.log.len(), loaded.users.len());
        let parts = ("part of each row", rows as u64);
        let grouping = loaded.log.bytes_to_group(users);
        let splitting = loaded.stage("splitting").with_all([parts]);
        ui.enter(splitting.with("rows by user", grouping))?;
        let ids = loaded.users.bytes() + loaded.items.bytes();
        let writing = loaded.stage("writing a part").with_all([parts]);
        ui.enter(
            writing
                .with("rows of the part", loaded.log.bytes() + ids)
                .with("work", writing_bytes(rows, users, self.to)),
        )?;
        Ok(())
    }

    fn path(&self, part: Part) -> PathBuf {
        self.out.join(self.file_name(part))
    }

    fn file_name(&self, part: Part) -> String {
        let mut file = format!("{}.{}", name_of(part), extension(self.to));
        if let Some(kind) = &self.compress {
            file = format!("{file}.{kind}");
        }
        file
    }

    /// Refuses a folder with parts that this split would not replace: read together with the new
    /// ones they would mix two splits.
    fn check_stale(&self, parts: &[Part]) -> Result<(), Refusal> {
        let written: Vec<PathBuf> = PARTS
            .into_iter()
            .filter(|part| parts.contains(part))
            .map(|part| self.path(part))
            .collect();
        let stale = parts_in(&self.out)
            .into_iter()
            .filter(|path| !written.contains(path));
        let names: Vec<String> = stale.map(|path| path.display().to_string()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let refusal = Refusal::usage(format!(
            "{} of an earlier split would be left next to the new files",
            names.join(", ")
        ));
        Err(refusal.hint("remove them, or write to another folder with --out"))
    }
}

const PARTS: [Part; 4] = [Part::Train, Part::Valid, Part::Test, Part::FoldIn];

fn name_of(part: Part) -> &'static str {
    match part {
        Part::Train => "train",
        Part::Valid => "valid",
        Part::Test => "test",
        Part::FoldIn => "fold_in",
    }
}

/// Files of a folder that have the name of a part, in any format.
fn parts_in(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for part in PARTS {
        for format in Format::ALL {
            let bare = folder.join(format!("{}.{}", name_of(part), extension(format)));
            for end in ["", ".gz", ".zst"] {
                let mut path = bare.clone().into_os_string();
                path.push(end);
                let path = PathBuf::from(path);
                if path.is_file() && !paths.contains(&path) {
                    paths.push(path);
                }
            }
        }
    }
    paths
}

/// Refuses to hold out more users than can be.
fn check_users(log: &EventLog, rule: SplitRule) -> Result<(), Refusal> {
    let SplitRule::Users { test, valid } = rule else {
        return Ok(());
    };
    let counts = log.counts(Axis::User);
    let most = counts.iter().filter(|&&rows| rows >= 2).count();
    let wanted = test.saturating_add(valid);
    if wanted <= most {
        return Ok(());
    }
    let refusal = Refusal::data(format!(
        "cannot hold out {}: {most} of {} have two rows or more",
        counted(wanted as u64, "user"),
        counted(log.present(Axis::User).len() as u64, "user")
    ));
    Err(refusal.hint(format!("hold out at most {most}")))
}

/// Warns of requested parts without rows.
fn warn_of_empty(rule: SplitRule, report: &SplitReport, ui: &Ui) {
    let valid = rule.has_validation();
    let parts = [
        (true, report.train, Part::Train),
        (valid, report.valid, Part::Valid),
        (true, report.test, Part::Test),
    ];
    for (_, _, part) in parts
        .into_iter()
        .filter(|(asked, rows, _)| *asked && *rows == 0)
    {
        ui.warn(format!(
            "no row is in the {} part, so that there is no file of it",
            name_of(part)
        ));
    }
}

fn extension(format: Format) -> &'static str {
    match format {
        Format::Delimited => "csv",
        Format::Adjacency => "adj",
        Format::ArrowStream => "arrows",
        format => format.name(),
    }
}
