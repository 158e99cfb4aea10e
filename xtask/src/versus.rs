//! Compares the speed of another revision with that of the head: `cargo xtask bench versus REV`.
//!
//! Both are built from their own sources, in a git worktree and here, and their examples `sweep_speed`,
//! `read_speed` and `ranking_speed` take turns, so that other work of the machine slows both alike.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::ten_million_rows;
use crate::{cargo, repository, run, target};

const EXAMPLES: [&str; 3] = ["sweep_speed", "read_speed", "ranking_speed"];

/// What is measured: an example, its arguments, and the lines of its output that count.
struct Measure {
    example: &'static str,
    arguments: Vec<String>,
    /// The start of a line, and the name of the first time in it.
    lines: Vec<(String, String)>,
}

/// A revision that was built.
struct Built {
    name: String,
    examples: PathBuf,
}

/// Compares the head with the revision that is the first word; `--rounds N` runs each N times.
pub(crate) fn versus(words: &[String]) -> Result<(), String> {
    let revision = words.first().ok_or("bench versus REV [--rounds N]")?;
    let rounds = match words.get(1).map(String::as_str) {
        None => 5,
        Some("--rounds") => words
            .get(2)
            .and_then(|number| number.parse().ok())
            .ok_or("--rounds needs a number")?,
        Some(other) => return Err(format!("{other}: expected --rounds N")),
    };
    let rows = ten_million_rows()?;
    let builds = [other(revision)?, head()?];
    let measures = measures(&rows);
    let names: Vec<&str> = measures.iter().flat_map(names_of).collect();
    let mut best = [
        vec![f64::INFINITY; names.len()],
        vec![f64::INFINITY; names.len()],
    ];
    for round in 0..rounds {
        eprintln!("xtask: round {} of {rounds}", round + 1);
        let mut at = 0;
        for measure in &measures {
            // Whoever comes first changes from round to round.
            for turn in 0..2 {
                let side = (round + turn) % 2;
                let seconds = seconds_of(&builds[side], measure)?;
                for (slot, seconds) in best[side][at..].iter_mut().zip(seconds) {
                    *slot = slot.min(seconds);
                }
            }
            at += measure.lines.len();
        }
    }
    print_table(&builds, &names, &best);
    Ok(())
}

fn names_of(measure: &Measure) -> impl Iterator<Item = &str> {
    measure.lines.iter().map(|(_, name)| name.as_str())
}

fn measures(rows: &Path) -> Vec<Measure> {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let line = |start: &str, name: &str| (start.to_owned(), name.to_owned());
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut measures: Vec<Measure> = [32, 64, 128, 256]
        .into_iter()
        .map(|k| Measure {
            example: "sweep_speed",
            arguments: words(&format!("yelp {k} 1 {threads} 4 eals")),
            lines: vec![line("yelp eals", &format!("a sweep at K = {k}"))],
        })
        .collect();
    measures.push(Measure {
        example: "read_speed",
        arguments: vec![rows.display().to_string()],
        lines: vec![line("read and mapped", "reading ten million rows")],
    });
    measures.push(Measure {
        example: "ranking_speed",
        arguments: Vec::new(),
        lines: vec![
            line("without structure", "recommending, random factors"),
            line("trained", "recommending, trained factors"),
        ],
    });
    measures
}

/// Builds another revision in its own worktree, with its own target folder.
fn other(revision: &str) -> Result<Built, String> {
    let commit = git(&["rev-parse", "--short", &format!("{revision}^{{commit}}")])?;
    let folder = target().join("versus").join(&commit);
    if !folder.exists() {
        run(Command::new("git")
            .args(["worktree", "add", "--detach"])
            .arg(&folder)
            .arg(&commit)
            .current_dir(repository()))?;
    }
    let built = target().join("versus").join(format!("{commit}-target"));
    build(&folder, &built)?;
    Ok(Built {
        name: commit,
        examples: built.join("release/examples"),
    })
}

fn head() -> Result<Built, String> {
    build(&repository(), &target())?;
    Ok(Built {
        name: "head".to_owned(),
        examples: target().join("release/examples"),
    })
}

