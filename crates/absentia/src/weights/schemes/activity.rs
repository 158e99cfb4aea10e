//! Weights by activity of users.

use super::{Part, ResolvedTerm, SchemeTerm, Strength, check_finite, column, scaled_column};
use crate::data::Interactions;
use crate::error::Axis;
use crate::weights::error::WeightsError;
use crate::weights::resolved::{NewRowValues, Normaliser, Pair};
use crate::weights::scheme::{Scheme, Term};
use crate::weights::text::{Syntax, Vocabulary};

const NAME: &str = "activity";

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
    fn resolve(&self, data: &Interactions<'_>) -> Result<Part, WeightsError> {
        check_finite(NAME, "alpha", self.alpha)?;
        let counts = data.user_counts();
        let (users, shares) = Normaliser::of_counts(NAME, Axis::User, self.alpha, &counts)?;
        let c0 = self
            .strength
            .c0(NAME, data, &shares, &vec![1.0; data.n_items()])?;
        Ok(Part {
            a: scaled_column(&shares, c0),
            b: column(vec![1.0; data.n_items()]),
            term: Term::Activity(ResolvedActivity { c0, users }),
        })
    }
}

impl ResolvedTerm for ResolvedActivity {
    fn reason(&self, pair: &Pair<'_>) -> String {
        let share = pair.user_share(self.c0, &self.users);
        format!("c0 {} × {share}", self.c0 as f32)
    }

    fn new_row(&self, axis: Axis, given: &mut NewRowValues<'_>) -> Result<Vec<f32>, WeightsError> {
        Ok(vec![match axis {
            Axis::User => given.share(NAME, axis, self.c0, &self.users)?,
            Axis::Item => 1.0,
        }])
    }

    fn scheme(&self) -> Option<Scheme> {
        let strength = Strength::C0(self.c0 as f32);
        Some(Scheme::activity(strength, self.users.exponent))
    }
}
