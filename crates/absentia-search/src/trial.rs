//! One setting tried, as it is logged.

use absentia::Params;
use absentia::weights::SchemeSpec;

/// Why a setting was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A starting point.
    Recipe,
    /// Drawn at random.
    Random,
    /// Proposed by what the trials before had in common.
    Model,
    /// Good on the rung below.
    Promoted,
    /// The best so far with another penalty, or with more factors.
    Beside,
    /// The best so far with a setting left out.
    Plainer,
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
            Origin::Beside => "beside",
            Origin::Plainer => "plainer",
        }
    }
}

/// A measurement of a trial on its way.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Measurement {
    /// Sweeps made.
    pub iterations: usize,
    /// Post-scaling that was best.
    pub post_scale: f32,
    /// The metric with it.
    pub score: f64,
}

/// One setting tried on one rung.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Trial {
    /// Its place in the log, from 0.
    pub number: usize,
    /// The rung: more factors, more users and more sweeps the higher.
    pub rung: usize,
    /// Why it was made.
    pub origin: Origin,
    /// The point of the space.
    pub point: Vec<f64>,
    /// The trial whose factors it started from; random ones when there is none.
    pub parent: Option<usize>,
    /// Weights on missing entries.
    pub weights: SchemeSpec,
    /// Everything else, with the sweeps and the post-scaling that were best.
    pub params: Params,
    /// The metric, larger is better; nothing if the run failed.
    pub score: Option<f64>,
    /// Standard error of the metric over users.
    pub stderr: f64,
    /// Every measurement on the way.
    pub curve: Vec<Measurement>,
    /// Why there is no score.
    pub failure: Option<String>,
    /// Seconds it took, training and measuring.
    pub seconds: f64,
    /// Seconds of these that were training.
    pub training_seconds: f64,
}

/// Trials with a score, best first; of equals the earlier.
pub(crate) fn ranked<'t>(
    trials: impl IntoIterator<Item = &'t Trial>,
    rung: usize,
) -> Vec<&'t Trial> {
    let mut scored: Vec<&Trial> = trials
        .into_iter()
        .filter(|trial| trial.rung == rung && trial.score.is_some_and(f64::is_finite))
        .collect();
    scored.sort_by(|a, b| {
        let (a_score, b_score) = (a.score.unwrap_or(f64::MIN), b.score.unwrap_or(f64::MIN));
        b_score.total_cmp(&a_score).then(a.number.cmp(&b.number))
    });
    scored
}
