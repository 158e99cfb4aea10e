//! `cmfrec`'s collective implicit model on the same rows, tuned for the same processor time.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use absentia::data::EventLog;
use anyhow::{Context as _, Result};
use serde_json::Value;

use super::super::lab::Lab;
use super::super::part::{Block, Grid};
use super::articles::Articles;
use super::{CASES, Case, LEAST};

/// What tunes and measures it.
const SCRIPT: &str = include_str!("../../../python/tune_cmfrec.py");
/// The relation that it is given.
const GIVEN: &str = "tags";

/// The other library, and the time that our searches took.
pub(super) struct Peer<'l> {
    lab: &'l Lab<'l>,
    tags: PathBuf,
    /// Seconds of the processor for known articles, and for new ones.
    seconds: [f64; 2],
}

impl<'l> Peer<'l> {
    pub(super) fn new(folder: &Path, lab: &'l Lab<'l>) -> Self {
        Self {
            lab,
            tags: folder.join("item_tags.tsv.gz"),
            seconds: [0.0; 2],
        }
    }

    /// Adds the time of a search with the relation that it is given as well.
    pub(super) fn grant(&mut self, case: &Case, relation: &str, took: Duration) {
        if relation == GIVEN {
            let threads = self.lab.n_threads() as f64;
            self.seconds[usize::from(case.is_cold())] += threads * took.as_secs_f64();
        }
    }

    /// Its figures, or why there are none.
    pub(super) fn blocks(&self, articles: &Articles) -> Result<Vec<Block>> {
        let python = std::env::var("ABSENTIA_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let modules = ["-c", "import cmfrec, numpy, scipy"];
        let found = Command::new(&python).args(modules).output();
        if !found.is_ok_and(|found| found.status.success()) {
            return Ok(vec![Block::text(format!(
                "cmfrec was NOT measured: {python} does not have the modules cmfrec, numpy and scipy. Install them, or name \
                 a Python that has them in ABSENTIA_PYTHON, and run this part again."
            ))]);
        }
        let mut grid = Grid::new(
            "CiteULike: cmfrec's collective implicit model with the same tags, 95 % intervals",
            ["measured", "mean", "interval", "trials", "seconds"],
        );
        for is_cold in [false, true] {
            let result = self.run(&python, articles, is_cold)?;
            for case in CASES.iter().filter(|case| case.is_cold() == is_cold) {
                let key = if case.among_new {
                    "among_themselves_100"
                } else {
                    "among_all_20"
                };
                let number = |name: &str| {
                    let number = result[key][name].as_f64();
                    number.map_or_else(|| "?".to_owned(), |x| format!("{x:.4}"))
                };
                grid.row([
                    format!("{}, {}", case.name, case.metric),
                    number("mean"),
                    format!("{} to {}", number("low"), number("high")),
                    result["trials"].to_string(),
                    format!("{:.0}", self.seconds[usize::from(is_cold)]),
                ]);
            }
        }
        let text = "Its settings are those that do best, by each measure, in a random search on the same held-out rows, for the \
                    processor time that the choice of strength and λ took with tags.";
        Ok(vec![Block::Table(grid), Block::text(text)])
    }

    fn run(&self, python: &str, articles: &Articles, is_cold: bool) -> Result<Value> {
        let name = format!("absentia-cmfrec-{}-{is_cold}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let result = self.run_in(&folder, python, articles, is_cold);
        // What is left of it is in the way of nothing.
        let _ = std::fs::remove_dir_all(&folder);
        result
    }

    fn run_in(
        &self,
        folder: &Path,
        python: &str,
        articles: &Articles,
        is_cold: bool,
    ) -> Result<Value> {
        let case = CASES.iter().find(|case| case.is_cold() == is_cold);
        let case = case.context("a case")?;
        let fold = Articles::fold(&articles.log, &case.split)?;
        let inner = Articles::fold(&fold.log, &case.split)?;
        for (folder, fold) in [(folder.to_owned(), &fold), (folder.join("fold"), &inner)] {
            std::fs::create_dir_all(&folder)?;
            write_rows(&folder.join("train.csv"), &fold.log, articles)?;
            write_rows(&folder.join("test.csv"), &fold.held_out, articles)?;
        }
        let (script, out) = (folder.join("tune.py"), folder.join("result.json"));
        std::fs::write(&script, SCRIPT)?;
        let largest = |ids: &absentia_io::IdMap| -> u64 {
            let numbers = ids.iter().filter_map(|id| id.parse::<u64>().ok());
            numbers.max().unwrap_or_default() + 1
        };
        let shape = format!("{},{}", largest(&articles.users), largest(&articles.items));
        let mut command = Command::new(python);
        command.arg(&script).arg("--folder").arg(folder);
        command.arg("--tags").arg(&self.tags);
        command.args(["--least", &LEAST.to_string(), "--shape", &shape]);
        command.args(["--factors", &self.lab.size.factors().to_string()]);
        command.args(["--threads", &self.lab.n_threads().to_string()]);
        let seconds = self.seconds[usize::from(is_cold)];
        command.args(["--seconds", &seconds.to_string()]);
        command.args(is_cold.then_some("--cold"));
        let ran = command.arg("--out").arg(&out).output()?;
        if !ran.status.success() {
            let said = String::from_utf8_lossy(&ran.stderr).into_owned();
            anyhow::bail!("cmfrec failed: {said}");
        }
        Ok(serde_json::from_str(&std::fs::read_to_string(&out)?)?)
    }
}

fn write_rows(path: &Path, log: &EventLog, articles: &Articles) -> Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    writeln!(file, "user,item")?;
    for (&user, &item) in log.user().iter().zip(log.item()) {
        let (user, item) = (articles.users.name(user), articles.items.name(item));
        writeln!(
            file,
            "{},{}",
            user.unwrap_or_default(),
            item.unwrap_or_default()
        )?;
    }
    Ok(file.flush()?)
}
