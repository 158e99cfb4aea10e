//! Schemes as a line of text, for command lines, configuration files and saved parameters.

mod error;
mod options;

use std::fmt;
use std::str::FromStr;

pub use error::{SpecError, SpecErrorKind};
pub(super) use options::{SchemeOptions, Syntax, Vocabulary};

use super::default::MEAN;
use super::scheme::{ByPath, Scheme, SchemeSpec, Term};
use super::schemes::{FACTORS, SYNTAXES, read_product, usual_options};
use crate::suggest::closest;

impl FromStr for SchemeSpec {
    type Err = SpecError;

    fn from_str(line: &str) -> Result<Self, SpecError> {
        let terms = split_terms(line).into_iter();
        let terms: Result<Vec<_>, SpecError> = terms.map(|term| read_term(line, term)).collect();
        Ok(Scheme::sum(terms?.into_iter().map(Scheme::One)))
    }
}

/// Cuts at each `+` that starts another scheme; that of `1e+3` or of a file's name does not.
fn split_terms(line: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let mut start = 0;
    for (at, _) in line.match_indices('+') {
        let rest = line[at + 1..].trim_start();
        let spaced = line[..at].ends_with(' ') && line[at + 1..].starts_with(' ');
        if spaced || names_schemes(rest) {
            terms.push(line[start..at].trim());
            start = at + 1;
        }
    }
    terms.push(line[start..].trim());
    terms
}

/// Cuts at the `*` between schemes that each have options.
fn split_product(term: &str) -> Vec<&str> {
    let mut schemes = Vec::new();
    let mut start = 0;
    for (at, _) in term.match_indices('*') {
        if term[start..at].contains(':') && names_schemes(term[at + 1..].trim_start()) {
            schemes.push(term[start..at].trim());
            start = at + 1;
        }
    }
    schemes.push(term[start..].trim());
    schemes
}

/// Whether a text starts with the name of a scheme or with names of factors.
fn names_schemes(text: &str) -> bool {
    let head = text.split_once(':').map(|(head, _)| head);
    head.is_some_and(|head| {
        head.split('*')
            .all(|name| known().any(|known| known == name.trim()))
    })
}

/// Every name of a scheme or factor.
fn known() -> impl Iterator<Item = &'static str> {
    let schemes = SYNTAXES.into_iter().map(|syntax| syntax.words.name);
    FACTORS.into_iter().chain(schemes)
}

fn read_term(line: &str, term: &str) -> Result<Term<ByPath>, SpecError> {
    let mut product: Option<Term<ByPath>> = None;
    for scheme in split_product(term) {
        let next = read_scheme(line, scheme)?;
        product = match product {
            None => Some(next),
            Some(before) => Some(before.times(next).ok_or_else(|| no_product(line, term))?),
        };
    }
    product.ok_or_else(|| no_product(line, term))
}

fn no_product(line: &str, word: &str) -> SpecError {
    SpecError {
        position: options::position(line, word),
        kind: SpecErrorKind::Product {
            word: word.to_owned(),
        },
    }
}

fn read_scheme(line: &str, scheme: &str) -> Result<Term<ByPath>, SpecError> {
    let (head, options) = match scheme.split_once(':') {
        Some((head, options)) => (head.trim(), Some(options)),
        None => (scheme, None),
    };
    let names: Vec<&str> = head.split('*').map(str::trim).collect();
    let unknown = names
        .iter()
        .find(|name| known().all(|known| known != **name));
    if let Some(&word) = unknown {
        let kind = SpecErrorKind::Scheme {
            word: word.to_owned(),
            suggestion: closest(word, known()),
        };
        let position = options::position(line, word);
        return Err(SpecError { position, kind });
    }
    let mut of_name = SYNTAXES
        .into_iter()
        .filter(|syntax| syntax.words.name == head);
    if let Some(syntax) = of_name.next() {
        let usual = syntax.strength;
        let usual = usual.map_or_else(String::new, |name| format!("{name}={MEAN}"));
        let options = options.unwrap_or(&usual);
        let mut options = SchemeOptions::new(line, scheme, &syntax.words, options)?;
        let term = (syntax.read)(&mut options)?;
        options.finish()?;
        return Ok(term);
    }
    let once = |name: &&str| names.iter().filter(|other| *other == name).count() == 1;
    if !names
        .iter()
        .all(|name| FACTORS.contains(name) && once(name))
    {
        return Err(no_product(line, head));
    }
    let usual = usual_options(&names);
    read_product(line, scheme, &names, options.unwrap_or(&usual))
}

