//! Every file that a command writes, put in the place of everything it reads and of everything else it
//! writes: the command is refused, and every byte stays.
//!
//! Commands and arguments are those of clap's own description, so that a new one cannot be forgotten.

mod arguments;

use std::path::{Path, PathBuf};

use arguments::{Sample, Use, fill, is_needed, name, names_file, other_words, use_of, usual};
use clap::{Arg, Command};

use crate::dice::Dice;
use crate::room::{Contents, Room};

pub(crate) fn round(_: &mut Dice, room: &Room) {
    fill(room);
    let files = room.contents();
    let mut command = absentia_cli::command();
    command.build();
    let mut faults = Vec::new();
    let mut pairs = 0;
    for verb in command.get_subcommands() {
        let verb = match WritingVerb::new(verb) {
            Ok(verb) => verb,
            Err(unknown) => {
                faults.push(unknown);
                continue;
            }
        };
        let cases = Cases {
            verb: &verb,
            room,
            files: &files,
        };
        pairs += cases.check(&mut faults);
    }
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
    assert!(pairs > 100, "{pairs} pairs of files were tried");
}

/// The name of every command and argument that a file is written by.
pub(crate) fn written_by() -> Vec<(String, String)> {
    let mut command = absentia_cli::command();
    command.build();
    let mut found = Vec::new();
    for verb in command.get_subcommands() {
        let of_verb = verb.get_arguments().filter(|arg| names_file(arg));
        for name in of_verb.map(name) {
            if let Some(Use::Writes(_)) = use_of(verb.get_name(), name) {
                found.push((verb.get_name().to_owned(), name.to_owned()));
            }
        }
    }
    found
}

/// A command with its arguments that name files.
struct WritingVerb<'a> {
    command: &'a Command,
    name: &'a str,
    reads: Vec<(&'a Arg, &'static [Sample])>,
    writes: Vec<(&'a Arg, &'static str)>,
}

impl<'a> WritingVerb<'a> {
    fn new(command: &'a Command) -> Result<Self, String> {
        let mut verb = Self {
            command,
            name: command.get_name(),
            reads: Vec::new(),
            writes: Vec::new(),
        };
        for arg in command.get_arguments().filter(|arg| names_file(arg)) {
            match use_of(verb.name, name(arg)) {
                Some(Use::Reads(samples)) => verb.reads.push((arg, samples)),
                Some(Use::Writes(path)) => verb.writes.push((arg, path)),
                Some(Use::Apart) => {}
                None => {
                    let (verb, id) = (verb.name, name(arg));
                    return Err(format!(
                        "{verb}: it is not known what {id} is for; add it to guard"
                    ));
                }
            }
        }
        Ok(verb)
    }

    /// The words of a command that reads one sample in place of what an argument has as a rule.
    fn line(&self, given: Option<(&Arg, &str)>, written: Option<(&Arg, &str)>) -> String {
        let id = given.map_or("", |(arg, _)| name(arg));
        let mut words = vec![self.name.to_owned()];
        for (arg, samples) in &self.reads {
            let own = given.filter(|(given, _)| given.get_id() == arg.get_id());
            let is_needed = is_needed(self.name, name(arg), id);
            let value = match own {
                Some((_, value)) => value.to_owned(),
                None if arg.is_required_set() || is_needed => usual(samples, name(arg), id),
                None => continue,
            };
            words.push(with_flag(arg, &value));
        }
        let excluded = given.map(|(arg, _)| self.command.get_arg_conflicts_with(arg));
        let excluded = excluded.unwrap_or_default();
        for (arg, path) in &self.writes {
            if excluded.iter().any(|other| other.get_id() == arg.get_id()) {
                continue;
            }
            let own = written.filter(|(written, _)| written.get_id() == arg.get_id());
            words.push(with_flag(arg, own.map_or(*path, |(_, path)| path)));
        }
        words.push(other_words(self.name, id).to_owned());
        words.join(" ")
    }
}

