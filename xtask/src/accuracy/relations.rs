//! The figures of `docs/relations.md`: tags of articles, for known and for new ones, beside `cmfrec`.
//!
//! Settings are chosen by `absentia tune` on training rows alone, rows being held out of them as the test rows were
//! held out of all: a fifth of every user's rows, or all rows of a fifth of the articles.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use toml::Table;

use super::{Program, folder, on, printed, run};
use crate::bench::peer;
use crate::repository;

const SHAPE: &str = "5551,16980";
const FACTORS: &str = "128";
/// Tags of fewer articles are left out.
const LEAST: &str = "5";

/// What is held out, of all rows and of the training rows.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    rule: &'static [&'static str],
    is_cold: bool,
}

const CASES: [Case; 2] = [
    Case {
        name: "known",
        rule: &["share:0.2", "--pick", "random"],
        is_cold: false,
    },
    Case {
        name: "new",
        rule: &["cold-items:0.2"],
        is_cold: true,
    },
];

/// The arguments.
struct Options {
    seeds: Vec<String>,
    seconds: String,
    program: Option<PathBuf>,
    peers: bool,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            seeds: ["1", "2", "3"].map(str::to_owned).to_vec(),
            seconds: "300".to_owned(),
            program: None,
            peers: true,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word}: a value is missing"));
            match *word {
                "--seeds" => options.seeds = value()?.split(',').map(str::to_owned).collect(),
                "--seconds" => (*value()?).clone_into(&mut options.seconds),
                "--program" => options.program = Some(PathBuf::from(value()?)),
                "--no-peers" => options.peers = false,
                other => return Err(format!("{other}: no such option")),
            }
        }
        Ok(options)
    }
}

/// Where the files of a case are, and what it is made with.
struct Study<'a> {
    program: &'a Program,
    case: Case,
    folder: PathBuf,
    seconds: &'a str,
}

/// Makes the study, and prints a line for each seed and each model.
#[allow(clippy::print_stdout, reason = "the result of the command")]
pub(super) fn relations(words: &[&str]) -> Result<(), String> {
    let options = Options::read(words)?;
    let program = match &options.program {
        Some(path) => Program(path.clone()),
        None => Program::build()?,
    };
    let cmfrec = if options.peers {
        Some(peer("cmfrec")?)
    } else {
        None
    };
    let mut lines = Vec::new();
    for case in CASES {
        for seed in &options.seeds {
            let study = Study {
                program: &program,
                case,
                folder: folder(&format!("relations/{}-{seed}", case.name))?,
                seconds: &options.seconds,
            };
            study.split(seed)?;
            lines.push(format!("{} {seed}, with tags: {}", case.name, study.own()?));
            if let Some(python) = &cmfrec {
                let figures = study.cmfrec(python)?;
                lines.push(format!("{} {seed}, cmfrec: {figures}", case.name));
            }
        }
    }
    for line in lines {
        println!("{line}");
    }
    Ok(())
}

fn data(name: &str) -> PathBuf {
    repository().join("../shared/data/citeulike-a").join(name)
}

