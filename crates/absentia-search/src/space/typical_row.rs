//! A typical row of the data, which penalties are measured against.
//!
//! The penalty of a row is `λ m^ν`, and its total weight m grows with the weights on missing entries, so
//! that the same λ has different effects under different weights. `λ m̄^ν / n̄` is the penalty of a
//! typical row relative to its observed weight: the *relative regularization* of the glossary.

use absentia::data::Interactions;

/// Sizes that describe a typical row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TypicalRow {
    users: f64,
    items: f64,
    interactions: f64,
}

impl TypicalRow {
    pub(crate) fn of(data: &Interactions<'_>) -> Self {
        Self {
            users: data.n_users().max(1) as f64,
            items: data.n_items().max(1) as f64,
            interactions: data.n_interactions() as f64,
        }
    }

    /// λ for a penalty relative to a typical row's observed weight, if missing entries have a mean weight
    /// of `weight`.
    pub(crate) fn lambda(&self, penalty: f64, weight: f64, nu: f64) -> f64 {
        penalty * self.observed() / self.total(weight).powf(nu)
    }

    /// `n̄`: observed weight, the geometric mean of the averages of users and of items.
    fn observed(&self) -> f64 {
        self.interactions / (self.users * self.items).sqrt()
    }

    /// `m̄`: total weight if missing entries have a mean weight of `weight`.
    fn total(&self, weight: f64) -> f64 {
        let user = self.interactions / self.users + weight * self.items;
        let item = self.interactions / self.items + weight * self.users;
        (user * item).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use absentia::data::{Duplicates, Triplets};

    #[test]
    fn a_penalty_is_one_of_the_observed_weight_whatever_the_missing() {
        let data = Triplets::new(&[0, 0, 1, 1, 2, 2], &[0, 1, 1, 2, 2, 3]);
        let row = TypicalRow::of(&data.build(3, 4, Duplicates::Error).unwrap());
        // Six entries: users have 2 and 4 w more, items 1.5 and 3 w more.
        let (observed, total) = (3_f64.sqrt(), (2.4_f64 * 1.8).sqrt());
        assert!((row.lambda(0.5, 0.1, 1.0) - 0.5 * observed / total).abs() < 1e-12);
        assert!((row.lambda(0.5, 0.1, 0.5) - 0.5 * observed / total.sqrt()).abs() < 1e-12);
        assert!((row.lambda(0.5, 0.0, 1.0) - 0.5).abs() < 1e-12);
    }
}