/// Builds the examples from the packages that have them in this tree.
fn build(tree: &Path, into: &Path) -> Result<(), String> {
    let mut command = cargo(&["build", "--release"]);
    for example in EXAMPLES {
        command.args(["--example", example]);
        command.args(["--package", &package_of(tree, example)?]);
    }
    run(command.current_dir(tree).env("CARGO_TARGET_DIR", into))
}

fn package_of(tree: &Path, example: &str) -> Result<String, String> {
    let folders = std::fs::read_dir(tree.join("crates")).map_err(|error| error.to_string())?;
    folders
        .filter_map(Result::ok)
        .find(|folder| {
            folder
                .path()
                .join(format!("examples/{example}.rs"))
                .exists()
        })
        .and_then(|folder| folder.file_name().into_string().ok())
        .ok_or_else(|| format!("{}: no example {example}", tree.display()))
}

fn git(words: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .args(words)
        .current_dir(repository())
        .output()
        .map_err(|error| format!("git: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs an example once and yields the time of each of its lines.
fn seconds_of(built: &Built, measure: &Measure) -> Result<Vec<f64>, String> {
    let program = format!("{}{}", measure.example, std::env::consts::EXE_SUFFIX);
    let output = Command::new(built.examples.join(program))
        .args(&measure.arguments)
        .output()
        .map_err(|error| format!("{}: {error}", measure.example))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let missing = |start: &str| {
        let errors = String::from_utf8_lossy(&output.stderr);
        format!(
            "{} of {}: no time in {start:?}: {text}{errors}",
            measure.example, built.name
        )
    };
    measure
        .lines
        .iter()
        .map(|(start, _)| {
            let line = text.lines().find(|line| line.starts_with(start.as_str()));
            line.and_then(first_time).ok_or_else(|| missing(start))
        })
        .collect()
}

/// The first time in a line, such as `0.25 s`, `1.5s` or `830ms`, in seconds.
fn first_time(line: &str) -> Option<f64> {
    let words: Vec<&str> = line
        .split(|c: char| c.is_whitespace() || c == ',' || c == '(')
        .filter(|word| !word.is_empty())
        .collect();
    let apart = |at: usize| {
        let unit = words.get(at + 1).filter(|&&unit| unit == "s")?;
        time(&format!("{}{unit}", words[at]))
    };
    (0..words.len()).find_map(|at| time(words[at]).or_else(|| apart(at)))
}

fn time(word: &str) -> Option<f64> {
    let (number, unit) = [("ms", 1e-3), ("µs", 1e-6), ("s", 1.0)]
        .into_iter()
        .find_map(|(name, unit)| Some((word.strip_suffix(name)?, unit)))?;
    number.parse::<f64>().ok().map(|number| number * unit)
}

#[allow(clippy::print_stdout, reason = "the result of the command")]
fn print_table(builds: &[Built; 2], names: &[&str], best: &[Vec<f64>; 2]) {
    let [old, new] = builds;
    println!("best of all rounds, in seconds; below 1, the head is faster");
    println!(
        "{:<30} {:>10} {:>10} {:>8}",
        "", old.name, new.name, "ratio"
    );
    for (at, name) in names.iter().enumerate() {
        let (before, after) = (best[0][at], best[1][at]);
        println!(
            "{name:<30} {before:>10.4} {after:>10.4} {:>8.3}",
            after / before
        );
    }
}

#[cfg(test)]
mod tests {
    use super::first_time;

    #[test]
    fn times_are_found_in_what_the_examples_print() {
        for (line, seconds) in [
            (
                "yelp eals K=32 Z=1 threads=2: 0.1250 s, 0.2 s of processor time",
                0.125,
            ),
            (
                "read and mapped in 2.50 s, with the matrix built in 3 s",
                2.5,
            ),
            (
                "trained: top 20 of 5 × 4, K = 128: 1.25s (9 GFMA/s if",
                1.25,
            ),
            (
                "trained: top 20 of 5 × 4, K = 128: 750.00ms (9 GFMA/s if",
                0.75,
            ),
        ] {
            let found = first_time(line).expect(line);
            assert!((found - seconds).abs() < 1e-9, "{line}: {found}");
        }
        assert_eq!(first_time("nothing here"), None);
    }
}
