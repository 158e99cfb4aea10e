//! Weights by popularity of items times activity of users.

use super::{Part, ResolvedTerm, SchemeTerm, Strength, check_finite, scaled_column};
use crate::data::Interactions;
use crate::error::Axis;
use crate::weights::error::WeightsError;
use crate::weights::resolved::{NewRowValues, Normaliser, Pair};
use crate::weights::scheme::{Scheme, Term};
use crate::weights::text::{Syntax, Vocabulary};

const NAME: &str = "popularity*activity";

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
    fn resolve(&self, data: &Interactions<'_>) -> Result<Part, WeightsError> {
        check_finite(NAME, "alpha", self.alpha)?;
        check_finite(NAME, "beta", self.beta)?;
        let (item_counts, user_counts) = (data.item_counts(), data.user_counts());
        let (items, popular) = Normaliser::of_counts(NAME, Axis::Item, self.alpha, &item_counts)?;
        let (users, active) = Normaliser::of_counts(NAME, Axis::User, self.beta, &user_counts)?;
        let c0 = self.strength.c0(NAME, data, &active, &popular)?;
        Ok(Part {
            a: scaled_column(&active, c0),
            b: scaled_column(&popular, 1.0),
            term: Term::PopularityActivity(ResolvedPopularityActivity { c0, items, users }),
        })
    }
}

impl ResolvedTerm for ResolvedPopularityActivity {
    fn reason(&self, pair: &Pair<'_>) -> String {
        let (popular, active) = (
            pair.item_share(&self.items),
            pair.user_share(self.c0, &self.users),
        );
        format!("c0 {} × {popular} × {active}", self.c0 as f32)
    }

    fn new_row(&self, axis: Axis, given: &mut NewRowValues<'_>) -> Result<Vec<f32>, WeightsError> {
        Ok(vec![match axis {
            Axis::User => given.share(NAME, axis, self.c0, &self.users)?,
            Axis::Item => given.share(NAME, axis, 1.0, &self.items)?,
        }])
    }

    fn scheme(&self) -> Option<Scheme> {
        let strength = Strength::C0(self.c0 as f32);
        let (alpha, beta) = (self.items.exponent, self.users.exponent);
        Some(Scheme::popularity_activity(strength, alpha, beta))
    }
}
