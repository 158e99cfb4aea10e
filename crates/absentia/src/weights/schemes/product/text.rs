//! Products as text: `popularity*activity:mean=0.1,alpha=0.4,beta=0.5`.

use std::fmt::Write as _;

use super::{Product, ProductFactors};
use crate::weights::default::{EXPONENT, MEAN};
use crate::weights::scheme::{ByPath, Term};
use crate::weights::schemes::Strength;
use crate::weights::schemes::presence::{OPTIONS, Presence, TimeFactor};
use crate::weights::text::{SchemeOptions, SpecError, Vocabulary};

/// Names of the factors, in the order in which they are written.
pub(in crate::weights) const FACTORS: [&str; 4] = ["popularity", "activity", "age", "available"];

/// The options of a product that is named without any.
pub(in crate::weights) fn usual_options(names: &[&str]) -> String {
    let has = |at: usize| names.contains(&FACTORS[at]);
    let activity = if names.len() > 1 { "beta" } else { "alpha" };
    let exponents = [(has(0), "alpha"), (has(1), activity)];
    let mut options = format!("mean={MEAN}");
    for (_, name) in exponents.into_iter().filter(|(has, _)| *has) {
        let _ = write!(options, ",{name}={EXPONENT}");
    }
    options
}

/// Reads the options of a product; `names` are those of its factors, each of which occurs once.
pub(in crate::weights) fn read(
    line: &str,
    term: &str,
    names: &[&str],
    options: &str,
) -> Result<Term<ByPath>, SpecError> {
    let factors = ProductFactors {
        popularity: names.contains(&FACTORS[0]),
        activity: names.contains(&FACTORS[1]),
        time: match (names.contains(&FACTORS[2]), names.contains(&FACTORS[3])) {
            (false, false) => None,
            (true, false) => Some(TimeFactor::Age),
            (false, true) => Some(TimeFactor::Available),
            (true, true) => Some(TimeFactor::Both),
        },
    };
    let exponents = [
        factors.popularity.then_some("alpha"),
        factors.activity.then_some(factors.activity_option()),
    ];
    let needed: Vec<&str> = exponents.into_iter().flatten().collect();
    let optional = factors.time.map_or(&[][..], |_| &OPTIONS);
    let words = Vocabulary {
        name: &factors.to_string(),
        accepted: &accepted(&needed, optional),
        options: &[&["c0", "mean"], &needed[..], optional].concat(),
    };
    let mut options = SchemeOptions::new(line, term, &words, options)?;
    let strength = Strength::read(&mut options)?;
    let mut exponent = |name: Option<&'static str>| {
        let exponent = name.map(|name| options.number(name));
        exponent.transpose()
    };
    let mut product = Product::new(strength, exponent(exponents[0])?, exponent(exponents[1])?);
    let presence = factors.time.map(|time| Presence::read(time, &mut options));
    product.presence = presence.transpose()?;
    options.finish()?;
    Ok(Term::Product(product))
}

/// What a product takes, in words.
fn accepted(needed: &[&str], optional: &[&str]) -> String {
    let list = |before: &str, names: &[&str]| match names {
        [] => String::new(),
        names => {
            let names: Vec<String> = names.iter().map(|name| format!("{name}=")).collect();
            format!(", {before} {}", names.join(", "))
        }
    };
    let (needed, optional) = (list("and", needed), list("optionally", optional));
    format!("c0= or mean={needed}{optional}")
}

impl std::fmt::Display for Product<ByPath> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let factors = self.factors();
        write!(f, "{factors}:{}", self.strength)?;
        if let Some(alpha) = self.popularity {
            write!(f, ",alpha={alpha}")?;
        }
        if let Some(beta) = self.activity {
            write!(f, ",{}={beta}", factors.activity_option())?;
        }
        if let Some(presence) = &self.presence {
            write!(f, ",{presence}")?;
        }
        match &self.other {
            Some(other) => write!(f, " * {other}"),
            None => Ok(()),
        }
    }
}
