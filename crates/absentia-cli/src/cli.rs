//! The command line: its commands, the arguments that all of them share, and how they are run.

use std::ffi::OsString;
use std::path::PathBuf;

use absentia::InstructionSet;
use absentia_job::keys::Keys;
use absentia_job::text::ByteSize;
use absentia_job::{ExposedEntries, GivenSettings, Job, Preparation, Reading};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::args::DataArgs;
use crate::config::Config;
use crate::failure::{Failure, Outcome, Places, Refusal};
use crate::guard::Files;
use crate::help::arranged;
use crate::reasons::with_reason;
use crate::ui::Ui;
use crate::usual::with_usual_name;
use crate::verbs;

const AFTER_HELP: &str = "\
From a file to recommendations:
  $ absentia split ratings.csv --out parts --by leave-one-out
  $ absentia train parts/train.csv --model movies.absentia
  $ absentia evaluate movies.absentia --train parts/train.csv --test parts/test.csv
  $ absentia recommend movies.absentia ann --train parts/train.csv

`absentia help COMMAND` describes a command. A data file named - is standard input.

Exit codes: 0 done, 1 reading, writing or an internal failure, 2 wrong usage, 3 bad data,
4 not found (a file, a user, an item), 5 not enough memory, 130 interrupted by Ctrl-C.";

/// Matrix factorisation for implicit feedback with a weight of its own for every missing entry.
#[derive(Debug, Parser)]
#[command(name = "absentia", version = version(), after_help = AFTER_HELP, propagate_version = true)]
#[command(disable_help_subcommand = true, args_override_self = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) verb: Verb,
    /// Lines of the configuration file that give arguments.
    #[arg(skip)]
    places: Places,
}

/// What every command takes.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct GlobalArgs {
    /// Print one JSON object a line instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print results and errors only: no progress, no remarks.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Take arguments from a TOML file: keys are flags without the dashes, flags win over keys.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Number of threads; what the machine or container allows when not given.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
    /// Memory the command may take, as in 8GiB; what the machine or container has when not given. A
    /// command that needs more is refused before it takes it (exit code 5).
    #[arg(long, global = true, value_name = "BYTES")]
    pub(crate) memory_limit: Option<ByteSize>,
}

/// Lists the commands once: the variants of [`Verb`], what is the same for all of them, and which of their
/// fields are groups of a job's keys.
macro_rules! commands {
    ($($name:ident: $module:ident::$arguments:ident { $($field:ident: $group:ty),* }),* $(,)?) => {
        /// The commands.
        #[derive(Debug, Subcommand)]
        pub(crate) enum Verb {
            $($name(Box<verbs::$module::$arguments>),)*
        }

        impl Verb {
            fn files(&self) -> Files {
                match self {
                    $(Verb::$name(verb) => verb.files(),)*
                }
            }

            /// Arguments that are keys of a job.
            #[allow(unused_variables)]
            pub(crate) fn groups(&mut self) -> Vec<&mut dyn Keys> {
                match self {
                    $(Verb::$name(verb) => vec![$(&mut verb.$field),*],)*
                }
            }

            /// The same groups of the command of this name, without values.
            pub(crate) fn empty_groups(command: &str) -> Vec<Box<dyn Keys>> {
                $(if stringify!($name).eq_ignore_ascii_case(command) {
                    return vec![$(Box::new(<$group>::default())),*];
                })*
                Vec::new()
            }

            fn run(&self, context: &Context) -> anyhow::Result<Outcome> {
                match self {
                    $(Verb::$name(verb) => verb.run(context),)*
                }
            }
        }
    };
}

commands! {
    Train: train::Train { job: Job },
    Evaluate: evaluate::Evaluate { read: Reading },
    Recommend: recommend::Recommend { read: Reading },
    Similar: similar::Similar {},
    Explain: explain::Explain { read: Reading, prepare: Preparation },
    Stream: stream::Stream { read: Reading },
    Serve: serve::Serve {},
    Split: split::SplitCommand { data: DataArgs },
    Describe: describe::Describe { data: DataArgs },
    Generate: generate::Generate {},
    Convert: convert::Convert { data: DataArgs },
    Inspect: inspect::Inspect {},
    Export: export::Export {},
    Import: import::Import { read: Reading },
    Compare: compare::Compare { settings: GivenSettings, exposed: ExposedEntries, data: DataArgs },
    Tune: tune::Tune { data: DataArgs },
    Completions: completions::Completions {},
    Demo: demo::Demo {},
    Reproduce: reproduce::Reproduce {},
}