impl fmt::Display for SchemeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, term) in self.terms().iter().enumerate() {
            let plus = if at == 0 { "" } else { " + " };
            write!(f, "{plus}{term}")?;
        }
        Ok(())
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for SchemeSpec {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for SchemeSpec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::SpecError;
    use crate::weights::SchemeSpec;

    fn parse(text: &str) -> Result<SchemeSpec, SpecError> {
        text.parse()
    }

    #[test]
    fn every_form_is_written_as_it_is_read() {
        for text in [
            "uniform:0.01",
            "popularity:c0=512,alpha=0.4",
            "popularity:mean=0.1,alpha=0.25",
            "activity:mean=0.1,alpha=-0.5",
            "popularity*activity:mean=0.1,alpha=0.4,beta=0.5",
            "groups:table.csv,users=segments.csv,items=categories.csv",
            "lowrank:A.npy,B.npy",
            "dense:W.npy,rank=8,method=nonnegative",
            "learned:mean=0.01,rank=8,alpha=0.5,rounds=3,seed=7",
            "learned:mean=0.01,rank=4,alpha=0.25,rounds=2",
            "dense:W.npy,error=0.05,max_rank=32,method=svd",
            "uniform:0.01 + popularity*activity:c0=1,alpha=0.4,beta=0 + lowrank:a+b.npy,B.npy",
            "popularity:mean=0.1,alpha=0.4 * groups:table.csv,users=u.csv,items=i.csv + uniform:1",
            "popularity*activity:c0=1,alpha=0.4,beta=0 * learned:mean=1,rank=4,alpha=0.25,rounds=2",
            "activity:c0=1,alpha=0.4 * lowrank:a*b.npy,B.npy",
            "age:mean=0.1,slices=20,sharpness=0.1",
            "age:mean=0.1,slices=20,sharpness=0.5,withdrawn=0.2,released=dates.csv",
            "available:c0=0.1,slices=month,sharpness=1000",
            "popularity*activity*age*available:c0=2,alpha=0.25,beta=0.5,slices=20,sharpness=0",
            "popularity*age:mean=0.1,alpha=0.25,slices=20,sharpness=0.1 * lowrank:A.npy,B.npy",
        ] {
            assert_eq!(
                parse(text).map(|spec| spec.to_string()),
                Ok(text.to_owned())
            );
        }
    }

    #[test]
    fn spaces_order_and_defaults_are_free() {
        let spec = parse(" popularity : alpha = 0.4 , c0=512+uniform:weight=1e+1").expect("read");
        assert_eq!(spec.to_string(), "popularity:c0=512,alpha=0.4 + uniform:10");
        let spec = parse("activity * popularity:alpha=0.4,beta=0,c0=1").expect("read");
        assert_eq!(
            spec.to_string(),
            "popularity*activity:c0=1,alpha=0.4,beta=0"
        );
        let spec = parse("dense:W.npy,rank=2*popularity:c0=1,alpha=0.5").expect("read");
        assert_eq!(
            spec.to_string(),
            "popularity:c0=1,alpha=0.5 * dense:W.npy,rank=2,method=svd"
        );
        let spec = parse("age*activity:c0=1,beta=0,released=d.csv").expect("read");
        assert_eq!(
            spec.to_string(),
            "activity*age:c0=1,beta=0,slices=20,sharpness=0.1,released=d.csv"
        );
        assert_eq!(spec.paths(), [Path::new("d.csv")]);
        let spec = parse("dense:W.npy,error=0.05").expect("read");
        assert_eq!(
            spec.to_string(),
            "dense:W.npy,error=0.05,max_rank=64,method=svd"
        );
        assert_eq!(spec.paths(), [Path::new("W.npy")]);
        assert!(spec.scheme().is_none());
        let spec = parse("groups:table.csv,users.csv,items.csv").expect("read");
        assert_eq!(
            spec.to_string(),
            "groups:table.csv,users=users.csv,items=items.csv"
        );
    }

    #[test]
    fn names_alone_have_the_usual_options() {
        for (text, meant) in [
            ("popularity", "popularity:mean=0.01,alpha=0.25"),
            ("uniform", "uniform:0.01"),
            (
                "activity + learned",
                "activity:mean=0.01,alpha=0.25 + learned:mean=0.01,rank=4,alpha=0.25,rounds=2",
            ),
            (
                "popularity*activity",
                "popularity*activity:mean=0.01,alpha=0.25,beta=0.25",
            ),
            (
                "popularity*age",
                "popularity*age:mean=0.01,alpha=0.25,slices=20,sharpness=0.1",
            ),
            ("available", "available:mean=0.01,slices=20,sharpness=0.1"),
        ] {
            assert_eq!(
                parse(text).map(|spec| spec.to_string()),
                Ok(meant.to_owned())
            );
        }
        for (text, missing) in [
            ("groups", "table is missing"),
            ("lowrank", "a is missing"),
            ("dense", "is missing"),
        ] {
            let message = parse(text).expect_err(text).to_string();
            assert!(message.contains(missing), "{text}: {message}");
        }
    }

    #[test]
    fn errors_name_the_word_and_what_is_accepted() {
        for (text, expected) in [
            ("popular:c0=1", "'popular' is not a weight scheme"),
            ("uniform:0.1 + best:3", "'best' is not a weight scheme"),
            ("", "'' is not a weight scheme"),
            ("uniform:lots", "'lots' is not a value of weight"),
            ("uniform:", "weight is missing"),
            (
                "popularity:c0=1",
                "alpha is missing; it takes c0= or mean=, and alpha=",
            ),
            (
                "popularity:c0=1,mean=2,alpha=0",
                "'mean=2' cannot be combined with another option",
            ),
            (
                "popularity:c0=1,alpha=0,gamma=2",
                "'gamma=2' is not an option",
            ),
            ("dense:W.npy,rank=x", "'x' is not a value of rank"),
            (
                "dense:W.npy,rank=4,method=qr",
                "it must be svd or nonnegative",
            ),
            ("lowrank:A.npy", "b is missing"),
            ("popularty:c0=1", "did you mean popularity?"),
            ("activity*popularty:c0=1", "'popularty' is not a weight"),
            ("popularity*popularity:c0=1", "is not a product"),
            ("age:sharpness=1", "c0 or mean is missing"),
            ("age:c0=1,slices=0", "a number from 1 to 1000, or day"),
            ("available:c0=1,alpha=2", "'alpha=2' is not an option"),
            ("age:c0=1,sharpnes=2", "did you mean sharpness=?"),
            ("age:c0=1,sharpness=-1", "at least 0"),
            ("available:c0=1 * lowrank:a,b", "is not a product"),
            ("age*age:c0=1", "is not a product"),
            (
                "popularity*groups:t,u,i",
                "'popularity*groups' is not a product",
            ),
            ("lowrank:a,b * lowrank:a,b", "is not a product"),
            ("activity:c0=1,alpha=0 * uniform:1", "is not a product"),
            (
                "activity:c0=1,alpha=0 * activity:c0=1,alpha=0",
                "is not a product",
            ),
            (
                "popularity:mean=1,alfa=2",
                "'alfa=2' is not an option; did you mean alpha=?",
            ),
            ("popularity:mean=1,alpha=x", "alpha=x"),
            (
                "popularity:mean=1,alpha=1,alpha=2",
                "alpha= is given more than once",
            ),
            ("uniform:nan", "'nan' is not a value of weight"),
            ("uniform:-1", "at least 0"),
            ("uniform:inf", "finite"),
        ] {
            let message = parse(text).expect_err(text).to_string();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }

    #[test]
    fn errors_have_the_position_of_the_word() {
        for (text, position) in [
            ("popular:c0=1", 0),
            (" uniform:0.1 + best:3", 15),
            ("popularity:mean=1,alfa=2", 18),
            ("popularity:mean=1,alpha=x", 24),
            ("uniform:1 + popularity:mean=1", 12),
            ("lowrank:ä.npy,B.npy,C.npy", 20),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!(error.position, position, "{text}: {error}");
        }
        let message = parse("uniform:1+best:3").expect_err("best").to_string();
        assert!(
            message.starts_with("uniform:") || message.contains("'1+best:3'"),
            "{message}"
        );
    }
}
