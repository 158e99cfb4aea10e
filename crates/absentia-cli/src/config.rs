//! Arguments from a file: the keys of a TOML table become flags, and flags become keys.
//!
//! A key is the long name of a flag without its dashes, or the name of a positional argument in
//! lower case. Keys at the top hold for whatever command reads the file; a table named after a
//! command holds for that command only.

use absentia::suggest;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use anyhow::Context as _;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use toml::{Table, Value};

use crate::failure::Refusal;
use crate::presets::Preset;

/// Flags that say how to run a command, not what it computes: never stored.
const NOT_STORED: [&str; 7] = [
    "config", "json", "quiet", "help", "version", "resume", "dry-run",
];

/// Yields the words of the command line with those of its `--config` file put in.
///
/// # Errors
/// A file that cannot be read, a key that the command does not know, a value of the wrong kind.
pub(crate) fn expand(command: Command, argv: Vec<OsString>) -> anyhow::Result<Vec<OsString>> {
    // Nothing is required yet: what is missing may be in the file. Whatever is wrong with the words
    // themselves is said when they are parsed in earnest.
    let mut lenient = optional(command);
    let Ok(matches) = lenient.try_get_matches_from_mut(&argv) else {
        return Ok(argv);
    };
    let Some((verb, given)) = matches.subcommand() else {
        return Ok(argv);
    };
    let path = given
        .try_get_one::<std::path::PathBuf>("config")
        .ok()
        .flatten();
    let names: Vec<String> = lenient
        .get_subcommands()
        .map(|verb| verb.get_name().to_owned())
        .collect();
    let command = lenient
        .find_subcommand(verb)
        .context("the command that was just parsed is known")?;
    let file = match path {
        Some(path) => keys_for(read(path)?, verb, &names),
        None => Table::new(),
    };
    let mut table = preset(&file, command, given);
    if path.is_none() && table.is_empty() {
        return Ok(argv);
    }
    table.extend(file);
    let source = path.map_or_else(String::new, |path| path.display().to_string());
    let words = Words::of(&table, command, given).context(source)?;
    Ok(words.put_into(argv, verb))
}

/// The keys of the preset that the command line or the file names; they hold where nothing else does.
fn preset(file: &Table, command: &Command, given: &ArgMatches) -> Table {
    let on_line = given
        .try_get_one::<Preset>("preset")
        .ok()
        .flatten()
        .copied();
    let in_file = || file.get("preset")?.as_str().and_then(Preset::named);
    let knows = |key: &str| find(command, key).is_ok();
    on_line
        .or_else(in_file)
        .map_or_else(Table::new, |preset| preset.table(knows))
}

fn optional(command: Command) -> Command {
    let mut command = command.subcommand_required(false);
    command.build();
    command.mut_subcommands(|verb| verb.mut_args(|arg| arg.required(false)))
}

fn read(path: &Path) -> anyhow::Result<Table> {
    let text = std::fs::read_to_string(path).map_err(|source| absentia_io::Error::Io {
        path: path.to_owned(),
        source,
    })?;
    text.parse::<Table>().map_err(|error| {
        let line = error
            .span()
            .map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        Refusal::usage(format!("{}:{line}: {}", path.display(), error.message()))
            .hint("a configuration is TOML: one `key = value` a line")
            .into()
    })
}

/// The keys that hold for a command: those at the top, and those of its own table.
fn keys_for(table: Table, verb: &str, verbs: &[String]) -> Table {
    let (mut keys, mut own) = (Table::new(), Table::new());
    for (key, value) in table {
        match value {
            Value::Table(table) if key == verb => own = table,
            Value::Table(_) if verbs.contains(&key) => {}
            value => {
                keys.insert(key, value);
            }
        }
    }
    keys.extend(own);
    keys
}

/// Words that stand for the keys of a file, flags and positional arguments apart.
#[derive(Default)]
struct Words {
    flags: Vec<OsString>,
    /// Positional arguments that come before those on the command line, and those that come after.
    before: Vec<OsString>,
    after: Vec<OsString>,
}

