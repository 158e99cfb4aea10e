//! How a column of the weights on missing entries follows the counts.

use std::fmt;

use crate::sides::Sides;
use crate::weights::{FrozenPart, InMemory, MissingWeights, Scheme, Strength, Term};

/// Whether weights on missing entries follow the counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum WeightMode {
    /// As at the last refit.
    #[default]
    Frozen,
    /// Weights by popularity and activity are exact after every event; all others are as at the last
    /// refit.
    Live,
}

impl fmt::Display for WeightMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Frozen => "frozen",
            Self::Live => "live",
        })
    }
}

/// How one column of the weights follows the counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rule {
    /// Not at all.
    Frozen,
    /// By powers of them.
    Live {
        exponents: Sides<Option<f32>>,
        strength: Strength,
    },
}

/// The rule of every column.
pub(super) fn rules(weights: &MissingWeights, scheme: &Scheme, mode: WeightMode) -> Vec<Rule> {
    let parts = weights.frozen().parts.iter().zip(scheme.terms());
    let of_part = |(part, term): (&FrozenPart, &Term<InMemory>)| {
        let live = live_rule(term).filter(|_| mode == WeightMode::Live && part.rank == 1);
        vec![live.unwrap_or(Rule::Frozen); part.rank]
    };
    parts.flat_map(of_part).collect()
}

/// The rule of a term that follows the counts.
pub(super) fn live_rule(term: &Term<InMemory>) -> Option<Rule> {
    let Term::Product(product) = term else {
        return None;
    };
    if product.presence.is_some() || product.other.is_some() {
        return None;
    }
    Some(Rule::Live {
        exponents: Sides {
            users: product.activity,
            items: product.popularity,
        },
        strength: product.strength,
    })
}

/// `n^α`, with 0^0 = 1; a row without interactions has no weight under a negative exponent.
pub(super) fn power(count: u32, exponent: f32) -> f32 {
    if count == 0 && exponent < 0.0 {
        return 0.0;
    }
    f64::from(count).powf(f64::from(exponent)) as f32
}
