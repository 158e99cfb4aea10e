//! The table of `docs/weights.md`: every weight scheme on every data set, tuned with the same few trials.
//!
//! A trial is `absentia train` with a scheme of some mean weight, which chooses the regularization on held-out rows. The
//! mean whose model does best there is measured on the test. Items are not rescaled, so that the weights act alone.
//! A table for clusters (`clusters`) has the mean and the regularization of uniform weights: held-out rows of given
//! weights are counted otherwise and cannot be compared. Pairs that were shown (`exposures`) have uniform weights beside
//! them, and two weights of their own are tried.

mod clusters;
mod exposures;
mod sets;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{Program, folder, on, printed};
use sets::{DividedData, SETS};

/// Means of the weights that are tried.
const MEANS: [&str; 2] = ["0.02", "0.15"];

/// Weight schemes with M for their mean, the first being what the others are compared with.
const SCHEMES: [&str; 9] = [
    "uniform:M",
    "popularity:mean=M,alpha=0.25",
    "popularity:mean=M,alpha=0.5",
    "activity:mean=M,alpha=0.5",
    "learned:mean=M",
    "age:mean=M",
    "age:mean=M,sharpness=1",
    "popularity*age:mean=M,alpha=0.25",
    "available:mean=M",
];

/// Makes the tables of the sets whose name contains `only`, prints them and writes them to a file.
pub(super) fn weights(arguments: &[&str]) -> Result<(), String> {
    let mut only = String::new();
    let mut program = None;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("{word}: a value is missing"))?;
        match *word {
            "--only" => only = value.to_lowercase(),
            "--program" => program = Some(PathBuf::from(value)),
            other => return Err(format!("{other}: no such option")),
        }
    }
    let program = match program {
        Some(path) => Program(path),
        None => Program::build()?,
    };
    let chosen = SETS
        .iter()
        .filter(|set| set.name.to_lowercase().contains(&only));
    let out = folder("weights")?.join("tables.md");
    let mut tables = String::new();
    for set in chosen {
        for case in set.cases(&program)? {
            let table = case.table(&program)?;
            eprintln!("{table}");
            tables.push_str(&table);
            tables.push('\n');
            std::fs::write(&out, &tables).map_err(|error| on(&out, &error))?;
        }
    }
    Ok(())
}

/// Weights that were tried, and the score on held-out rows.
struct Tuned {
    score: f64,
    weights: String,
    regularization: String,
}

impl DividedData {
    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Trains; yields the metric on held-out rows by which the regularization was chosen, and the regularization. Where
    /// that is given, nothing is measured.
    fn train(
        &self,
        program: &Program,
        (weights, model): (&str, &Path),
        other: &[String],
    ) -> Result<Tuned, String> {
        let mut command = program.command("train");
        command
            .arg(self.file("train.csv"))
            .args(["--rating-col", "none", "--weights", weights]);
        command.args([
            "--targets",
            "binary",
            "--post-scale",
            "0",
            "--factors",
            "64",
            "--threads",
            "1",
        ]);
        command.args(other).arg("--model").arg(model);
        let output = command.stdout(Stdio::null()).output();
        let output = output.map_err(|error| on(model, &error))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let after = |words: &str| {
            said.split(words)
                .nth(1)?
                .split([' ', ','])
                .next()?
                .trim()
                .parse::<f64>()
                .ok()
        };
        let tuned = |score: f64, lambda: f64| Tuned {
            score,
            weights: weights.to_owned(),
            regularization: lambda.to_string(),
        };
        let measured =
            after("did best on rows held out: recall@20 ").zip(after("--regularization "));
        let is_given = other.iter().any(|word| word == "--regularization");
        match measured {
            _ if !output.status.success() => Err(format!("{weights}: {said}")),
            Some((score, lambda)) => Ok(tuned(score, lambda)),
            None if is_given => Ok(tuned(0.0, 0.0)),
            None => Err(format!("{weights}: no score in: {said}")),
        }
    }

    /// Trains with each of some weights and other arguments; the best model is in `best`.
    fn tune(
        &self,
        program: &Program,
        trials: &[(String, Vec<String>)],
        best: &Path,
    ) -> Result<Tuned, String> {
        let mut found: Option<Tuned> = None;
        for (weights, other) in trials {
            let model = self.file("trial.absentia");
            let tuned = self.train(program, (weights, &model), other)?;
            if found.as_ref().is_none_or(|found| tuned.score > found.score) {
                std::fs::rename(&model, best).map_err(|error| on(&model, &error))?;
                found = Some(tuned);
            }
        }
        found.ok_or_else(|| "nothing was tried".to_owned())
    }

    fn evaluate(&self, program: &Program, model: &Path, other: &[&str]) -> Result<Value, String> {
        let mut command: Command = program.command("evaluate");
        command
            .arg(model)
            .args(["--rating-col", "none", "--threads", "1"]);
        command.arg("--train").arg(self.file("train.csv"));
        command.arg("--test").arg(self.file("test.csv"));
        command.args(["--metrics", "recall@20,ndcg@20", "--quiet", "--json"]);
        let (text, _) = printed(command.args(other))?;
        serde_json::from_str(text.trim()).map_err(|error| on(model, &error))
    }

