//! Reading [`SchemeSpec`].

use std::path::PathBuf;
use std::str::FromStr;

use super::learned::Learned;
use super::scheme::{Method, Rank, Strength};
use super::spec::SchemeSpec;
use super::spec_error::SpecError;
use super::spec_near::nearest;

/// Names of schemes, longest first where one starts another.
const SCHEMES: [&str; 8] = [
    "popularity*activity",
    "popularity",
    "activity",
    "uniform",
    "groups",
    "lowrank",
    "learned",
    "dense",
];

const AT_LEAST_ZERO: &str = "a finite number of at least 0";

impl FromStr for SchemeSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut terms: Vec<SchemeSpec> = split_terms(text)
            .into_iter()
            .map(parse_term)
            .collect::<Result<_, _>>()?;
        if terms.len() == 1 {
            return Ok(terms.remove(0));
        }
        Ok(SchemeSpec::Sum(terms))
    }
}

/// Cuts at each `+` that starts another scheme; that of `1e+3` or of a file's name does not.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices('+') {
        let rest = text[at + 1..].trim_start();
        let spaced = text[..at].ends_with(' ') && text[at + 1..].starts_with(' ');
        if spaced || scheme_of(rest).is_some() {
            terms.push(text[start..at].trim());
            start = at + 1;
        }
    }
    terms.push(text[start..].trim());
    terms
}

/// The scheme a text starts with, and its options.
fn scheme_of(text: &str) -> Option<(&'static str, &str)> {
    SCHEMES.iter().find_map(|&name| {
        let options = text.strip_prefix(name)?.trim_start().strip_prefix(':')?;
        Some((name, options))
    })
}

fn parse_term(text: &str) -> Result<SchemeSpec, SpecError> {
    let Some((scheme, options)) = scheme_of(text) else {
        let word = text.split(':').next().unwrap_or(text).to_owned();
        return Err(match nearest(word.trim(), &SCHEMES) {
            Some(near) => SpecError::NearScheme { word, near },
            None => SpecError::Scheme { word },
        });
    };
    let mut options = Options::new(scheme, options);
    options.check_names()?;
    let spec = match scheme {
        "uniform" => SchemeSpec::Uniform {
            weight: options.strong("weight")?,
        },
        "popularity" => SchemeSpec::Popularity {
            strength: options.strength()?,
            alpha: options.number("alpha")?,
        },
        "activity" => SchemeSpec::Activity {
            strength: options.strength()?,
            alpha: options.number("alpha")?,
        },
        "popularity*activity" => SchemeSpec::PopularityActivity {
            strength: options.strength()?,
            alpha: options.number("alpha")?,
            beta: options.number("beta")?,
        },
        "groups" => SchemeSpec::Groups {
            table: options.path("table")?,
            users: options.path("users")?,
            items: options.path("items")?,
        },
        "lowrank" => SchemeSpec::LowRank {
            a: options.path("a")?,
            b: options.path("b")?,
        },
        "learned" => SchemeSpec::Learned(options.learned()?),
        _ => SchemeSpec::Dense {
            w: options.path("w")?,
            rank: options.rank()?,
            method: options.method()?,
        },
    };
    options.finish()?;
    Ok(spec)
}

/// Options of one scheme that have not been taken yet.
struct Options<'t> {
    scheme: &'static str,
    accepted: &'static str,
    words: Vec<&'t str>,
}

