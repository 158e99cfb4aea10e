//! Shared code of the schemes by frequencies: `w_ui = c0 x_u y_i`, x and y normalised powers, or 1.

use super::{Strength, check_finite};
use crate::data::Interactions;
use crate::error::Axis;
use crate::linalg::Dense;
use crate::weights::error::WeightsError;
use crate::weights::resolved::{NewRowValues, Normaliser, Pair};

/// The exponents of a scheme, each with the name of its option.
pub(super) struct Exponents {
    pub(super) scheme: &'static str,
    pub(super) items: Option<(&'static str, f32)>,
    pub(super) users: Option<(&'static str, f32)>,
}

/// The weights of a scheme by frequencies on data.
pub(super) struct FrequencyWeights {
    pub(super) a: Dense,
    pub(super) b: Dense,
    pub(super) c0: f64,
    pub(super) items: Normaliser,
    pub(super) users: Normaliser,
}

impl Exponents {
    /// Yields A, which has c0, and B; a side without an exponent has shares of 1.
    pub(super) fn resolve(
        &self,
        strength: Strength,
        data: &Interactions<'_>,
    ) -> Result<FrequencyWeights, WeightsError> {
        for (name, exponent) in self.items.iter().chain(&self.users) {
            check_finite(self.scheme, name, *exponent)?;
        }
        let (items, y) = self.shares(Axis::Item, &data.item_counts())?;
        let (users, x) = self.shares(Axis::User, &data.user_counts())?;
        let c0 = strength.c0(self.scheme, data, &x, &y)?;
        Ok(FrequencyWeights {
            a: Dense::from_fn(x.len(), 1, |user, _| (c0 * x[user]) as f32),
            b: Dense::from_fn(y.len(), 1, |item, _| y[item] as f32),
            c0,
            items,
            users,
        })
    }

    fn shares(&self, axis: Axis, counts: &[u32]) -> Result<(Normaliser, Vec<f64>), WeightsError> {
        let exponent = match axis {
            Axis::User => self.users,
            Axis::Item => self.items,
        };
        match exponent {
            Some((_, exponent)) => Normaliser::of_counts(self.scheme, axis, exponent, counts),
            None => Ok((Normaliser::ONE, vec![1.0; counts.len()])),
        }
    }
}

/// A scheme by frequencies, resolved on data; a side without an exponent has no normaliser.
pub(super) struct ResolvedFrequencies<'r> {
    pub(super) scheme: &'static str,
    pub(super) c0: f64,
    pub(super) items: Option<&'r Normaliser>,
    pub(super) users: Option<&'r Normaliser>,
}

impl ResolvedFrequencies<'_> {
    /// Why a pair has its weight.
    pub(super) fn reason(&self, pair: &Pair<'_>) -> String {
        let popular = self.items.map(|items| pair.item_share(items));
        let active = self.users.map(|users| pair.user_share(self.c0, users));
        let mut reason = format!("c0 {}", self.c0 as f32);
        for factor in popular.into_iter().chain(active) {
            reason.push_str(" × ");
            reason.push_str(&factor);
        }
        reason
    }

    /// The row of A or B of a new user or item, from its number of interactions.
    pub(super) fn new_row(
        &self,
        axis: Axis,
        given: &NewRowValues<'_>,
    ) -> Result<Vec<f32>, WeightsError> {
        let (scale, normaliser) = match axis {
            Axis::User => (self.c0, self.users),
            Axis::Item => (1.0, self.items),
        };
        Ok(vec![match normaliser {
            Some(normaliser) => given.share(self.scheme, axis, scale, normaliser)?,
            None => scale as f32,
        }])
    }
}