    fn table(&self, program: &Program) -> Result<String, String> {
        let columns = [
            "weights",
            "recall@20",
            "NDCG@20",
            "recall over uniform",
            "NDCG over uniform",
        ];
        let floors = ["over most popular", "over most popular lately"];
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut heading: Vec<String> = columns.map(str::to_owned).to_vec();
        for floor in &floors[..if self.has_times { 2 } else { 1 }] {
            heading.extend(["recall", "NDCG"].map(|metric| format!("{metric} {floor}")));
        }
        let rule = vec!["---".to_owned(); heading.len()];
        let mut text = format!("### {}\n\n{}{}", self.title, line(&heading), line(&rule));
        let (uniform, best) = (self.file("uniform.absentia"), self.file("best.absentia"));
        let tuned = self.tune(program, &trials(SCHEMES[0]), &uniform)?;
        text.push_str(&line(&self.row(program, &tuned.weights, &uniform, true)?));
        for scheme in SCHEMES[1..]
            .iter()
            .filter(|one| self.has_times || !needs_times(one))
        {
            let found = self.tune(program, &trials(scheme), &best)?;
            text.push_str(&line(&self.row(program, &found.weights, &best, false)?));
        }
        let mean = tuned.weights.trim_start_matches("uniform:").to_owned();
        let groups = clusters::write(program, &self.folder, &uniform)?.replace('M', &mean);
        let like_uniform = ["--regularization".to_owned(), tuned.regularization.clone()].to_vec();
        self.tune(program, &[(groups, like_uniform)], &best)?;
        let name = format!("groups of 8 x 8 clusters, mean={mean}");
        text.push_str(&line(&self.row(program, &name, &best, false)?));
        if let Some(exposed) = &self.exposed {
            let trials = exposures::trials(&tuned.weights, exposed);
            self.tune(program, &trials, &best)?;
            let name = format!("{} and pairs that were shown", tuned.weights);
            text.push_str(&line(&self.row(program, &name, &best, false)?));
        }
        for (name, baseline) in [
            ("most popular", "popularity"),
            ("most popular lately", "recent-popularity"),
        ] {
            if self.has_times || baseline == "popularity" {
                let said = self.evaluate(program, &uniform, &["--baseline", baseline])?;
                let metric = |name: &str| short(said["other"][name].as_f64());
                let mut cells = vec![format!("({name})"), metric("recall@20"), metric("ndcg@20")];
                cells.resize(heading.len(), String::new());
                text.push_str(&line(&cells));
            }
        }
        Ok(text)
    }

    /// The cells of a model.
    fn row(
        &self,
        program: &Program,
        weights: &str,
        model: &Path,
        is_uniform: bool,
    ) -> Result<Vec<String>, String> {
        let metrics = ["recall@20", "ndcg@20"];
        let own = self.evaluate(program, model, &["--baseline", "popularity"])?;
        let mut cells = vec![format!("`{weights}`")];
        cells.extend(metrics.map(|metric| short(own[metric].as_f64())));
        let uniform = self.file("uniform.absentia");
        let others = ["--against", uniform.to_str().unwrap_or_default()];
        let against = if is_uniform {
            None
        } else {
            Some(self.evaluate(program, model, &others)?)
        };
        cells.extend(metrics.map(|metric| gain(against.as_ref(), metric)));
        cells.extend(metrics.map(|metric| gain(Some(&own), metric)));
        if self.has_times {
            let lately = self.evaluate(program, model, &["--baseline", "recent-popularity"])?;
            cells.extend(metrics.map(|metric| gain(Some(&lately), metric)));
        }
        Ok(cells)
    }
}

/// A scheme with each of the means.
fn trials(scheme: &str) -> Vec<(String, Vec<String>)> {
    let with = |mean: &str| (scheme.replace('M', mean), Vec::new());
    MEANS.map(with).to_vec()
}

fn needs_times(scheme: &str) -> bool {
    scheme.contains("age") || scheme.contains("available")
}

/// A figure without the zero before its point.
fn short(value: Option<f64>) -> String {
    let text = format!("{:.4}", value.unwrap_or(f64::NAN));
    text.replacen("0.", ".", 1)
}

/// A difference with its interval, in bold where that excludes 0.
fn gain(said: Option<&Value>, metric: &str) -> String {
    let Some(found) = said.map(|said| &said["difference"][metric]) else {
        return "–".to_owned();
    };
    let number = |key: &str| found[key].as_f64().unwrap_or(f64::NAN);
    let signed = |value: f64| {
        format!("{value:+.4}")
            .replacen("0.", ".", 1)
            .replace('-', "−")
    };
    let (low, high) = (number("low"), number("high"));
    let text = format!(
        "{} ({} to {})",
        signed(number("difference")),
        signed(low),
        signed(high)
    );
    if low > 0.0 || high < 0.0 {
        format!("**{text}**")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_written_with_their_intervals() {
        let of = |low: f64, high: f64| serde_json::json!({"difference": {"recall@20": {"difference": 0.0123, "low": low, "high": high}}});
        assert_eq!(
            gain(Some(&of(-0.001, 0.02)), "recall@20"),
            "+.0123 (−.0010 to +.0200)"
        );
        assert_eq!(
            gain(Some(&of(0.001, 0.02)), "recall@20"),
            "**+.0123 (+.0010 to +.0200)**"
        );
        assert_eq!(gain(None, "recall@20"), "–");
        assert_eq!(short(Some(0.25678)), ".2568");
        assert!(needs_times("popularity*age:mean=1") && !needs_times("uniform:1"));
    }
}
