//! Schemes of weights against tuned uniform ones, and `implicit`, on every data set.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::implicit::{self, Implicit};
use super::markdown::{Contest, Row, Took, json, markdown};
use super::measure::measured;
use super::options::Options;
use super::search::{Chosen, Search, mean_weight, search};
use super::sets::Set;
use super::{Program, folder, on, printed};
use crate::bench::peer;

/// Searches what the words name, on every set that is there, and writes the tables.
pub(super) fn table(options: &Options) -> Result<(), String> {
    let program = Program::build()?;
    let python = peer("implicit");
    if let Err(why) = &python {
        eprintln!("xtask: implicit is left out, it could not be installed: {why}");
    }
    let mut contests = Vec::new();
    for source in &options.sources {
        if let Some(missing) = source.missing() {
            let name = source.name;
            eprintln!(
                "xtask: {name} is skipped: {} is not there",
                missing.display()
            );
            continue;
        }
        let set = source.prepare(&program)?;
        let arena = Arena {
            program: &program,
            set: &set,
            folder: folder(&format!("table/{}", source.id))?,
            python: python.as_deref().ok(),
            options,
        };
        contests.push(arena.contest()?);
        write(&contests, options.seconds)?;
    }
    if contests.is_empty() {
        return Err("none of the data sets is there".to_owned());
    }
    eprintln!("\n{}", markdown(&contests, options.seconds));
    Ok(())
}

/// Writes what is known after every set.
fn write(contests: &[Contest], seconds: u32) -> Result<(), String> {
    let folder = folder("")?;
    let json = format!("{:#}\n", json(contests, seconds));
    let files = [
        ("table.md", markdown(contests, seconds)),
        ("table.json", json),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| on(&path, &error))?;
        eprintln!("xtask: wrote {}", path.display());
    }
    Ok(())
}

/// A data set, and the folder with its results.
struct Arena<'a> {
    program: &'a Program,
    set: &'a Set,
    folder: PathBuf,
    /// The interpreter that has `implicit`.
    python: Option<&'a Path>,
    options: &'a Options,
}

/// A contender that is trained.
struct Trained {
    contender: &'static str,
    settings: String,
    model: PathBuf,
    took: Took,
    is_tuned: bool,
}

