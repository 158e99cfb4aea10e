//! Metrics and held-out rows as they are requested on the command line.

use absentia::data::Pick;
use absentia::evaluate::{EvaluateOptions, Metric, MetricName};
use absentia_job::text::SplitRule;
use absentia_job::{JobError, metric_name};

use crate::failure::Refusal;
use crate::ui::Ui;

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
                let named = name.parse::<MetricName>();
                let named = named.map_err(|_| not_a_metric("metrics", &error))?;
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
            let refusal = Refusal::flag(flag, format!("{metric}: {metric}@K is needed, a cut-off"));
            refusal.hint(format!("write {metric}@20, say")).into()
        }
        error => not_a_metric(flag, &error),
    })
}

/// The refusal of a metric that a flag names.
fn not_a_metric(flag: &str, error: &dyn std::fmt::Display) -> anyhow::Error {
    Refusal::flag(flag, format!(": {error}")).into()
}

/// Whether a metric is the same for every model of this many items: its lists have all of them, in any order.
fn is_the_same(metric: Metric, cutoff: usize, items: usize) -> bool {
    let counts_hits = matches!(metric, Metric::HitRate | Metric::Recall | Metric::Precision);
    counts_hits && cutoff >= items
}

/// A cut-off that tells models of this many items apart.
fn smaller_cutoff(items: usize) -> usize {
    (items / 3).max(1)
}

/// Why a metric is the same for every model of this many items, if it is.
pub(crate) fn says_nothing(name: &MetricName, items: usize) -> Option<String> {
    let cutoff = name
        .cutoff
        .filter(|cutoff| is_the_same(name.metric, *cutoff, items))?;
    let smaller = smaller_cutoff(items);
    Some(format!(
        "{name} is the same for all settings: lists of {cutoff} have all {items} items; choose a smaller cut-off, \
         as in --metric {}@{smaller}",
        name.metric
    ))
}

/// Warns of metrics that are the same for every model of this many items.
pub(crate) fn warn_of_full_lists(options: &EvaluateOptions, items: usize, ui: &Ui) {
    let cutoffs = options.cutoffs.iter();
    let names = cutoffs.flat_map(|&cutoff| {
        let metrics = options.metrics.iter();
        let same = metrics.filter(move |metric| is_the_same(**metric, cutoff, items));
        same.map(move |metric| format!("{metric}@{cutoff}"))
    });
    let names: Vec<String> = names.collect();
    if !names.is_empty() {
        ui.warn(format!(
            "the same for all models: {}, because such lists have all {items} items; choose a smaller cut-off, as in \
             --at {}",
            names.join(", "),
            smaller_cutoff(items)
        ));
    }
}

/// How rows were held out, in the words of a report.
pub(crate) fn held_out_by(rule: SplitRule, pick: Pick) -> String {
    let rows = match pick {
        _ if rule.unused_pick("").is_some() => "",
        Pick::Latest => " (latest rows)",
        Pick::Random => " (random rows)",
        Pick::Drift => " (random rows that drift)",
    };
    format!("held out by {rule}{rows}")
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

    #[test]
    fn lists_of_all_items_say_nothing_unless_their_order_counts() -> anyhow::Result<()> {
        for (name, items, expected) in [
            ("recall@20", 20, true),
            ("recall@20", 21, false),
            ("hr@20", 3, true),
            ("ndcg@20", 3, false),
            ("auc", 3, false),
        ] {
            let metric = name.parse::<MetricName>()?;
            assert_eq!(
                says_nothing(&metric, items).is_some(),
                expected,
                "{name} of {items}"
            );
        }
        Ok(())
    }
}
