//! How strong a product is.

use super::check_at_least_zero;
use crate::data::Interactions;
use crate::weights::SpecError;
use crate::weights::error::WeightsError;
use crate::weights::sums::missing_entries;
use crate::weights::text::SchemeOptions;

/// How strong a scheme is overall.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Strength {
    /// The paper's c0: the sum of the weights over the normalised side.
    C0(f32),
    /// The mean weight over missing entries, whatever the size of the data.
    Mean(f32),
}

impl Strength {
    pub(super) fn read(options: &mut SchemeOptions<'_>) -> Result<Self, SpecError> {
        match (options.named("c0"), options.named("mean")) {
            (Some(_), Some(mean)) => Err(options.conflict("mean", mean)),
            (Some(c0), None) => Ok(Strength::C0(options.value_at_least_zero("c0", c0)?)),
            (None, Some(mean)) => Ok(Strength::Mean(options.value_at_least_zero("mean", mean)?)),
            (None, None) => Err(options.missing("c0 or mean")),
        }
    }

    /// Yields c0 of weights `c0 v_ui`; `totals` yields the sum of `v_ui` over missing entries, and the size of
    /// the sums over all entries that it is a difference of.
    pub(super) fn c0(
        self,
        scheme: &str,
        data: &Interactions<'_>,
        totals: impl FnOnce() -> (f64, f64),
    ) -> Result<f64, WeightsError> {
        let mean = match self {
            Strength::C0(c0) => {
                check_at_least_zero(scheme, "c0", c0)?;
                return Ok(f64::from(c0));
            }
            Strength::Mean(mean) => mean,
        };
        check_at_least_zero(scheme, "mean", mean)?;
        if mean == 0.0 {
            return Ok(0.0);
        }
        let missing = missing_entries(data);
        let (total, all) = totals();
        // A total that should be 0 is off by the rounding of the two sums it is the difference of.
        if missing == 0 || total <= 1e-12 * all {
            return Err(WeightsError::NoMean {
                scheme: scheme.to_owned(),
                missing,
                mean,
            });
        }
        Ok(f64::from(mean) * missing as f64 / total)
    }
}

impl std::fmt::Display for Strength {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Strength::C0(c0) => write!(f, "c0={c0}"),
            Strength::Mean(mean) => write!(f, "mean={mean}"),
        }
    }
}
