//! Measuring models while they are trained.

use absentia::evaluate::{
    EvaluateOptions, Evaluation, History, Metric, MetricName, TestSet, evaluate,
};
use absentia::{Interactions, Model};

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
pub struct Validator<'d> {
    history: History<'d>,
    test: &'d TestSet,
    name: MetricName,
    options: EvaluateOptions,
}

impl<'d> Validator<'d> {
    /// Takes the matrix trained on, the held-out pairs and the metric.
    ///
    /// # Errors
    /// There are no held-out pairs.
    pub fn new(
        train: &'d Interactions<'_>,
        test: &'d TestSet,
        name: MetricName,
    ) -> Result<Self, JobError> {
        if test.users().is_empty() {
            return Err(JobError::NothingToValidateOn);
        }
        Ok(Self {
            history: History::of(train),
            test,
            options: EvaluateOptions {
                cutoffs: name.cutoff.into_iter().collect(),
                metrics: vec![name.metric],
                ..EvaluateOptions::default()
            },
            name,
        })
    }

    /// The metric of a model; NaN, which never wins, if it cannot be measured.
    #[must_use]
    pub fn measure(&self, model: &Model) -> f64 {
        let scorer = model.scorer();
        let measured = evaluate(&scorer, &self.history, self.test, &self.options, &|_, _| {});
        let mean = |evaluation: &Evaluation| {
            let result = evaluation.get(&self.name.to_string())?;
            Some(result.summary.mean)
        };
        measured.ok().as_ref().and_then(mean).unwrap_or(f64::NAN)
    }
}
