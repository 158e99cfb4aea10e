//! Which point to try next: a random one at first, then one where good trials are dense and bad ones are not.
//!
//! The model is a Parzen estimator in the manner of TPE (Bergstra and others 2011): the trials of a
//! rung are divided into good ones and others, and each part becomes a mixture of kernels and one flat
//! density. Of a few dozen points drawn from the good mixture, the one with the largest ratio of the
//! two densities is tried.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::space::Range;
use crate::space::Space;
use crate::trial::Trial;

/// Share of the trials that count as good.
const GOOD_SHARE: f64 = 0.2;
/// The smallest number of trials that count as good.
const LEAST_GOOD: usize = 3;
/// Points drawn for one proposal.
const CANDIDATES: usize = 48;
/// Narrowest and widest kernel.
const WIDTHS: (f64, f64) = (0.04, 0.25);
/// Weight of the flat density, in kernels.
const PRIOR: f64 = 1.0;

/// Draws points; every trial has a stream of its own, so that a resumed search draws the same.
pub(crate) struct Proposer<'s> {
    space: &'s Space,
    seed: u64,
}

impl<'s> Proposer<'s> {
    pub(crate) fn new(space: &'s Space, seed: u64) -> Self {
        Self { space, seed }
    }

    /// A point drawn evenly.
    pub(crate) fn random(&self, number: usize) -> Vec<f64> {
        let mut random = self.stream(number);
        (0..self.space.dimensions().len())
            .map(|_| unit(&mut random))
            .collect()
    }

    /// A point by the model of these trials, best first; `focus` below 1 narrows the kernels.
    pub(crate) fn model(&self, number: usize, ranked: &[&Trial], focus: f64) -> Vec<f64> {
        let good = ((ranked.len() as f64 * GOOD_SHARE).ceil() as usize).max(LEAST_GOOD);
        let (good, others) = ranked.split_at(good.min(ranked.len()));
        if good.is_empty() {
            return self.random(number);
        }
        let widths = self.widths(good, focus);
        let mut random = self.stream(number);
        let mut best: Option<(f64, Vec<f64>)> = None;
        for _ in 0..CANDIDATES {
            let center = &good[(unit(&mut random) * good.len() as f64) as usize % good.len()].point;
            let point = self.near(center, &widths, &mut random);
            let ratio = self.density(&point, good, &widths).ln()
                - self.density(&point, others, &widths).ln();
            if best.as_ref().is_none_or(|(most, _)| ratio > *most) {
                best = Some((ratio, point));
            }
        }
        best.map_or_else(|| self.random(number), |(_, point)| point)
    }

    fn stream(&self, number: usize) -> ChaCha8Rng {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(number as u64);
        random
    }

    /// Kernels are as wide as the good trials are spread.
    fn widths(&self, good: &[&Trial], focus: f64) -> Vec<f64> {
        let width = |at: usize| {
            let values = || good.iter().map(|trial| trial.point[at]);
            let mean = values().sum::<f64>() / good.len() as f64;
            let variance = values().map(|x| (x - mean).powi(2)).sum::<f64>() / good.len() as f64;
            (variance.sqrt() * focus).clamp(WIDTHS.0, WIDTHS.1)
        };
        (0..self.space.dimensions().len()).map(width).collect()
    }

    /// A point of the kernel around `center`.
    fn near(&self, center: &[f64], widths: &[f64], random: &mut ChaCha8Rng) -> Vec<f64> {
        let mut point = Vec::with_capacity(center.len());
        for (at, dimension) in self.space.dimensions().iter().enumerate() {
            let place = match dimension.range {
                // Options have no order: most points keep theirs, a few draw a new one.
                Range::Choice { .. } if unit(random) < 0.8 => center[at],
                Range::Choice { .. } => unit(random),
                _ => reflected(center[at] + widths[at] * normal(random)),
            };
            point.push(place);
        }
        point
    }

    /// The density of a mixture of kernels around trials and one flat kernel.
    fn density(&self, point: &[f64], trials: &[&Trial], widths: &[f64]) -> f64 {
        let kernel = |trial: &&Trial| -> f64 {
            let dimensions = self.space.dimensions().iter().enumerate();
            let factors = dimensions.map(|(at, dimension)| match dimension.range {
                Range::Choice { .. }
                    if dimension.text(point[at]) == dimension.text(trial.point[at]) =>
                {
                    1.0
                }
                Range::Choice { .. } => 0.2,
                _ => {
                    let z = (point[at] - trial.point[at]) / widths[at];
                    (-0.5 * z * z).exp() / (widths[at] * std::f64::consts::TAU.sqrt())
                }
            });
            factors.product()
        };
        let total: f64 = trials.iter().map(kernel).sum();
        (PRIOR + total) / (PRIOR + trials.len() as f64)
    }
}

/// A number in [0, 1).
fn unit(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A standard normal number, by Box and Muller.
fn normal(random: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - unit(random)).ln()).sqrt();
    radius * (std::f64::consts::TAU * unit(random)).cos()
}

/// Folds a number back into [0, 1].
fn reflected(x: f64) -> f64 {
    let folded = x.rem_euclid(2.0);
    if folded > 1.0 { 2.0 - folded } else { folded }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scope;
    use crate::testing;

    fn distance(a: &[f64], b: &[f64]) -> f64 {
        a.iter()
            .zip(b)
            .map(|(x, y)| (x - y).powi(2))
            .sum::<f64>()
            .sqrt()
    }

    #[test]
    fn the_model_looks_where_good_trials_are() {
        let data = testing::blocks();
        let space = Space::of(&data, Scope::All);
        let proposer = Proposer::new(&space, 3);
        let goal: Vec<f64> = proposer
            .random(1000)
            .iter()
            .map(|x| 0.3 + 0.4 * x)
            .collect();
        let mut trials: Vec<Trial> = Vec::new();
        let mut gap = |range: std::ops::Range<usize>, by_model: bool| {
            let mut total = 0.0;
            for number in range.clone() {
                let ranked = crate::trial::ranked(&trials, 0);
                let point = if by_model {
                    proposer.model(number, &ranked, 1.0)
                } else {
                    proposer.random(number)
                };
                let score = -distance(&point, &goal);
                total -= score;
                trials.push(testing::trial(number, point, score));
            }
            total / range.len() as f64
        };
        let (random, modelled) = (gap(0..30, false), gap(30..90, true));
        assert!(modelled < 0.7 * random, "{modelled} {random}");
    }

    #[test]
    fn a_trial_draws_the_same_whatever_came_before() {
        let data = testing::blocks();
        let space = Space::of(&data, Scope::All);
        assert_eq!(
            Proposer::new(&space, 5).random(7),
            Proposer::new(&space, 5).random(7)
        );
        assert_ne!(
            Proposer::new(&space, 5).random(7),
            Proposer::new(&space, 5).random(8)
        );
    }

    #[test]
    fn places_beyond_the_ends_are_folded_back() {
        for (x, folded) in [(-0.25, 0.25), (1.25, 0.75), (0.5, 0.5), (2.25, 0.25)] {
            assert!((reflected(x) - folded).abs() < 1e-12);
        }
    }
}
