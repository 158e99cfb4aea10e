//! The table of `docs/weights.md`: every weight scheme on every data set, tuned with the same few trials.
//!
//! A trial is `absentia train` with a scheme of some mean weight, which chooses the regularization on held-out rows. The
//! mean whose model does best there is measured on the test. Items are not rescaled, so that the weights act alone.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{Program, folder, on, printed, run};
use crate::repository;

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

/// How a data set is divided.
#[derive(Clone, Copy)]
enum Protocol {
    /// Its own files.
    Given,
    /// Of a file without times: a random row of every user.
    Random,
    /// The latest row of every user, and the latest tenth of all rows.
    ByTime,
}

/// A data set.
struct Data {
    name: &'static str,
    folder: &'static str,
    files: &'static [&'static str],
    reading: &'static [&'static str],
    protocol: Protocol,
}

const SETS: [Data; 6] = [
    Data {
        name: "MovieTweetings",
        folder: "movietweetings-100k",
        files: &["ratings.tsv.gz"],
        reading: &[],
        protocol: Protocol::ByTime,
    },
    Data {
        name: "MovieLens small",
        folder: "ml-latest-small-2016",
        files: &["ratings.tsv.gz"],
        reading: &[],
        protocol: Protocol::ByTime,
    },
    Data {
        name: "RetailRocket views",
        folder: "retailrocket-sslrec",
        files: &["train_view.tsv.gz"],
        reading: &["--no-header", "--rating-col", "none", "--time-col", "3"],
        protocol: Protocol::ByTime,
    },
    Data {
        name: "KuaiRec",
        folder: "kuairec-signed",
        files: &["train.tsv.gz", "valid.tsv.gz"],
        reading: &["--rating-col", "3", "--min-rating", "1"],
        protocol: Protocol::Given,
    },
    Data {
        name: "CiteULike",
        folder: "citeulike-a",
        files: &["interactions.tsv.gz"],
        reading: &[],
        protocol: Protocol::Random,
    },
    Data {
        name: "Amazon-book",
        folder: "amazon-book-kgat",
        files: &["train.tsv.gz"],
        reading: &[],
        protocol: Protocol::Given,
    },
];

/// Rows to train on and to measure on.
struct Case {
    title: String,
    folder: PathBuf,
    has_times: bool,
}

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

impl Data {
    fn paths(&self, names: &[&str]) -> Vec<PathBuf> {
        let data = repository().join("../shared/data").join(self.folder);
        names.iter().map(|name| data.join(name)).collect()
    }

    /// Divides the data.
    fn cases(&self, program: &Program) -> Result<Vec<Case>, String> {
        let rules: &[(&str, &str)] = match self.protocol {
            Protocol::Given => &[("given", "its own split")],
            Protocol::Random => &[("leave-one-out", "a random row of every user out")],
            Protocol::ByTime => &[
                ("leave-one-out", "latest row of every user out"),
                ("time:0.1", "latest tenth of all rows out"),
            ],
        };
        let mut cases = Vec::new();
        for (place, (rule, text)) in rules.iter().enumerate() {
            let out = folder(&format!("weights/{}-{place}", self.folder))?;
            if matches!(self.protocol, Protocol::Given) {
                for (names, file) in [
                    (self.files, "train.csv"),
                    (&["test.tsv.gz"][..], "test.csv"),
                ] {
                    let mut convert = program.command("convert");
                    convert.args(self.paths(names)).args(self.reading);
                    run(convert.args(["--quiet", "--out"]).arg(out.join(file)))?;
                }
            } else {
                let mut split = program.command("split");
                split.args(self.paths(self.files)).args(self.reading);
                split.args(["--quiet", "--by", rule]);
                if matches!(self.protocol, Protocol::Random) {
                    split.args(["--pick", "random"]);
                }
                run(split.arg("--out").arg(&out))?;
            }
            cases.push(Case {
                title: format!("{}, {text}", self.name),
                folder: out,
                has_times: matches!(self.protocol, Protocol::ByTime),
            });
        }
        Ok(cases)
    }
}

