//! How the help of commands is arranged: what they need first, and examples that can be copied.

use absentia_report::terminal::Screen;
use clap::Command;

/// Columns of a terminal that does not say how many it has.
const USUAL_WIDTH: usize = 100;

/// Yields the commands with positional arguments first in usage and help, and with the notes at the end of
/// their help fitted to the terminal.
pub(crate) fn arranged(command: Command) -> Command {
    let width = width();
    // Only arguments of a command that was built can be shown.
    let mut built = command.clone();
    built.build();
    let names = command
        .get_subcommands()
        .map(|verb| verb.get_name().to_owned());
    let names: Vec<String> = names.collect();
    let command = with_notes(command, width);
    names.iter().fold(command, |command, name| {
        let usage = built.find_subcommand(name).map(usage);
        command.mut_subcommand(name, |verb| {
            let verb = with_notes(data_first(verb), width);
            match usage {
                Some(usage) => verb.override_usage(usage),
                None => verb,
            }
        })
    })
}

/// Columns of the terminal.
fn width() -> usize {
    let given = || std::env::var("COLUMNS").ok()?.parse().ok();
    let width = Screen::stdout().width().or_else(given);
    width.unwrap_or(USUAL_WIDTH)
}

/// Positional arguments and required flags before the others.
fn usage(built: &Command) -> String {
    let positional = built.get_positionals().map(ToString::to_string);
    let required = built
        .get_opts()
        .filter(|arg| arg.is_required_set())
        .map(ToString::to_string);
    let words: Vec<String> = positional.chain(required).collect();
    let usage = format!("absentia {} {}", built.get_name(), words.join(" "));
    format!("{} [OPTIONS]", usage.trim_end())
}

/// Lists positional arguments before all flags, whatever groups they come from.
fn data_first(verb: Command) -> Command {
    verb.mut_args(|arg| {
        if arg.is_positional() {
            arg.help_heading(None::<&'static str>)
        } else {
            arg
        }
    })
}

fn with_notes(command: Command, width: usize) -> Command {
    match command.get_after_help().map(ToString::to_string) {
        Some(notes) => command.after_help(fitted(&notes, width)),
        None => command,
    }
}

/// Breaks examples so that the lines together are still the command, and joins lines of prose, which are
/// wrapped when they are shown.
fn fitted(notes: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut is_prose = false;
    for line in notes.lines() {
        let was_prose =
            std::mem::replace(&mut is_prose, !line.is_empty() && !line.starts_with(' '));
        match lines.last_mut() {
            _ if line.starts_with("  $ ") => lines.extend(broken(line, width)),
            Some(last) if is_prose && was_prose => *last = format!("{last} {line}"),
            _ if line.starts_with("  ") => lines.extend(hanging(line, width)),
            _ => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

/// Breaks a line of a list, whose later lines start below its description, or a little further in if it has none.
fn hanging(line: &str, width: usize) -> Vec<String> {
    let start = line.len() - line.trim_start().len();
    let column = line[start..].find("  ").map(|at| {
        let rest = &line[start + at..];
        start + at + rest.len() - rest.trim_start().len()
    });
    let indent = column.unwrap_or(start + 2);
    let head = &line[..column.unwrap_or(start)];
    let mut lines = vec![head.to_owned()];
    let mut is_start = true;
    for word in line[head.len()..].split(' ') {
        match lines.last_mut() {
            Some(last) if is_start => last.push_str(word),
            Some(last) if last.chars().count() + 1 + word.chars().count() <= width => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(format!("{:indent$}{word}", "")),
        }
        is_start = false;
    }
    lines
}

/// Breaks a command before flags.
fn broken(line: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts(line) {
        match lines.last_mut() {
            // Room for the backslash.
            Some(last) if last.chars().count() + part.chars().count() + 2 < width => {
                last.push_str(part);
            }
            Some(last) => {
                last.push_str(" \\");
                lines.push(format!("     {part}"));
            }
            None => lines.push(part.to_owned()),
        }
    }
    lines
}

/// Cuts a command before each flag and each pipe; a part starts with its space.
fn parts(line: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = [" --", " | "]
        .iter()
        .flat_map(|mark| line.match_indices(mark).map(|(at, _)| at))
        .collect();
    starts.sort_unstable();
    let ends = starts.iter().copied().chain([line.len()]);
    let starts = std::iter::once(0).chain(starts.iter().copied());
    starts.zip(ends).map(|(from, to)| &line[from..to]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTES: &str = "Examples:\n  $ absentia train data.csv --model m --weights uniform:0.1\n\nOne line\nand another.";

    #[test]
    fn examples_are_broken_so_that_they_can_be_copied() {
        assert_eq!(
            fitted(NOTES, 40),
            "Examples:\n  $ absentia train data.csv --model m \\\n      --weights uniform:0.1\n\nOne line and another."
        );
        assert_eq!(fitted(NOTES, 200).lines().nth(1), NOTES.lines().nth(1));
    }

    #[test]
    fn descriptions_go_on_below_themselves() {
        let notes =
            "Schemes:\n  age:mean=0.1   how old the item is\n    slices=20: how time is divided";
        assert_eq!(
            fitted(notes, 30),
            "Schemes:\n  age:mean=0.1   how old the\n                 item is\n    slices=20: how time is\n      divided"
        );
        assert_eq!(fitted(notes, 100), notes);
    }

    #[test]
    fn no_line_of_a_help_is_longer_than_the_terminal() {
        for verb in crate::cli::command().get_subcommands() {
            let notes = verb.get_after_help().map(ToString::to_string);
            let notes = fitted(&notes.unwrap_or_default(), 80);
            let listed = notes.lines().filter(|line| line.starts_with("  "));
            for line in listed.filter(|line| line.contains(' ')) {
                let longest_word = line.split(' ').map(str::len).max().unwrap_or(0);
                assert!(line.chars().count() <= 80 || longest_word > 40, "{line}");
            }
        }
    }

    #[test]
    fn data_is_named_before_options() {
        let command = arranged(crate::cli::command());
        let train = command.find_subcommand("train").expect("a command");
        let usage = train.clone().render_usage().to_string();
        assert!(
            usage.contains("absentia train <DATA>... [OPTIONS]"),
            "{usage}"
        );
        let help = train.clone().render_long_help().to_string();
        let (data, first_group) = (help.find("Arguments:"), help.find("Training:"));
        assert!(data.is_some() && data < first_group, "{help}");
    }
}
