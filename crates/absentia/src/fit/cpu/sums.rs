//! The objective of a backend's factors, and how far off it may be.

use super::{CpuBackend, summed};
use crate::error::Axis;
use crate::fit::backend::{ObjectiveSums, Precision};
use crate::solver::cache::Inner;
use crate::solver::in_double::DoubleCache;
use crate::solver::objective::{
    Objective, dot, entry_loss, missing_entry_by_entry, missing_of_all, size_of_predictions,
};
use crate::solver::{EntryLoss, ridge};

/// Rounding of the products of two caches, as a share of the sum of their absolute values: caches that
/// are summed in `f32` and in `f64`.
const SINGLE: f64 = 1e-6;
const DOUBLE: f64 = 1e-14;
/// Rounding of a prediction in `f32` that is corrected sixteen factors at a time, as a share of the sum
/// of the absolute values of its products.
const PREDICTION: f64 = 2e-7;
/// Number of entries that tell how large predictions are.
const SAMPLE: usize = 128;

impl CpuBackend<'_> {
    /// Forgets what the last half-sweep summed of factors that have changed since.
    pub(super) fn forget_sums(&mut self, axis: Axis) {
        self.ridge[axis] = None;
        self.loss = None;
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
        let (missing, mut rounding) = self.missing(precision, &loss);
        rounding += match precision {
            Precision::Fast if measured.is_some() => self.rounding_of_predictions(&loss),
            Precision::Double => DOUBLE * self.size_of_predictions(),
            _ => 0.0,
        };
        ObjectiveSums {
            objective: Objective {
                observed: loss.observed,
                missing,
                regularization,
            },
            rounding,
        }
    }

    /// The part of the missing entries, and how far off it may be.
    fn missing(&mut self, precision: Precision, loss: &EntryLoss) -> (f64, f64) {
        let problem = self.problem;
        let (data, p, q) = (problem.data(), &self.factors.users, &self.factors.items);
        if let Some(w) = problem.dense(Axis::User) {
            let weight = |user: usize, item: usize| f64::from(w.row(user)[item]);
            return (missing_entry_by_entry(data, weight, p, q), 0.0);
        }
        let (a, b) = (problem.weights(Axis::User), problem.weights(Axis::Item));
        let (all, share): (Inner, f64) = match precision {
            Precision::Fast | Precision::Exact => {
                let sp = summed(&mut self.caches.users, p, a, self.kernels);
                let sq = summed(&mut self.caches.items, q, b, self.kernels);
                (sp.inner(sq), SINGLE)
            }
            Precision::Double => {
                let inner = DoubleCache::new(p, a).inner(&DoubleCache::new(q, b));
                (inner, DOUBLE)
            }
            Precision::EveryEntry => {
                let weight = |user: usize, item: usize| dot(a.row(user), b.row(item));
                return (missing_entry_by_entry(data, weight, p, q), 0.0);
            }
        };
        let missing = missing_of_all(all, loss, problem.may_be_negative());
        (missing, share * (all.size + loss.counted_as_missing.abs()))
    }

    /// How far off the loss of the observed entries may be, if their predictions are in `f32`. Their
    /// errors are independent: of products with the entries' own errors, most cancels.
    fn rounding_of_predictions(&self, loss: &EntryLoss) -> f64 {
        let entries = self.problem.data().len() as f64;
        let corrections = 1.0 + self.factors.users.cols() as f64 / 16.0;
        let noise = PREDICTION * PREDICTION * corrections * self.size_of_predictions();
        let underflow = entries * f64::from(f32::MIN_POSITIVE);
        noise + 6.0 * (loss.observed * noise / entries.max(1.0)).sqrt() + underflow
    }

    fn size_of_predictions(&self) -> f64 {
        let (p, q) = (&self.factors.users, &self.factors.items);
        size_of_predictions(self.problem.data(), p, q, SAMPLE)
    }
}
