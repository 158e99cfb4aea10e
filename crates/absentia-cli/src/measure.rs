//! Metrics as they are asked for on the command line, and validation while training.

use absentia::Interactions;
use absentia::Model;
use absentia::evaluate::{
    EvaluateOptions, Evaluation, History, Metric, MetricName, TestSet, evaluate,
};

use crate::failure::Refusal;

/// Cut-offs where none are asked for.
const CUTOFFS: [usize; 2] = [10, 20];

/// Reads metrics as they are asked for: `ndcg`, to be cut at every cut-off, or `ndcg@20`.
pub(crate) fn options(metrics: &[String], cutoffs: &[usize]) -> anyhow::Result<EvaluateOptions> {
    let bare = |name: &String| name.parse::<Metric>().is_ok_and(Metric::has_cutoff);
    let needs_cutoffs = metrics.is_empty() || metrics.iter().any(bare);
    let mut options = EvaluateOptions {
        cutoffs: if cutoffs.is_empty() && needs_cutoffs {
            CUTOFFS.to_vec()
        } else {
            cutoffs.to_vec()
        },
        ..EvaluateOptions::default()
    };
    if metrics.is_empty() {
        return Ok(options);
    }
    options.metrics.clear();
    for name in metrics {
        let metric = match name.parse::<Metric>() {
            Ok(metric) => metric,
            Err(error) => {
                let named = name.parse::<MetricName>().map_err(|_| error)?;
                options.cutoffs.extend(named.cutoff);
                named.metric
            }
        };
        options.metrics.push(metric);
    }
    Ok(options)
}

/// Reads the one metric of a flag; says so where its cut-off is missing.
pub(crate) fn metric(flag: &str, text: &str) -> anyhow::Result<MetricName> {
    match (text.parse::<MetricName>(), text.parse::<Metric>()) {
        (Err(_), Ok(metric)) if metric.has_cutoff() => {
            let refusal = Refusal::usage(format!("{flag} {text}: {text}@K is needed, a cut-off"));
            Err(refusal.hint(format!("write {text}@20, say")).into())
        }
        (name, _) => Ok(name?),
    }
}

/// Measures one metric of models while they are trained.
pub(crate) struct Validator<'d> {
    history: History<'d>,
    test: &'d TestSet,
    name: MetricName,
    options: EvaluateOptions,
}

impl<'d> Validator<'d> {
    /// Takes the matrix trained on, the held-out pairs and the name of the metric.
    pub(crate) fn new(
        train: &'d Interactions<'_>,
        test: &'d TestSet,
        metric: &str,
    ) -> anyhow::Result<Self> {
        let name: MetricName = metric.parse()?;
        if test.users().is_empty() {
            let refusal = Refusal::data("no user has a validation item");
            return Err(refusal.hint("check --valid or --valid-split").into());
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

    /// The metric of a model; NaN, which never wins, if it cannot be had.
    pub(crate) fn measure(&self, model: &Model) -> f64 {
        let scorer = model.scorer();
        let measured = evaluate(&scorer, &self.history, self.test, &self.options, &|_, _| {});
        let mean = |evaluation: &Evaluation| {
            let result = evaluation.get(&self.name.to_string())?;
            Some(result.summary.mean)
        };
        measured.ok().as_ref().and_then(mean).unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_offs_are_those_that_are_asked_for() -> anyhow::Result<()> {
        let cutoffs = |names: &[&str], at: &[usize]| -> anyhow::Result<Vec<usize>> {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            Ok(options(&names, at)?.cutoffs)
        };
        assert_eq!(cutoffs(&[], &[])?, CUTOFFS);
        assert_eq!(cutoffs(&["ndcg@5"], &[])?, [5]);
        assert_eq!(cutoffs(&["ndcg@5", "recall"], &[])?, [10, 20, 5]);
        assert_eq!(cutoffs(&["ndcg@5"], &[50])?, [50, 5]);
        Ok(())
    }
}
