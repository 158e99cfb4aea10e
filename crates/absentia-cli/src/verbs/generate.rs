//! `generate`: data whose exposure and taste are known.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use absentia::Interactions;
use absentia::memory::Stage;
use absentia_io::{AtomicFile, Dataset, FileSet, Format, IdMap, output_name, writing_bytes};
use absentia_job::Listener as _;
use absentia_lab::generate::{ExposureModel, Generator, GeneratorParams, TestItems};
use anyhow::Context as _;
use rayon::prelude::*;
use serde::Serialize;

use super::convert::format_for;
use crate::args::warn_without;
use crate::cli::Context;
use crate::failure::Outcome;
use crate::guard::Files;
use crate::ui::Ui;

/// Number of users generated at a time.
const BLOCK: u32 = 8192;
/// Defaults of the numbers of segments, categories, and test items of a user.
const SEGMENTS: usize = 8;
const CATEGORIES: usize = 24;
const TEST_ITEMS: usize = 50;

const EXAMPLES: &str = "\
Examples:
  $ absentia generate --users 300 --items 200 --entries 4000 --out made.csv
  $ absentia generate --users 300 --items 200 --entries 4000 --out made.csv --test liked.csv --truth truth

An entry is observed only if the item was shown to the user and liked. --test writes items that users
were not shown but would like. --truth writes A.npy and B.npy, whose product is the expected number of
times each item was shown to each user:
train on them with --dense-ids --weights lowrank:truth/A.npy,truth/B.npy.";

/// Generate synthetic interactions with known exposure.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Generate {
    /// File to write; its extension decides the format.
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Number of users.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    users: u32,
    /// Number of items.
    #[arg(long, value_name = "N", default_value_t = 500)]
    items: u32,
    /// Number of interactions.
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    entries: u64,
    /// What users get to see: segmented[:STRENGTH], popularity or uniform.
    #[arg(long, value_name = "KIND", default_value = "segmented", value_parser = parse_exposure)]
    exposure: ExposureModel,
    /// Rank of the users' taste.
    #[arg(long, value_name = "N", default_value_t = 8)]
    rank: usize,
    /// Number of groups of users who are shown the same items.
    #[arg(long, value_name = "N", default_value_t = SEGMENTS)]
    segments: usize,
    /// Number of groups of items that are shown together.
    #[arg(long, value_name = "N", default_value_t = CATEGORIES)]
    categories: usize,
    /// Share of all pairs of user and item that would be liked.
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    like_rate: f32,
    /// Seed.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Also write a test file: items that were not shown and would be liked, drawn uniformly.
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,
    /// Number of items drawn per user for --test.
    #[arg(long, value_name = "N", default_value_t = TEST_ITEMS)]
    test_items: usize,
    /// Also write the true expected exposures to this folder, as A.npy and B.npy.
    #[arg(long, value_name = "FOLDER")]
    truth: Option<PathBuf>,
    /// Format to write, instead of that of the extension.
    #[arg(long, value_name = "NAME")]
    to: Option<Format>,
}

#[derive(Serialize)]
struct Generated {
    users: usize,
    items: usize,
    entries: u64,
    test_entries: Option<usize>,
}

