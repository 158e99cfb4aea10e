//! BPR: an item taken should score above one that was not (Rendle, Freudenthaler, Gantner and
//! Schmidt-Thieme 2009).
//!
//! A pass draws |R| triples: an interaction (u, i), each as likely as another, and an item j that u
//! has not, drawn in proportion to its weight on missing entries: uniformly under uniform weights,
//! by popularity under popularity weights (Rendle and Freudenthaler 2014). With
//! `x = p_u·(q_i − q_j)`, step η and the logistic σ,
//!
//! ```text
//! p_u += η (σ(−x)(q_i − q_j) − λ p_u),   q_i += η (σ(−x) p_u − λ q_i),   q_j −= η (σ(−x) p_u + λ q_j)
//! ```
//!
//! λ is taken as it is, without the exponent of the row's weight. What a pass reports as the
//! observed part of its objective is `−Σ ln σ(x)` over its triples as it met them.

use rand::Rng;

use super::random::{below, of_pass, unit};
use super::sgd_observed::{padded_mut, users_of};
use super::{Pass, PassInput, check, dot};
use crate::linalg::Dense;
use crate::solver::{Objective, ridge};

/// Draws after which a triple is given up: the user has nearly everything that can be drawn.
const DRAWS: usize = 100;
/// Triples between two looks at the flag that ends the run.
const TRIPLES_PER_LOOK: usize = 1 << 16;

pub(super) fn pass(input: &PassInput<'_>, iteration: usize, p: &mut Dense, q: &mut Dense) -> Pass {
    let observed = input.data.by_user();
    let users = users_of(observed);
    let sampler = Sampler::new(&check::item_weights(input.weights).unwrap_or_default());
    let mut random = of_pass(input.params.seed, iteration);
    let (rate, lambda) = (input.params.learning_rate, input.params.regularization);
    let mut loss = 0.0;
    let mut rows = Rows::new(p.stride());
    for triple in 0..observed.len() {
        if triple % TRIPLES_PER_LOOK == 0 && input.is_cancelled() {
            return Pass::Cancelled;
        }
        let at = below(&mut random, observed.len());
        let (user, item) = (users[at], observed.indices()[at]);
        let taken = observed.row(user as usize).indices;
        let Some(other) = sampler.outside(taken, &mut random) else {
            continue;
        };
        rows.load(p, q, [user, item, other]);
        let x = dot(input.kernels, &rows.user, &rows.difference);
        loss += f64::from((-x).exp()).ln_1p();
        let pull = rate / (1.0 + x.exp());
        rows.update(p, q, [user, item, other], pull, 1.0 - rate * lambda);
    }
    let lambda = crate::data::Values::Constant(lambda);
    Pass::Own(Objective {
        observed: loss,
        missing: 0.0,
        regularization: ridge(p, &lambda) + ridge(q, &lambda),
    })
}

/// The rows of one triple as they were before it.
struct Rows {
    user: Vec<f32>,
    difference: Vec<f32>,
}

impl Rows {
    fn new(stride: usize) -> Self {
        Self {
            user: vec![0.0; stride],
            difference: vec![0.0; stride],
        }
    }

    fn load(&mut self, p: &Dense, q: &Dense, [user, item, other]: [u32; 3]) {
        self.user.copy_from_slice(p.padded_row(user as usize));
        self.difference.copy_from_slice(q.padded_row(item as usize));
        let other = q.padded_row(other as usize);
        for (slot, q_j) in self.difference.iter_mut().zip(other) {
            *slot -= q_j;
        }
    }

    fn update(
        &self,
        p: &mut Dense,
        q: &mut Dense,
        [user, item, other]: [u32; 3],
        pull: f32,
        keep: f32,
    ) {
        shift(padded_mut(p, user as usize), keep, pull, &self.difference);
        shift(padded_mut(q, item as usize), keep, pull, &self.user);
        shift(padded_mut(q, other as usize), keep, -pull, &self.user);
    }
}

/// `row = keep · row + pull · along`.
fn shift(row: &mut [f32], keep: f32, pull: f32, along: &[f32]) {
    for (slot, x) in row.iter_mut().zip(along) {
        *slot = keep * *slot + pull * x;
    }
}

/// Draws items in proportion to their weights.
struct Sampler {
    /// Weights added up.
    upto: Vec<f64>,
}

impl Sampler {
    fn new(weights: &[f32]) -> Self {
        let add = |sum: &mut f64, weight: &f32| {
            *sum += f64::from(*weight);
            Some(*sum)
        };
        Self {
            upto: weights.iter().scan(0.0, add).collect(),
        }
    }

    fn draw(&self, random: &mut impl Rng) -> u32 {
        let total = self.upto.last().copied().unwrap_or(0.0);
        let at = unit(random) * total;
        let found = self.upto.partition_point(|&upto| upto <= at);
        found.min(self.upto.len().saturating_sub(1)) as u32
    }

    /// An item that is not among `taken`, which rise.
    fn outside(&self, taken: &[u32], random: &mut impl Rng) -> Option<u32> {
        (0..DRAWS)
            .map(|_| self.draw(random))
            .find(|item| taken.binary_search(item).is_err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_follow_their_weights_and_leave_out_what_was_taken() {
        let weights = [1.0, 0.0, 3.0, 4.0, 2.0];
        let (sampler, mut random) = (Sampler::new(&weights), of_pass(1, 1));
        let mut counts = [0.0; 5];
        for _ in 0..60_000 {
            let item = sampler.outside(&[3], &mut random).unwrap();
            counts[item as usize] += 1.0 / 10_000.0;
        }
        for (count, weight) in counts.into_iter().zip([1.0, 0.0, 3.0, 0.0, 2.0]) {
            assert!(f64::abs(count - weight) < 0.1, "{counts:?}");
        }
        assert_eq!(sampler.outside(&[0, 2, 3, 4], &mut random), None);
    }
}
