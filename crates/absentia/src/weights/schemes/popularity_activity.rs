//! Weights by popularity of items times activity of users.

use super::frequency::{Exponents, ResolvedFrequencies};
use super::{ResolvedTerm, SchemeTerm, Strength, TermColumns};
use crate::data::Interactions;
use crate::error::Axis;
use crate::weights::error::WeightsError;
use crate::weights::resolved::{NewRowValues, Normaliser, Pair};
use crate::weights::scheme::{Scheme, Term};
use crate::weights::text::{Syntax, Vocabulary};

pub(super) const NAME: &str = "popularity*activity";

/// `w_ui = c0 (f_u^β / Σ_v f_v^β) (f_i^α / Σ_j f_j^α)`, Z = 1; c0 is in A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PopularityActivity {
    /// c0, or the mean weight it should lead to.
    pub strength: Strength,
    /// Exponent α of items.
    pub alpha: f32,
    /// Exponent β of users.
    pub beta: f32,
}

/// [`PopularityActivity`] on data.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ResolvedPopularityActivity {
    /// c0, also where a mean was requested.
    pub c0: f64,
    /// Exponent and normaliser of the items.
    pub items: Normaliser,
    /// Exponent and normaliser of the users.
    pub users: Normaliser,
}

pub(in crate::weights) const SYNTAX: Syntax = Syntax {
    words: Vocabulary {
        name: NAME,
        accepted: "c0= or mean=, alpha= (items) and beta= (users)",
        options: &["c0", "mean", "alpha", "beta"],
    },
    read: |options| {
        Ok(Term::PopularityActivity(PopularityActivity {
            strength: Strength::read(options)?,
            alpha: options.number("alpha")?,
            beta: options.number("beta")?,
        }))
    },
};

impl std::fmt::Display for PopularityActivity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            strength,
            alpha,
            beta,
        } = self;
        write!(f, "{NAME}:{strength},alpha={alpha},beta={beta}")
    }
}

impl SchemeTerm for PopularityActivity {
    fn resolve(&self, data: &Interactions<'_>) -> Result<TermColumns, WeightsError> {
        let exponents = Exponents {
            scheme: NAME,
            items: Some(("alpha", self.alpha)),
            users: Some(("beta", self.beta)),
        };
        let found = exponents.resolve(self.strength, data)?;
        Ok(TermColumns {
            a: found.a,
            b: found.b,
            term: Term::PopularityActivity(ResolvedPopularityActivity {
                c0: found.c0,
                items: found.items,
                users: found.users,
            }),
        })
    }
}

impl ResolvedPopularityActivity {
    fn frequencies(&self) -> ResolvedFrequencies<'_> {
        ResolvedFrequencies {
            scheme: NAME,
            c0: self.c0,
            items: Some(&self.items),
            users: Some(&self.users),
        }
    }
}

impl ResolvedTerm for ResolvedPopularityActivity {
    fn reason(&self, pair: &Pair<'_>) -> String {
        self.frequencies().reason(pair)
    }

    fn new_row(&self, axis: Axis, given: &mut NewRowValues<'_>) -> Result<Vec<f32>, WeightsError> {
        self.frequencies().new_row(axis, given)
    }

    fn scheme(&self) -> Option<Scheme> {
        let strength = Strength::C0(self.c0 as f32);
        let (alpha, beta) = (self.items.exponent, self.users.exponent);
        Some(Scheme::popularity_activity(strength, alpha, beta))
    }
}
