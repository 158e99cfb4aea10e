//! Settings for common kinds of data, measured once so that nobody has to search for them.
//!
//! A preset is a configuration file that is built in: its keys hold where neither the command line
//! nor `--config` says otherwise. `docs/accuracy.md` has what each was measured on.

use toml::{Table, Value};

/// A kind of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Preset {
    /// Clicks, visits, check-ins, purchases: it happened or it did not.
    Clicks,
    /// Ratings: that something was rated counts, as a click does; see --min-rating.
    Ratings,
    /// Plays and other counts: more is surer.
    Plays,
    /// Views and purchases in one log: whatever happened between a user and an item counts once.
    ViewsPurchases,
}

/// Keys and values of a preset, as a configuration file has them.
type Keys = &'static [(&'static str, &'static str)];

impl Preset {
    /// The preset of a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        use clap::ValueEnum as _;
        Self::from_str(name, false).ok()
    }

    /// Its keys, of which `knows` says which a command has.
    pub(crate) fn table(self, knows: impl Fn(&str) -> bool) -> Table {
        let known = self.keys().iter().filter(|(key, _)| knows(key));
        let value =
            |(key, text): &(&str, &str)| ((*key).to_owned(), Value::String((*text).to_owned()));
        known.map(value).collect()
    }

    /// What it stands for, as it would be written on the command line.
    pub(crate) fn flags(self) -> String {
        let flags = self
            .keys()
            .iter()
            .map(|(key, value)| format!("--{key} {value}"));
        flags.collect::<Vec<_>>().join(" ")
    }

    fn keys(self) -> Keys {
        // None sets a penalty: what suits one data set of a kind does not suit the next, so that it
        // is better chosen on rows held out.
        match self {
            Preset::Clicks | Preset::Ratings => &[
                ("weights", "popularity:mean=0.02,alpha=0.25"),
                ("targets", "normalized:0.1"),
            ],
            Preset::Plays => &[
                ("duplicates", "sum"),
                ("confidence", "log:0.5,1"),
                ("weights", "popularity:mean=0.02,alpha=0.25"),
                ("targets", "normalized:0.1"),
            ],
            Preset::ViewsPurchases => &[
                ("duplicates", "max"),
                ("weights", "popularity:mean=0.0085,alpha=0.2"),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, ValueEnum};

    /// A key that no command has would be a setting that does nothing.
    #[test]
    fn every_key_is_an_argument_of_train() {
        let command = crate::cli::Cli::command();
        let train = command
            .find_subcommand("train")
            .expect("train is a command");
        for preset in Preset::value_variants() {
            let table = preset.table(|_| true);
            assert!(!table.is_empty());
            for key in table.keys() {
                let known = train.get_arguments().any(|arg| arg.get_long() == Some(key));
                assert!(known, "{key}");
            }
        }
    }
}
