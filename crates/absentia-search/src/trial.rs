//! Settings that were tried, and their score: a line of the log.

use absentia::Params;
use absentia::weights::{Scheme, SchemeSpec};

use crate::space::{RelationSettings, Scope, Space};
use crate::trial_runner::{TrainedFactors, TrialResult};
use crate::user_scores::UserScores;

/// Why settings were tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Settings known to do well on other data.
    Recipe,
    /// Drawn at random.
    Random,
    /// Proposed by what the best trials so far have in common.
    Model,
    /// The best on the rung below, or of the phase before.
    Promoted,
    /// The best so far with one setting changed by a step, or with more factors.
    #[serde(alias = "beside")]
    Neighbour,
    /// The best so far with one setting left out.
    #[serde(alias = "plainer")]
    Simplified,
}

impl Origin {
    /// The name used in logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Origin::Recipe => "recipe",
            Origin::Random => "random",
            Origin::Model => "model",
            Origin::Promoted => "promoted",
            Origin::Neighbour => "neighbour",
            Origin::Simplified => "simplified",
        }
    }
}

/// A measurement of a trial during training.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Measurement {
    /// Sweeps made.
    pub iterations: usize,
    /// Post-scaling that was best.
    pub post_scale: f32,
    /// The metric with it.
    pub score: f64,
}

/// Settings that were tried.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Trial {
    /// Its place in the log, from 0.
    pub number: usize,
    /// The rung: more factors, more users and more sweeps the higher.
    pub rung: usize,
    /// What was searched: everything that `--search` names, or in the first phase uniform weights.
    #[serde(rename = "search")]
    pub scope: Scope,
    /// Why it was made.
    pub origin: Origin,
    /// The point of the space; empty where no space was searched.
    pub point: Vec<f64>,
    /// The trial whose factors it started from; random factors if `None`.
    pub parent: Option<usize>,
    /// Weights on missing entries; `None` stands for those that the run was given.
    pub weights: Option<SchemeSpec>,
    /// Everything else, with the sweeps and the post-scaling that were best.
    pub params: Params,
    /// Settings of relations, one for each that is trained.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<RelationSettings>,
    /// The metric, larger is better; nothing if the run failed.
    pub score: Option<f64>,
    /// Standard error of the metric over users.
    pub stderr: f64,
    /// NDCG at the cut-off of the metric, if it has one.
    #[serde(default)]
    pub ndcg: Option<f64>,
    /// Every measurement during training.
    pub curve: Vec<Measurement>,
    /// Why there is no score.
    pub failure: Option<String>,
    /// Seconds it took, training and measuring.
    pub seconds: f64,
    /// Seconds of these that were training.
    pub training_seconds: f64,
}

impl Trial {
    /// A trial that has not been measured yet. Its scope has no meaning while it is no point of a space.
    pub(crate) fn unmeasured(weights: Option<SchemeSpec>, params: Params) -> Self {
        Self {
            number: 0,
            rung: 0,
            scope: Scope::All,
            origin: Origin::Recipe,
            point: Vec::new(),
            parent: None,
            weights,
            params,
            relations: Vec::new(),
            score: None,
            stderr: 0.0,
            ndcg: None,
            curve: Vec::new(),
            failure: None,
            seconds: 0.0,
            training_seconds: 0.0,
        }
    }

    /// Fills in what the trial gave; yields the trained factors and the scores of users.
    pub(crate) fn record(&mut self, result: TrialResult) -> (TrainedFactors, UserScores) {
        (self.score, self.stderr) = (Some(result.score), result.stderr);
        self.ndcg = result.users.mean_ndcg();
        self.params.iterations = result.iterations;
        self.params.post_scale = result.post_scale;
        self.curve = result.curve;
        self.failure = result.failure.map(|error| error.to_string());
        self.training_seconds = result.training_seconds;
        (result.factors, result.users)
    }

    /// The weights on missing entries as text.
    #[must_use]
    pub fn weights_text(&self) -> String {
        let weights = self.weights.as_ref().map(ToString::to_string);
        weights.unwrap_or_else(|| "as given".to_owned())
    }

    /// The weights on missing entries; nothing where they were given or need files.
    #[must_use]
    pub fn scheme(&self) -> Option<Scheme> {
        self.weights.as_ref().and_then(SchemeSpec::scheme)
    }
}

/// Trials of a rung that have a score, best first; of equals the earlier first.
pub(crate) fn ranked<'t>(
    trials: impl IntoIterator<Item = &'t Trial>,
    rung: usize,
) -> Vec<&'t Trial> {
    best_first(trials.into_iter().filter(|trial| trial.rung == rung))
}

/// Trials of the first rung that searched a space, best first.
pub(crate) fn first_rung<'t>(space: &Space, trials: &'t [Trial]) -> Vec<&'t Trial> {
    let is_here = |trial: &&Trial| trial.scope == space.scope();
    ranked(trials.iter().filter(is_here), 0)
}

/// Trials that have a score, best first; of equals the earlier first.
pub(crate) fn best_first<'t>(trials: impl IntoIterator<Item = &'t Trial>) -> Vec<&'t Trial> {
    let has_score = |trial: &&Trial| trial.score.is_some_and(f64::is_finite);
    let mut scored: Vec<&Trial> = trials.into_iter().filter(has_score).collect();
    scored.sort_by(|a, b| {
        let (a_score, b_score) = (a.score.unwrap_or(f64::MIN), b.score.unwrap_or(f64::MIN));
        b_score.total_cmp(&a_score).then(a.number.cmp(&b.number))
    });
    scored
}
