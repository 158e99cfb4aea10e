//! Settings for common kinds of data, which were found by searches on public data.
//!
//! A preset is a built-in configuration file: its values are used for keys that were not given.
//! `docs/accuracy.md` says what each was measured on.

use std::fmt;
use std::str::FromStr;

use absentia::error::TextError;
use toml::{Table, Value};

/// A kind of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Preset {
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
type PresetKeys = &'static [(&'static str, &'static str)];

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 4] = [
        Self::Clicks,
        Self::Ratings,
        Self::Plays,
        Self::ViewsPurchases,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Clicks => "clicks",
            Self::Ratings => "ratings",
            Self::Plays => "plays",
            Self::ViewsPurchases => "views-purchases",
        }
    }

    /// Its keys and values.
    #[must_use]
    pub fn table(self) -> Table {
        let value =
            |(key, text): &(&str, &str)| ((*key).to_owned(), Value::String((*text).to_owned()));
        self.keys().iter().map(value).collect()
    }

    fn keys(self) -> PresetKeys {
        // None sets the regularization: what suits one data set of a kind does not suit the next, so
        // that it is better chosen on rows held out.
        match self {
            Self::Clicks | Self::Ratings => &[
                ("weights", "popularity:mean=0.02,alpha=0.25"),
                ("targets", "normalized:0.1"),
            ],
            Self::Plays => &[
                ("duplicates", "sum"),
                ("confidence", "log:0.5,1"),
                ("weights", "popularity:mean=0.02,alpha=0.25"),
                ("targets", "normalized:0.1"),
            ],
            Self::ViewsPurchases => &[
                ("duplicates", "max"),
                ("weights", "popularity:mean=0.0085,alpha=0.2"),
            ],
        }
    }
}

impl FromStr for Preset {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let named = Self::ALL.into_iter().find(|preset| preset.name() == text);
        named.ok_or_else(|| TextError::new(text, "clicks, ratings, plays or views-purchases"))
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Job;

    /// A key that no job has would be a setting that does nothing.
    #[test]
    fn every_key_is_one_of_a_job() {
        for preset in Preset::ALL {
            let mut job = Job::default();
            for (key, value) in preset.table() {
                job.set(&key, &value).expect("a key of a job");
            }
            assert_eq!(preset.name().parse(), Ok(preset));
        }
    }
}
