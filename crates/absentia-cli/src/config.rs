//! Arguments from a file: the keys of a TOML table hold where a flag is not given.
//!
//! A key is the long name of a flag without its dashes, or the name of a positional argument in
//! lower case. Keys at the top hold for every command that reads the file; a table named after a
//! command holds for that command only. A preset is such a table that is built in; it gives way to
//! the file, and both give way to flags: they become the defaults of the command's arguments before
//! the command line is parsed.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use absentia::suggest;
use absentia_job::keys::{text_of, usual_name};
use absentia_job::{ConfigFile, Entry, Preset};
use clap::builder::{ArgPredicate, OsStr as ArgText};
use clap::{Arg, ArgAction, Command};
use toml::Value;

use crate::failure::Refusal;

/// Yields the command with the values of its `--config` file and its `--preset` as defaults.
///
/// # Errors
/// A file that cannot be read, a key that the command does not know, a value that it does not take.
pub(crate) fn with_defaults(command: Command, argv: &[OsString]) -> anyhow::Result<Command> {
    let mut built = command.clone();
    built.build();
    let verbs: Vec<String> = built
        .get_subcommands()
        .map(|verb| verb.get_name().to_owned())
        .collect();
    let Some(arguments) = verb_of(argv, &verbs).and_then(|verb| built.find_subcommand(verb)) else {
        return Ok(command);
    };
    let verb = arguments.get_name();
    let file = value_of(argv, "--config").map(|path| ConfigFile::read(Path::new(&path)));
    let file = file.transpose()?;
    let entries = file.as_ref().map_or_else(Vec::new, |file| {
        let own = |table: &str| table == verb || !verbs.iter().any(|verb| table == verb);
        let holds = |entry: &&Entry| entry.table.as_deref().is_none_or(own);
        file.entries.iter().filter(holds).collect()
    });
    let mut defaults: Vec<DefaultValue> = Vec::new();
    let mut add = |default: Option<DefaultValue>| {
        let Some(default) = default else { return };
        // Those that come later win.
        defaults.retain(|earlier| earlier.id != default.id);
        defaults.push(default);
    };
    if let Some(preset) = preset(argv, &entries) {
        for (key, value) in preset.table() {
            // Presets are for training; other commands take of them what they have.
            if find(arguments, &key).is_ok() {
                add(DefaultValue::new(arguments, &key, &value)?);
            }
        }
    }
    for (entry, file) in entries.into_iter().zip(file.iter().cycle()) {
        let key = match &entry.table {
            Some(table) if table != verb => table,
            _ => &entry.key,
        };
        let default = DefaultValue::new(arguments, key, &entry.value);
        let place = format!("{}:{}", file.path.display(), entry.line);
        add(default.map_err(|refusal| refusal.at(&place))?);
    }
    let put = |arg: Arg| {
        let default = defaults.iter().find(|default| default.id == *arg.get_id());
        match default {
            Some(default) => default.put_into(arg),
            None => arg,
        }
    };
    let verb = verb.to_owned();
    let command = command.mut_args(put);
    Ok(command.mut_subcommand(verb, |verb| verb.mut_args(put)))
}

/// The command that the words name.
fn verb_of(argv: &[OsString], verbs: &[String]) -> Option<String> {
    let takes_value =
        |word: &OsStr| word == "--config" || word == "--threads" || word == "--memory-limit";
    let at = (1..argv.len()).find(|&at| {
        let is_verb = verbs.iter().any(|verb| argv[at] == **verb);
        is_verb && !takes_value(&argv[at - 1])
    })?;
    argv[at].to_str().map(str::to_owned)
}

/// The value of a flag that is given as two words or as one, the last one if it is given again.
fn value_of(argv: &[OsString], flag: &str) -> Option<OsString> {
    let mut value = None;
    let mut words = argv.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        if word == flag {
            value = words.next().cloned();
        } else if let Some(rest) = word.to_str().and_then(|word| word.strip_prefix(flag)) {
            value = rest.strip_prefix('=').map(OsString::from).or(value);
        }
    }
    value
}

/// The preset that the command line or the file names; anything else is refused as an argument.
fn preset(argv: &[OsString], file: &[&Entry]) -> Option<Preset> {
    if let Some(name) = value_of(argv, "--preset") {
        return name.to_str()?.parse().ok();
    }
    let entry = file.iter().rev().find(|entry| entry.key == "preset")?;
    entry.value.as_str()?.parse().ok()
}

