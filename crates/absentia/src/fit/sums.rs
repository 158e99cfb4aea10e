//! The objective from the sums that a backend makes, and how far off it may be.

use super::backend::{ObjectiveSums, Precision};
use crate::solver::cache::Inner;
use crate::solver::objective::{EntryLoss, Objective, missing_of_all};

/// Rounding of the products of two caches, as a share of the sum of their absolute values: caches that
/// are summed in `f32` and in `f64`.
const SINGLE: f64 = 1e-6;
const DOUBLE: f64 = 1e-14;
/// Rounding of a prediction in `f32` that is corrected sixteen factors at a time, as a share of the sum
/// of the absolute values of its products.
const PREDICTION: f64 = 2e-7;
/// Number of entries that tell how large predictions are.
pub(super) const SAMPLE: usize = 128;

/// The loss of the missing entries.
pub(super) enum Missing {
    /// That of all entries, of which the observed ones are taken away.
    All(Inner),
    /// Theirs alone, summed entry by entry.
    Known(f64),
}

/// The loss of features, and how far off it may be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FeatureSums {
    pub(super) loss: f64,
    pub(super) rounding: f64,
}

impl FeatureSums {
    /// Adds `Σ w (x − p·q)²` of a block as `Σ w x² − 2 Σ w x p·q + Σ w (p·q)²`, the last two in single precision.
    pub(super) fn add_single(&mut self, at_zero: f64, linear: f64, squares: Inner) {
        self.loss += (at_zero - 2.0 * linear + squares.sum).max(0.0);
        self.rounding += SINGLE * (squares.size + 2.0 * linear.abs());
    }
}

/// The sums that the objective is made of.
pub(super) struct SumParts {
    pub(super) precision: Precision,
    /// Whether the loss was summed by the last half-sweep, in single precision.
    pub(super) is_measured: bool,
    pub(super) loss: EntryLoss,
    pub(super) regularization: f64,
    pub(super) missing: Missing,
    pub(super) features: FeatureSums,
    /// Number of observed entries.
    pub(super) entries: usize,
    /// Number of factors.
    pub(super) factors: usize,
    pub(super) may_be_negative: bool,
}

impl SumParts {
    /// The objective; `size` yields `Σ_R c (Σ_f |p_f q_f|)²`.
    pub(super) fn objective(&self, size: impl FnOnce() -> f64) -> ObjectiveSums {
        let (missing, mut rounding) = match &self.missing {
            Missing::Known(missing) => (*missing, 0.0),
            Missing::All(all) => {
                let share = match self.precision {
                    Precision::Fast | Precision::Exact => SINGLE,
                    Precision::Double | Precision::EveryEntry => DOUBLE,
                };
                let missing = missing_of_all(*all, &self.loss, self.may_be_negative);
                let counted = self.loss.counted_as_missing.abs();
                (missing, share * (all.size + counted))
            }
        };
        rounding += self.features.rounding;
        rounding += match self.precision {
            Precision::Fast if self.is_measured => self.rounding_of_predictions(size()),
            Precision::Double => DOUBLE * size(),
            _ => 0.0,
        };
        ObjectiveSums {
            objective: Objective {
                observed: self.loss.observed + self.features.loss,
                missing,
                regularization: self.regularization,
            },
            rounding,
        }
    }

    /// How far off the loss of the observed entries may be, if their predictions are in `f32`. Their
    /// errors are independent: of products with the entries' own errors, most cancels.
    fn rounding_of_predictions(&self, size: f64) -> f64 {
        let entries = self.entries as f64;
        let corrections = 1.0 + self.factors as f64 / 16.0;
        let noise = PREDICTION * PREDICTION * corrections * size;
        let underflow = entries * f64::from(f32::MIN_POSITIVE);
        noise + 6.0 * (self.loss.observed * noise / entries.max(1.0)).sqrt() + underflow
    }
}
