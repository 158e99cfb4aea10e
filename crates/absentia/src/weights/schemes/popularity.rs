//! Weights by popularity of items: the paper's.

use super::frequency::{Exponents, ResolvedFrequencies};
use super::{ResolvedTerm, SchemeTerm, Strength, TermColumns};
use crate::data::Interactions;
use crate::error::Axis;
use crate::weights::error::WeightsError;
use crate::weights::resolved::{NewRowValues, Normaliser, Pair};
use crate::weights::scheme::{Scheme, Term};
use crate::weights::text::{Syntax, Vocabulary};

pub(super) const NAME: &str = "popularity";

/// `w_ui = c0 f_i^α / Σ_j f_j^α`: A is c0, B the normalised powers, Z = 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Popularity {
    /// c0, or the mean weight it should lead to.
    pub strength: Strength,
    /// Exponent α; 0 is uniform.
    pub alpha: f32,
}

/// [`Popularity`] on data.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ResolvedPopularity {
    /// c0, also where a mean was requested.
    pub c0: f64,
    /// Exponent and normaliser of the items.
    pub items: Normaliser,
}

pub(in crate::weights) const SYNTAX: Syntax = Syntax {
    words: Vocabulary {
        name: NAME,
        accepted: "c0= or mean=, and alpha=",
        options: &["c0", "mean", "alpha"],
    },
    read: |options| {
        Ok(Term::Popularity(Popularity {
            strength: Strength::read(options)?,
            alpha: options.number("alpha")?,
        }))
    },
};

impl std::fmt::Display for Popularity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{NAME}:{},alpha={}", self.strength, self.alpha)
    }
}

impl SchemeTerm for Popularity {
    fn resolve(&self, data: &Interactions<'_>) -> Result<TermColumns, WeightsError> {
        let exponents = Exponents {
            scheme: NAME,
            items: Some(("alpha", self.alpha)),
            users: None,
        };
        let found = exponents.resolve(self.strength, data)?;
        Ok(TermColumns {
            a: found.a,
            b: found.b,
            term: Term::Popularity(ResolvedPopularity {
                c0: found.c0,
                items: found.items,
            }),
        })
    }
}

impl ResolvedPopularity {
    fn frequencies(&self) -> ResolvedFrequencies<'_> {
        ResolvedFrequencies {
            scheme: NAME,
            c0: self.c0,
            items: Some(&self.items),
            users: None,
        }
    }
}

impl ResolvedTerm for ResolvedPopularity {
    fn reason(&self, pair: &Pair<'_>) -> String {
        self.frequencies().reason(pair)
    }

    fn new_row(&self, axis: Axis, given: &mut NewRowValues<'_>) -> Result<Vec<f32>, WeightsError> {
        self.frequencies().new_row(axis, given)
    }

    fn scheme(&self) -> Option<Scheme> {
        let strength = Strength::C0(self.c0 as f32);
        Some(Scheme::popularity(strength, self.items.exponent))
    }
}
