//! Weights by popularity of items: the paper's.

use super::{Part, ResolvedTerm, SchemeTerm, Strength, check_finite, column, scaled_column};
use crate::data::Interactions;
use crate::error::Axis;
use crate::weights::error::WeightsError;
use crate::weights::resolved::{NewRowValues, Normaliser, Pair};
use crate::weights::scheme::{Scheme, Term};
use crate::weights::text::{Syntax, Vocabulary};

const NAME: &str = "popularity";

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
    fn resolve(&self, data: &Interactions<'_>) -> Result<Part, WeightsError> {
        check_finite(NAME, "alpha", self.alpha)?;
        let counts = data.item_counts();
        let (items, shares) = Normaliser::of_counts(NAME, Axis::Item, self.alpha, &counts)?;
        let c0 = self
            .strength
            .c0(NAME, data, &vec![1.0; data.n_users()], &shares)?;
        Ok(Part {
            a: column(vec![c0 as f32; data.n_users()]),
            b: scaled_column(&shares, 1.0),
            term: Term::Popularity(ResolvedPopularity { c0, items }),
        })
    }
}

impl ResolvedTerm for ResolvedPopularity {
    fn reason(&self, pair: &Pair<'_>) -> String {
        format!("c0 {} × {}", self.c0 as f32, pair.item_share(&self.items))
    }

    fn new_row(&self, axis: Axis, given: &mut NewRowValues<'_>) -> Result<Vec<f32>, WeightsError> {
        Ok(vec![match axis {
            Axis::User => self.c0 as f32,
            Axis::Item => given.share(NAME, axis, 1.0, &self.items)?,
        }])
    }

    fn scheme(&self) -> Option<Scheme> {
        let strength = Strength::C0(self.c0 as f32);
        Some(Scheme::popularity(strength, self.items.exponent))
    }
}