impl<'t> Options<'t> {
    fn new(scheme: &'static str, text: &'t str) -> Self {
        let accepted = match scheme {
            "uniform" => "a weight, as in uniform:0.01",
            "popularity" | "activity" => "c0= or mean=, and alpha=",
            "popularity*activity" => "c0= or mean=, alpha= (items) and beta= (users)",
            "groups" => "the paths of a table, of users (or users=) and of items (or items=)",
            "lowrank" => "the paths of A and B",
            "learned" => "mean=, and if need be rank=, alpha=, rounds= and seed=",
            _ => "the path of W, rank= or error= (with max_rank=), and method=svd|nonnegative",
        };
        let words = text
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty());
        Self {
            scheme,
            accepted,
            words: words.collect(),
        }
    }

    /// Names of the options there are.
    fn names(&self) -> &'static [&'static str] {
        match self.scheme {
            "uniform" => &["weight"],
            "popularity" | "activity" => &["c0", "mean", "alpha"],
            "popularity*activity" => &["c0", "mean", "alpha", "beta"],
            "groups" => &["table", "users", "items"],
            "lowrank" => &["a", "b"],
            "learned" => &["mean", "rank", "alpha", "rounds", "seed"],
            _ => &["w", "rank", "error", "max_rank", "method"],
        }
    }

    /// Refuses names that are not known, and those that come twice.
    fn check_names(&self) -> Result<(), SpecError> {
        let mut seen = Vec::new();
        for word in &self.words {
            let Some((name, _)) = word.split_once('=') else {
                continue;
            };
            let name = name.trim();
            if !self.names().contains(&name) {
                return Err(self.unknown(word, name));
            }
            if seen.contains(&name) {
                return Err(SpecError::Repeated {
                    scheme: self.scheme,
                    name: name.to_owned(),
                });
            }
            seen.push(name);
        }
        Ok(())
    }

    fn unknown(&self, word: &str, name: &str) -> SpecError {
        let (scheme, accepted, word) = (self.scheme, self.accepted, word.to_owned());
        match nearest(name, self.names()) {
            Some(near) => SpecError::NearOption {
                scheme,
                word,
                near,
                accepted,
            },
            None => SpecError::Option {
                scheme,
                word,
                accepted,
            },
        }
    }

    /// Takes the value of `name=value`.
    fn named(&mut self, name: &'static str) -> Option<&'t str> {
        let value = |word: &'t str| word.strip_prefix(name)?.trim_start().strip_prefix('=');
        let at = self.words.iter().position(|word| value(word).is_some())?;
        value(self.words.remove(at)).map(str::trim)
    }

    /// Takes `name=value`, or the first word without a name.
    fn take(&mut self, name: &'static str) -> Result<&'t str, SpecError> {
        if let Some(value) = self.named(name) {
            return Ok(value);
        }
        let positional = matches!(
            name,
            "weight" | "table" | "users" | "items" | "a" | "b" | "w"
        );
        let at = self
            .words
            .iter()
            .position(|word| positional && !word.contains('='));
        match at {
            Some(at) => Ok(self.words.remove(at)),
            None => Err(SpecError::Missing {
                scheme: self.scheme,
                name,
                accepted: self.accepted,
            }),
        }
    }

    fn parse<T: FromStr>(
        &self,
        name: &'static str,
        value: &str,
        accepted: &'static str,
    ) -> Result<T, SpecError> {
        value.parse().map_err(|_| SpecError::Value {
            scheme: self.scheme,
            name,
            value: value.to_owned(),
            accepted,
        })
    }

    fn number(&mut self, name: &'static str) -> Result<f32, SpecError> {
        let value = self.take(name)?;
        self.finite(name, value, f32::NEG_INFINITY, "a finite number")
    }

    /// A weight or a strength.
    fn strong(&mut self, name: &'static str) -> Result<f32, SpecError> {
        let value = self.take(name)?;
        self.finite(name, value, 0.0, AT_LEAST_ZERO)
    }

    fn finite(
        &self,
        name: &'static str,
        value: &str,
        least: f32,
        accepted: &'static str,
    ) -> Result<f32, SpecError> {
        let number: f32 = self.parse(name, value, accepted)?;
        if number.is_finite() && number >= least {
            return Ok(number);
        }
        Err(SpecError::Value {
            scheme: self.scheme,
            name,
            value: value.to_owned(),
            accepted,
        })
    }

    fn path(&mut self, name: &'static str) -> Result<PathBuf, SpecError> {
        self.take(name).map(PathBuf::from)
    }

    fn strength(&mut self) -> Result<Strength, SpecError> {
        match (self.named("c0"), self.named("mean")) {
            (Some(_), Some(mean)) => Err(self.twice(format!("mean={mean}"))),
            (Some(c0), None) => self.finite("c0", c0, 0.0, AT_LEAST_ZERO).map(Strength::C0),
            (None, Some(mean)) => self
                .finite("mean", mean, 0.0, AT_LEAST_ZERO)
                .map(Strength::Mean),
            (None, None) => Err(SpecError::Missing {
                scheme: self.scheme,
                name: "c0 or mean",
                accepted: self.accepted,
            }),
        }
    }

    fn rank(&mut self) -> Result<Rank, SpecError> {
        let max_rank = match self.named("max_rank") {
            Some(word) => Some((word, self.parse("max_rank", word, "a whole number")?)),
            None => None,
        };
        match (self.named("rank"), self.named("error"), max_rank) {
            (Some(_), Some(error), _) => Err(self.twice(format!("error={error}"))),
            (Some(_), None, Some((word, _))) => Err(self.twice(format!("max_rank={word}"))),
            (Some(rank), None, None) => self.parse("rank", rank, "a whole number").map(Rank::Fixed),
            (None, Some(error), max_rank) => Ok(Rank::Error {
                target: self.finite("error", error, 0.0, AT_LEAST_ZERO)?,
                max_rank: max_rank.map_or(Rank::DEFAULT_MAX, |(_, max_rank)| max_rank),
            }),
            (None, None, _) => Err(SpecError::Missing {
                scheme: self.scheme,
                name: "rank or error",
                accepted: self.accepted,
            }),
        }
    }

    fn learned(&mut self) -> Result<Learned, SpecError> {
        let mut learned = Learned::new(self.strong("mean")?);
        if let Some(word) = self.named("alpha") {
            learned.alpha = self.finite("alpha", word, 0.0, AT_LEAST_ZERO)?;
        }
        for (name, slot) in [("rank", &mut learned.rank), ("rounds", &mut learned.rounds)] {
            if let Some(word) = self.named(name) {
                *slot = self.parse(name, word, "a whole number")?;
            }
        }
        if let Some(word) = self.named("seed") {
            learned.seed = self.parse("seed", word, "a whole number")?;
        }
        Ok(learned)
    }

    fn method(&mut self) -> Result<Method, SpecError> {
        match self.named("method") {
            None | Some("svd") => Ok(Method::Svd),
            Some("nonnegative") => Ok(Method::NonNegative),
            Some(other) => Err(SpecError::Value {
                scheme: self.scheme,
                name: "method",
                value: other.to_owned(),
                accepted: "svd or nonnegative",
            }),
        }
    }

    fn twice(&self, word: String) -> SpecError {
        SpecError::Twice {
            scheme: self.scheme,
            word,
            accepted: self.accepted,
        }
    }

    /// Refuses what nobody took.
    fn finish(self) -> Result<(), SpecError> {
        match self.words.first() {
            None => Ok(()),
            Some(word) => Err(SpecError::Option {
                scheme: self.scheme,
                word: (*word).to_owned(),
                accepted: self.accepted,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

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
            ("popularity:c0=1,mean=2,alpha=0", "'mean=2' comes on top"),
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
}
