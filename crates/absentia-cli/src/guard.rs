//! The files that a command reads and writes: no result may replace what is read, or another result.

use std::path::{Path, PathBuf};

use absentia::weights::SchemeSpec;
use absentia_io::model::file_of_model;
use absentia_io::{expand, is_standard};
use absentia_job::text::RelationSpec;
use absentia_job::{ExposedEntries, Job, Preparation};

use crate::args::DataArgs;
use crate::failure::Refusal;

/// Every file that a command reads or writes, with the argument that names it.
///
/// A file that a command resumes from and replaces, such as a checkpoint, counts as written.
#[derive(Debug, Default)]
pub(crate) struct Files {
    read: Vec<File>,
    written: Vec<File>,
}

#[derive(Debug)]
struct File {
    argument: &'static str,
    path: PathBuf,
}

impl Files {
    /// Adds files that are read; names and globs alike.
    pub(crate) fn reads<P: AsRef<Path>>(
        mut self,
        argument: &'static str,
        paths: impl IntoIterator<Item = P>,
    ) -> Self {
        let files = paths.into_iter().map(|path| File::new(argument, path));
        self.read.extend(files);
        self
    }

    /// Adds files that are written.
    pub(crate) fn writes<P: AsRef<Path>>(
        mut self,
        argument: &'static str,
        paths: impl IntoIterator<Item = P>,
    ) -> Self {
        let files = paths.into_iter().map(|path| File::new(argument, path));
        self.written.extend(files);
        self
    }

    /// Adds what a job reads.
    pub(crate) fn reads_job(self, job: &Job) -> Self {
        self.reads("DATA", &job.data)
            .reads_preparation(&job.preparation)
            .reads_exposed(&job.exposed)
            .reads("--init", job.settings.init_files())
            .reads("--valid", &job.validation.valid)
            .reads("--weights", job.weights.iter().flat_map(|w| w.paths()))
            .reads_relations(&job.relation)
    }

    /// Adds the files of relations, and of their weights.
    pub(crate) fn reads_relations(self, relations: &[RelationSpec]) -> Self {
        let weights = relations.iter().filter_map(|one| one.weights.as_ref());
        let weights = weights.flat_map(SchemeSpec::paths);
        self.reads("--relation", relations.iter().flat_map(RelationSpec::files))
            .reads("--relation", weights)
    }

    /// Adds the data and what it is prepared by.
    pub(crate) fn reads_data(self, data: &DataArgs) -> Self {
        self.reads("DATA", &data.data)
            .reads_preparation(&data.prepare)
    }

    /// Adds files of exposed entries.
    pub(crate) fn reads_exposed(self, exposed: &ExposedEntries) -> Self {
        self.reads("--exposed", &exposed.files)
    }

    fn reads_preparation(self, preparation: &Preparation) -> Self {
        self.reads("--exclude", &preparation.exclude)
    }

    /// Refuses a command whose result would replace what it reads, or another result.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        let hint = "name another file to write to";
        self.check_standard()?;
        let read: Vec<(&File, Place)> = self.read.iter().flat_map(File::places).collect();
        let mut written: Vec<(&File, Place)> = Vec::new();
        for file in &self.written {
            let path = file.path.display();
            let Some(place) = Place::of(&file.path) else {
                continue;
            };
            if let Some((input, _)) = read.iter().find(|(_, other)| *other == place) {
                let message = format!(
                    "{path} is read as {}: it would be replaced by the result",
                    input.argument
                );
                return Err(Refusal::argument(file.argument, &message).hint(hint));
            }
            if let Some((other, _)) = written.iter().find(|(_, other)| *other == place) {
                let message = format!(
                    "and {} both write {path}: one would replace the other",
                    file.argument
                );
                return Err(Refusal::argument(other.argument, &message).hint(hint));
            }
            written.push((file, place));
        }
        Ok(())
    }

    /// Whether a result goes to standard output.
    pub(crate) fn take_output(&self) -> bool {
        self.written.iter().any(|file| is_standard(&file.path))
    }

    /// Refuses to read standard input twice, or to write two results to standard output.
    fn check_standard(&self) -> Result<(), Refusal> {
        let lists = [
            (&self.read, "reads standard input"),
            (&self.written, "writes to standard output"),
        ];
        for (files, what) in lists {
            let mut named = files.iter().filter(|file| is_standard(&file.path));
            if let (Some(first), Some(second)) = (named.next(), named.next()) {
                let message = format!("{what} (-), and so does {}", second.argument);
                let refusal = Refusal::argument(first.argument, &message);
                return Err(refusal.hint("use - once, and files for the others"));
            }
        }
        Ok(())
    }

    /// Whether a file is read or written.
    #[cfg(test)]
    fn knows(&self, path: &Path) -> bool {
        let mut files = self.read.iter().chain(&self.written);
        files.any(|file| file.path.starts_with(path))
    }
}

