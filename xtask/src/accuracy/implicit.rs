//! `implicit`, tuned on the same held-out rows and measured by the same program.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::markdown::Took;
use super::sets::Set;
use super::{Program, on, printed, run};
use crate::repository;

/// How many rows `absentia tune` holds out by default.
const HELD_OUT: [&str; 2] = ["--by", "share:0.2"];

/// The library in an environment of its own, and where its files go.
pub(super) struct Implicit<'a> {
    pub(super) python: &'a Path,
    pub(super) program: &'a Program,
    pub(super) set: &'a Set,
    pub(super) folder: &'a Path,
}

impl Implicit<'_> {
    /// A search on the rows that the search of this log held out.
    pub(super) fn search(&self, seconds: u32, log: &Path) -> Result<Command, String> {
        self.write_rows()?;
        let (splits, held_out) = held_out(log)?;
        let mut command = self.script("search");
        for seed in 0..splits {
            let fold = self.folder.join(format!("fold-{seed}"));
            self.split(&fold, seed, held_out)?;
            command.arg("--fold").arg(fold);
        }
        command.arg("--seconds").arg(seconds.to_string());
        Ok(command)
    }

    /// Trains on all rows with the settings that were found, and yields a model of ours.
    pub(super) fn train(&self, settings: &Path) -> Result<(PathBuf, Took), String> {
        self.write_rows()?;
        let out = self.folder.join("implicit");
        let mut fit = self.script("fit");
        fit.args(["--threads", "2"]).arg("--settings").arg(settings);
        let (said, seconds) = printed(fit.arg("--out").arg(&out))?;
        let took = Took::new(seconds, &said)?;
        let model = self.folder.join("implicit.absentia");
        let mut import = self.program.command("import");
        import.arg(out.join("model.npz"));
        import.arg("--users").arg(out.join("users.txt"));
        import.arg("--items").arg(out.join("items.txt"));
        import.arg("--train").arg(self.rows());
        run(import.arg("--quiet").arg("--model").arg(&model))?;
        Ok((model, took))
    }

    /// All training rows, as the script reads them.
    fn rows(&self) -> PathBuf {
        self.folder.join("rows.csv")
    }

    fn write_rows(&self) -> Result<(), String> {
        let mut convert = self.set.on_train(self.program, "convert");
        run(convert.arg("--quiet").arg("--out").arg(self.rows()))
    }

    fn split(&self, fold: &Path, seed: u64, held_out: u64) -> Result<(), String> {
        let mut split = self.set.on_train(self.program, "split");
        split
            .args(HELD_OUT)
            .args(["--pick", self.set.source.pick()]);
        split.arg("--seed").arg(seed.to_string());
        let (said, _) = printed(split.args(["--json", "--quiet", "--out"]).arg(fold))?;
        let report: Value = serde_json::from_str(said.trim()).unwrap_or_default();
        if report["test"].as_u64() == Some(held_out) {
            Ok(())
        } else {
            Err(format!(
                "{}: `tune` held out {held_out} rows, `split` said {said}",
                fold.display()
            ))
        }
    }

    /// One thread a worker: the library runs threads of its own over BLAS.
    fn script(&self, task: &str) -> Command {
        let mut command = Command::new(self.python);
        command
            .arg(repository().join("xtask/python/tune_implicit.py"))
            .arg(task)
            .arg("--rows")
            .arg(self.rows())
            .args(["--factors", &self.set.source.factors.to_string()])
            .env("OPENBLAS_NUM_THREADS", "1")
            .env("OMP_NUM_THREADS", "1");
        command
    }
}

/// In how many ways a search held out how many rows, by the first line of its log.
fn held_out(log: &Path) -> Result<(u64, u64), String> {
    let text = std::fs::read_to_string(log).map_err(|error| on(log, &error))?;
    header(&text).ok_or_else(|| on(log, &"no log of a search; make it with --again"))
}

fn header(log: &str) -> Option<(u64, u64)> {
    let header: Value = serde_json::from_str(log.lines().next()?).ok()?;
    Some((header["splits"].as_u64()?, header["held_out"].as_u64()?))
}

/// Settings that the script found, in words.
pub(super) fn describe(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| on(path, &error))?;
    described(&text).ok_or_else(|| on(path, &"no settings of implicit"))
}

fn described(text: &str) -> Option<String> {
    let found: Value = serde_json::from_str(text).ok()?;
    let by_rating = if found["by_value"].as_bool()? {
        ", confidence by rating"
    } else {
        ""
    };
    Some(format!(
        "α {}, regularization {}{by_rating}, {} iterations, of {} trials",
        rounded(found["alpha"].as_f64()?),
        rounded(found["regularization"].as_f64()?),
        found["iterations"].as_u64()?,
        found["trials"].as_u64()?
    ))
}

/// Three digits that count.
fn rounded(number: f64) -> String {
    let whole = number.abs().max(1e-9).log10().floor() as i32;
    format!("{number:.*}", (2 - whole).max(0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_are_those_of_the_log() {
        let log = "{\"tune\":1,\"held_out\":3245,\"splits\":5}\n{\"number\":0}\n";
        assert_eq!(header(log), Some((5, 3245)));
        assert_eq!(header("{\"number\":0}\n"), None);
        assert_eq!(header(""), None);
    }

    #[test]
    fn settings_are_described_with_three_digits() {
        let text = r#"{"alpha": 57.1234, "regularization": 0.0123456, "by_value": true,
            "iterations": 8, "trials": 9}"#;
        let words =
            "α 57.1, regularization 0.0123, confidence by rating, 8 iterations, of 9 trials";
        assert_eq!(described(text).as_deref(), Some(words));
        assert_eq!(rounded(12_345.6), "12346");
        assert_eq!(rounded(1.0), "1.00");
        assert_eq!(described("{}"), None);
    }
}
