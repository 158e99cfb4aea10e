//! Every weight given by a rule, approximated by factors.

use std::str::FromStr;

use super::{Approximated, ResolvedTerm, SchemeTerm, TermColumns};
use crate::data::Interactions;
use crate::error::Axis;
use crate::weights::approximation::{
    Approximation, Decomposition, Rank, WeightFunction, approximate_rule,
};
use crate::weights::error::WeightsError;
use crate::weights::resolved::{NewRowValues, Pair};
use crate::weights::scheme::Term;
use crate::weights::text::{SchemeOptions, SpecError, Vocabulary};

pub(super) const NAME: &str = "function";

/// A rule on data: how well A and B approximate it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct ResolvedFunction(pub Approximation);

/// The options of an approximation, without what is approximated: `rank=8,method=nonnegative`.
impl FromStr for Approximated<()> {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut options = SchemeOptions::new(text, text, &OPTIONS, text)?;
        let approximated = Self {
            source: (),
            rank: Rank::read(&mut options)?,
            method: Decomposition::read(&mut options)?,
        };
        options.finish()?;
        Ok(approximated)
    }
}

const OPTIONS: Vocabulary = Vocabulary {
    name: NAME,
    accepted: "rank= or error= (with max_rank=), and method=svd|nonnegative",
    options: &["rank", "error", "max_rank", "method"],
};

impl SchemeTerm for Approximated<WeightFunction> {
    fn resolve(&self, data: &Interactions<'_>) -> Result<TermColumns, WeightsError> {
        let found = approximate_rule(self.source.rule(), data, self.rank, self.method)?;
        Ok(TermColumns {
            a: found.a,
            b: found.b,
            term: Term::Function(ResolvedFunction(found.approximation)),
        })
    }
}

impl ResolvedTerm for ResolvedFunction {
    fn reason(&self, _: &Pair<'_>) -> String {
        format!("reconstruction of the weight function: {}", self.0)
    }

    fn new_row(&self, axis: Axis, given: &mut NewRowValues<'_>) -> Result<Vec<f32>, WeightsError> {
        given.next_row(NAME, axis)
    }

    fn approximation(&self) -> Option<&Approximation> {
        Some(&self.0)
    }
}
