//! Searches for settings that run side by side, and what they chose.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use toml::Table;

use super::on;

/// A search and where what it chose is kept.
pub(super) struct Search {
    pub(super) name: &'static str,
    pub(super) out: PathBuf,
    /// Takes the file to write to after `--out`.
    pub(super) command: Command,
}

impl Search {
    /// What it writes before it is done, so that a file under its own name is a finished search.
    fn unfinished(&self) -> PathBuf {
        let name = self.out.file_name().unwrap_or_default().to_string_lossy();
        self.out.with_file_name(format!("unfinished-{name}"))
    }

    fn start(&mut self) -> Result<Child, String> {
        let log = self.out.with_extension("txt");
        let file = File::create(&log).map_err(|error| on(&log, &error))?;
        let also = file.try_clone().map_err(|error| on(&log, &error))?;
        let out = self.unfinished();
        self.command.arg("--out").arg(out).stdout(file).stderr(also);
        eprintln!("xtask: {:?}", self.command);
        let name = self.name;
        let started = self.command.spawn();
        started.map_err(|error| format!("{name}: could not be started: {error}"))
    }

    fn finish(&self, mut child: Child) -> Result<(), String> {
        let status = child.wait().map_err(|error| error.to_string())?;
        if !status.success() {
            let log = self.out.with_extension("txt");
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            let name = self.name;
            return Err(format!(
                "the search {name} ended with {status} ({}): {said}",
                log.display()
            ));
        }
        std::fs::rename(self.unfinished(), &self.out).map_err(|error| on(&self.out, &error))
    }
}

/// Makes searches at the same time, leaving out those that are kept.
pub(super) fn search(searches: Vec<Search>, again: bool) -> Result<(), String> {
    let (kept, mut wanted): (Vec<Search>, Vec<Search>) = searches
        .into_iter()
        .partition(|search| !again && search.out.is_file());
    for search in kept {
        eprintln!("xtask: {} is kept: {}", search.name, search.out.display());
    }
    let children: Vec<Result<Child, String>> = wanted.iter_mut().map(Search::start).collect();
    // All are waited for, so that none is left running when another has failed.
    let ends: Vec<Result<(), String>> = wanted
        .iter()
        .zip(children)
        .map(|(search, child)| child.and_then(|child| search.finish(child)))
        .collect();
    ends.into_iter().collect()
}

/// Settings that `absentia tune` wrote.
pub(super) struct Chosen {
    table: Table,
    /// Trials that they were chosen from.
    trials: usize,
}

impl Chosen {
    /// Reads the settings, and the log for the number of trials.
    pub(super) fn read(path: &Path, log: &Path) -> Result<Self, String> {
        let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| on(path, &error));
        let table = read(path)?.parse().map_err(|error| on(path, &error))?;
        // The first line says what is searched.
        let trials = read(log)?.lines().count().saturating_sub(1);
        Ok(Self { table, trials })
    }

    /// Its weights on missing entries.
    pub(super) fn weights(&self) -> &str {
        let schemes = self
            .table
            .get("weights")
            .and_then(|weights| weights.as_array());
        let first = schemes.and_then(|schemes| schemes.first()?.as_str());
        first.unwrap_or_default()
    }

    fn text(&self, key: &str) -> String {
        match self.table.get(key) {
            Some(toml::Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => String::new(),
        }
    }

    /// In words, with what is as it always is left out.
    pub(super) fn describe(&self, factors: usize) -> String {
        let mut words = vec![
            format!("`{}`", self.weights()),
            format!("λ {}", self.text("regularization")),
        ];
        let usual = [
            ("reg-exponent", "ν", "1"),
            ("targets", "targets", "binary"),
            ("confidence", "confidence", "1"),
            ("post-scale", "post-scaling", "0"),
            ("solver", "solver", "eals"),
        ];
        for (key, name, always) in usual {
            let value = self.text(key);
            if value != always {
                words.push(format!("{name} {value}"));
            }
        }
        words.push(format!("{} sweeps", self.text("iterations")));
        let searched = self.text("factors");
        if searched != factors.to_string() {
            words.push(format!("searched with {searched} factors"));
        }
        words.push(format!("of {} trials", self.trials));
        words.join(", ")
    }
}

/// Mean weight of a scheme, as it is written.
pub(super) fn mean_weight(scheme: &str) -> Option<&str> {
    let (name, rest) = scheme.split_once(':')?;
    match name {
        "uniform" => Some(rest),
        _ => rest.split(',').find_map(|part| part.strip_prefix("mean=")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_weight_is_found_in_either_scheme() {
        assert_eq!(mean_weight("uniform:0.0174"), Some("0.0174"));
        let popular = "popularity:mean=0.0326,alpha=0.05";
        assert_eq!(mean_weight(popular), Some("0.0326"));
        assert_eq!(mean_weight("popularity:c0=512,alpha=0.4"), None);
        assert_eq!(mean_weight("everything"), None);
    }

    #[test]
    fn only_what_is_unusual_is_described() {
        let text = r#"
            factors = 64
            iterations = 4
            weights = ["popularity:mean=0.0326,alpha=0.05"]
            regularization = "0.424"
            reg-exponent = "1"
            targets = "binary"
            confidence = "log:0.5,1"
            post-scale = "0"
            solver = "eals"
        "#;
        let chosen = Chosen {
            table: text.parse().unwrap(),
            trials: 27,
        };
        let weights = "`popularity:mean=0.0326,alpha=0.05`, λ 0.424";
        assert_eq!(
            chosen.describe(64),
            format!("{weights}, confidence log:0.5,1, 4 sweeps, of 27 trials")
        );
        assert_eq!(
            chosen.describe(128),
            format!(
                "{weights}, confidence log:0.5,1, 4 sweeps, searched with 64 factors, of 27 trials"
            )
        );
    }

    fn shell_search(out: &Path, line: &str) -> Search {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        Search {
            name: "shell_search",
            out: out.to_owned(),
            command,
        }
    }

    /// `--out FILE` after `sh -c LINE` is `$0` and `$1`.
    #[test]
    #[cfg(unix)]
    fn a_search_is_kept_when_it_is_done_and_only_then() {
        let folder =
            std::env::temp_dir().join(format!("absentia-xtask-search-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let out = folder.join("found.toml");
        let failed = search(
            vec![shell_search(&out, "echo half > $1; echo why; exit 3")],
            false,
        );
        assert!(failed.unwrap_err().contains("why"));
        assert!(!out.exists());
        search(vec![shell_search(&out, "echo one > $1")], false).unwrap();
        search(vec![shell_search(&out, "echo two > $1")], false).unwrap();
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "one\n");
        search(vec![shell_search(&out, "echo two > $1")], true).unwrap();
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "two\n");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