impl Generate {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        let truth = self.truth.iter();
        let truth = truth.flat_map(|folder| TRUTH.map(|name| folder.join(name)));
        Files::default()
            .writes("--out", [&self.out])
            .writes("--test", &self.test)
            .writes("--truth", truth)
    }

    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Outcome> {
        self.warn_of_unused(&context.ui);
        let generator = Generator::new(self.params())?;
        match separator(&self.out) {
            Some(separator) if self.to.is_none() => {
                stream(&generator, &self.out, separator, &context.ui)?;
            }
            _ => {
                self.enter_matrix(self.entries, &self.out, &context.ui)?;
                self.write(&generator.interactions()?, &self.out)?;
            }
        }
        let mut test_entries = None;
        if let Some(path) = &self.test {
            let entries = u64::from(self.users) * self.test_items as u64;
            self.enter_matrix(entries, path, &context.ui)?;
            let test = generator.held_out(TestItems::Uniform, self.test_items)?;
            test_entries = Some(test.len());
            self.write(&test, path)?;
        }
        if let Some(folder) = &self.truth {
            write_truth(&generator, folder)?;
        }
        let report = Generated {
            users: self.users as usize,
            items: self.items as usize,
            entries: self.entries,
            test_entries,
        };
        context.ui.json(&report)?;
        context.ui.note(format!(
            "wrote {} entries of {} users and {} items to {}",
            report.entries,
            report.users,
            report.items,
            output_name(&self.out)
        ));
        Ok(Outcome::Done)
    }

    fn warn_of_unused(&self, ui: &Ui) {
        let no_test = self.test.is_none();
        let alike = !matches!(self.exposure, ExposureModel::Segmented { .. });
        for (is_unused, flag, other) in [
            (
                no_test && self.test_items != TEST_ITEMS,
                "--test-items",
                "--test",
            ),
            (
                alike && self.segments != SEGMENTS,
                "--segments",
                "--exposure segmented",
            ),
            (
                alike && self.categories != CATEGORIES,
                "--categories",
                "--exposure segmented",
            ),
        ] {
            warn_without(is_unused, flag, other, ui);
        }
    }

    fn params(&self) -> GeneratorParams {
        GeneratorParams {
            rank: self.rank,
            segments: self.segments,
            categories: self.categories,
            exposure: self.exposure,
            like_rate: self.like_rate,
            seed: self.seed,
            ..GeneratorParams::new(self.users as usize, self.items as usize, self.entries)
        }
    }

    /// Counts the memory of a generated matrix, of its rows, and of writing them.
    fn enter_matrix(&self, entries: u64, path: &Path, ui: &Ui) -> anyhow::Result<()> {
        let format = format_for(path, self.to)?;
        let writing = writing_bytes(entries as usize, self.users as usize, format);
        let stage = Stage::new("generating")
            .with("matrix", 8 * entries)
            .with("rows", 8 * entries)
            .with("writing", writing);
        Ok(ui.enter(stage)?)
    }

    fn write(&self, data: &Interactions<'_>, path: &Path) -> anyhow::Result<()> {
        let format = format_for(path, self.to)?;
        let mut dataset = Dataset {
            users: IdMap::dense(self.users),
            items: IdMap::dense(self.items),
            item: data.by_user().indices().to_vec(),
            ..Dataset::default()
        };
        for user in 0..data.n_users() {
            let rows = data.by_user().row_len(user);
            dataset.user.extend(std::iter::repeat_n(user as u32, rows));
        }
        Ok(absentia_io::write(&dataset, path, format)?)
    }
}

/// The separator of plain text that can be written as it is generated.
fn separator(path: &Path) -> Option<char> {
    match path.extension()?.to_str()? {
        "csv" => Some(','),
        "tsv" => Some('\t'),
        _ => None,
    }
}

/// Writes users block by block, so that any number of entries takes little memory.
fn stream(generator: &Generator, path: &Path, separator: char, ui: &Ui) -> anyhow::Result<()> {
    let users = generator.params().users as u32;
    let bar = ui.progress().count("generating", u64::from(users), "users");
    let mut file = AtomicFile::create(path)?;
    writeln!(file, "user{separator}item").with_context(|| path.display().to_string())?;
    for start in (0..users).step_by(BLOCK as usize) {
        let block = start..users.min(start.saturating_add(BLOCK));
        let rows: Vec<Vec<u32>> = generator.rows(block.clone()).collect();
        for (user, row) in block.zip(rows) {
            for item in row {
                writeln!(file, "{user}{separator}{item}")
                    .with_context(|| path.display().to_string())?;
            }
            bar.advance(1);
        }
    }
    bar.finish();
    Ok(file.commit()?)
}

/// The files of --truth.
const TRUTH: [&str; 2] = ["A.npy", "B.npy"];

fn write_truth(generator: &Generator, folder: &Path) -> anyhow::Result<()> {
    let set = FileSet::create(folder, TRUTH)?;
    let truth = generator.expected_exposures();
    for (name, side) in TRUTH.into_iter().zip([truth.users, truth.items]) {
        let side = side.into_compact();
        let shape = [side.rows(), side.cols()];
        set.write(name, |path| {
            absentia_io::npy::write_file(path, &shape, side.as_slice())
        })?;
    }
    Ok(set.commit()?)
}

fn parse_exposure(text: &str) -> Result<ExposureModel, String> {
    let wrong = || "expected segmented[:STRENGTH], popularity or uniform".to_owned();
    let (name, strength) = text.split_once(':').unwrap_or((text, "1.5"));
    match name {
        "segmented" => Ok(ExposureModel::Segmented {
            strength: strength.parse().map_err(|_| wrong())?,
        }),
        "popularity" => Ok(ExposureModel::Popularity),
        "uniform" => Ok(ExposureModel::Uniform),
        _ => Err(wrong()),
    }
}
