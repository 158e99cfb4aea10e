//! Arguments from a file: the keys of a TOML table hold where a flag is not given.
//!
//! A key is the long name of a flag without its dashes, or the name of a positional argument in
//! lower case. Keys at the top hold for every command that reads the file; a table named after a
//! command holds for that command only.
//!
//! Keys of a job are set by the job itself, after the command line was parsed and where it does not name
//! them. The other arguments of a command become defaults of clap.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use absentia::suggest;
use absentia_job::keys::{text_of, usual_name};
use absentia_job::{ConfigFile, Entry, JobError};
use clap::builder::{ArgPredicate, OsStr as ArgText};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use toml::Value;

use crate::cli::Verb;
use crate::failure::{Places, Refusal};

/// The configuration file of a command; it may be none.
pub(crate) struct Config {
    file: Option<ConfigFile>,
    keys: Vec<GivenKey>,
}

/// A key that the file has.
struct GivenKey {
    entry: Entry,
    /// Number of the group of the job that it belongs to; none for other arguments of the command.
    group: Option<usize>,
    /// Arguments that override it on the command line: its own, and those that conflict with it.
    overridden_by: Vec<String>,
}

impl Config {
    /// Reads the `--config` file of a command line, and yields the command with the file's values for
    /// arguments that are not part of a job as defaults.
    ///
    /// # Errors
    /// A file that cannot be read, a key that the command does not know, a value that it does not take.
    pub(crate) fn read(command: Command, argv: &[OsString]) -> anyhow::Result<(Self, Command)> {
        let mut config = Self {
            file: None,
            keys: Vec::new(),
        };
        let Some(path) = value_of(argv, "--config") else {
            return Ok((config, command));
        };
        let mut built = command.clone();
        built.build();
        let verbs: Vec<String> = built
            .get_subcommands()
            .map(|verb| verb.get_name().to_owned())
            .collect();
        let Some(arguments) = verb_of(argv, &verbs).and_then(|verb| built.find_subcommand(verb))
        else {
            return Ok((config, command));
        };
        let verb = arguments.get_name();
        let file = ConfigFile::read(&path)?;
        let own = |table: &str| table == verb || !verbs.iter().any(|verb| table == verb);
        let holds = |entry: &&Entry| entry.table.as_deref().is_none_or(own);
        let mut groups = Verb::empty_groups(verb);
        let mut defaults: Vec<DefaultValue> = Vec::new();
        for entry in file.entries.iter().filter(holds) {
            let mut entry = entry.clone();
            if let Some(table) = entry.table.as_ref().filter(|table| *table != verb) {
                entry.key.clone_from(table);
            }
            let at = |refusal: Refusal| refusal.at(&format!("{}:{}", path.display(), entry.line));
            let arg = find(arguments, &entry.key).map_err(at)?;
            // Arguments of every command are not those of its job.
            let mut candidates = groups.iter_mut().filter(|_| !arg.is_global_set());
            let group = candidates.position(|group| group.has_key(&entry.key));
            if let Some(group) = group {
                file.set(&entry, groups[group].as_mut())?;
            } else if let Some(default) =
                DefaultValue::new(arguments, &entry.key, &entry.value).map_err(at)?
            {
                // Those that come later win.
                defaults.retain(|earlier| earlier.id != default.id);
                defaults.push(default);
            }
            config
                .keys
                .push(GivenKey::new(arguments, arg, entry, group));
        }
        let is_given = |arg: &Arg| {
            config
                .keys
                .iter()
                .any(|key| key.overridden_by[0] == *arg.get_id())
        };
        let put = |arg: Arg| {
            let default = defaults.iter().find(|default| default.id == *arg.get_id());
            match default {
                Some(default) => default.put_into(arg),
                None if is_given(&arg) => arg.required(false),
                None => arg,
            }
        };
        let verb = verb.to_owned();
        let command = command.mut_args(put);
        let command = command.mut_subcommand(verb, |verb| verb.mut_args(put));
        config.file = Some(file);
        Ok((config, command))
    }

