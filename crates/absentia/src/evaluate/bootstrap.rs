//! The bootstrap interval of a mean difference.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use super::significance::{SignificanceError, check, differences};
use super::summary::Summary;

/// How a bootstrap is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Bootstrap {
    /// Number of resamples.
    pub resamples: usize,
    /// Probability the interval is to cover.
    pub level: f64,
    /// Seed; the same seed gives the same interval on any number of threads.
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self {
            resamples: 2000,
            level: 0.95,
            seed: 0,
        }
    }
}

/// A bootstrap interval of a mean difference.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Interval {
    /// Mean difference of the sample itself.
    pub difference: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Yields the percentile bootstrap interval of the mean of `a − b` over users.
///
/// # Errors
/// As [`paired_t_test`](super::paired_t_test); also fewer than 10 resamples or a level outside (0, 1).
pub fn bootstrap_difference(
    a: &[f32],
    b: &[f32],
    options: Bootstrap,
) -> Result<Interval, SignificanceError> {
    let differences = differences(a, b)?;
    check(&differences)?;
    options.check()?;
    let draws = (0..options.resamples as u64).into_par_iter();
    let mut means: Vec<f64> = draws
        .map(|resample| resampled_mean(&differences, options.seed, resample))
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    let tail = 0.5 * (1.0 - options.level);
    Ok(Interval {
        difference: Summary::of(&differences).mean,
        low: quantile(&means, tail),
        high: quantile(&means, 1.0 - tail),
    })
}

impl Bootstrap {
    fn check(&self) -> Result<(), SignificanceError> {
        if self.resamples < 10 {
            return Err(SignificanceError::Parameter {
                name: "resamples",
                got: self.resamples as f64,
                range: "at least 10",
            });
        }
        if !(self.level > 0.0 && self.level < 1.0) {
            return Err(SignificanceError::Parameter {
                name: "level",
                got: self.level,
                range: "above 0 and below 1",
            });
        }
        Ok(())
    }
}

/// Each resample has a stream of its own, so that the order in which they are drawn is free.
fn resampled_mean(values: &[f64], seed: u64, resample: u64) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(resample);
    let n = values.len() as u64;
    let mut sum = 0.0;
    for _ in 0..n {
        // High half of a product: as even as 64 bits over n allow.
        let at = (u128::from(rng.next_u64()) * u128::from(n)) >> 64;
        sum += values[at as usize];
    }
    sum / n as f64
}

/// Linear interpolation between order statistics.
fn quantile(sorted: &[f64], probability: f64) -> f64 {
    let place = probability * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - place.floor()) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::super::significance::tests::{SLEEP_A, SLEEP_B};
    use super::*;

    #[test]
    fn the_bootstrap_brackets_the_mean_and_repeats_by_seed() {
        let options = Bootstrap::default();
        let interval = bootstrap_difference(&SLEEP_A, &SLEEP_B, options).unwrap();
        assert!(interval.low < -1.58 && -1.58 < interval.high && interval.high < 0.0);
        assert_eq!(
            interval,
            bootstrap_difference(&SLEEP_A, &SLEEP_B, options).unwrap()
        );
        let other = Bootstrap { seed: 1, ..options };
        assert_ne!(
            interval,
            bootstrap_difference(&SLEEP_A, &SLEEP_B, other).unwrap()
        );
        let level = Bootstrap {
            level: 1.0,
            ..options
        };
        assert!(bootstrap_difference(&SLEEP_A, &SLEEP_B, level).is_err());
    }
}
