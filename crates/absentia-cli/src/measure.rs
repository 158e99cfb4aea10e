//! Metrics as they are requested on the command line.

use absentia::evaluate::{EvaluateOptions, Metric, MetricName};
use absentia_job::{JobError, metric_name};

use crate::failure::Refusal;

/// Cut-offs where none are requested.
const CUTOFFS: [usize; 2] = [10, 20];

/// Reads metrics: `ndcg`, to be cut at every cut-off, or `ndcg@20`.
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

/// Reads the one metric of a flag.
pub(crate) fn metric(flag: &str, text: &str) -> anyhow::Result<MetricName> {
    metric_name(text).map_err(|error| match error {
        JobError::MetricLacksCutoff { metric } => {
            let refusal =
                Refusal::usage(format!("{flag} {metric}: {metric}@K is needed, a cut-off"));
            refusal.hint(format!("write {metric}@20, say")).into()
        }
        error => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_offs_are_those_that_are_requested() -> anyhow::Result<()> {
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
