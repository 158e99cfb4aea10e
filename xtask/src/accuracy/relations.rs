//! The figures of `docs/relations.md`: tags of articles, for known and for new ones, beside `cmfrec`.
//!
//! Settings are chosen by `absentia tune` on training rows alone, rows being held out of them as the test rows were
//! held out of all: a fifth of every user's rows, or all rows of a fifth of the articles. A search has a number of
//! trials, so that its result does not depend on the machine; `cmfrec` has the processor time that ours took.

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
struct HeldOutRule {
    name: &'static str,
    arguments: &'static [&'static str],
    is_cold: bool,
}

const RULES: [HeldOutRule; 2] = [
    HeldOutRule {
        name: "known",
        arguments: &["share:0.2", "--pick", "random"],
        is_cold: false,
    },
    HeldOutRule {
        name: "new",
        arguments: &["cold-items:0.2"],
        is_cold: true,
    },
];

/// The arguments of the study.
struct StudyOptions {
    seeds: Vec<String>,
    trials: String,
    program: Option<PathBuf>,
    peers: bool,
}

impl StudyOptions {
    fn read(words: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            seeds: ["1", "2", "3"].map(str::to_owned).to_vec(),
            trials: "60".to_owned(),
            program: None,
            peers: true,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word}: a value is missing"));
            match *word {
                "--seeds" => options.seeds = value()?.split(',').map(str::to_owned).collect(),
                "--trials" => (*value()?).clone_into(&mut options.trials),
                "--program" => options.program = Some(PathBuf::from(value()?)),
                "--no-peers" => options.peers = false,
                other => return Err(format!("{other}: no such option")),
            }
        }
        Ok(options)
    }
}

/// Where the files of a rule are, and what its study is made with.
struct Study<'a> {
    program: &'a Program,
    rule: HeldOutRule,
    folder: PathBuf,
    trials: &'a str,
}

