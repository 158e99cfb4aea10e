//! Flags and commands by the names that other programs have for them.

use std::ffi::OsString;

use absentia_job::keys::usual_name;
use clap::Command;
use clap::error::{ContextKind, ContextValue};

/// The error of an unknown command or flag, with the one that other programs call by this name.
pub(crate) fn with_usual_name(
    error: clap::Error,
    command: &Command,
    argv: &[OsString],
) -> clap::Error {
    if let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) {
        let usual = usual_command(name);
        return suggesting(error, ContextKind::SuggestedSubcommand, usual);
    }
    let mut words = argv.iter().skip(1);
    let verb = words.find_map(|word| command.find_subcommand(word));
    with_usual_flag(error, verb)
}

/// The command that other programs call by this name.
fn usual_command(name: &str) -> Option<String> {
    let usual = match name {
        "fit" | "learn" => "train",
        "predict" | "topk" => "recommend",
        "eval" | "score" | "test" => "evaluate",
        _ => return None,
    };
    Some(usual.to_owned())
}

/// The error of an unknown flag without the advice to pass it as a value, for which there is no need, and
/// without that of a flag that has nothing to do with it.
fn with_usual_flag(mut error: clap::Error, verb: Option<&Command>) -> clap::Error {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let is_long = flag.starts_with("--");
    let has = |name: &str| {
        let mut flags = verb.into_iter().flat_map(Command::get_arguments);
        flags.any(|arg| arg.get_long() == Some(name))
    };
    let usual = usual_name(flag.trim_start_matches('-'), has);
    if flag == "--verbose" {
        error.remove(ContextKind::SuggestedArg);
    }
    if is_long || usual.is_some() {
        error.remove(ContextKind::Suggested);
    }
    let usual = usual.map(|name| format!("--{name}"));
    suggesting(error, ContextKind::SuggestedArg, usual)
}

/// The error with what was meant, if that is known.
fn suggesting(mut error: clap::Error, kind: ContextKind, meant: Option<String>) -> clap::Error {
    if let Some(meant) = meant {
        error.insert(kind, ContextValue::String(meant));
    }
    error
}
