//! Mean, standard error and interval of a metric over users.

/// Half the width of a 95% interval, in standard errors of a normal distribution.
const NORMAL_95: f64 = 1.959_963_984_540_054;

/// A mean over users and how far it can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Summary {
    /// Number of users.
    pub n: usize,
    /// Mean over users.
    pub mean: f64,
    /// Standard deviation over users, with n − 1; 0 for one user.
    pub deviation: f64,
}

impl Summary {
    /// Yields the summary of some values; all zero if there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let n = values.len();
        if n == 0 {
            return Self::default();
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (n.max(2) - 1) as f64).sqrt();
        Self { n, mean, deviation }
    }

    /// Standard error of the mean.
    #[must_use]
    pub fn stderr(&self) -> f64 {
        self.deviation / (self.n.max(1) as f64).sqrt()
    }

    /// Ends of the 95% confidence interval of the mean, by the normal approximation.
    #[must_use]
    pub fn interval(&self) -> (f64, f64) {
        let half = NORMAL_95 * self.stderr();
        (self.mean - half, self.mean + half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_a_few_values_is_the_textbook_one() {
        let summary = Summary::of(&[1.0, 2.0, 3.0, 4.0]);
        assert!((summary.mean - 2.5).abs() < 1e-15);
        assert!((summary.deviation - (5.0_f64 / 3.0).sqrt()).abs() < 1e-15);
        let (low, high) = summary.interval();
        assert!((high - low - 2.0 * NORMAL_95 * summary.stderr()).abs() < 1e-15);
        assert!(Summary::of(&[0.3]).stderr().abs() < 1e-300);
    }
}