/// Makes the study, and prints a line for each seed and each model.
#[allow(clippy::print_stdout, reason = "the result of the command")]
pub(super) fn relations(words: &[&str]) -> Result<(), String> {
    let options = StudyOptions::read(words)?;
    let program = match &options.program {
        Some(path) => Program(path.clone()),
        None => Program::build()?,
    };
    let cmfrec = if options.peers {
        Some(peer("cmfrec")?)
    } else {
        None
    };
    for seed in &options.seeds {
        for rule in RULES {
            let study = Study {
                program: &program,
                rule,
                folder: folder(&format!("relations/{}-{seed}", rule.name))?,
                trials: &options.trials,
            };
            study.split(seed)?;
            let before = processor_seconds_of_children();
            let tuned = study.tuned()?;
            let seconds = processor_seconds_of_children() - before;
            for (name, figures) in study.measured(&tuned)? {
                println!("{} {seed}, {name}: {figures}", rule.name);
            }
            if let Some(python) = &cmfrec {
                let figures = study.cmfrec(python, seconds)?;
                println!("{} {seed}, cmfrec in {seconds:.0} s: {figures}", rule.name);
            }
        }
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
            run(split
                .args(self.rule.arguments)
                .args(["--seed", seed, "--quiet"]))?;
        }
        Ok(())
    }

    /// The searches with tags: settings, and what they were chosen by.
    fn tuned(&self) -> Result<Vec<(&'static str, PathBuf)>, String> {
        let by = ["--metric", "recall@20"];
        if !self.rule.is_cold {
            return Ok(vec![("with tags", self.tune("tuned.toml", &by, true)?)]);
        }
        let among_new = ["--metric", "recall@100", "--among", "new"];
        Ok(vec![
            (
                "chosen by recall@20 among all",
                self.tune("all.toml", &by, true)?,
            ),
            (
                "chosen by recall@100 among new ones",
                self.tune("new.toml", &among_new, true)?,
            ),
        ])
    }

    /// What models with these settings reach; on known articles, beside the same settings without tags and settings
    /// that were tuned without tags.
    fn measured(&self, tuned: &[(&'static str, PathBuf)]) -> Result<Vec<(String, String)>, String> {
        let mut lines = Vec::new();
        for (name, settings) in tuned {
            let model = self.train(settings)?;
            lines.push(((*name).to_owned(), self.evaluate(&model, None)?));
            if self.rule.is_cold {
                continue;
            }
            let same = self.train(&self.without_tags(settings)?)?;
            let alone = self.tune("alone.toml", &["--metric", "recall@20"], false)?;
            let alone = self.train(&alone)?;
            for (name, other) in [
                ("against the same settings without tags", same),
                ("against settings tuned without tags", alone),
            ] {
                lines.push((name.to_owned(), self.evaluate(&model, Some(&other))?));
            }
        }
        Ok(lines)
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
        tune.arg("--split").args(self.rule.arguments);
        tune.args(["--factors", FACTORS, "--search", "uniform"]);
        tune.args(by).arg("--quiet");
        tune.args(["--trials", self.trials]);
        // What it shows is in its log as well.
        printed(tune.arg("--out").arg(&out))?;
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
        let shown = match (against, self.rule.is_cold) {
            (Some(_), _) => Shown::Difference,
            (None, true) => Shown::New,
            (None, false) => Shown::All,
        };
        let parts = lines.iter().map(|line| figures(line, shown));
        Ok(parts.collect::<Vec<_>>().join(" "))
    }

    fn cmfrec(&self, python: &Path, seconds: f64) -> Result<String, String> {
        let mut command = Command::new(python);
        command.arg(repository().join("crates/absentia-lab/python/tune_cmfrec.py"));
        command.arg("--folder").arg(&self.folder);
        command.arg("--tags").arg(data("item_tags.tsv.gz"));
        command.args(["--least", LEAST, "--shape", SHAPE, "--factors", FACTORS]);
        command.arg("--seconds").arg(seconds.to_string());
        command.arg("--out").arg(self.path("cmfrec.json"));
        if self.rule.is_cold {
            command.arg("--cold");
        }
        let (said, _) = printed(&mut command)?;
        Ok(said.lines().last().unwrap_or_default().to_owned())
    }
}

/// Processor seconds of the programs that were run to their end; 0 where the system does not tell.
fn processor_seconds_of_children() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    // Of the fields after the name, these are the user and system time of children, in hundredths.
    let times = fields.split_whitespace().skip(13).take(2);
    times
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}

/// What is shown of an evaluation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// The difference in recall@20 with its interval.
    Difference,
    /// Recall of new items among themselves and among all.
    New,
    /// Recall of all.
    All,
}

fn figures(line: &Value, shown: Shown) -> String {
    let number = |value: &Value| value.as_f64().map_or("?".to_owned(), |x| format!("{x:.4}"));
    if shown == Shown::Difference {
        let (own, other) = (&line["recall@20"], &line["other"]["recall@20"]);
        let difference = &line["difference"]["recall@20"];
        let share = 100.0 * (own.as_f64().unwrap_or(0.0) / other.as_f64().unwrap_or(0.0) - 1.0);
        return format!(
            "recall@20 {} and {}, {share:+.1} %, difference {} [{}, {}]",
            number(own),
            number(other),
            number(&difference["difference"]),
            number(&difference["low"]),
            number(&difference["high"])
        );
    }
    let recall = |part: &Value, at: &str| {
        let interval = &part["intervals"][at];
        let (low, high) = (number(&interval[0]), number(&interval[1]));
        format!("{at} {} [{low}, {high}]", number(&part[at]))
    };
    let cold = &line["cold"];
    if shown == Shown::New {
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
    fn figures_are_those_of_what_was_held_out() {
        let part = |recall: f64| json!({"recall@20": recall, "recall@100": recall, "intervals": {"recall@20": [0.1, 0.2], "recall@100": [0.3, 0.4]}});
        let mut line = part(0.15);
        let all = "recall@20 0.1500 [0.1000, 0.2000]";
        assert_eq!(figures(&line, Shown::All), all);
        line["cold"] = json!({"items_among_themselves": part(0.35), "items_among_all": part(0.16)});
        // Some articles have no training row by chance.
        assert_eq!(figures(&line, Shown::All), all);
        let shown = figures(&line, Shown::New);
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