impl Words {
    fn of(table: &Table, command: &Command, given: &ArgMatches) -> anyhow::Result<Self> {
        let last_given = command
            .get_positionals()
            .filter(|arg| is_given(given, arg))
            .filter_map(Arg::get_index)
            .min();
        let mut words = Self::default();
        let mut positional: Vec<(usize, Vec<String>)> = Vec::new();
        for (key, value) in table {
            let arg = find(command, key)?;
            let conflicts = command.get_arg_conflicts_with(arg);
            if is_given(given, arg) || conflicts.iter().any(|arg| is_given(given, arg)) {
                continue;
            }
            match arg.get_index() {
                Some(index) => positional.push((index, texts(key, value)?)),
                None => words.flag(command, arg, key, value)?,
            }
        }
        positional.sort();
        for (index, texts) in positional {
            let place = match last_given {
                Some(given) if index > given => &mut words.after,
                _ => &mut words.before,
            };
            place.extend(texts.into_iter().map(OsString::from));
        }
        Ok(words)
    }

    fn flag(
        &mut self,
        command: &Command,
        arg: &Arg,
        key: &str,
        value: &Value,
    ) -> anyhow::Result<()> {
        if matches!(arg.get_action(), ArgAction::SetTrue) {
            let Value::Boolean(on) = value else {
                return Err(wrong(key, "true or false", value).into());
            };
            let opposite = format!("no-{key}");
            if *on {
                self.flags.push(format!("--{key}").into());
            } else if find(command, &opposite).is_ok() {
                self.flags.push(format!("--{opposite}").into());
            }
            return Ok(());
        }
        for text in texts(key, value)? {
            self.flags.push(format!("--{key}={text}").into());
        }
        Ok(())
    }

    /// Puts the words right behind the name of the command.
    fn put_into(self, argv: Vec<OsString>, verb: &str) -> Vec<OsString> {
        let takes_value = |word: &OsStr| word == "--config" || word == "--threads";
        let at = (1..argv.len())
            .find(|&at| argv[at] == *verb && !takes_value(&argv[at - 1]))
            .unwrap_or(0);
        let mut words = argv;
        let tail = words.split_off(at + 1);
        words.extend(self.flags);
        words.extend(self.before);
        words.extend(tail);
        words.extend(self.after);
        words
    }
}

fn is_given(matches: &ArgMatches, arg: &Arg) -> bool {
    matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
}

/// The name of an argument in a file.
fn key_of(arg: &Arg) -> String {
    match arg.get_long() {
        Some(long) => long.to_owned(),
        None => arg.get_id().as_str().replace('_', "-"),
    }
}

fn find<'c>(command: &'c Command, key: &str) -> anyhow::Result<&'c Arg> {
    if let Some(arg) = command.get_arguments().find(|arg| key_of(arg) == key) {
        return Ok(arg);
    }
    let known: Vec<String> = command.get_arguments().map(key_of).collect();
    let similar = suggest::similar(key, known.iter().map(String::as_str));
    let verb = command.get_name();
    let hint = suggest::did_you_mean(&similar)
        .unwrap_or_else(|| format!("`absentia {verb} --help` lists what there is"));
    let message = format!("unknown key {key:?}: `absentia {verb}` takes no such argument");
    Err(Refusal::usage(message).hint(hint).into())
}

/// A value, or each value of an array, as it would be written on the command line.
fn texts(key: &str, value: &Value) -> anyhow::Result<Vec<String>> {
    match value {
        Value::Array(values) => values.iter().map(|value| text(key, value)).collect(),
        value => Ok(vec![text(key, value)?]),
    }
}

fn text(key: &str, value: &Value) -> anyhow::Result<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Datetime(time) => Ok(time.to_string()),
        value => Err(wrong(key, "a text, a number or an array of them", value).into()),
    }
}

fn wrong(key: &str, expected: &str, got: &Value) -> Refusal {
    Refusal::usage(format!("{key} = {got}: expected {expected}"))
}

/// Yields every argument in force, defaults included, as a table that [`expand`] understands.
pub(crate) fn effective(command: &Command, matches: &ArgMatches) -> Table {
    let mut table = Table::new();
    for arg in command.get_arguments() {
        let key = key_of(arg);
        if NOT_STORED.contains(&key.as_str()) {
            continue;
        }
        if let Some(value) = value_in_force(arg, matches) {
            table.insert(key, value);
        }
    }
    table
}

