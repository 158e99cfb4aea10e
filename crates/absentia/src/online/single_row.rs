//! Single users with the items held fixed, in double precision: users that are not stored, and why an
//! item has its score.

use super::Online;
use super::error::OnlineError;
use super::pair::{PairEntry, PairEvent};
use crate::error::Axis;
use crate::linalg::{Dense, spd};
use crate::model::{Contribution, Explanation, ModelError, NewEntry, dot};
use crate::solver::missing_weight;
use crate::solver::penalty::row_penalty;
use crate::solver::quadratic::Quadratic;

/// Item, target and weight of an entry.
type Entry = (u32, f32, f32);

impl Online {
    /// The factors of a user with these interactions, who is not stored: the minimiser of its part of the
    /// objective, with the weights on missing entries that a new user would get.
    ///
    /// # Errors
    /// Entries of items that there are not, that are repeated or not finite; a user without a minimum.
    pub fn fold_in_user(&self, entries: &[NewEntry]) -> Result<Vec<f32>, OnlineError> {
        let taken = entries.iter().filter(|entry| !entry.exposed).count() as u32;
        let weights = self.weights.of_new_row(Axis::User, taken);
        let quadratic = self.quadratic(&weights, &self.new_entries(entries)?)?;
        let mut solved = quadratic.y;
        spd::solve(quadratic.h, &mut solved).ok_or(ModelError::NoMinimum)?;
        let row: Vec<f32> = solved.into_iter().map(|x| x as f32).collect();
        if row.iter().all(|x| x.is_finite()) {
            Ok(row)
        } else {
            Err(ModelError::NoMinimum.into())
        }
    }

    /// The score of an item as a sum over the user's interactions.
    ///
    /// # Errors
    /// A user or item that there is not, a user without a minimum.
    pub fn explain(&self, user: u32, item: u32) -> Result<Explanation, OnlineError> {
        for (axis, row) in [(Axis::User, user), (Axis::Item, item)] {
            let count = self.n_rows(axis);
            if row as usize >= count {
                return Err(OnlineError::Unknown { axis, row, count });
            }
        }
        let stored = self.observed.entries_of(user);
        let entries: Vec<Entry> = stored
            .iter()
            .map(|entry| (entry.item, entry.rc.0, entry.rc.1))
            .collect();
        let weights = self.weights.scaled(Axis::User, user as usize);
        let quadratic = self.quadratic(weights.row(0), &entries)?;
        let scale = f64::from(self.item_scale(item as usize));
        let q = self.factors.items.row(item as usize).iter();
        let mut direction: Vec<f64> = q.map(|q| f64::from(*q) * scale).collect();
        spd::solve(quadratic.h, &mut direction).ok_or(ModelError::NoMinimum)?;
        let taken = stored.iter().zip(quadratic.pulls);
        let taken = taken.filter(|(entry, _)| matches!(entry.pair, PairEntry::Taken(_)));
        let contributions: Vec<Contribution> = taken
            .map(|(entry, pull)| Contribution {
                relation: None,
                item: entry.item,
                contribution: pull * dot(self.factors.items.row(entry.item as usize), &direction),
            })
            .collect();
        let score = f64::from(self.score(user, item));
        Ok(Explanation::of(contributions, Some(score)))
    }

