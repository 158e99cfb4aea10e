//! The same weight for every missing entry.

use super::{ResolvedTerm, SchemeTerm, TermColumns, check_at_least_zero};
use crate::data::Interactions;
use crate::error::Axis;
use crate::linalg::Dense;
use crate::weights::error::WeightsError;
use crate::weights::resolved::{NewRowValues, Pair};
use crate::weights::scheme::{Scheme, Term};
use crate::weights::text::{Syntax, Vocabulary};

pub(super) const NAME: &str = "uniform";

/// `w_ui = w₀`: A is w₀, B is 1, Z = 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Uniform {
    /// w₀ ≥ 0.
    pub weight: f32,
}

pub(in crate::weights) const SYNTAX: Syntax = Syntax {
    words: Vocabulary {
        name: NAME,
        accepted: "a weight, as in uniform:0.01",
        options: &["weight"],
    },
    strength: Some("weight"),
    read: |options| {
        let weight = options.weight("weight")?;
        Ok(Term::Uniform(Uniform { weight }))
    },
};

impl std::fmt::Display for Uniform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{NAME}:{}", self.weight)
    }
}

impl SchemeTerm for Uniform {
    fn resolve(&self, data: &Interactions<'_>) -> Result<TermColumns, WeightsError> {
        check_at_least_zero(NAME, "weight", self.weight)?;
        Ok(TermColumns {
            a: Dense::from_fn(data.n_users(), 1, |_, _| self.weight),
            b: Dense::from_fn(data.n_items(), 1, |_, _| 1.0),
            term: Term::Uniform(*self),
        })
    }
}

impl ResolvedTerm for Uniform {
    fn reason(&self, _: &Pair<'_>) -> String {
        format!("{} for every missing entry", self.weight)
    }

    fn new_row(&self, axis: Axis, _: &mut NewRowValues<'_>) -> Result<Vec<f32>, WeightsError> {
        Ok(match axis {
            Axis::User => vec![self.weight],
            Axis::Item => vec![1.0],
        })
    }

    fn scheme(&self) -> Option<Scheme> {
        Some(Scheme::uniform(self.weight))
    }
}
