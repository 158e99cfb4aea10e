//! Measuring models while they are trained.

use absentia::evaluate::{Metric, MetricName, TestSet};
use absentia::{Interactions, Model};
use absentia_search::SingleMetric;

use crate::error::JobError;

/// Reads the name of one metric, such as `ndcg@20`.
///
/// # Errors
/// A name that is none, or one whose cut-off is missing.
pub fn metric_name(text: &str) -> Result<MetricName, JobError> {
    match (text.parse::<MetricName>(), text.parse::<Metric>()) {
        (Err(_), Ok(metric)) if metric.has_cutoff() => Err(JobError::MetricLacksCutoff {
            metric: text.to_owned(),
        }),
        (name, _) => Ok(name?),
    }
}

/// Measures one metric of models while they are trained.
pub(crate) struct Validator<'d> {
    metric: SingleMetric<'d>,
    test: &'d TestSet,
}

impl<'d> Validator<'d> {
    /// Takes the matrix trained on, the held-out pairs and the metric.
    ///
    /// # Errors
    /// There are no held-out pairs.
    pub(crate) fn new(
        train: &'d Interactions<'_>,
        test: &'d TestSet,
        name: MetricName,
    ) -> Result<Self, JobError> {
        if test.users().is_empty() {
            return Err(JobError::NothingToValidateOn);
        }
        Ok(Self {
            metric: SingleMetric::new(train, name),
            test,
        })
    }

    /// The metric of a model; NaN, which never wins, if it cannot be measured.
    pub(crate) fn measure(&self, model: &Model) -> f64 {
        let measured = self.metric.measure(model, self.test);
        measured.map_or(f64::NAN, |summary| summary.mean)
    }
}
