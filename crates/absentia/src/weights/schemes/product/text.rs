//! Products as text: `popularity*activity:mean=0.1,alpha=0.4,beta=0.5`.

use super::{Factors, Product};
use crate::weights::scheme::{ByPath, Term};
use crate::weights::schemes::Strength;
use crate::weights::text::{Options, SpecError, Vocabulary};

/// Names of the factors, in the order in which they are written.
pub(in crate::weights) const FACTORS: [&str; 2] = ["popularity", "activity"];

/// Reads the options of a product; `names` are those of its factors, each of which occurs once.
pub(in crate::weights) fn read(
    line: &str,
    term: &str,
    names: &[&str],
    options: &str,
) -> Result<Term<ByPath>, SpecError> {
    let factors = Factors {
        popularity: names.contains(&FACTORS[0]),
        activity: names.contains(&FACTORS[1]),
    };
    let exponents = [
        factors.popularity.then_some("alpha"),
        factors.activity.then_some(factors.activity_option()),
    ];
    let needed: Vec<&str> = exponents.into_iter().flatten().collect();
    let shown: Vec<String> = needed.iter().map(|name| format!("{name}=")).collect();
    let words = Vocabulary {
        name: &factors.to_string(),
        accepted: &format!("c0= or mean=, and {}", shown.join(" and ")),
        options: &[&["c0", "mean"], &needed[..]].concat(),
    };
    let mut options = Options::new(line, term, &words, options)?;
    let strength = Strength::read(&mut options)?;
    let mut exponent = |name: Option<&'static str>| {
        let exponent = name.map(|name| options.number(name));
        exponent.transpose()
    };
    let product = Product::new(strength, exponent(exponents[0])?, exponent(exponents[1])?);
    options.finish()?;
    Ok(Term::Product(product))
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
        match &self.other {
            Some(other) => write!(f, " * {other}"),
            None => Ok(()),
        }
    }
}
