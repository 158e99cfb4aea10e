//! The options of `cargo xtask accuracy table`.

use super::HELP;
use super::sets::{SOURCES, Source, open_sources};

/// The arguments, understood.
#[derive(Debug)]
pub(super) struct Options {
    /// Time of each search.
    pub(super) seconds: u32,
    pub(super) sources: Vec<&'static Source>,
    /// Whether searches that were finished are repeated.
    pub(super) again: bool,
}

impl Options {
    pub(super) fn read(words: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            seconds: 180,
            sources: open_sources().collect(),
            again: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || {
                words
                    .next()
                    .ok_or_else(|| format!("{word}: a value is missing"))
            };
            match *word {
                "--seconds" => options.seconds = seconds(value()?)?,
                "--only" => options.sources = named(value()?)?,
                "--again" => options.again = true,
                other => return Err(format!("{other}: no such option\n\n{HELP}")),
            }
        }
        Ok(options)
    }
}

fn seconds(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|&seconds| seconds > 0);
    number.ok_or_else(|| format!("--seconds {text}: expected a whole number above 0"))
}

fn named(text: &str) -> Result<Vec<&'static Source>, String> {
    let one = |name: &str| {
        let found = SOURCES.iter().find(|source| source.id == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = SOURCES.iter().map(|source| source.id).collect();
            format!("--only {name}: expected some of {}", known.join(", "))
        })
    };
    text.split(',').map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_is_every_open_set_for_three_minutes() {
        let options = Options::read(&[]).unwrap();
        assert_eq!((options.seconds, options.again), (180, false));
        assert_eq!(options.sources.len(), SOURCES.len() - 1);
    }

    #[test]
    fn options_are_taken_in_any_order() {
        let words = ["--again", "--only", "kuairec,gowalla", "--seconds", "15"];
        let options = Options::read(&words).unwrap();
        let ids: Vec<&str> = options.sources.iter().map(|source| source.id).collect();
        assert_eq!(ids, ["kuairec", "gowalla"]);
        assert_eq!((options.seconds, options.again), (15, true));
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        for words in [
            &["--only", "netflix"][..],
            &["--seconds", "0"],
            &["--seconds"],
            &["--tea"],
        ] {
            let refused = Options::read(words).unwrap_err();
            assert!(refused.contains(words[words.len() - 1]), "{refused}");
        }
    }
}