impl Case {
    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Trains, and yields the metric on held-out rows by which the regularization was chosen.
    fn train(&self, program: &Program, weights: &str, model: &Path) -> Result<f64, String> {
        let mut command = program.command("train");
        command
            .arg(self.file("train.csv"))
            .args(["--rating-col", "none"]);
        command.args([
            "--weights",
            weights,
            "--targets",
            "binary",
            "--post-scale",
            "0",
        ]);
        command
            .args(["--factors", "64", "--threads", "1", "--model"])
            .arg(model);
        let output = command.stdout(Stdio::null()).output();
        let output = output.map_err(|error| on(model, &error))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let score = said.split("did best on rows held out: ").nth(1);
        let score = score
            .and_then(|rest| rest.split_once(' '))
            .map(|(_, rest)| rest);
        let score = score.and_then(|rest| rest.split(',').next()?.trim().parse().ok());
        match score {
            Some(score) if output.status.success() => Ok(score),
            _ => Err(format!("{weights}: {said}")),
        }
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
        let uniform = self.file("uniform.absentia");
        let against_uniform = ["--against", uniform.to_str().unwrap_or_default()];
        let popular: &[&str] = &["--baseline", "popularity"];
        let lately: &[&str] = &["--baseline", "recent-popularity"];
        let mut text = format!(
            "### {}\n\n| weights | recall@20 | NDCG@20 | recall over tuned uniform | NDCG over it | recall over most \
             popular | over most popular lately |\n| --- | --- | --- | --- | --- | --- | --- |\n",
            self.title
        );
        let schemes = SCHEMES.iter().enumerate();
        for (place, scheme) in schemes.filter(|(_, scheme)| self.has_times || !needs_times(scheme))
        {
            let best = if place == 0 {
                uniform.clone()
            } else {
                self.file("best.absentia")
            };
            let mut found: Option<(f64, String)> = None;
            for mean in MEANS {
                let weights = scheme.replace('M', mean);
                let model = self.file("trial.absentia");
                let score = self.train(program, &weights, &model)?;
                if found.as_ref().is_none_or(|(best, _)| score > *best) {
                    std::fs::rename(&model, &best).map_err(|error| on(&model, &error))?;
                    found = Some((score, weights));
                }
            }
            let own = self.evaluate(program, &best, popular)?;
            let uniform = match place {
                0 => None,
                _ => Some(self.evaluate(program, &best, &against_uniform)?),
            };
            let lately = if self.has_times {
                Some(self.evaluate(program, &best, lately)?)
            } else {
                None
            };
            let metric = |name: &str| short(own[name].as_f64());
            let cells = [
                format!(
                    "`{}`",
                    found.map_or_else(String::new, |(_, weights)| weights)
                ),
                metric("recall@20"),
                metric("ndcg@20"),
                gain(uniform.as_ref(), "recall@20"),
                gain(uniform.as_ref(), "ndcg@20"),
                gain(Some(&own), "recall@20"),
                gain(lately.as_ref(), "recall@20"),
            ];
            for part in ["| ", &cells.join(" | "), " |\n"] {
                text.push_str(part);
            }
        }
        let own = self.evaluate(program, &uniform, popular)?;
        text.push_str(&baseline("most popular", &own));
        if self.has_times {
            let own = self.evaluate(program, &uniform, lately)?;
            text.push_str(&baseline("most popular lately", &own));
        }
        Ok(text)
    }
}

fn needs_times(scheme: &str) -> bool {
    scheme.contains("age") || scheme.contains("available")
}

fn baseline(name: &str, said: &Value) -> String {
    let metric = |name: &str| short(said["other"][name].as_f64());
    format!(
        "| ({name}) | {} | {} | | | | |\n",
        metric("recall@20"),
        metric("ndcg@20")
    )
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
