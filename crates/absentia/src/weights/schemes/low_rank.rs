//! Given factors A and B of the weights.

use std::path::PathBuf;

use super::{ResolvedTerm, SchemeTerm, TermColumns};
use crate::data::Interactions;
use crate::error::Axis;
use crate::linalg::Dense;
use crate::weights::error::WeightsError;
use crate::weights::resolved::{NewRowValues, Pair};
use crate::weights::scheme::Term;
use crate::weights::text::{Syntax, Vocabulary};

pub(super) const NAME: &str = "lowrank";

/// `w_ui = a_u · b_i` with A, `(M, Z)`, and B, `(N, Z)`, given; `T` is how they are held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LowRank<T> {
    /// A.
    pub a: T,
    /// B.
    pub b: T,
}

/// [`LowRank`] on data: A and B are all there is to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GivenFactors;

pub(in crate::weights) const SYNTAX: Syntax = Syntax {
    words: Vocabulary {
        name: NAME,
        accepted: "the paths of A and B",
        options: &["a", "b"],
    },
    strength: None,
    read: |options| {
        Ok(Term::LowRank(LowRank {
            a: options.path("a")?,
            b: options.path("b")?,
        }))
    },
};

impl std::fmt::Display for LowRank<PathBuf> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{NAME}:{},{}", self.a.display(), self.b.display())
    }
}

impl SchemeTerm for LowRank<Dense> {
    fn resolve(&self, data: &Interactions<'_>) -> Result<TermColumns, WeightsError> {
        let sides = [
            ("A", Axis::User, &self.a, data.n_users()),
            ("B", Axis::Item, &self.b, data.n_items()),
        ];
        for (what, axis, given, expected) in sides {
            if given.rows() != expected {
                return Err(WeightsError::Rows {
                    what,
                    axis,
                    expected,
                    got: given.rows(),
                });
            }
        }
        Ok(TermColumns {
            a: self.a.clone(),
            b: self.b.clone(),
            term: Term::LowRank(GivenFactors),
        })
    }
}

impl ResolvedTerm for GivenFactors {
    fn reason(&self, pair: &Pair<'_>) -> String {
        format!(
            "the user's row of A times the item's row of B, which were given with rank Z = {}",
            pair.a_u.len()
        )
    }

    fn new_row(&self, axis: Axis, given: &mut NewRowValues<'_>) -> Result<Vec<f32>, WeightsError> {
        given.next_row(NAME, axis)
    }
}