    /// Entries of a user who is not stored, with their targets and weights.
    fn new_entries(&self, entries: &[NewEntry]) -> Result<Vec<Entry>, OnlineError> {
        let user = u32::MAX;
        let mut weighed = Vec::with_capacity(entries.len());
        for entry in entries {
            let (item, count) = (entry.index, self.n_rows(Axis::Item));
            if item as usize >= count {
                let (axis, row) = (Axis::Item, item);
                return Err(OnlineError::Unknown { axis, row, count });
            }
            let pair = if entry.exposed {
                PairEntry::Exposed(entry.weight)
            } else {
                PairEntry::Taken(PairEvent {
                    value: entry.value,
                    weight: entry.weight,
                    time: entry.time.unwrap_or(self.latest),
                    boost: self.settings.weight_of_new,
                })
            };
            let rc = self.targets.of_pair((user, item), pair);
            let (r, c) = rc.map_err(|fault| OnlineError::NewEntry { item, fault })?;
            weighed.push((item, r, c));
        }
        weighed.sort_unstable_by_key(|&(item, ..)| item);
        match weighed.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            None => Ok(weighed),
            Some(pair) => Err(ModelError::Repeated {
                axis: Axis::Item,
                index: pair[0].0,
            }
            .into()),
        }
    }

    fn quadratic(&self, own: &[f32], entries: &[Entry]) -> Result<Quadratic, OnlineError> {
        let k = self.params.factors;
        let mut quadratic = Quadratic::of_missing(self.caches.items.weighted(own), k);
        let of_sides = own.iter().zip(&self.weights.sums.items);
        let mut total: f64 = of_sides.map(|(a, sum)| f64::from(*a) * sum).sum();
        let (q, v): (&Dense, &Dense) = (&self.factors.items, &self.weights.v.items);
        for &(item, r, c) in entries {
            let (r, c) = (f64::from(r), f64::from(c));
            let missing = missing_weight(own, v.row(item as usize));
            total += c - missing;
            quadratic.add(q.row(item as usize), (r, c), missing);
        }
        let (lambda, exponent) = (self.params.regularization, self.params.reg_exponent);
        let lambda = if lambda == 0.0 || exponent == 0.0 {
            lambda
        } else {
            row_penalty(0, total, lambda, exponent).map_err(|_| ModelError::NoMinimum)?
        };
        Ok(quadratic.with_penalty(f64::from(lambda)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Interactions;
    use crate::fit::{Run, fit};
    use crate::online::Options;
    use crate::params::Params;
    use crate::weights::{Scheme, Strength};

    fn online() -> (Online, Interactions<'static>) {
        let data = crate::testing::generated(200, 120, 1500);
        let scheme = Scheme::popularity(Strength::Mean(0.1), 0.5);
        let params = Params::new().factors(12).iterations(4).check().unwrap();
        let model = fit(&data, &scheme, &params, Run::default()).unwrap().model;
        (
            Online::new(&model, &data, Options::default()).unwrap(),
            data,
        )
    }

    #[test]
    fn a_user_who_is_not_stored_gets_the_factors_of_the_models_fold_in() {
        let (online, _) = online();
        let entries: Vec<NewEntry> = (0..9).map(|n| NewEntry::new(n * 13 % 120)).collect();
        let model = online.to_model().unwrap();
        let expected = model
            .fold_in(Axis::User)
            .solve(&entries, &crate::model::RowWeights::default());
        let found = online.fold_in_user(&entries).unwrap();
        for (found, expected) in found.iter().zip(expected.unwrap()) {
            assert!((found - expected).abs() < 1e-4, "{found} {expected}");
        }
        let twice = [entries[0], entries[0]];
        assert!(online.fold_in_user(&twice).is_err());
        assert!(online.fold_in_user(&[NewEntry::new(120)]).is_err());
        assert!(online.fold_in_user(&[]).unwrap().iter().all(|&x| x == 0.0));
    }

    #[test]
    fn contributions_and_the_remainder_are_the_score() {
        let (online, data) = online();
        let explained = online.explain(3, 5).unwrap();
        let sum: f64 = explained.contributions.iter().map(|c| c.contribution).sum();
        let score = f64::from(online.score(3, 5));
        assert!((sum + explained.remainder - score).abs() < 1e-9);
        let entries: Vec<NewEntry> = data.seen(3).map(NewEntry::new).collect();
        assert_eq!(entries.len(), explained.contributions.len());
        let model = online.to_model().unwrap();
        let like = crate::model::RowWeights::Like(3);
        let expected = model
            .fold_in(Axis::User)
            .explain(Some(3), &entries, &like, 5);
        for (a, b) in explained
            .contributions
            .iter()
            .zip(expected.unwrap().contributions)
        {
            assert_eq!(a.item, b.item);
            assert!((a.contribution - b.contribution).abs() < 1e-5);
        }
        assert!(online.explain(200, 0).is_err() && online.explain(0, 120).is_err());
    }
}