impl Study<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Holds rows out of all rows, and out of the training rows for the search of the other library.
    fn split(&self, seed: &str) -> Result<(), String> {
        let fold = self.path("fold");
        for (rows, out) in [
            (data("interactions.tsv.gz"), &self.folder),
            (self.path("train.csv"), &fold),
        ] {
            let mut split = self.program.command("split");
            split.arg(rows).arg("--out").arg(out).arg("--by");
            run(split.args(self.case.rule).args(["--seed", seed, "--quiet"]))?;
        }
        Ok(())
    }

    /// Tunes and trains with tags and, on known articles, without them; yields what was measured.
    fn own(&self) -> Result<String, String> {
        if self.case.is_cold {
            let among_all = self.tune("all.toml", &["--metric", "recall@20"], true)?;
            let among_new = ["--metric", "recall@100", "--among", "new"];
            let among_new = self.tune("new.toml", &among_new, true)?;
            return Ok(format!(
                "chosen by recall@20 among all: {}; chosen by recall@100 among new ones: {}",
                self.evaluate(&self.train(&among_all)?, None)?,
                self.evaluate(&self.train(&among_new)?, None)?
            ));
        }
        let by = ["--metric", "recall@20"];
        let tuned = self.tune("tuned.toml", &by, true)?;
        let model = self.train(&tuned)?;
        let same = self.without_tags(&tuned)?;
        let same = self.train(&same)?;
        let alone = self.tune("alone.toml", &by, false)?;
        let alone = self.train(&alone)?;
        Ok(format!(
            "{}; against the same settings without tags: {}; against settings tuned without tags: {}",
            self.evaluate(&model, None)?,
            self.evaluate(&model, Some(&same))?,
            self.evaluate(&model, Some(&alone))?
        ))
    }

    fn tune(&self, name: &str, by: &[&str], with_tags: bool) -> Result<PathBuf, String> {
        let out = self.path(name);
        let mut tune = self.program.command("tune");
        tune.arg(self.path("train.csv"));
        on_rows(&mut tune);
        if with_tags {
            let tags = data("item_tags.tsv.gz");
            let relation = format!("items-tags:{},least={LEAST}", tags.display());
            tune.args(["--relation", &relation]);
        }
        tune.arg("--split").args(self.case.rule);
        tune.args(["--factors", FACTORS, "--search", "uniform"]);
        tune.args(by).arg("--quiet");
        tune.arg("--budget").arg(format!("{}s", self.seconds));
        run(tune.arg("--out").arg(&out))?;
        Ok(out)
    }

    fn train(&self, settings: &Path) -> Result<PathBuf, String> {
        let model = settings.with_extension("absentia");
        let mut train = self.program.command("train");
        train.arg("--config").arg(settings).arg("--quiet");
        run(train.arg("--model").arg(&model))?;
        Ok(model)
    }

    /// The same settings without the relation.
    fn without_tags(&self, tuned: &Path) -> Result<PathBuf, String> {
        let text = std::fs::read_to_string(tuned).map_err(|error| on(tuned, &error))?;
        let mut table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| on(tuned, &error))?;
        table.remove("relation");
        let path = self.path("same.toml");
        std::fs::write(&path, table.to_string()).map_err(|error| on(&path, &error))?;
        Ok(path)
    }

    fn evaluate(&self, model: &Path, against: Option<&Path>) -> Result<String, String> {
        let mut evaluate = self.program.command("evaluate");
        evaluate.arg(model);
        on_rows(&mut evaluate);
        evaluate.arg("--train").arg(self.path("train.csv"));
        evaluate.arg("--test").arg(self.path("test.csv"));
        evaluate.args(["--at", "20,100", "--metrics", "recall", "--json", "--quiet"]);
        if let Some(against) = against {
            evaluate.arg("--against").arg(against);
        }
        let (said, _) = printed(&mut evaluate)?;
        let lines: Result<Vec<Value>, _> = said.lines().map(serde_json::from_str).collect();
        let lines = lines.map_err(|error| format!("evaluate: {error}: {said}"))?;
        let parts = lines.iter().map(|line| figures(line, against.is_some()));
        Ok(parts.collect::<Vec<_>>().join(" "))
    }

    fn cmfrec(&self, python: &Path) -> Result<String, String> {
        let mut command = Command::new(python);
        command.arg(repository().join("xtask/python/tune_cmfrec.py"));
        command.arg("--folder").arg(&self.folder);
        command.arg("--tags").arg(data("item_tags.tsv.gz"));
        command.args(["--least", LEAST, "--shape", SHAPE, "--factors", FACTORS]);
        command.args(["--seconds", self.seconds]);
        command.arg("--out").arg(self.path("cmfrec.json"));
        if self.case.is_cold {
            command.arg("--cold");
        }
        let (said, _) = printed(&mut command)?;
        Ok(said.lines().last().unwrap_or_default().to_owned())
    }
}

/// What is shown of an evaluation: of a comparison, the difference in recall@20 with its interval; otherwise recall,
/// of new items among themselves and among all if there are any.
fn figures(line: &Value, is_comparison: bool) -> String {
    let number = |value: &Value| value.as_f64().map_or("?".to_owned(), |x| format!("{x:.4}"));
    if is_comparison {
        let (own, other) = (&line["recall@20"], &line["other"]["recall@20"]);
        let difference = &line["difference"]["recall@20"];
        return format!("{} and {}, {difference}", number(own), number(other));
    }
    let recall = |part: &Value, at: &str| {
        let interval = &part["intervals"][at];
        let (low, high) = (number(&interval[0]), number(&interval[1]));
        format!("{at} {} [{low}, {high}]", number(&part[at]))
    };
    let cold = &line["cold"];
    if cold.is_object() {
        return format!(
            "among themselves {}, among all {}",
            recall(&cold["items_among_themselves"], "recall@100"),
            recall(&cold["items_among_all"], "recall@20")
        );
    }
    recall(line, "recall@20")
}

/// Reads ids as row numbers, so that articles without tags are measured as well.
fn on_rows(command: &mut Command) {
    command.args(["--dense-ids", "--shape", SHAPE]);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_are_those_of_new_items_if_there_are_any() {
        let part = |recall: f64| json!({"recall@20": recall, "recall@100": recall, "intervals": {"recall@20": [0.1, 0.2], "recall@100": [0.3, 0.4]}});
        let mut line = part(0.15);
        assert_eq!(figures(&line, false), "recall@20 0.1500 [0.1000, 0.2000]");
        line["cold"] = json!({"items_among_themselves": part(0.35), "items_among_all": part(0.16)});
        let shown = figures(&line, false);
        assert!(
            shown.contains("themselves recall@100 0.3500 [0.3000, 0.4000]"),
            "{shown}"
        );
        assert!(
            shown.contains("all recall@20 0.1600 [0.1000, 0.2000]"),
            "{shown}"
        );
    }
}