/// Why an argument does not take a text, found by parsing it alone.
fn check(arg: &Arg, text: &str) -> Result<(), String> {
    let name = "value";
    let alone = Arg::new(name)
        .long(name)
        .value_parser(arg.get_value_parser().clone())
        .allow_hyphen_values(true);
    let alone = match arg.get_value_delimiter() {
        Some(delimiter) => alone.value_delimiter(delimiter),
        None => alone,
    };
    let command = Command::new("check").no_binary_name(true).arg(alone);
    let parsed = command.try_get_matches_from([format!("--{name}={text}")]);
    let Err(error) = parsed else { return Ok(()) };
    let reason = std::error::Error::source(&error).map(ToString::to_string);
    let possible: Vec<String> = arg
        .get_possible_values()
        .iter()
        .map(|value| value.get_name().to_owned())
        .collect();
    Err(match reason {
        Some(reason) => reason,
        None => format!("expected one of {}", possible.join(", ")),
    })
}

/// What an argument is when it is not on the command line.
struct DefaultValue {
    id: String,
    texts: Vec<String>,
    /// Arguments whose presence on the command line rules this one out.
    conflicts: Vec<(String, ArgPredicate)>,
    is_switch: bool,
}

impl DefaultValue {
    /// The default of the argument that a key names; none if the value says that it is not given.
    fn new(command: &Command, key: &str, value: &Value) -> Result<Option<Self>, Refusal> {
        let wrong = |reason: &str| Refusal::usage(format!("{key} = {value}: {reason}"));
        let mut arg = find(command, key)?;
        let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
        let texts = if is_switch {
            let on = value
                .as_bool()
                .ok_or_else(|| wrong("expected true or false"))?;
            if !on {
                match find(command, &format!("no-{key}")) {
                    Ok(opposite) => arg = opposite,
                    Err(_) => return Ok(None),
                }
            }
            vec!["true".to_owned()]
        } else {
            let texts = texts(value);
            let texts =
                texts.ok_or_else(|| wrong("expected a text, a number or an array of them"))?;
            for text in &texts {
                check(arg, text).map_err(|reason| wrong(&reason))?;
            }
            texts
        };
        // A conflict is declared on one of the two arguments.
        let declares = |one: &Arg, other: &Arg| {
            let mut conflicts = command.get_arg_conflicts_with(one).into_iter();
            conflicts.any(|arg| arg.get_id() == other.get_id())
        };
        let conflicts = command
            .get_arguments()
            .filter(|other| declares(arg, other) || declares(other, arg));
        Ok(Some(Self {
            id: arg.get_id().to_string(),
            texts,
            conflicts: conflicts
                .map(|other| (other.get_id().to_string(), presence(other)))
                .collect(),
            is_switch,
        }))
    }

    fn put_into(&self, arg: Arg) -> Arg {
        let otherwise = self.is_switch.then_some("false");
        let conflicts = self.conflicts.iter().cloned();
        arg.required(false)
            .default_values(self.texts.iter().map(ArgText::from))
            .default_value_ifs(conflicts.map(|(other, presence)| (other, presence, otherwise)))
    }
}

/// When an argument is on the command line; a switch always has a value.
fn presence(arg: &Arg) -> ArgPredicate {
    match arg.get_action() {
        ArgAction::SetTrue => ArgPredicate::Equals("true".into()),
        _ => ArgPredicate::IsPresent,
    }
}

/// A value, or each value of an array, as it would be written on the command line.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(values) => values.iter().map(text_of).collect(),
        value => Some(vec![text_of(value)?]),
    }
}

/// The name of an argument in a file.
fn key_of(arg: &Arg) -> String {
    match arg.get_long() {
        Some(long) => long.to_owned(),
        None => arg.get_id().as_str().replace('_', "-"),
    }
}

