//! How a search is made.

use std::time::Duration;

use crate::error::SearchError;
use crate::space::Scope;
use absentia::MAX_FACTORS;
use absentia::evaluate::{Metric, MetricName};

/// When a search ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// After this many trials; the result depends on the seed alone.
    Trials(usize),
    /// After about this much time, or earlier when trials gain nothing. If one trial on every rung takes longer, these are
    /// made.
    Time(Duration),
}

/// What is searched, by which metric and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchOptions {
    /// The metric to raise.
    pub metric: MetricName,
    /// How much of the space is searched.
    pub scope: Scope,
    /// When the search ends.
    pub budget: Budget,
    /// The largest number of factors.
    pub max_factors: usize,
    /// Whether there is only a first rung, with `max_factors` factors: many settings are measured in
    /// the same way, none of them trained to the end.
    pub first_rung_only: bool,
    /// Whether fewer factors may be chosen if they do as well.
    pub may_shrink: bool,
    /// Whether items without a row in training are ranked among themselves alone, others being left out: how well
    /// new items can be distinguished.
    pub among_new: bool,
    /// Seed of proposals, of starts and of samples of users.
    pub seed: u64,
    /// Number of threads; what the machine or container allows if `None`.
    pub threads: Option<usize>,
    /// Bytes a run may take.
    pub memory_limit: Option<u64>,
}

impl Default for SearchOptions {
    /// Ten minutes for recall@20 with up to 1792 factors; nearly all trials have 1024 at most.
    fn default() -> Self {
        Self {
            metric: MetricName {
                metric: Metric::Recall,
                cutoff: Some(20),
            },
            scope: Scope::All,
            budget: Budget::Time(Duration::from_secs(600)),
            max_factors: 1792,
            first_rung_only: false,
            may_shrink: true,
            among_new: false,
            seed: 0,
            threads: None,
            memory_limit: None,
        }
    }
}

impl SearchOptions {
    pub(crate) fn check(&self) -> Result<(), SearchError> {
        let wrong = |name, got, range| Err(SearchError::Option { name, got, range });
        if self.max_factors == 0 || self.max_factors > MAX_FACTORS {
            return wrong("max_factors", self.max_factors as f64, "1 to 8192");
        }
        match self.budget {
            Budget::Trials(0) => wrong("number of trials", 0.0, "at least 1"),
            Budget::Time(time) if time.is_zero() => wrong("time budget", 0.0, "above 0"),
            _ => Ok(()),
        }
    }
}