impl Arena<'_> {
    fn contest(&self) -> Result<Contest, String> {
        self.search()?;
        let uniform = self.tuned("tuned uniform", "uniform")?;
        let against = uniform.model.clone();
        let mut rows = vec![self.measured(uniform, None)?];
        let mut others = vec![
            self.tuned("tuned popularity", "popularity")?,
            self.learned()?,
            self.tuned("everything tuned", "all")?,
        ];
        others.extend(self.implicit_trained()?);
        others.extend(self.untuned()?);
        for trained in others {
            rows.push(self.measured(trained, Some(&against))?);
        }
        Ok(Contest {
            source: self.set.source,
            rows,
        })
    }

    fn measured(&self, trained: Trained, against: Option<&Path>) -> Result<Row, String> {
        self.say(&format!("measuring {}", trained.contender));
        let mut evaluate = self.set.evaluate(self.program, &trained.model);
        if let Some(other) = against {
            evaluate.arg("--against").arg(other);
        }
        Ok(Row {
            contender: trained.contender.to_owned(),
            settings: trained.settings,
            figures: measured(evaluate)?,
            took: trained.took,
            is_tuned: trained.is_tuned,
        })
    }

    fn say(&self, what: &str) {
        eprintln!("xtask: {}: {what}", self.set.source.name);
    }

    /// Pairs that run at the same time, so that each has the same machine.
    fn search(&self) -> Result<(), String> {
        let Options { seconds, again, .. } = *self.options;
        self.say(&format!("searching uniform and popularity for {seconds} s"));
        search(vec![self.tune("uniform"), self.tune("popularity")], again)?;
        let mut second = vec![self.tune("all")];
        if let Some(implicit) = self.implicit() {
            second.push(Search {
                name: "implicit",
                out: self.kept("implicit", "json"),
                command: implicit.search(seconds, &self.kept("uniform", "jsonl"))?,
            });
        }
        self.say(&format!(
            "searching everything and implicit for {seconds} s"
        ));
        search(second, again)
    }

    fn implicit(&self) -> Option<Implicit<'_>> {
        Some(Implicit {
            python: self.python?,
            program: self.program,
            set: self.set,
            folder: &self.folder,
        })
    }

    /// A file of a search; its time is part of the name, because another one would find another thing.
    fn kept(&self, name: &str, extension: &str) -> PathBuf {
        let seconds = self.options.seconds;
        self.folder.join(format!("{name}-{seconds}s.{extension}"))
    }

    fn tune(&self, scope: &'static str) -> Search {
        let mut command = self.set.on_train(self.program, "tune");
        command
            .args(["--search", scope, "--threads", "1", "--quiet"])
            .args(["--factors", &self.set.source.factors.to_string()])
            .args(["--budget", &format!("{}s", self.options.seconds)])
            .arg("--log")
            .arg(self.kept(scope, "jsonl"));
        Search {
            name: scope,
            out: self.kept(scope, "toml"),
            command,
        }
    }

    fn chosen(&self, scope: &str) -> Result<Chosen, String> {
        Chosen::read(&self.kept(scope, "toml"), &self.kept(scope, "jsonl"))
    }

    fn train(&self) -> Command {
        let mut command = self.set.on_train(self.program, "train");
        command.args(["--threads", "2", "--json", "--quiet"]);
        command
    }

    /// Training with what a search chose, and with K factors whatever the search had.
    fn train_tuned(&self, scope: &str) -> Command {
        let mut command = self.train();
        command
            .args(["--factors", &self.set.source.factors.to_string()])
            .arg("--config")
            .arg(self.kept(scope, "toml"));
        command
    }

    fn tuned(&self, contender: &'static str, scope: &str) -> Result<Trained, String> {
        let settings = self.chosen(scope)?.describe(self.set.source.factors);
        let trained = self.trained(contender, settings, self.train_tuned(scope))?;
        Ok(Trained {
            is_tuned: true,
            ..trained
        })
    }

    /// What was tuned for popularity, with learned weights of the same mean.
    fn learned(&self) -> Result<Trained, String> {
        let chosen = self.chosen("popularity")?;
        let mean = mean_weight(chosen.weights())
            .ok_or_else(|| format!("no mean weight in `{}`", chosen.weights()))?;
        let weights = format!("learned:mean={mean}");
        let mut command = self.train_tuned("popularity");
        command.args(["--weights", &weights]);
        let settings = format!("`{weights}`, the rest as tuned popularity");
        self.trained("learned weights", settings, command)
    }

    fn implicit_trained(&self) -> Result<Option<Trained>, String> {
        let Some(implicit) = self.implicit() else {
            return Ok(None);
        };
        self.say("training implicit");
        let found = self.kept("implicit", "json");
        let (model, took) = implicit.train(&found)?;
        Ok(Some(Trained {
            contender: "`implicit`, tuned",
            settings: implicit::describe(&found)?,
            model,
            took,
            is_tuned: false,
        }))
    }

    /// What is reached without a search.
    fn untuned(&self) -> Result<[Trained; 2], String> {
        let (preset, factors) = (self.set.source.preset, self.set.source.factors);
        let mut plain = self.train();
        plain.args(["--factors", &factors.to_string()]);
        let mut with_preset = self.train();
        with_preset.args(["--factors", &factors.to_string(), "--preset", preset]);
        let settings = format!("`--preset {preset}`, K = {factors}");
        Ok([
            self.trained("defaults", format!("K = {factors}"), plain)?,
            self.trained("preset", settings, with_preset)?,
        ])
    }

    fn trained(
        &self,
        contender: &'static str,
        settings: String,
        mut command: Command,
    ) -> Result<Trained, String> {
        let name = contender.replace(' ', "-");
        let model = self.folder.join(format!("{name}.absentia"));
        self.say(&format!("training {contender}"));
        let (said, seconds) = printed(command.arg("--model").arg(&model))?;
        Ok(Trained {
            contender,
            settings,
            model,
            took: Took::new(seconds, &said)?,
            is_tuned: false,
        })
    }
}
