//! What the figures of `docs/accuracy.md`, `docs/weights.md` and `docs/relations.md` were made by.

mod gowalla;
mod implicit;
mod markdown;
mod measure;
mod options;
mod relations;
mod search;
mod sets;
mod study;
mod table;
mod weights;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use super::{cargo, run};
use sets::open_sources;

pub(super) const HELP: &str = "\
cargo xtask accuracy <what>; data is read from ../shared/data

  study    on Amazon-book, MovieTweetings and KuaiRec: how far the order of settings on held-out rows
           agrees with their order on the test
  gowalla  chooses settings from the Gowalla training rows, trains with them, measures on the test
           and prints the published figures beside it; `gowalla chosen` leaves the search out and
           takes the settings that it chose (xtask/gowalla.toml)
  table    tuned uniform, tuned popularity, everything tuned, learned weights, `implicit` tuned for
           the same time, defaults and presets, side by side with intervals and seconds, in
           target/accuracy/table.md and table.json. --seconds 180 is the time of each search; two
           run at once with a thread each. --only amazon-book,movietweetings,retailrocket,kuairec names sets;
           gowalla is measured only if it is named: its test rows are closed.
           Searches that were finished are kept; --again repeats them
  weights  every weight scheme on every data set but Gowalla, tuned with the same few trials: the tables of
           docs/weights.md, in target/accuracy/weights/tables.md. --only NAME makes those of some sets; --program FILE measures a binary
           instead of building one
  relations
           tags of articles (CiteULike) for known and new articles, beside `cmfrec`: the table of docs/relations.md.
           --trials 60 are those of each search, --seeds 1,2,3 are the splits, --program FILE measures a binary
           instead of building one, --no-peers leaves the other library out, which has the same processor time
";

/// How the tables of all data sets begin.
pub(super) fn headings() -> impl Iterator<Item = String> {
    open_sources().map(|source| markdown::heading(source.name))
}

pub(super) fn accuracy(arguments: &[String]) -> Result<(), String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match &words[..] {
        ["study"] => study::study(),
        ["gowalla"] => gowalla::gowalla(true),
        ["gowalla", "chosen"] => gowalla::gowalla(false),
        ["weights", options @ ..] => weights::weights(options),
        ["relations", options @ ..] => relations::relations(options),
        ["table", options @ ..] => table::table(&options::Options::read(options)?),
        _ => Err(HELP.to_owned()),
    }
}

/// The program, built for speed.
struct Program(PathBuf);

impl Program {
    fn build() -> Result<Self, String> {
        run(&mut cargo(&["build", "--release"]))?;
        let name = format!("release/absentia{}", std::env::consts::EXE_SUFFIX);
        Ok(Self(super::target().join(name)))
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.0);
        command.arg(verb);
        command
    }
}

/// Where what is prepared, searched and trained is kept.
fn folder(name: &str) -> Result<PathBuf, String> {
    let folder = super::target().join("accuracy").join(name);
    std::fs::create_dir_all(&folder).map_err(|error| on(&folder, &error))?;
    Ok(folder)
}

/// A failure with the file it happened to.
fn on(path: &Path, error: &impl std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

/// Runs a command to its end, and yields what it printed and the seconds it took.
fn printed(command: &mut Command) -> Result<(String, f64), String> {
    eprintln!("xtask: {command:?}");
    let started = Instant::now();
    let Output { status, stdout, .. } = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("xtask: {command:?} could not be started: {error}"))?;
    let seconds = started.elapsed().as_secs_f64();
    let text = String::from_utf8_lossy(&stdout).into_owned();
    if status.success() {
        Ok((text, seconds))
    } else {
        Err(format!("xtask: {command:?} ended with {status}: {text}"))
    }
}
