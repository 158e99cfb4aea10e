//! Weights that are a product of factors, each of which belongs to one side, and of another scheme.
//!
//! ```text
//! w_ui = c0 x_u y_i v_ui
//! ```
//!
//! | factor | | without it |
//! | --- | --- | --- |
//! | activity, exponent β | `x_u = f_u^β / Σ_v f_v^β`, `f_u` the user's share of all interactions | 1 |
//! | popularity, exponent α | `y_i = f_i^α / Σ_j f_j^α`, `f_i` the item's share of all interactions (the paper's) | 1 |
//! | another scheme | its weight `v_ui` | 1 |
//!
//! The rank is that of the other scheme, and 1 if there is none. A has c0.

mod resolve;
mod resolved;
mod text;

pub use resolved::ResolvedProduct;
pub(in crate::weights) use text::{FACTORS, read};

use super::Strength;
use crate::weights::scheme::{SchemeForm, Term};

/// A product of factors before it is resolved on data; without factors, c0 for every entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Product<F: SchemeForm> {
    /// c0, or the mean weight it should lead to.
    pub strength: Strength,
    /// Exponent α of the popularity of items; 0 is uniform.
    pub popularity: Option<f32>,
    /// Exponent β of the activity of users; 0 is uniform.
    pub activity: Option<f32>,
    /// The other scheme.
    pub other: Option<Box<Term<F>>>,
}

impl<F: SchemeForm> Product<F> {
    /// Yields the product of weights by popularity (exponent α) and activity (exponent β).
    #[must_use]
    pub const fn new(strength: Strength, popularity: Option<f32>, activity: Option<f32>) -> Self {
        Self {
            strength,
            popularity,
            activity,
            other: None,
        }
    }

    /// Yields the product with the other scheme replaced.
    ///
    /// # Errors
    /// Those of `replace`.
    pub(in crate::weights) fn try_map<G: SchemeForm, E>(
        &self,
        replace: impl FnOnce(&Term<F>) -> Result<Term<G>, E>,
    ) -> Result<Product<G>, E> {
        let other = self.other.as_deref().map(replace).transpose()?;
        Ok(Product {
            strength: self.strength,
            popularity: self.popularity,
            activity: self.activity,
            other: other.map(Box::new),
        })
    }

    fn factors(&self) -> Factors {
        Factors {
            popularity: self.popularity.is_some(),
            activity: self.activity.is_some(),
        }
    }
}

/// Which factors a product has; displays as their names.
#[derive(Clone, Copy)]
struct Factors {
    popularity: bool,
    activity: bool,
}

impl Factors {
    fn names(self) -> impl Iterator<Item = &'static str> {
        let has = [self.popularity, self.activity].into_iter();
        has.zip(FACTORS)
            .filter_map(|(has, name)| has.then_some(name))
    }

    /// The name of the option that is the exponent of the activity.
    fn activity_option(self) -> &'static str {
        if self.names().count() > 1 {
            "beta"
        } else {
            "alpha"
        }
    }
}

impl std::fmt::Display for Factors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, name) in self.names().enumerate() {
            write!(f, "{}{name}", if at == 0 { "" } else { "*" })?;
        }
        Ok(())
    }
}
