//! Whether two models differ by more than chance, from the values of the same users.

use super::protocol::{Evaluation, MetricResult};
use super::student::student_two_sided;
use super::summary::Summary;
use crate::error::Fault;

/// Why two results could not be compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "messages explain the fields of their variants")]
pub enum SignificanceError {
    /// Fewer than two values.
    #[error("{got} values are too few, at least 2 are needed")]
    TooFew { got: usize },
    /// Not one value of each model for each user.
    #[error("{got} values cannot be paired with {expected}")]
    Length { expected: usize, got: usize },
    /// A value that is NaN or infinite.
    #[error("value {at} is not finite")]
    NotFinite { at: usize },
    /// A metric that one of the evaluations does not have.
    #[error("{name} was not measured in both evaluations")]
    NotMeasured { name: String },
    /// Evaluations of different users.
    #[error("the evaluations are not of the same users; compare models on one test set")]
    DifferentUsers,
    /// An option out of range.
    #[error("{name} is {got}; it must be {range}")]
    Parameter {
        name: &'static str,
        got: f64,
        range: &'static str,
    },
}

impl SignificanceError {
    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }
}

/// Outcome of a t-test.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct TTest {
    /// Number of pairs.
    pub n: usize,
    /// Mean difference.
    pub difference: f64,
    /// Its standard error.
    pub stderr: f64,
    /// `difference / stderr`; infinite if all differences are the same and not 0.
    pub t: f64,
    /// Two-sided p-value with n − 1 degrees of freedom.
    pub p: f64,
    /// Cohen's d: the mean difference in standard deviations of the differences.
    pub effect: f64,
}

/// Tests whether the mean of `a − b` is zero, user by user.
///
/// # Errors
/// Values that cannot be paired, fewer than two, or not finite.
pub fn paired_t_test(a: &[f32], b: &[f32]) -> Result<TTest, SignificanceError> {
    t_test(&differences(a, b)?)
}

pub(super) fn differences(a: &[f32], b: &[f32]) -> Result<Vec<f64>, SignificanceError> {
    if a.len() != b.len() {
        return Err(SignificanceError::Length {
            expected: a.len(),
            got: b.len(),
        });
    }
    let pairs = a.iter().zip(b);
    Ok(pairs.map(|(&a, &b)| f64::from(a) - f64::from(b)).collect())
}

pub(super) fn check(values: &[f64]) -> Result<(), SignificanceError> {
    if values.len() < 2 {
        return Err(SignificanceError::TooFew { got: values.len() });
    }
    match values.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(SignificanceError::NotFinite { at }),
        None => Ok(()),
    }
}

fn t_test(values: &[f64]) -> Result<TTest, SignificanceError> {
    check(values)?;
    let summary = Summary::of(values);
    // 0/0 means that there is no difference, not that it is unknown.
    let ratio = |by: f64| {
        if summary.mean == 0.0 {
            0.0
        } else {
            summary.mean / by
        }
    };
    let t = ratio(summary.stderr());
    Ok(TTest {
        n: summary.n,
        difference: summary.mean,
        stderr: summary.stderr(),
        t,
        p: student_two_sided(t, (summary.n - 1) as f64),
        effect: ratio(summary.deviation),
    })
}

impl Evaluation {
    /// Yields the values of one metric in two evaluations of the same users, to be tested.
    ///
    /// # Errors
    /// A metric that was not measured in both, or different users.
    pub fn paired<'a>(
        &'a self,
        other: &'a Self,
        name: &str,
    ) -> Result<(&'a [f32], &'a [f32]), SignificanceError> {
        if self.users != other.users {
            return Err(SignificanceError::DifferentUsers);
        }
        let missing = || SignificanceError::NotMeasured {
            name: name.to_owned(),
        };
        let values = |result: &'a MetricResult| &result.per_user[..];
        let a = self.get(name).map(values).ok_or_else(missing)?;
        let b = other.get(name).map(values).ok_or_else(missing)?;
        Ok((a, b))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The data Student published in 1908: hours of sleep gained with two drugs, ten patients.
    pub(in crate::evaluate) const SLEEP_A: [f32; 10] =
        [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    pub(in crate::evaluate) const SLEEP_B: [f32; 10] =
        [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

    #[test]
    fn the_sleep_data_give_the_known_test() {
        let test = paired_t_test(&SLEEP_A, &SLEEP_B).unwrap();
        assert!((test.difference + 1.58).abs() < 1e-6);
        assert!((test.t + 4.062_127_7).abs() < 1e-5, "{}", test.t);
        assert!((test.p - 0.002_832_89).abs() < 1e-7, "{}", test.p);
        let shifted = paired_t_test(&SLEEP_A, &[0.75; 10]).unwrap();
        assert!(shifted.t.abs() < 1e-6 && shifted.p > 0.999_999);
    }

    #[test]
    fn equal_models_do_not_differ_and_constant_gaps_always_do() {
        let same = paired_t_test(&SLEEP_A, &SLEEP_A).unwrap();
        assert_eq!((same.t, same.p, same.effect), (0.0, 1.0, 0.0));
        let gap = paired_t_test(&[1.0, 2.0, 3.0], &[0.0, 1.0, 2.0]).unwrap();
        assert!(gap.t.is_infinite() && gap.p == 0.0);
    }

    #[test]
    fn unusable_values_are_named() {
        assert!(matches!(
            paired_t_test(&[1.0], &[1.0]),
            Err(SignificanceError::TooFew { got: 1 })
        ));
        assert!(matches!(
            paired_t_test(&[1.0, f32::NAN], &[1.0, 1.0]),
            Err(SignificanceError::NotFinite { at: 1 })
        ));
        assert!(paired_t_test(&[1.0, 2.0], &[1.0]).is_err());
    }
}
