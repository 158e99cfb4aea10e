//! How far the caches, which follow single rows, are from recomputed sums.

use super::Online;
use crate::linalg::Dense;
use crate::sides::Sides;
use crate::solver::growing::GrowingCache;

/// A copy of what the caches are sums of, and of the caches, to be compared on another thread.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CacheCheck {
    factors: Sides<Dense>,
    weights: Sides<Dense>,
    sums: Sides<Vec<f64>>,
}

impl Online {
    /// Copies what [`CacheCheck::drift`] compares.
    #[must_use]
    pub fn cache_check(&self) -> CacheCheck {
        CacheCheck {
            factors: self.factors.clone(),
            weights: self.weights.v.clone(),
            sums: self.caches.as_ref().map(|cache| cache.sums().to_vec()),
        }
    }
}

impl CacheCheck {
    /// The largest difference between the caches and recomputed sums, relative to the largest sum of the
    /// same side; the larger of both sides. Costs `O((M + N) Z K²)`.
    #[must_use]
    pub fn drift(&self) -> f64 {
        let fresh = |factors: &Dense, weights: &Dense| {
            let cache = GrowingCache::new(factors, weights);
            cache.sums().to_vec()
        };
        let users = fresh(&self.factors.users, &self.weights.users);
        let items = fresh(&self.factors.items, &self.weights.items);
        relative(&self.sums.users, &users).max(relative(&self.sums.items, &items))
    }
}

fn relative(sums: &[f64], fresh: &[f64]) -> f64 {
    let largest = fresh.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let pairs = sums.iter().zip(fresh);
    let difference = pairs.fold(0.0_f64, |most, (x, y)| {
        let apart = (x - y).abs();
        most.max(if apart.is_nan() { f64::INFINITY } else { apart })
    });
    if difference > 0.0 {
        difference / largest.max(f64::MIN_POSITIVE)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Duplicates, Triplets};
    use crate::fit::{Cancel, Run, fit};
    use crate::online::{Event, Operation, Options, TrainFrom};
    use crate::params::Params;
    use crate::weights::Scheme;

    fn online() -> Online {
        let (users, items): (Vec<u32>, Vec<u32>) = (0..60_u32)
            .map(|at| (at % 12, (at * 7 + at / 12) % 15))
            .unzip();
        let data = Triplets::new(&users, &items)
            .build(12, 15, Duplicates::Sum)
            .unwrap();
        let params = Params::new().factors(3).iterations(4);
        let params = params.check().unwrap();
        let model = fit(&data, &Scheme::uniform(0.1), &params, Run::default())
            .unwrap()
            .model;
        Online::new(&model, &data, Options::default()).unwrap()
    }

    #[test]
    fn events_leave_rounding_alone_and_a_wrong_cache_is_seen() {
        let mut online = online();
        for at in 0..200 {
            let event = Event::new(at * 5 % 12, at * 11 % 15);
            online.apply(&Operation::Insert(event)).unwrap();
        }
        let mut check = online.cache_check();
        assert!(check.drift() < 1e-12, "{}", check.drift());
        check.sums.items[0] *= 1.001;
        assert!(check.drift() > 1e-5, "{}", check.drift());
        check.sums.users[0] = f64::NAN;
        assert!(check.drift().is_infinite());
    }

    #[test]
    fn training_from_random_factors_forgets_the_present_ones() {
        let (mut one, mut two) = (online(), online());
        let events = (0..30).map(|at| Operation::Insert(Event::new(at % 12, at * 4 % 15)));
        let events: Vec<Operation> = events.collect();
        for event in &events {
            one.apply(event).unwrap();
        }
        // The same observations by another way: other factors before training, the same after it.
        for event in events.iter().rev() {
            two.apply(event).unwrap();
        }
        two.apply(&Operation::Refit { sweeps: 2 }).unwrap();
        let bits = |online: &Online| -> Vec<u32> {
            let items = online.factors(crate::error::Axis::Item);
            let rows = (0..items.rows()).flat_map(|row| items.row(row).to_vec());
            rows.map(f32::to_bits).collect()
        };
        assert_ne!(bits(&one), bits(&two));
        for online in [&mut one, &mut two] {
            let from = TrainFrom::Random;
            online
                .train(from, Some(3), &mut (), &Cancel::new())
                .unwrap();
        }
        assert_eq!(bits(&one), bits(&two));
        assert_eq!(one.history.len(), 3);
        assert!(one.cache_check().drift() < 1e-12);
    }
}