fn value_in_force(arg: &Arg, matches: &ArgMatches) -> Option<Value> {
    let id = arg.get_id().as_str();
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        let on = matches.try_get_one::<bool>(id).ok().flatten()?;
        return on.then_some(Value::Boolean(true));
    }
    let raw = matches.try_get_raw(id).ok().flatten()?;
    let mut values: Vec<Value> = raw.map(|text| typed(&text.to_string_lossy())).collect();
    let many = arg
        .get_num_args()
        .is_some_and(|range| range.max_values() > 1)
        || matches!(arg.get_action(), ArgAction::Append);
    if many {
        return (!values.is_empty()).then_some(Value::Array(values));
    }
    values.pop()
}

/// A number where writing it out gives the same text again, a text otherwise.
pub(crate) fn typed(text: &str) -> Value {
    if let Some(number) = text.parse::<i64>().ok().filter(|x| x.to_string() == text) {
        return Value::Integer(number);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number.to_string() == text && text.contains('.') => {
            Value::Float(number)
        }
        _ => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn words(config: &str, argv: &[&str]) -> anyhow::Result<Vec<String>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("run.toml");
        std::fs::write(&path, config)?;
        let mut words: Vec<OsString> = argv.iter().map(OsString::from).collect();
        words.push("--config".into());
        words.push(path.into());
        let expanded = expand(crate::cli::Cli::command(), words)?;
        Ok(expanded[1..expanded.len() - 2]
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect())
    }

    #[test]
    fn keys_become_flags_and_flags_win() -> anyhow::Result<()> {
        let config = "data = ['a.csv', 'b.csv']\nfactors = 8\nseed = 3\nheader = false\n";
        let words = words(config, &["absentia", "train", "--seed", "4"])?;
        let expected = [
            "train",
            "--factors=8",
            "--no-header",
            "a.csv",
            "b.csv",
            "--seed",
            "4",
        ];
        let (mut words, mut expected) = (words, expected.map(str::to_owned).to_vec());
        words.sort();
        expected.sort();
        assert_eq!(words, expected);
        Ok(())
    }

    #[test]
    fn presets_give_way_to_files_and_files_to_flags() -> anyhow::Result<()> {
        let expanded = |config: &str, flags: &[&str]| -> anyhow::Result<Vec<String>> {
            let mut argv = vec!["absentia", "train", "d.csv"];
            argv.extend(flags);
            words(config, &argv)
        };
        let has = |words: &[String], start: &str| words.iter().any(|word| word.starts_with(start));
        let alone = expanded("", &["--preset", "ratings"])?;
        assert!(has(&alone, "--weights=popularity") && has(&alone, "--targets=normalized"));
        let both = expanded("weights = 'uniform:0.1'", &["--preset", "ratings"])?;
        assert!(has(&both, "--weights=uniform:0.1") && !has(&both, "--weights=popularity"));
        let flag = expanded("preset = 'ratings'", &["--weights", "uniform:0.5"])?;
        assert!(!has(&flag, "--weights=") && has(&flag, "--targets=normalized"));
        Ok(())
    }

    #[test]
    fn tables_hold_for_their_command_only() -> anyhow::Result<()> {
        let config = "[train]\nfactors = 8\n[evaluate]\nat = [5]\n";
        assert_eq!(
            words(config, &["absentia", "train"])?,
            ["train", "--factors=8"]
        );
        Ok(())
    }

    #[test]
    fn an_unknown_key_is_named_with_what_is_near() {
        let error = words("factor = 8", &["absentia", "train"]).expect_err("unknown");
        let text = format!("{error:#}");
        assert!(text.contains("unknown key \"factor\""), "{text}");
    }

    #[test]
    fn texts_that_look_like_numbers_keep_their_zeros() {
        assert_eq!(typed("007"), Value::String("007".into()));
        assert_eq!(typed("7"), Value::Integer(7));
        assert_eq!(typed("0.01"), Value::Float(0.01));
        assert_eq!(typed("1e-3"), Value::String("1e-3".into()));
    }
}
