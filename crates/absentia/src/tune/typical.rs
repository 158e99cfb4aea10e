//! A typical row: what a penalty is measured against.
//!
//! What λ does to a row is `λ m^ν`, and m grows with the weight on missing entries, so that λ alone
//! means something else beside every other setting. `λ m̄^ν / n̄` is the penalty of a typical row in
//! units of its observed weight.

use crate::data::Interactions;

/// Sizes that a typical row follows from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Typical {
    users: f64,
    items: f64,
    interactions: f64,
}

impl Typical {
    pub(super) fn of(data: &Interactions<'_>) -> Self {
        Self {
            users: data.n_users().max(1) as f64,
            items: data.n_items().max(1) as f64,
            interactions: data.n_interactions() as f64,
        }
    }

    /// λ for a penalty given in units of a typical row's observed weight, when missing entries weigh
    /// `weight` on average.
    pub(super) fn lambda(&self, penalty: f64, weight: f64, nu: f64) -> f64 {
        penalty * self.observed() / self.total(weight).powf(nu)
    }

    /// `n̄`: observed weight, the geometric mean of users' and items' averages.
    fn observed(&self) -> f64 {
        self.interactions / (self.users * self.items).sqrt()
    }

    /// `m̄`: total weight when missing entries weigh `weight` on average.
    fn total(&self, weight: f64) -> f64 {
        let user = self.interactions / self.users + weight * self.items;
        let item = self.interactions / self.items + weight * self.users;
        (user * item).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Duplicates, Triplets};

    #[test]
    fn the_penalty_of_a_typical_row_does_not_depend_on_the_weight() {
        let data = Triplets::new(&[0, 0, 1, 1, 2], &[0, 1, 1, 2, 2]);
        let row = Typical::of(&data.build(3, 3, Duplicates::Error).unwrap());
        for nu in [0.5, 1.0] {
            let penalty = |weight: f64| {
                row.lambda(0.5, weight, nu) * row.total(weight).powf(nu) / row.observed()
            };
            assert!((penalty(0.01) - 0.5).abs() < 1e-12);
            assert!((penalty(0.5) - 0.5).abs() < 1e-12);
        }
    }
}