/// What a command gets besides its own arguments.
pub(crate) struct Context {
    pub(crate) ui: Ui,
    pub(crate) threads: Option<usize>,
}

impl Cli {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        self.verb.files().reads("--config", &self.global.config)
    }
}

/// The version of the program and the instruction set it uses on this machine.
fn version() -> String {
    format!(
        "{} ({})",
        env!("CARGO_PKG_VERSION"),
        InstructionSet::in_use()
    )
}

/// Every command with its arguments, as it is parsed.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// What is typed, with `help COMMAND` as `COMMAND --help`.
fn with_help_as_flag(mut argv: Vec<OsString>) -> Vec<OsString> {
    if argv.get(1).is_some_and(|word| word == "help") {
        argv.remove(1);
        argv.push("--help".into());
    }
    argv
}

/// Runs the command line and yields the exit code.
#[must_use]
pub fn run(argv: Vec<OsString>) -> u8 {
    let json = argv.iter().any(|word| word == "--json");
    absentia_io::hide_panics_of_decoders();
    if let Err(error) = InstructionSet::select_from_env() {
        return Failure::from(anyhow::Error::from(Refusal::usage(error.to_string()))).report(json);
    }
    match parse(argv) {
        Ok(cli) => {
            let json = cli.global.json;
            match execute(&cli) {
                Ok(outcome) => outcome.into(),
                Err(error) => Failure::located(&error, &cli.places).report(json),
            }
        }
        Err(ParseError::Clap(error)) => usage(&error, json),
        Err(ParseError::Config(error)) => Failure::from(error).report(json),
    }
}

/// Prints what is wrong with the command line, or the help that was requested.
fn usage(error: &clap::Error, json: bool) -> u8 {
    if json && error.use_stderr() {
        let text = error.to_string();
        let (message, rest) = text.split_once("\n\n").unwrap_or((&text, ""));
        let message = message.strip_prefix("error: ").unwrap_or(message);
        let hint = rest.trim();
        Ui::error(message, (!hint.is_empty()).then_some(hint), true);
    } else {
        let _ = error.print();
    }
    u8::try_from(error.exit_code()).unwrap_or(2)
}

#[derive(Debug)]
pub(crate) enum ParseError {
    Clap(clap::Error),
    Config(anyhow::Error),
}

/// The command of a command line, with the values of its configuration file.
pub(crate) fn parse(argv: Vec<OsString>) -> Result<Cli, ParseError> {
    let argv = with_help_as_flag(argv);
    let (config, command) = Config::read(Cli::command(), &argv).map_err(ParseError::Config)?;
    let mut command = arranged(command);
    let matches = command.try_get_matches_from_mut(&argv).map_err(|error| {
        let error = with_usual_name(error, &command, &argv);
        ParseError::Clap(with_reason(error, &mut command))
    })?;
    let mut cli = Cli::from_arg_matches(&matches)
        .map_err(|error| ParseError::Clap(error.format(&mut command)))?;
    let set = config.set_keys(&mut cli.verb, &matches);
    set.map_err(|error| ParseError::Config(error.into()))?;
    cli.places = config.places(&matches);
    Ok(cli)
}

fn execute(cli: &Cli) -> anyhow::Result<Outcome> {
    let files = cli.files();
    files.check()?;
    let threads = cli.global.threads.map(|n| n as usize);
    if let Some(threads) = threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global()?;
    }
    let context = Context {
        ui: Ui::new(
            cli.global.json,
            cli.global.quiet,
            cli.global.memory_limit.map(|ByteSize(bytes)| bytes),
        )
        .leave_output(files.take_output()),
        threads,
    };
    let outcome = cli.verb.run(&context);
    context.ui.report_memory();
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
