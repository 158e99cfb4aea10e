//! Weights that are a product of factors, each of which belongs to one side, and of another scheme.

mod resolve;
mod resolved;
mod text;

pub use resolved::ResolvedProduct;
pub(in crate::weights) use text::{FACTORS, read, usual_options};

use super::Strength;
use super::presence::{Presence, TimeFactor};
use crate::weights::scheme::{SchemeForm, Term};

/// A product of factors before it is resolved on data; without factors, c0 for every entry.
///
/// ```text
/// w_ui = c0 x_u y_i v_ui
/// ```
///
/// | factor | | without it |
/// | --- | --- | --- |
/// | activity, exponent β | `x_u = f_u^β / Σ_v f_v^β`, `f_u` the user's share of all interactions | 1 |
/// | popularity, exponent α | `y_i = f_i^α / Σ_j f_j^α`, `f_i` the item's share of all interactions (the paper's) | 1 |
/// | age | `y_i` times the share of time in which the item was there, see [`Presence`] | 1 |
/// | available | `v_ui`, the share of the user's rows at times when the item was there, see [`Presence`] | 1 |
/// | another scheme | its weight `v_ui` | 1 |
///
/// The rank is that of `v`, and 1 if every `v_ui` is 1. A has c0.
#[derive(Clone, Debug, PartialEq)]
pub struct Product<F: SchemeForm> {
    /// c0, or the mean weight it should lead to.
    pub strength: Strength,
    /// Exponent α of the popularity of items; 0 is uniform.
    pub popularity: Option<f32>,
    /// Exponent β of the activity of users; 0 is uniform.
    pub activity: Option<f32>,
    /// When items were there, for age and availability.
    pub presence: Option<Presence<F::Dates>>,
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
            presence: None,
            other: None,
        }
    }

    /// Yields the product with the days of release and the other scheme replaced.
    ///
    /// # Errors
    /// Those of `dates` and `other`.
    pub(in crate::weights) fn try_map<G: SchemeForm, E>(
        &self,
        dates: impl FnOnce(&F::Dates) -> Result<G::Dates, E>,
        other: impl FnOnce(&Term<F>) -> Result<Term<G>, E>,
    ) -> Result<Product<G>, E> {
        let presence = self.presence.as_ref();
        let presence = presence
            .map(|presence| presence.try_map(dates))
            .transpose()?;
        let other = self.other.as_deref().map(other).transpose()?;
        Ok(Product {
            strength: self.strength,
            popularity: self.popularity,
            activity: self.activity,
            presence,
            other: other.map(Box::new),
        })
    }

    fn factors(&self) -> ProductFactors {
        ProductFactors {
            popularity: self.popularity.is_some(),
            activity: self.activity.is_some(),
            time: self.presence.as_ref().map(|presence| presence.factor),
        }
    }

    /// Whether the rank is above one without another scheme.
    pub(in crate::weights) fn is_available(&self) -> bool {
        self.presence
            .as_ref()
            .is_some_and(|presence| presence.factor.is_available())
    }
}

/// Which factors a product has; displays as their names.
#[derive(Clone, Copy)]
struct ProductFactors {
    popularity: bool,
    activity: bool,
    time: Option<TimeFactor>,
}

impl ProductFactors {
    fn names(self) -> impl Iterator<Item = &'static str> {
        let is = |test: fn(TimeFactor) -> bool| self.time.is_some_and(test);
        let times = (is(TimeFactor::is_age), is(TimeFactor::is_available));
        let has = [self.popularity, self.activity, times.0, times.1].into_iter();
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

impl std::fmt::Display for ProductFactors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, name) in self.names().enumerate() {
            write!(f, "{}{name}", if at == 0 { "" } else { "*" })?;
        }
        Ok(())
    }
}