impl File {
    fn new(argument: &'static str, path: impl AsRef<Path>) -> Self {
        Self {
            argument,
            path: path.as_ref().to_owned(),
        }
    }

    /// The places of all files that the name matches. Wrong names are reported when they are read.
    fn places(&self) -> Vec<(&Self, Place)> {
        let pattern = self.path.to_str().map(str::to_owned);
        let paths = pattern.and_then(|pattern| expand(&[pattern]).ok());
        let paths = paths.unwrap_or_else(|| vec![self.path.clone()]);
        let files = paths.iter().flat_map(|path| files_of(path));
        let places = files.filter_map(|path| Place::of(&path));
        places.map(|place| (self, place)).collect()
    }
}

/// The files of a model that is a folder, or the file itself. No other folder is read.
fn files_of(path: &Path) -> Vec<PathBuf> {
    if file_of_model(path) == path {
        return vec![path.to_owned()];
    }
    let files = std::fs::read_dir(path).into_iter().flatten().flatten();
    files.map(|file| file.path()).collect()
}

/// Where a file is, however it is named.
#[derive(Debug)]
struct Place {
    path: PathBuf,
    /// Device and number of the file, which its hard links share.
    number: Option<(u64, u64)>,
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path || (self.number.is_some() && self.number == other.number)
    }
}

impl Place {
    /// Nothing for pipes, standard output, devices and folders, which no result replaces.
    fn of(path: &Path) -> Option<Self> {
        if is_standard(path) {
            return None;
        }
        let found = path.metadata().ok();
        if found.as_ref().is_some_and(|found| !found.is_file()) {
            return None;
        }
        Some(Self {
            path: resolved(path),
            number: found.as_ref().and_then(number),
        })
    }
}

#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "other systems have none")]
fn number(found: &std::fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn number(_: &std::fs::Metadata) -> Option<(u64, u64)> {
    None
}

/// The path without links, of a file that may not be there yet.
fn resolved(path: &Path) -> PathBuf {
    let path = absentia_io::without_links(path);
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    let Some(name) = path.file_name() else {
        return path;
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    match folder.canonicalize() {
        Ok(folder) => folder.join(name),
        Err(_) => path,
    }
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command, CommandFactory as _, Parser as _};

    use super::*;
    use crate::cli::Cli;

    /// What an argument that names a file is given; nothing for those that name none.
    fn path_for(arg: &Arg) -> Option<&'static str> {
        let names = arg.get_value_names()?;
        match names.first()?.as_str() {
            "SCHEME" => Some("dense:some-path,rank=2"),
            "DATA" | "MODEL" | "FOLDER" | "P,Q|MODEL" => Some("some-path"),
            name if name.starts_with("FILE") => Some("some-path"),
            _ => None,
        }
    }

    fn other_value(arg: &Arg) -> &'static str {
        let names = arg.get_value_names().unwrap_or_default();
        match names.first().map(clap::builder::Str::as_str) {
            Some("RESULT") => "all",
            Some("FILE" | "FOLDER") if arg.get_id() == "out" => "other.csv",
            _ => "other",
        }
    }

    /// The words of a command with this argument and those that must be there.
    fn words(command: &Command, wanted: &Arg, value: &'static str) -> Vec<String> {
        let mut words = vec!["absentia".to_owned(), command.get_name().to_owned()];
        for arg in command.get_arguments() {
            let is_wanted = arg.get_id() == wanted.get_id();
            if !is_wanted && !arg.is_required_set() {
                continue;
            }
            words.extend(arg.get_long().map(|long| format!("--{long}")));
            words.push(if is_wanted { value } else { other_value(arg) }.to_owned());
        }
        if command.get_name() == "inspect" && wanted.get_id() == "metrics" {
            // They are a part of the card.
            words.extend(["--card", "other"].map(str::to_owned));
        }
        words
    }

    /// A new argument that names a file has to be added to the files of its command.
    #[test]
    fn every_argument_that_names_a_file_is_known() {
        let mut seen = 0;
        for command in Cli::command().get_subcommands() {
            for arg in command.get_arguments() {
                let is_study_folder = command.get_name() == "reproduce" && arg.get_id() == "data";
                let Some(value) = path_for(arg).filter(|_| !is_study_folder) else {
                    continue;
                };
                let words = words(command, arg, value);
                let cli = Cli::try_parse_from(&words).expect("a command line");
                let known = cli.files().knows(Path::new("some-path"));
                assert!(known, "{}", words.join(" "));
                seen += 1;
            }
        }
        assert!(seen > 40, "{seen}");
    }

    #[test]
    fn a_configuration_is_read() {
        let words = "absentia train d.csv --model m --config some-path";
        let cli = Cli::try_parse_from(words.split(' ')).expect("a command line");
        assert!(cli.files().knows(Path::new("some-path")));
    }
}
