//! Weights by activity of users.

use super::frequency::{Exponents, ResolvedFrequencies};
use super::{ResolvedTerm, SchemeTerm, Strength, TermColumns};
use crate::data::Interactions;
use crate::error::Axis;
use crate::weights::error::WeightsError;
use crate::weights::resolved::{NewRowValues, Normaliser, Pair};
use crate::weights::scheme::{Scheme, Term};
use crate::weights::text::{Syntax, Vocabulary};

pub(super) const NAME: &str = "activity";

/// `w_ui = c0 f_u^α / Σ_v f_v^α`: A has the normalised powers times c0, B is 1, Z = 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activity {
    /// c0, or the mean weight it should lead to.
    pub strength: Strength,
    /// Exponent α; 0 is uniform.
    pub alpha: f32,
}

/// [`Activity`] on data.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ResolvedActivity {
    /// c0, also where a mean was requested.
    pub c0: f64,
    /// Exponent and normaliser of the users.
    pub users: Normaliser,
}

pub(in crate::weights) const SYNTAX: Syntax = Syntax {
    words: Vocabulary {
        name: NAME,
        accepted: "c0= or mean=, and alpha=",
        options: &["c0", "mean", "alpha"],
    },
    read: |options| {
        Ok(Term::Activity(Activity {
            strength: Strength::read(options)?,
            alpha: options.number("alpha")?,
        }))
    },
};

impl std::fmt::Display for Activity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{NAME}:{},alpha={}", self.strength, self.alpha)
    }
}

impl SchemeTerm for Activity {
    fn resolve(&self, data: &Interactions<'_>) -> Result<TermColumns, WeightsError> {
        let exponents = Exponents {
            scheme: NAME,
            items: None,
            users: Some(("alpha", self.alpha)),
        };
        let found = exponents.resolve(self.strength, data)?;
        Ok(TermColumns {
            a: found.a,
            b: found.b,
            term: Term::Activity(ResolvedActivity {
                c0: found.c0,
                users: found.users,
            }),
        })
    }
}

impl ResolvedActivity {
    fn frequencies(&self) -> ResolvedFrequencies<'_> {
        ResolvedFrequencies {
            scheme: NAME,
            c0: self.c0,
            items: None,
            users: Some(&self.users),
        }
    }
}

impl ResolvedTerm for ResolvedActivity {
    fn reason(&self, pair: &Pair<'_>) -> String {
        self.frequencies().reason(pair)
    }

    fn new_row(&self, axis: Axis, given: &mut NewRowValues<'_>) -> Result<Vec<f32>, WeightsError> {
        self.frequencies().new_row(axis, given)
    }

    fn scheme(&self) -> Option<Scheme> {
        let strength = Strength::C0(self.c0 as f32);
        Some(Scheme::activity(strength, self.users.exponent))
    }
}
