//! What a search gives.

use super::StagedSearch;
use crate::error::SearchError;
use crate::space::Space;
use crate::trial::{Trial, first_rung};

/// The trials of a finished search.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// Every trial, in order.
    pub trials: Vec<Trial>,
    /// Number of the best one.
    pub(super) best: usize,
    /// Number of the one with the highest score, where a simpler one is kept.
    pub(super) highest: Option<usize>,
    /// Numbers of the trials that were measured as the best was, best first.
    measured_alike: Vec<usize>,
    /// What the most popular items reach on the same rows.
    pub baselines: Vec<Baseline>,
    /// Whether the search ended before its budget was spent.
    pub interrupted: bool,
}

/// A ranking that is the same for all users, measured as trials are.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// Its name.
    pub name: &'static str,
    /// The metric.
    pub score: f64,
    /// Standard error of the metric over users.
    pub stderr: f64,
}

impl SearchResult {
    /// The trials that were measured as the best was, best first: those of the last rung of each phase, unless none was
    /// reached.
    pub fn measured_alike(&self) -> impl Iterator<Item = &Trial> {
        self.measured_alike
            .iter()
            .map(|&number| &self.trials[number])
    }

    /// The trials of the first rung that searched this space, best first.
    #[must_use]
    pub fn first_rung(&self, space: &Space) -> Vec<&Trial> {
        first_rung(space, &self.trials)
    }

    /// The trial with the best settings: the simplest of those that nothing richer beats by more than noise.
    #[must_use]
    pub fn best(&self) -> &Trial {
        &self.trials[self.best]
    }

    /// The trial with the highest score, if it is not the best: it is richer, and better by no more than noise.
    #[must_use]
    pub fn not_kept(&self) -> Option<&Trial> {
        let highest = self.highest.map(|highest| &self.trials[highest]);
        highest.filter(|trial| trial.score > self.best().score)
    }
}

impl StagedSearch<'_> {
    /// The result before the best trial is compared with simpler ones.
    pub(super) fn result(
        &self,
        trials: Vec<Trial>,
        interrupted: bool,
    ) -> Result<SearchResult, SearchError> {
        let best = self.best(&trials);
        let measured_alike = best.map(|best| self.measured_alike(best, &trials));
        let best = best.map(|trial| trial.number);
        let scores = || trials.iter().filter_map(|trial| trial.score);
        if best.is_some() && scores().all(|score| score <= 0.0) {
            return Err(SearchError::NothingScored {
                metric: self.options.metric.to_string(),
                trials: trials.len(),
            });
        }
        match (best, trials.first()) {
            (Some(best), _) => Ok(SearchResult {
                trials,
                best,
                highest: None,
                measured_alike: measured_alike.unwrap_or_default(),
                baselines: Vec::new(),
                interrupted,
            }),
            (None, None) => Err(SearchError::Cancelled),
            (None, Some(first)) => Err(SearchError::AllFailed {
                trials: trials.len(),
                first: first.failure.clone().unwrap_or_default(),
            }),
        }
    }
}
