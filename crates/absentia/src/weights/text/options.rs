//! The options of one scheme in a line of text.

use std::path::PathBuf;
use std::str::FromStr;

use super::error::{SpecError, SpecErrorKind};
use crate::suggest::closest;
use crate::weights::scheme::{ByPath, Term};

const AT_LEAST_ZERO: &str = "a finite number of at least 0";

/// The words of a scheme.
pub(in crate::weights) struct Vocabulary<'v> {
    /// Name of the scheme.
    pub(in crate::weights) name: &'v str,
    /// What it takes, in words.
    pub(in crate::weights) accepted: &'v str,
    /// Names of its options.
    pub(in crate::weights) options: &'v [&'static str],
}

/// How a scheme is written.
pub(in crate::weights) struct Syntax {
    /// Its name and options.
    pub(in crate::weights) words: Vocabulary<'static>,
    /// The option that says how strong it is, which has a default if the scheme is named without options;
    /// those that are made of files have none.
    pub(in crate::weights) strength: Option<&'static str>,
    /// Reads its options.
    pub(in crate::weights) read: fn(&mut SchemeOptions<'_>) -> Result<Term<ByPath>, SpecError>,
}

/// The options of one scheme that have not been read yet.
pub(in crate::weights) struct SchemeOptions<'t> {
    /// The whole line.
    line: &'t str,
    /// The scheme and its options.
    term: &'t str,
    vocabulary: &'t Vocabulary<'t>,
    words: Vec<&'t str>,
}

impl<'t> SchemeOptions<'t> {
    /// Splits `options` at commas; `line` and `term` contain them and are there for positions.
    ///
    /// # Errors
    /// Names of options that the scheme does not have, and names that occur twice.
    pub(in crate::weights) fn new(
        line: &'t str,
        term: &'t str,
        vocabulary: &'t Vocabulary<'t>,
        options: &'t str,
    ) -> Result<Self, SpecError> {
        let words = options.split(',').map(str::trim);
        let options = Self {
            line,
            term,
            vocabulary,
            words: words.filter(|word| !word.is_empty()).collect(),
        };
        options.check_names()?;
        Ok(options)
    }

    fn check_names(&self) -> Result<(), SpecError> {
        let mut seen = Vec::new();
        for word in &self.words {
            let Some((name, _)) = word.split_once('=') else {
                continue;
            };
            let mut known = self.vocabulary.options.iter();
            let Some(&name) = known.find(|known| **known == name.trim()) else {
                let suggestion = closest(name.trim(), self.vocabulary.options.iter().copied());
                return Err(self.unknown(word, suggestion));
            };
            if seen.contains(&name) {
                let scheme = self.vocabulary.name.to_owned();
                return Err(self.error(word, SpecErrorKind::Repeated { scheme, name }));
            }
            seen.push(name);
        }
        Ok(())
    }

