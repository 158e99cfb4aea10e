//! `f^α / Σ f^α`: frequencies of users or items, raised and normalised, then frozen.

use crate::error::Axis;
use crate::weights::error::WeightsError;
use crate::weights::sums::sum;

/// The rule that turns a number of interactions n into `(n / total)^exponent / sum`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Normaliser {
    /// α.
    pub exponent: f32,
    /// Interactions in the training data, `Σ n_j`.
    pub total: u64,
    /// `Σ f_j^α` over the training data.
    pub sum: f64,
}

impl Normaliser {
    /// Yields the normaliser of some counts, with the share of each.
    pub(in crate::weights) fn of_counts(
        scheme: &'static str,
        axis: Axis,
        exponent: f32,
        counts: &[u32],
    ) -> Result<(Self, Vec<f64>), WeightsError> {
        let total = counts.iter().map(|&n| u64::from(n)).sum();
        let raw = Self {
            exponent,
            total,
            sum: 1.0,
        };
        let mut shares: Vec<f64> = counts.iter().map(|&n| raw.share(n)).collect();
        if let Some(index) = shares.iter().position(|share| !share.is_finite()) {
            return Err(WeightsError::Power {
                scheme,
                axis,
                index,
                count: counts[index],
                exponent,
            });
        }
        let sum = sum(&shares);
        if sum <= 0.0 {
            return Err(WeightsError::NoInteractions { scheme });
        }
        for share in &mut shares {
            *share /= sum;
        }
        Ok((Self { sum, ..raw }, shares))
    }

    /// `f^α / Σ f_j^α` for n interactions; f^0 is 1 also for f = 0.
    #[must_use]
    pub fn share(&self, n: u32) -> f64 {
        let f = if self.total == 0 {
            0.0
        } else {
            f64::from(n) / self.total as f64
        };
        f.powf(f64::from(self.exponent)) / self.sum
    }

    /// The number of interactions that leads to a weight, where only one does.
    pub(in crate::weights) fn count_of(&self, scale: f64, weight: f32) -> Option<u32> {
        let weight_of = |n: u32| (scale * self.share(n)) as f32;
        let f = (f64::from(weight) / scale * self.sum).powf(1.0 / f64::from(self.exponent));
        let n = (f * self.total as f64).round();
        if !(0.0..f64::from(u32::MAX)).contains(&n) {
            return None;
        }
        let n = n as u32;
        let same = |n: u32| weight_of(n).to_bits() == weight.to_bits();
        let alone = !same(n + 1) && n.checked_sub(1).is_none_or(|below| !same(below));
        (same(n) && alone).then_some(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_one_and_zero_to_the_zero_is_one() {
        let (_, shares) = Normaliser::of_counts("x", Axis::Item, 0.0, &[0, 3, 1]).expect("fine");
        assert!(shares.iter().all(|share| (share - 1.0 / 3.0).abs() < 1e-15));
        let (rule, shares) = Normaliser::of_counts("x", Axis::Item, 0.5, &[1, 4, 4]).expect("fine");
        assert!((shares[0] - 0.2).abs() < 1e-15 && (shares[1] - 0.4).abs() < 1e-15);
        assert!((rule.share(1) - shares[0]).abs() < 1e-15);
    }

    #[test]
    fn a_negative_power_of_nothing_is_refused_by_name() {
        let error = Normaliser::of_counts("popularity", Axis::Item, -0.5, &[2, 0]).unwrap_err();
        assert!(matches!(
            error,
            WeightsError::Power {
                index: 1,
                count: 0,
                ..
            }
        ));
        let error = Normaliser::of_counts("popularity", Axis::Item, 0.5, &[0, 0]).unwrap_err();
        assert!(matches!(error, WeightsError::NoInteractions { .. }));
    }

    #[test]
    fn the_count_behind_a_weight_is_named_only_when_it_is_certain() {
        let counts: Vec<u32> = (0..5000).collect();
        let (rule, shares) = Normaliser::of_counts("x", Axis::Item, 0.4, &counts).expect("fine");
        for n in [0, 1, 37, 4999] {
            let weight = (512.0 * shares[n as usize]) as f32;
            assert_eq!(rule.count_of(512.0, weight), Some(n));
        }
        let (flat, shares) = Normaliser::of_counts("x", Axis::Item, 0.0, &counts).expect("fine");
        assert_eq!(flat.count_of(1.0, shares[3] as f32), None);
    }
}
