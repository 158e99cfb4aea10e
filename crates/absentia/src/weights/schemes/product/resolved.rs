//! A product on data.

use super::{Product, ProductFactors};
use crate::error::Axis;
use crate::weights::approximation::Approximation;
use crate::weights::error::WeightsError;
use crate::weights::resolved::{FrozenPart, NewRowValues, Normaliser, Pair};
use crate::weights::scheme::{InMemory, Scheme, Term};
use crate::weights::schemes::presence::ResolvedPresence;
use crate::weights::schemes::{ResolvedTerm, Strength};

/// [`Product`] on data.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ResolvedProduct {
    /// c0, also where a mean was requested.
    pub c0: f64,
    /// Exponent and normaliser of the items, for weights by popularity.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub items: Option<Normaliser>,
    /// Exponent and normaliser of the users, for weights by activity.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub users: Option<Normaliser>,
    /// When items were there, for age and availability.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub presence: Option<ResolvedPresence>,
    /// The other scheme.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub other: Option<Box<FrozenPart>>,
}

impl ResolvedProduct {
    /// Name of the scheme, as its text form has it.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.other {
            Some(other) => format!("{} * {}", self.factors(), other.kind.name()),
            None => self.factors().to_string(),
        }
    }

    /// The name that model files have for it.
    #[cfg(feature = "serde")]
    pub(in crate::weights) fn stored_name(&self) -> &'static str {
        let is_plain = self.presence.is_none() && self.other.is_none();
        match (&self.items, &self.users) {
            (Some(_), None) if is_plain => "popularity",
            (None, Some(_)) if is_plain => "activity",
            (Some(_), Some(_)) if is_plain => "popularity-activity",
            _ => "product",
        }
    }

    fn factors(&self) -> ProductFactors {
        ProductFactors {
            popularity: self.items.is_some(),
            activity: self.users.is_some(),
            time: self.presence.as_ref().map(|presence| presence.factor),
        }
    }

    /// A normalised power in words: its value, and the number of interactions behind it, where they are
    /// certain.
    fn share(&self, axis: Axis, rule: &Normaliser, pair: &Pair<'_>) -> String {
        let (name, all, scale, weights) = match axis {
            Axis::Item => ("popularity of the item", "items", 1.0, pair.b_i),
            Axis::User => ("activity of the user", "users", self.c0, pair.a_u),
        };
        let alone = match weights {
            &[weight] if self.other.is_none() && self.presence.is_none() => Some(weight),
            _ => None,
        };
        let count = match (&self.presence, axis) {
            (Some(presence), Axis::Item) => Some(presence.items[pair.item as usize].rows),
            _ => alone.and_then(|weight| rule.count_of(scale, weight)),
        };
        let total = rule.total;
        let share = match count {
            Some(count) => {
                let share = shown(f64::from(count) / total.max(1) as f64);
                format!("{count} of {total} interactions, a share of {share}")
            }
            None => format!("its share of {total} interactions"),
        };
        let alpha = rule.exponent;
        let words = format!(
            "{name}: {share}, raised to the power {alpha} and divided by the sum of these over all {all}"
        );
        let value = match (count, alone) {
            (Some(count), _) => Some(rule.share(count)),
            (None, Some(weight)) => Some(f64::from(weight) / scale),
            (None, None) => None,
        };
        match value {
            Some(value) => format!("{} ({words})", shown(value)),
            None => format!("({words})"),
        }
    }

    /// The factors that follow from when the item was there.
    fn reasons_by_time(&self, pair: &Pair<'_>) -> Vec<String> {
        let Some(presence) = &self.presence else {
            return Vec::new();
        };
        let item = pair.item as usize;
        let mut reasons = Vec::new();
        if presence.factor.is_age() {
            let age = presence.age(item) as f32;
            reasons.push(format!(
                "{age}, the share of time in which the item was there"
            ));
        }
        if presence.factor.is_available() {
            let share = presence.available(item, pair.a_u) as f32;
            reasons.push(format!(
                "{share}, the share of the user's rows at times when the item was there"
            ));
        }
        if let Some(last) = reasons.last_mut() {
            *last = format!("{last} ({})", presence.reason(item));
        }
        reasons
    }
}

