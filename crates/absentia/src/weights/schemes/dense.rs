//! Every weight given, approximated by factors.

use std::path::PathBuf;

use super::{ResolvedTerm, SchemeTerm, TermColumns};
use crate::data::Interactions;
use crate::error::Axis;
use crate::linalg::Dense;
use crate::weights::approximation::{Approximation, Decomposition, Rank, approximate_dense};
use crate::weights::error::WeightsError;
use crate::weights::resolved::{NewRowValues, Pair};
use crate::weights::scheme::Term;
use crate::weights::text::{Syntax, Vocabulary};

pub(super) const NAME: &str = "dense";

/// Weights given in full, to be approximated by A and B; `T` is how they are held.
#[derive(Clone, Debug, PartialEq)]
pub struct Approximated<T> {
    /// W, its path, or the rule that yields it.
    pub source: T,
    /// How close the approximation has to be.
    pub rank: Rank,
    /// Which factors approximate it.
    pub method: Decomposition,
}

pub(in crate::weights) const SYNTAX: Syntax = Syntax {
    words: Vocabulary {
        name: NAME,
        accepted: "the path of W, rank= or error= (with max_rank=), and method=svd|nonnegative",
        options: &["w", "rank", "error", "max_rank", "method"],
    },
    strength: None,
    read: |options| {
        Ok(Term::Dense(Approximated {
            source: options.path("w")?,
            rank: Rank::read(options)?,
            method: Decomposition::read(options)?,
        }))
    },
};

impl std::fmt::Display for Approximated<PathBuf> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            source,
            rank,
            method,
        } = self;
        write!(f, "{NAME}:{},{rank},method={method}", source.display())
    }
}

impl SchemeTerm for Approximated<Dense> {
    fn resolve(&self, data: &Interactions<'_>) -> Result<TermColumns, WeightsError> {
        let found = approximate_dense(&self.source, data, self.rank, self.method)?;
        Ok(TermColumns {
            a: found.a,
            b: found.b,
            term: Term::Dense(found.approximation),
        })
    }
}

impl ResolvedTerm for Approximation {
    fn reason(&self, _: &Pair<'_>) -> String {
        format!("reconstruction of the given W: {self}")
    }

    fn new_row(&self, axis: Axis, given: &mut NewRowValues<'_>) -> Result<Vec<f32>, WeightsError> {
        given.next_row(NAME, axis)
    }

    fn approximation(&self) -> Option<&Approximation> {
        Some(self)
    }
}
