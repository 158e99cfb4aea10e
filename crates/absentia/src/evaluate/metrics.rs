//! Metrics of one user's ranking.
//!
//! All metrics are functions of the ranks `r_1 < r_2 < …` of the user's test items (1 is best) and
//! of their number m; `docs/metrics.md` has the formulas with a worked example.

use std::fmt;
use std::str::FromStr;

use super::error::EvaluateError;

/// A measure of how well the test items of a user are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Metric {
    /// `hr@k`: 1 if any test item is among the first k, else 0.
    HitRate,
    /// `ndcg@k`: `Σ_{r_j ≤ k} 1/log₂(r_j + 1)` over its largest possible value,
    /// `Σ_{j ≤ min(k, m)} 1/log₂(j + 1)`; for one test item `ln 2 / ln(r + 1)`.
    Ndcg,
    /// `recall@k`: hits among the first k over m.
    Recall,
    /// `precision@k`: hits among the first k over k.
    Precision,
    /// `map@k`: `Σ_{r_j ≤ k} j / r_j` over `min(k, m)`.
    Map,
    /// `mrr@k`: `1 / r_1` if `r_1 ≤ k`, else 0.
    Mrr,
    /// `mrr`: `1 / r_1` without a cut-off.
    MrrAll,
    /// `auc`: share of pairs (test item, other candidate) in which the test item comes first.
    Auc,
}

impl Metric {
    /// Every metric, in the order in which they are shown.
    pub const ALL: [Metric; 8] = [
        Metric::Recall,
        Metric::Ndcg,
        Metric::HitRate,
        Metric::Precision,
        Metric::Map,
        Metric::Mrr,
        Metric::MrrAll,
        Metric::Auc,
    ];

    /// Whether the metric looks at the first k only; the others need the exact rank of every test
    /// item.
    #[must_use]
    pub fn has_cutoff(self) -> bool {
        !matches!(self, Metric::MrrAll | Metric::Auc)
    }

    /// Name of the metric in text.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Metric::HitRate => "hr",
            Metric::Ndcg => "ndcg",
            Metric::Recall => "recall",
            Metric::Precision => "precision",
            Metric::Map => "map",
            Metric::Mrr => "mrr",
            Metric::MrrAll => "mrr-all",
            Metric::Auc => "auc",
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

impl FromStr for Metric {
    type Err = EvaluateError;

    fn from_str(name: &str) -> Result<Self, EvaluateError> {
        let known = Metric::ALL.into_iter().find(|metric| metric.key() == name);
        known.ok_or_else(|| EvaluateError::UnknownMetric {
            name: name.to_owned(),
        })
    }
}

/// A metric with its cut-off, written as `recall@20`, `mrr` or `auc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MetricName {
    /// The metric.
    pub metric: Metric,
    /// Its cut-off k, where it has one.
    pub cutoff: Option<usize>,
}

impl fmt::Display for MetricName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.metric, self.cutoff) {
            (metric, Some(k)) => write!(f, "{metric}@{k}"),
            (Metric::MrrAll, None) => f.write_str("mrr"),
            (metric, None) => write!(f, "{metric}"),
        }
    }
}

impl FromStr for MetricName {
    type Err = EvaluateError;

    fn from_str(name: &str) -> Result<Self, EvaluateError> {
        let unknown = || EvaluateError::UnknownMetric {
            name: name.to_owned(),
        };
        let (key, cutoff) = match name.split_once('@') {
            Some((key, k)) => (key, Some(k.parse().map_err(|_| unknown())?)),
            None if name == "mrr" => ("mrr-all", None),
            None => (name, None),
        };
        let metric: Metric = key.parse().map_err(|_| unknown())?;
        if metric.has_cutoff() != cutoff.is_some() || cutoff == Some(0) {
            return Err(unknown());
        }
        Ok(Self { metric, cutoff })
    }
}

/// Where the test items of one user were ranked.
#[derive(Clone, Copy, Debug)]
pub(super) struct UserRanks<'a> {
    /// 1-based ranks of the test items that were found, rising. For metrics with a cut-off those
    /// within the cut-off suffice.
    pub(super) ranks: &'a [u32],
    /// Number m of test items, found or not.
    pub(super) n_test: usize,
    /// Number of items that were ranked, test items included.
    pub(super) candidates: usize,
}

