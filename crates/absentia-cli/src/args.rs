//! Arguments that several commands share, besides the groups of a job.

use std::path::PathBuf;

use absentia::Method;
use absentia::data::Pick;
use absentia::error::TextError;
use absentia_io::time::TimeSpan;
use absentia_job::keys::{Keys, NamedFields};
use absentia_job::text::{Count, SplitRule};
use absentia_job::{Job, Preparation, Reading};

use crate::ui::Ui;

/// Interaction files, and what to do with them before anything else.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct DataArgs {
    /// Interaction files or globs, read as one data set: CSV, TSV or any separator, .dat, .rating,
    /// .inter, adjacency lists, JSON lines, parquet, arrow, MatrixMarket, scipy .npz; gzip,
    /// zstd, bzip2, xz and zip are decompressed, and `-` is standard input.
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<String>,
    #[command(flatten)]
    pub(crate) read: Reading,
    #[command(flatten)]
    pub(crate) prepare: Preparation,
}

impl Keys for DataArgs {
    fn fields(&mut self) -> NamedFields<'_> {
        let Self {
            data,
            read,
            prepare,
        } = self;
        let mut fields: NamedFields<'_> = vec![("data", data)];
        fields.extend(read.fields());
        fields.extend(prepare.fields());
        fields
    }
}

/// Shows the settings of a preset, and warns of settings that have no effect on any of these methods.
pub(crate) fn warn_of_unused(
    job: &Job,
    methods: &[Method],
    flag: &dyn Fn(&str) -> String,
    ui: &Ui,
) {
    if let Some(preset) = job.settings.preset {
        let flags: Vec<String> = preset
            .table()
            .iter()
            .map(|(key, value)| format!("--{key} {}", value.as_str().unwrap_or_default()))
            .collect();
        ui.note(format!("unless given otherwise: {}", flags.join(" ")));
    }
    for text in job.without_effect(methods, flag) {
        ui.warn(text);
    }
}

/// The flag of a key.
pub(crate) fn flag(key: &str) -> String {
    format!("--{key}")
}

/// Warns of arguments for the preparation of rows that have no effect.
pub(crate) fn warn_of_preparation(preparation: &Preparation, ui: &Ui) {
    if let Some(text) = preparation.without_effect(&flag) {
        ui.warn(text);
    }
}

/// Warns of a pick of rows where the rule leaves no choice of them.
pub(crate) fn warn_of_pick(pick: Option<Pick>, rule: SplitRule, ui: &Ui) {
    if let Some(text) = pick.and_then(|_| rule.unused_pick("--pick")) {
        ui.warn(text);
    }
}

/// Warns of an argument that is given without the one that it belongs to.
pub(crate) fn warn_without(is_unused: bool, flag: &str, other: &str, ui: &Ui) {
    if is_unused {
        ui.warn(format!("{flag} has no effect without {other}"));
    }
}

/// Reads the folder of a result, which cannot be standard output.
pub(crate) fn parse_folder(text: &str) -> Result<PathBuf, TextError> {
    match text {
        "-" => Err(TextError::new(
            text,
            "a folder: several files are written, which standard output cannot take",
        )),
        folder => Ok(PathBuf::from(folder)),
    }
}

/// Reads a number of at least 1.
pub(crate) fn parse_length(text: &str) -> Result<usize, TextError> {
    text.parse().map(Count::get)
}

/// Reads the length of a search, in seconds.
pub(crate) fn parse_span(text: &str) -> Result<f64, TextError> {
    let span = text.parse().ok().map(TimeSpan::seconds);
    span.filter(|seconds| *seconds < 1e9)
        .ok_or_else(|| TextError::new(text, "a time with its unit, s, m or h, as in 10m"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use absentia_job::{Job, defaults};
    use clap::CommandFactory as _;

    /// What `train` writes and where it goes on from; everything else is part of the job.
    const OF_OUTPUT: [&str; 7] = [
        "model",
        "checkpoint",
        "checkpoint-every",
        "resume",
        "dry-run",
        "keep-seen",
        "report",
    ];

    #[test]
    fn the_flags_of_train_are_the_keys_of_a_job() {
        let command = crate::cli::Cli::command();
        let train = command.find_subcommand("train").expect("a command");
        let name = |arg: &clap::Arg| match arg.get_long() {
            Some(long) => long.to_owned(),
            None => arg.get_id().to_string(),
        };
        let flags: BTreeSet<String> = train.get_arguments().map(name).collect();
        let mut expected: BTreeSet<String> = Job::keys().into_iter().collect();
        expected.extend(OF_OUTPUT.map(str::to_owned));
        // These are flags of every command.
        for of_every_command in ["threads", "memory-limit"] {
            expected.remove(of_every_command);
        }
        assert_eq!(flags, expected);
    }

    #[test]
    fn help_names_the_defaults() {
        for (key, value) in defaults::table() {
            // Two are chosen, and their help says how.
            if key == "post-scale" || key == "regularization" {
                continue;
            }
            let default = default_in_help("train", key);
            let is_named = default.starts_with(&value);
            assert!(is_named, "{key}: {default:?}");
        }
        for (command, key, value) in defaults::of_commands() {
            assert_eq!(default_in_help(command, key), value, "{command} --{key}");
        }
    }

    /// The default that the help of a command names for a flag.
    fn default_in_help(command: &str, key: &str) -> String {
        let mut cli = crate::cli::Cli::command();
        let command = cli.find_subcommand_mut(command).expect("a command");
        let help = command.render_long_help().to_string();
        let help: String = help.split_whitespace().collect::<Vec<_>>().join(" ");
        let start = help.find(&format!("--{key} <")).expect("an argument");
        let default = help[start..].split("[default: ").nth(1);
        let default = default.and_then(|default| default.split(']').next());
        default.expect("a default").to_owned()
    }
}