fn with_flag(arg: &Arg, value: &str) -> String {
    match arg.get_long() {
        Some(long) => format!("--{long} {value}"),
        None => value.to_owned(),
    }
}

struct Cases<'a> {
    verb: &'a WritingVerb<'a>,
    room: &'a Room,
    files: &'a Contents,
}

impl Cases<'_> {
    /// Tries every pair, and yields their number.
    fn check(&self, faults: &mut Vec<String>) -> usize {
        if self.verb.writes.is_empty() {
            return 0;
        }
        let mut pairs = 0;
        for (arg, samples) in &self.verb.reads {
            for sample in *samples {
                pairs += self.inputs(arg, sample, faults);
            }
        }
        pairs + self.outputs(faults)
    }

    /// The files that a command writes where nothing is in its way.
    fn written(&self, line: &str, faults: &mut Vec<String>) -> Vec<PathBuf> {
        self.room.restore(self.files);
        let ended = self.room.run(line);
        if !ended.is_ok() {
            faults.push(format!("without a conflict, {ended}"));
        }
        let after = self.room.contents().into_keys();
        after
            .filter(|path| !self.files.contains_key(path))
            .collect()
    }

    /// Every file that is written in place of one that is read.
    fn inputs(&self, arg: &Arg, sample: &Sample, faults: &mut Vec<String>) -> usize {
        let line = |path: &str| {
            let value = sample.value.replace("{}", path);
            format!(
                "{} {}",
                self.verb.line(Some((arg, &value)), None),
                sample.needs
            )
        };
        let written = self.written(&line(sample.file), faults);
        for path in &written {
            for form in Form::ALL {
                self.room.restore(self.files);
                let name = path.to_str().expect("UTF-8");
                self.room.write(name, &self.files[Path::new(sample.file)]);
                let named = form.name(self.room, name);
                self.refuses(&line(&named), "is read as", faults);
            }
        }
        written.len()
    }

    /// Every file that is written in place of another one.
    fn outputs(&self, faults: &mut Vec<String>) -> usize {
        let mut pairs = 0;
        let written = self.written(&self.verb.line(None, None), faults);
        for (arg, own) in &self.verb.writes {
            let stem = own.split('.').next().unwrap_or(own);
            for path in written.iter().filter_map(|path| path.to_str()) {
                if path.starts_with(stem) || !own.contains('.') {
                    continue;
                }
                self.room.restore(self.files);
                let line = self.verb.line(None, Some((arg, path)));
                self.refuses(&line, "both write", faults);
                pairs += 1;
            }
        }
        pairs
    }

    fn refuses(&self, line: &str, because: &str, faults: &mut Vec<String>) {
        let before = self.room.contents();
        let ended = self.room.run(line);
        if ended.code != Some(2) || !ended.stderr.contains(because) {
            faults.push(format!("not refused: {ended}"));
        }
        let after = self.room.contents();
        let changed = before
            .iter()
            .find(|(path, bytes)| after.get(*path) != Some(bytes));
        if let Some((path, _)) = changed {
            faults.push(format!("absentia {line}: {} was changed", path.display()));
        }
    }
}

/// Ways to name the same file.
#[derive(Clone, Copy)]
enum Form {
    Plain,
    Dotted,
    Absolute,
    Link,
    HardLink,
}

impl Form {
    const ALL: [Self; 5] = [
        Self::Plain,
        Self::Dotted,
        Self::Absolute,
        Self::Link,
        Self::HardLink,
    ];

    fn name(self, room: &Room, path: &str) -> String {
        let other = "other-name";
        match self {
            Self::Plain => path.to_owned(),
            Self::Dotted => format!("./././{path}"),
            Self::Absolute => room.path(path).to_str().expect("UTF-8").to_owned(),
            Self::Link => {
                std::os::unix::fs::symlink(path, room.path(other)).expect("a link");
                other.to_owned()
            }
            Self::HardLink => {
                std::fs::hard_link(room.path(path), room.path(other)).expect("a link");
                other.to_owned()
            }
        }
    }
}