    /// Takes the value of `name=value`.
    pub(in crate::weights) fn named(&mut self, name: &'static str) -> Option<&'t str> {
        let value = |word: &'t str| word.strip_prefix(name)?.trim_start().strip_prefix('=');
        let at = self.words.iter().position(|word| value(word).is_some())?;
        value(self.words.remove(at)).map(str::trim)
    }

    /// Takes `name=value`, or else the first word without a name.
    fn named_or_first(&mut self, name: &'static str) -> Result<&'t str, SpecError> {
        if let Some(value) = self.named(name) {
            return Ok(value);
        }
        match self.words.iter().position(|word| !word.contains('=')) {
            Some(at) => Ok(self.words.remove(at)),
            None => Err(self.missing(name)),
        }
    }

    /// Takes a finite number.
    pub(in crate::weights) fn number(&mut self, name: &'static str) -> Result<f32, SpecError> {
        let value = self.named(name).ok_or_else(|| self.missing(name))?;
        self.finite(name, value, f32::NEG_INFINITY, "a finite number")
    }

    /// Takes a weight, with or without its name.
    pub(in crate::weights) fn weight(&mut self, name: &'static str) -> Result<f32, SpecError> {
        let value = self.named_or_first(name)?;
        self.value_at_least_zero(name, value)
    }

    /// Takes a number of at least 0.
    pub(in crate::weights) fn at_least_zero(
        &mut self,
        name: &'static str,
    ) -> Result<f32, SpecError> {
        let value = self.named(name).ok_or_else(|| self.missing(name))?;
        self.value_at_least_zero(name, value)
    }

    /// Takes a path, with or without its name.
    pub(in crate::weights) fn path(&mut self, name: &'static str) -> Result<PathBuf, SpecError> {
        self.named_or_first(name).map(PathBuf::from)
    }

    /// Reads a number of at least 0 from a value that was taken.
    pub(in crate::weights) fn value_at_least_zero(
        &self,
        name: &'static str,
        value: &str,
    ) -> Result<f32, SpecError> {
        self.finite(name, value, 0.0, AT_LEAST_ZERO)
    }

    /// Reads a whole number from a value that was taken.
    pub(in crate::weights) fn whole<T: FromStr>(
        &self,
        name: &'static str,
        value: &str,
    ) -> Result<T, SpecError> {
        let accepted = "a whole number";
        let number = value.parse();
        number.map_err(|_| self.bad_value(name, value, accepted))
    }

    fn finite(
        &self,
        name: &'static str,
        value: &str,
        least: f32,
        accepted: &'static str,
    ) -> Result<f32, SpecError> {
        let number = value.parse::<f32>().ok();
        number
            .filter(|number| number.is_finite() && *number >= least)
            .ok_or_else(|| self.bad_value(name, value, accepted))
    }

    /// Rejects a value that was taken.
    pub(in crate::weights) fn bad_value(
        &self,
        name: &'static str,
        value: &str,
        accepted: &'static str,
    ) -> SpecError {
        let kind = SpecErrorKind::Value {
            scheme: self.vocabulary.name.to_owned(),
            name,
            value: value.to_owned(),
            accepted,
        };
        self.error(value, kind)
    }

    /// Rejects an option whose value was taken because it contradicts another.
    pub(in crate::weights) fn conflict(&self, name: &str, value: &str) -> SpecError {
        let kind = SpecErrorKind::Conflict {
            scheme: self.vocabulary.name.to_owned(),
            word: format!("{name}={value}"),
            accepted: self.vocabulary.accepted.to_owned(),
        };
        self.error(value, kind)
    }

    /// Says which option is missing.
    pub(in crate::weights) fn missing(&self, name: &'static str) -> SpecError {
        let kind = SpecErrorKind::Missing {
            scheme: self.vocabulary.name.to_owned(),
            name,
            accepted: self.vocabulary.accepted.to_owned(),
        };
        self.error(self.term, kind)
    }

    fn unknown(&self, word: &str, suggestion: Option<&'static str>) -> SpecError {
        let kind = SpecErrorKind::Option {
            scheme: self.vocabulary.name.to_owned(),
            word: word.to_owned(),
            suggestion,
            accepted: self.vocabulary.accepted.to_owned(),
        };
        self.error(word, kind)
    }

    fn error(&self, word: &str, kind: SpecErrorKind) -> SpecError {
        let position = position(self.line, word);
        SpecError { position, kind }
    }

    /// Rejects words that no option has taken.
    pub(in crate::weights) fn finish(self) -> Result<(), SpecError> {
        match self.words.first() {
            None => Ok(()),
            Some(word) => Err(self.unknown(word, None)),
        }
    }
}

/// Number of characters of `line` before `word`, a slice of it; 0 for any other word.
pub(super) fn position(line: &str, word: &str) -> usize {
    let offset = (word.as_ptr() as usize).checked_sub(line.as_ptr() as usize);
    let before = offset.and_then(|offset| line.get(..offset));
    before.map_or(0, |before| before.chars().count())
}