    /// Sets the keys of a job that the command line does not give.
    ///
    /// # Errors
    /// A value that cannot be read.
    pub(crate) fn set_keys(&self, verb: &mut Verb, matches: &ArgMatches) -> Result<(), JobError> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let mut groups = verb.groups();
        for key in self.in_force(matches) {
            if let Some(group) = key.group {
                file.set(&key.entry, groups[group])?;
            }
        }
        Ok(())
    }

    /// The lines of the file whose values the command line does not override.
    pub(crate) fn places(&self, matches: &ArgMatches) -> Places {
        let mut places = Places::default();
        if let Some(file) = &self.file {
            for GivenKey { entry, .. } in self.in_force(matches) {
                places.add(
                    &entry.key,
                    format!("{}:{}", file.path.display(), entry.line),
                );
            }
        }
        places
    }

    /// The keys that the command line does not override.
    fn in_force<'c>(&'c self, matches: &'c ArgMatches) -> impl Iterator<Item = &'c GivenKey> {
        let given = matches.subcommand().map(|(_, given)| given);
        let is_given = move |id: &String| {
            given.and_then(|given| given.value_source(id)) == Some(ValueSource::CommandLine)
        };
        let keys = self.keys.iter();
        keys.filter(move |key| !key.overridden_by.iter().any(is_given))
    }
}

impl GivenKey {
    fn new(command: &Command, arg: &Arg, entry: Entry, group: Option<usize>) -> Self {
        let conflicts = conflicts(command, arg).map(|other| other.get_id().to_string());
        Self {
            entry,
            group,
            overridden_by: std::iter::once(arg.get_id().to_string())
                .chain(conflicts)
                .collect(),
        }
    }
}

/// The arguments that cannot be given together with this one: a conflict is declared on one of the two.
fn conflicts<'c>(command: &'c Command, arg: &'c Arg) -> impl Iterator<Item = &'c Arg> {
    let declares = |one: &Arg, other: &Arg| {
        let mut conflicts = command.get_arg_conflicts_with(one).into_iter();
        conflicts.any(|arg| arg.get_id() == other.get_id())
    };
    command
        .get_arguments()
        .filter(move |other| declares(arg, other) || declares(other, arg))
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
fn value_of(argv: &[OsString], flag: &str) -> Option<PathBuf> {
    let mut value = None;
    let mut words = argv.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        if word == flag {
            value = words.next().cloned();
        } else if let Some(rest) = word.to_str().and_then(|word| word.strip_prefix(flag)) {
            value = rest.strip_prefix('=').map(OsString::from).or(value);
        }
    }
    value.map(PathBuf::from)
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
    let reason = std::error::Error::source(&error).map(absentia_job::keys::reason);
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
        Ok(Some(Self {
            id: arg.get_id().to_string(),
            texts,
            conflicts: conflicts(command, arg)
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
    if let Some(usual) = usual_name(key, |usual| known.iter().any(|key| key == usual)) {
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
    use toml::Table;

    use crate::cli::{Cli, ParseError, parse};

    /// The command under a configuration.
    fn parsed(config: &str, argv: &[&str]) -> anyhow::Result<Cli> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("run.toml");
        std::fs::write(&path, config)?;
        let mut words: Vec<OsString> = argv.iter().map(OsString::from).collect();
        words.push("--config".into());
        words.push(path.into());
        parse(words).map_err(|error| match error {
            ParseError::Clap(error) => error.into(),
            ParseError::Config(error) => error,
        })
    }

    /// The keys of the job of `train` under a configuration.
    fn in_force(config: &str, argv: &[&str]) -> anyhow::Result<Table> {
        let Verb::Train(train) = parsed(config, argv)?.verb else {
            anyhow::bail!("another command");
        };
        Ok(train.job.with_preset()?.table())
    }

    #[test]
    fn arguments_beside_the_job_are_taken_too() -> anyhow::Result<()> {
        let config = "solver = ['als', 'eals']\nfactors = 8\nat = [5, 10]\nthreads = 3\nseed = 2";
        let words = ["absentia", "compare", "d.csv", "--at", "7", "--seed", "4"];
        let cli = parsed(config, &words)?;
        assert_eq!(cli.global.threads, Some(3));
        let text = format!("{:?}", cli.verb);
        for expected in [
            "factors: Some(8)",
            "seed: Some(4)",
            "at: [7]",
            "Als), Solver(Eals)",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        Ok(())
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
                "run.toml:1: factors = \"many\": expected a whole number",
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
                "run.toml:1: preset = \"all\": expected clicks",
            ),
            ("data = [", "run.toml:1: "),
        ] {
            let text = wrong(config);
            assert!(text.contains(expected), "{text}");
        }
    }
}
