//! What to measure, and among which items.

use super::error::EvaluateError;
use super::metrics::{Metric, MetricName};
use crate::ranking::UserItems;

/// Which items are ranked for a user.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Candidates {
    /// All items.
    #[default]
    All,
    /// The user's test items and a list of sampled negatives (NCF: 99), nothing else.
    ///
    /// Sampled metrics are larger than full ones and can order models differently, so results are
    /// marked; seen items are not left out, the lists are taken as they are.
    Sampled(UserItems),
    /// These items alone, rising: new items among themselves.
    Only(Vec<u32>),
}

/// What to measure, and on which candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluateOptions {
    /// Cut-offs k, each for every metric that has one.
    pub cutoffs: Vec<usize>,
    /// The metrics.
    pub metrics: Vec<Metric>,
    /// Whether items the user has seen are left out of the ranking. The code released with the
    /// eALS paper ranks them too.
    pub exclude_seen: bool,
    /// Which items are ranked.
    pub candidates: Candidates,
}

impl Default for EvaluateOptions {
    /// All metrics with a cut-off, at 10 and 20, over all unseen items.
    fn default() -> Self {
        let with_cutoff = |metric: &Metric| metric.has_cutoff();
        Self {
            cutoffs: vec![10, 20],
            metrics: Metric::ALL.into_iter().filter(with_cutoff).collect(),
            exclude_seen: true,
            candidates: Candidates::All,
        }
    }
}

impl EvaluateOptions {
    /// Yields every metric at every cut-off, cut-offs rising, repeats dropped.
    ///
    /// # Errors
    /// No metric, no cut-off where one is needed, or a cut-off of 0.
    pub fn names(&self) -> Result<Vec<MetricName>, EvaluateError> {
        let cutoffs = self.sorted_cutoffs()?;
        let mut names = Vec::new();
        for &metric in &self.metrics {
            if !metric.has_cutoff() {
                names.push(MetricName {
                    metric,
                    cutoff: None,
                });
                continue;
            }
            if cutoffs.is_empty() {
                let metric = metric.key();
                return Err(EvaluateError::NoCutoffs { metric });
            }
            names.extend(cutoffs.iter().map(|&k| MetricName {
                metric,
                cutoff: Some(k),
            }));
        }
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(*name));
        if names.is_empty() {
            return Err(EvaluateError::NoMetrics);
        }
        Ok(names)
    }

    pub(super) fn sorted_cutoffs(&self) -> Result<Vec<usize>, EvaluateError> {
        let mut cutoffs = self.cutoffs.clone();
        cutoffs.sort_unstable();
        cutoffs.dedup();
        match cutoffs.first() {
            Some(0) => Err(EvaluateError::ZeroCutoff),
            _ => Ok(cutoffs),
        }
    }

    /// The longest list that any cut-off needs.
    pub(super) fn longest(&self, n_items: usize) -> usize {
        let longest = self.cutoffs.iter().copied().max();
        longest.unwrap_or(0).min(n_items)
    }
}
