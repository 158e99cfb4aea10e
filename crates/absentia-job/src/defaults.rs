//! The table of defaults: the values of keys that were not given.
//!
//! The numbers of the engine's parameters are those of [`Params::default`]; everything else is here.

use absentia::data::Duplicates;
use absentia::online::REFIT_SWEEPS;
use absentia::weights::SchemeSpec;
use absentia::{Method, Params};
use absentia_io::ReadOptions;
use absentia_io::time::TimeUnit;

use crate::text::{ConfidenceRule, Device};

/// Metric that chooses the best model where rows are held out.
pub const VALID_METRIC: &str = "ndcg@20";

/// Sweeps between measurements of that metric.
pub const VALID_EVERY: usize = 1;

/// Sweeps between checkpoints.
pub const CHECKPOINT_EVERY: usize = 10;

/// If whole users are held out: the share of their rows that they are folded in from.
pub const FOLD_IN: f64 = 0.8;

/// What the weights of a relation are multiplied by.
pub const RELATION_STRENGTH: f32 = 0.5;

/// Weights on the missing entries of a relation.
#[must_use]
pub fn relation_weights() -> SchemeSpec {
    SchemeSpec::uniform(0.02)
}

/// Metric that a search raises.
pub const TUNE_METRIC: &str = "recall@20";

/// What commands take beside the keys of a job: the command, its flag and the text of its default.
#[must_use]
pub fn of_commands() -> Vec<(&'static str, &'static str, String)> {
    vec![
        ("train", "checkpoint-every", CHECKPOINT_EVERY.to_string()),
        ("split", "fold-in", FOLD_IN.to_string()),
        ("stream", "refit-sweeps", REFIT_SWEEPS.to_string()),
        ("tune", "metric", TUNE_METRIC.to_owned()),
    ]
}

/// Every key that has a default, with its text. Settings that are chosen automatically have the value
/// that holds where nothing can be chosen.
#[must_use]
pub fn table() -> Vec<(&'static str, String)> {
    let params = Params::default();
    let reading = ReadOptions::default();
    let confidence = ConfidenceRule::of(params.confidence, TimeUnit::default());
    let number = |name: &str| {
        let method = name.parse::<Method>().ok();
        method.and_then(Method::number).unwrap_or_default()
    };
    vec![
        ("solver", params.solver.to_string()),
        (
            "weights",
            SchemeSpec::default_for(params.solver).to_string(),
        ),
        ("device", Device::default().to_string()),
        ("factors", params.factors.to_string()),
        ("iterations", params.iterations.to_string()),
        ("regularization", params.regularization.to_string()),
        ("reg-exponent", params.reg_exponent.to_string()),
        ("block", number("subspace").to_string()),
        ("cg-steps", number("als-cg").to_string()),
        ("neighbours", number("itemknn").to_string()),
        ("learning-rate", params.learning_rate.to_string()),
        ("targets", params.targets.to_string()),
        ("confidence", confidence.to_string()),
        ("post-scale", params.post_scale.to_string()),
        ("init-std", params.init_std.to_string()),
        ("seed", params.seed.to_string()),
        ("valid-metric", VALID_METRIC.to_owned()),
        ("valid-every", VALID_EVERY.to_string()),
        ("duplicates", Duplicates::default().to_string()),
        ("sample-seed", 0.to_string()),
        ("skip-bad", reading.skip_bad.to_string()),
        ("max-line", reading.max_line.to_string()),
    ]
}