impl UserRanks<'_> {
    /// The value of a metric for this user, between 0 and 1; 0 without test items.
    #[must_use]
    pub(super) fn value(&self, name: MetricName) -> f64 {
        if self.n_test == 0 {
            return 0.0;
        }
        let k = name.cutoff.unwrap_or(usize::MAX);
        let hits = &self.ranks[..self.ranks.partition_point(|&rank| rank as usize <= k)];
        let m = self.n_test;
        let value = match name.metric {
            Metric::HitRate => f64::from(u8::from(!hits.is_empty())),
            Metric::Recall => hits.len() as f64 / m as f64,
            Metric::Precision => hits.len() as f64 / k as f64,
            Metric::Ndcg => {
                hits.iter().map(|&rank| gain(rank as usize)).sum::<f64>() / ideal(k.min(m))
            }
            Metric::Map => average_precision(hits) / k.min(m) as f64,
            Metric::Mrr | Metric::MrrAll => hits.first().map_or(0.0, |&rank| 1.0 / f64::from(rank)),
            Metric::Auc => self.auc(),
        };
        // A sum of nothing is -0.
        value + 0.0
    }

    /// A test item that was not ranked counts as behind everything; 1 if there is nothing to be
    /// behind of.
    fn auc(&self) -> f64 {
        let others = self.candidates.saturating_sub(self.ranks.len()) as f64;
        if others == 0.0 {
            return 1.0;
        }
        let ahead = |(before, &rank): (usize, &u32)| f64::from(rank) - 1.0 - before as f64;
        let wrong: f64 = self.ranks.iter().enumerate().map(ahead).sum();
        let unranked = (self.n_test - self.ranks.len()) as f64 * others;
        1.0 - (wrong + unranked) / (self.n_test as f64 * others)
    }
}

/// What a hit at a 1-based rank counts in NDCG.
#[must_use]
pub fn gain(rank: usize) -> f64 {
    std::f64::consts::LN_2 / (rank as f64 + 1.0).ln()
}

fn ideal(hits: usize) -> f64 {
    (1..=hits).map(gain).sum()
}

fn average_precision(hits: &[u32]) -> f64 {
    let precision = |(before, &rank): (usize, &u32)| (before + 1) as f64 / f64::from(rank);
    hits.iter().enumerate().map(precision).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of `docs/metrics.md`.
    #[test]
    fn the_worked_example_of_the_docs_holds() {
        let user = UserRanks {
            ranks: &[2, 4, 9],
            n_test: 4,
            candidates: 20,
        };
        let value = |name: &str| user.value(name.parse().unwrap());
        let log2 = |x: f64| x.log2();
        let ndcg = (1.0 / log2(3.0) + 1.0 / log2(5.0))
            / (1.0 + 1.0 / log2(3.0) + 1.0 / log2(4.0) + 1.0 / log2(5.0));
        for (name, expected) in [
            ("hr@5", 1.0),
            ("recall@5", 0.5),
            ("precision@5", 0.4),
            ("ndcg@5", ndcg),
            ("ndcg@5", 0.414_429_925_012),
            ("map@5", 0.25),
            ("mrr@5", 0.5),
            ("hr@1", 0.0),
            ("mrr@1", 0.0),
            ("mrr", 0.5),
            ("auc", 1.0 - 26.0 / 68.0),
        ] {
            assert!(
                (value(name) - expected).abs() < 1e-9,
                "{name}: {}",
                value(name)
            );
        }
    }

    #[test]
    fn ndcg_of_one_test_item_is_the_papers() {
        for rank in 1..50 {
            let user = UserRanks {
                ranks: &[rank],
                n_test: 1,
                candidates: 100,
            };
            let name = "ndcg@100".parse().unwrap();
            let paper = 2_f64.ln() / (f64::from(rank) + 1.0).ln();
            assert!((user.value(name) - paper).abs() < 1e-15);
        }
    }

    #[test]
    fn names_read_back_as_written() {
        for text in [
            "hr@1",
            "ndcg@10",
            "recall@20",
            "precision@3",
            "map@7",
            "mrr@5",
            "mrr",
            "auc",
        ] {
            let name: MetricName = text.parse().unwrap();
            assert_eq!(name.to_string(), text);
        }
        for text in ["recall", "auc@5", "ndcg@0", "ndcg@x", "f1@3", ""] {
            assert!(text.parse::<MetricName>().is_err(), "{text}");
        }
    }
}