/// A number to four digits.
fn shown(value: f64) -> String {
    let rounded = format!("{value:.3e}").parse::<f64>();
    rounded.unwrap_or(value).to_string()
}

impl ResolvedTerm for ResolvedProduct {
    fn reason(&self, pair: &Pair<'_>) -> String {
        let items = self
            .items
            .iter()
            .map(|rule| self.share(Axis::Item, rule, pair));
        let users = self
            .users
            .iter()
            .map(|rule| self.share(Axis::User, rule, pair));
        let other = self.other.iter().map(|other| {
            let reason = other.kind.behaviour().reason(pair);
            format!("{} ({reason})", other.kind.name())
        });
        let c0 = format!("{} (the strength c0)", self.c0 as f32);
        let by_time = self.reasons_by_time(pair);
        let factors = std::iter::once(c0).chain(items).chain(users);
        let factors = factors.chain(by_time).chain(other);
        factors.collect::<Vec<_>>().join(" × ")
    }

    fn new_row(&self, axis: Axis, given: &mut NewRowValues<'_>) -> Result<Vec<f32>, WeightsError> {
        let (scheme, scale, rule) = match axis {
            Axis::User => ("activity", self.c0, &self.users),
            Axis::Item => ("popularity", 1.0, &self.items),
        };
        let mut factor = match rule {
            Some(rule) => given.share(scheme, axis, scale, rule)?,
            None => scale,
        };
        let by_time = self.presence.as_ref();
        if let Some(presence) = by_time.filter(|found| found.factor.is_age() && axis == Axis::Item)
        {
            factor *= presence.new_age(given.count, given.times);
        }
        let available = by_time.filter(|found| found.factor.is_available());
        let other = match (available, &self.other) {
            (Some(presence), _) => presence.new_row(axis, given.count, given.times),
            (None, Some(other)) => other.kind.behaviour().new_row(axis, given)?,
            (None, None) => vec![1.0],
        };
        let row = other
            .into_iter()
            .map(|value| (factor * f64::from(value)) as f32);
        Ok(row.collect())
    }

    fn scheme(&self) -> Option<Scheme> {
        let other = match &self.other {
            Some(other) => match other.kind.behaviour().scheme()? {
                Scheme::One(term) => Some(Box::new(term)),
                Scheme::Sum(_) => return None,
            },
            None => None,
        };
        let product: Product<InMemory> = Product {
            strength: Strength::C0(self.c0 as f32),
            popularity: self.items.map(|rule| rule.exponent),
            activity: self.users.map(|rule| rule.exponent),
            presence: self.presence.as_ref().map(ResolvedPresence::requested),
            other,
        };
        Some(Scheme::One(Term::Product(product)))
    }

    fn approximation(&self) -> Option<&Approximation> {
        self.other.as_ref()?.kind.behaviour().approximation()
    }

    fn check(&self, rank: usize, n_users: usize, n_items: usize) -> Result<(), WeightsError> {
        let by_time = self.presence.as_ref();
        let slices = by_time.filter(|found| found.factor.is_available());
        let own = match (slices, &self.other) {
            (Some(presence), None) => presence.n_slices(),
            (None, other) => other.as_ref().map_or(1, |other| other.rank),
            // No product has both.
            (Some(_), Some(_)) => 0,
        };
        if own != rank {
            return Err(WeightsError::Parts {
                parts: own,
                columns: rank,
            });
        }
        if let Some(presence) = by_time {
            presence.check(n_items)?;
        }
        match &self.other {
            Some(other) => other.kind.behaviour().check(rank, n_users, n_items),
            None => Ok(()),
        }
    }
}