fn find<'c>(command: &'c Command, key: &str) -> Result<&'c Arg, Refusal> {
    if let Some(arg) = command.get_arguments().find(|arg| key_of(arg) == key) {
        return Ok(arg);
    }
    let known: Vec<String> = command.get_arguments().map(key_of).collect();
    let mut similar = suggest::similar(key, known.iter().map(String::as_str));
    if let Some(usual) = usual_name(key).filter(|usual| known.iter().any(|key| key == usual)) {
        similar = vec![usual];
    }
    let verb = command.get_name();
    let hint = suggest::did_you_mean(&similar)
        .unwrap_or_else(|| format!("`absentia {verb} --help` lists what there is"));
    let message = format!("unknown key {key:?}: `absentia {verb}` takes no such argument");
    Err(Refusal::usage(message).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use absentia_job::keys::typed;
    use clap::{ArgMatches, CommandFactory, FromArgMatches};
    use toml::Table;

    use crate::cli::Cli;

    /// Every argument in force by its key, defaults included.
    fn effective(command: &Command, matches: &ArgMatches) -> Table {
        let mut table = Table::new();
        for arg in command.get_arguments() {
            let key = key_of(arg);
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

    /// The arguments in force under a configuration, by their keys.
    fn in_force(config: &str, argv: &[&str]) -> anyhow::Result<Table> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("run.toml");
        std::fs::write(&path, config)?;
        let mut words: Vec<OsString> = argv.iter().map(OsString::from).collect();
        words.push("--config".into());
        words.push(path.into());
        let mut command = with_defaults(Cli::command(), &words)?;
        let matches = command.try_get_matches_from_mut(words)?;
        Cli::from_arg_matches(&matches)?;
        let (verb, matches) = matches.subcommand().expect("a command");
        Ok(effective(
            command.find_subcommand(verb).expect("known"),
            matches,
        ))
    }

    #[test]
    fn keys_hold_where_flags_are_not_given() -> anyhow::Result<()> {
        let config = "data = ['a.csv', 'b.csv']\nfactors = 8\nseed = 3\nheader = false\n";
        let table = in_force(config, &["absentia", "train", "--seed", "4"])?;
        assert_eq!(table["factors"], Value::Integer(8));
        assert_eq!(table["seed"], Value::Integer(4));
        assert_eq!(table["no-header"], Value::Boolean(true));
        assert_eq!(table["data"].as_array().map(Vec::len), Some(2));
        let table = in_force(config, &["absentia", "train", "c.csv"])?;
        assert_eq!(table["data"].as_array().map(Vec::len), Some(1));
        Ok(())
    }

    #[test]
    fn a_flag_rules_out_the_keys_it_conflicts_with() -> anyhow::Result<()> {
        let config = "valid-split = 'leave-one-out'\nheader = false";
        let words = ["absentia", "train", "d.csv", "--valid", "v.csv", "--header"];
        let table = in_force(config, &words)?;
        assert!(table.contains_key("valid") && !table.contains_key("valid-split"));
        assert!(table.contains_key("header") && !table.contains_key("no-header"));
        Ok(())
    }

    #[test]
    fn presets_give_way_to_files_and_files_to_flags() -> anyhow::Result<()> {
        let weights = |config: &str, flags: &[&str]| -> anyhow::Result<(String, bool)> {
            let mut argv = vec!["absentia", "train", "d.csv"];
            argv.extend(flags);
            let table = in_force(config, &argv)?;
            let has_targets = table.contains_key("targets");
            Ok((table["weights"].to_string(), has_targets))
        };
        let (alone, has_targets) = weights("", &["--preset", "ratings"])?;
        assert!(alone.contains("popularity") && has_targets);
        let (both, _) = weights("weights = 'uniform:0.1'", &["--preset=ratings"])?;
        assert!(both.contains("uniform:0.1") && !both.contains("popularity"));
        let (flag, has_targets) = weights("preset = 'ratings'", &["--weights", "uniform:0.5"])?;
        assert!(flag.contains("uniform:0.5") && !flag.contains("popularity") && has_targets);
        Ok(())
    }

    #[test]
    fn tables_hold_for_their_command_only() -> anyhow::Result<()> {
        let config = "[train]\nfactors = 8\n[evaluate]\nat = [5]\n";
        let table = in_force(config, &["absentia", "train", "d.csv"])?;
        assert_eq!(table["factors"], Value::Integer(8));
        assert!(!table.contains_key("at"));
        Ok(())
    }

    #[test]
    fn errors_have_the_file_and_the_line() {
        let wrong = |config: &str| {
            let error = in_force(config, &["absentia", "train", "d.csv"]).expect_err("wrong");
            error.to_string()
        };
        for (config, expected) in [
            ("seed = 1\nfactor = 8", "run.toml:2: unknown key \"factor\""),
            (
                "factors = 'many'",
                "run.toml:1: factors = \"many\": invalid digit",
            ),
            (
                "\n\nconfidence = 'decay:30'",
                "run.toml:3: confidence = \"decay:30\": expected",
            ),
            (
                "targets = 'rough'",
                "run.toml:1: targets = \"rough\": expected raw",
            ),
            (
                "[train]\nheader = 1",
                "run.toml:2: header = 1: expected true or false",
            ),
            (
                "preset = 'all'",
                "run.toml:1: preset = \"all\": expected one of clicks",
            ),
            ("data = [", "run.toml:1: "),
        ] {
            let text = wrong(config);
            assert!(text.contains(expected), "{text}");
        }
    }
}
