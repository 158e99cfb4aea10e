//! The objective of a backend's factors, and how far off it may be.

use super::{CpuBackend, summed};
use crate::error::Axis;
use crate::fit::backend::{ObjectiveSums, Precision};
use crate::fit::sums::{FeatureSums, Missing, SAMPLE, SumParts};
use crate::sides::Sides;
use crate::solver::features::feature_loss;
use crate::solver::in_double::DoubleCache;
use crate::solver::objective::{dot, entry_loss, missing_entry_by_entry, size_of_predictions};
use crate::solver::ridge;

impl CpuBackend<'_> {
    /// Forgets what the last half-sweep summed of factors that have changed since.
    pub(super) fn forget_sums(&mut self, axis: Axis) {
        self.ridge[axis] = None;
        self.loss = None;
        self.linear = None;
    }

    pub(super) fn sums(&mut self, precision: Precision) -> ObjectiveSums {
        let problem = self.problem;
        let (p, q) = (&*self.factors.users, &*self.factors.items);
        let measured = self.loss.filter(|_| precision == Precision::Fast);
        let loss =
            measured.unwrap_or_else(|| entry_loss(problem.data(), problem.missing_weights(), p, q));
        let regularization: f64 = [Axis::User, Axis::Item]
            .into_iter()
            .map(|axis| match (precision, self.ridge[axis]) {
                (Precision::Fast | Precision::Exact, Some(ridge)) => ridge,
                _ => ridge(&self.factors[axis], problem.penalty(axis)),
            })
            .sum();
        let missing = self.missing(precision);
        let features = self.feature_sums(precision);
        let (p, q) = (&self.factors.users, &self.factors.items);
        let parts = SumParts {
            precision,
            is_measured: measured.is_some(),
            loss,
            regularization,
            missing,
            features,
            entries: problem.data().len(),
            factors: p.cols(),
            may_be_negative: problem.may_be_negative(),
        };
        parts.objective(|| size_of_predictions(problem.data(), p, q, SAMPLE))
    }

    fn missing(&mut self, precision: Precision) -> Missing {
        let problem = self.problem;
        let (data, p, q) = (problem.data(), &self.factors.users, &self.factors.items);
        if let Some(w) = problem.dense(Axis::User) {
            let weight = |user: usize, item: usize| f64::from(w.row(user)[item]);
            return Missing::Known(missing_entry_by_entry(data, weight, p, q));
        }
        let (a, b) = (problem.weights(Axis::User), problem.weights(Axis::Item));
        match precision {
            Precision::Fast | Precision::Exact => {
                let sp = summed(&mut self.caches.users, p, a, self.kernels);
                let sq = summed(&mut self.caches.items, q, b, self.kernels);
                Missing::All(sp.inner_but(sq, &problem.feature_components()))
            }
            Precision::Double => {
                // The single ones are summed again if they are needed: memory may not suffice for both.
                self.caches = Sides::default();
                let (sp, sq) = (DoubleCache::new(p, a), DoubleCache::new(q, b));
                Missing::All(sp.inner_but(&sq, &problem.feature_components()))
            }
            Precision::EveryEntry => {
                let weight = |user: usize, item: usize| {
                    if problem.is_feature(user, item) {
                        0.0
                    } else {
                        dot(a.row(user), b.row(item))
                    }
                };
                Missing::Known(missing_entry_by_entry(data, weight, p, q))
            }
        }
    }
    /// The loss of features. Without what the last half-sweep measured, it is summed entry by entry.
    fn feature_sums(&mut self, precision: Precision) -> FeatureSums {
        let problem = self.problem;
        let mut sums = FeatureSums::default();
        let (p, q) = (&self.factors.users, &self.factors.items);
        let (a, b) = (problem.weights(Axis::User), problem.weights(Axis::Item));
        let linear = self
            .linear
            .as_ref()
            .filter(|_| precision == Precision::Fast);
        for (at, block) in problem.features().iter().enumerate() {
            let Some(linear) = linear.map(|linear| linear[at]) else {
                sums.loss += feature_loss(block, (a, b), (p, q));
                continue;
            };
            let sp = summed(&mut self.caches.users, p, a, self.kernels);
            let sq = summed(&mut self.caches.items, q, b, self.kernels);
            let squares = sp.inner_of(sq, block.component);
            sums.add_single(block.at_zero, linear, squares);
        }
        sums
    }
}
