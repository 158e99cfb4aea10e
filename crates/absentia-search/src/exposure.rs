//! Held-out rows that count the more, the less likely their items were shown.
//!
//! An interaction is observed only where an item was shown. Rows held out at random share this bias
//! with the rows trained on: models that recommend what was shown most do best on them, whatever users
//! like. Weights on missing entries that are given for users and items say how much was shown, and a
//! model trained with them no longer has that bias. If such models were compared on held-out rows as
//! they are, the choice would bring it back, by post-scaling above all. So each row counts by the
//! inverse of its weight, as a row of a sample counts by the inverse of its probability to be drawn.

use absentia::evaluate::{EvaluateError, TestSet};
use absentia::model::Model;
use absentia::ranking::{RankRequest, SeenItems, rank};
use absentia::weights::{MissingWeights, Scheme};

use crate::error::SearchError;
use crate::evaluator::Measured;

/// Weights below this share of the mean weight count as if they were this large: a few rows would
/// decide everything otherwise.
const LEAST_WEIGHT: f64 = 0.01;

/// How much was shown, by the weights on missing entries that were given.
pub(crate) struct Exposure<'w> {
    weights: &'w MissingWeights,
    least: f64,
}

impl<'w> Exposure<'w> {
    /// The exposure that a scheme states, where it states one. `weights` are its weights, and `mean` is
    /// their mean over missing entries.
    pub(crate) fn of(scheme: &Scheme, weights: &'w MissingWeights, mean: f64) -> Option<Self> {
        let is_stated = scheme.states_exposure() && mean > 0.0 && mean.is_finite();
        is_stated.then_some(Self {
            weights,
            least: LEAST_WEIGHT * mean,
        })
    }

    /// How much a row counts.
    fn count(&self, user: u32, item: u32) -> f64 {
        f64::from(self.weights.weight(user, item))
            .max(self.least)
            .recip()
    }

    /// The share of the held-out rows, as far as they count, that the first `cutoff` items of their
    /// users' lists have.
    pub(crate) fn recall(
        &self,
        model: &Model,
        seen: &dyn SeenItems,
        held_out: &TestSet,
        cutoff: usize,
    ) -> Result<Measured, SearchError> {
        let request = RankRequest {
            users: held_out.users(),
            top: cutoff,
            exclude: Some(seen),
            ..RankRequest::default()
        };
        let lists = rank(&model.scorer(), &request).map_err(EvaluateError::from)?;
        let mut users = Vec::with_capacity(lists.len());
        for (row, (list, &user)) in lists.iter().zip(held_out.users()).enumerate() {
            let (mut hits, mut all) = (0.0, 0.0);
            for &item in held_out.lists().row(row) {
                let count = self.count(user, item);
                all += count;
                if list.top.iter().any(|scored| scored.item == item) {
                    hits += count;
                }
            }
            users.push((hits, all));
        }
        let all: f64 = users.iter().map(|(_, all)| all).sum();
        let score = users.iter().map(|(hits, _)| hits).sum::<f64>() / all;
        // The error of a ratio of two sums over users, to first order.
        let square = |(hits, all): &(f64, f64)| (hits - score * all).powi(2);
        let stderr = users.iter().map(square).sum::<f64>().sqrt() / all;
        Ok(Measured {
            score,
            stderr,
            ..Measured::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use absentia::data::Interactions;
    use absentia::fit::{Run, fit};
    use absentia::{Dense, Params};

    use super::*;
    use crate::testing::fold;

    fn given(data: &Interactions<'_>, of_item: impl Fn(usize) -> f32) -> Scheme {
        let ones = Dense::from_fn(data.n_users(), 1, |_, _| 1.0);
        Scheme::low_rank(ones, Dense::from_fn(data.n_items(), 1, |i, _| of_item(i)))
    }

    #[test]
    fn only_weights_given_for_users_and_items_state_an_exposure() {
        let (train, _) = fold();
        for (scheme, states) in [
            (Scheme::uniform(0.1), false),
            (given(&train, |_| 0.1), true),
            (
                Scheme::sum([Scheme::uniform(0.1), given(&train, |_| 0.1)]),
                true,
            ),
        ] {
            let weights = scheme.resolve(&train).unwrap();
            assert_eq!(Exposure::of(&scheme, &weights, 0.1).is_some(), states);
            assert!(Exposure::of(&scheme, &weights, 0.0).is_none());
        }
    }

    #[test]
    fn rows_count_by_the_inverse_of_their_weight_down_to_a_floor() {
        let (train, held_out) = fold();
        let params = Params::new().factors(4).check().unwrap();
        let model = fit(&train, &Scheme::uniform(0.1), &params, Run::default());
        let model = model.unwrap().model;
        let weight = |item: usize| if item < 5 { 0.0 } else { 0.25 * item as f32 };
        let scheme = given(&train, weight);
        let weights = scheme.resolve(&train).unwrap();
        let exposure = Exposure::of(&scheme, &weights, 4.0).unwrap();
        let measured = exposure.recall(&model, &train, &held_out, 3).unwrap();
        let (mut hits, mut all) = (0.0, 0.0);
        for (row, &user) in held_out.users().iter().enumerate() {
            let request = RankRequest {
                users: &[user],
                top: 3,
                exclude: Some(&train),
                ..RankRequest::default()
            };
            let list = model.recommend(&request).unwrap().remove(0);
            for &item in held_out.lists().row(row) {
                let count = 1.0 / f64::from(weight(item as usize)).max(0.04);
                all += count;
                hits += count * f64::from(u8::from(list.iter().any(|s| s.item == item)));
            }
        }
        assert!(hits > 0.0 && (measured.score - hits / all).abs() < 1e-12);
        assert!(measured.stderr > 0.0 && measured.stderr < 1.0);
    }
}
