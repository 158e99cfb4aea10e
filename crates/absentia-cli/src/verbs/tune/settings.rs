//! The best settings as a job for `train`.

use absentia::evaluate::MetricName;
use absentia::{Method, Solver};
use absentia_io::time::TimeUnit;
use absentia_job::text::{ConfidenceRule, RelationSpec};
use absentia_job::{GivenSettings, Job, half_life_of};
use absentia_search::{SearchResult, SearchedRelation, Trial};
use anyhow::Result;

use crate::args::DataArgs;

/// The job that repeats a trial on all rows: how the data is read and prepared, as it was for the search,
/// and the settings.
pub(super) fn job(trial: &Trial, unit: TimeUnit, data: &DataArgs) -> Job {
    let params = &trial.params;
    let mut job = Job::of_data(&data.data, &data.read, &data.prepare);
    job.solver = Some(params.solver);
    job.weights = trial.weights.iter().cloned().collect();
    job.settings = GivenSettings {
        factors: Some(params.factors),
        iterations: Some(params.iterations),
        regularization: Some(params.regularization),
        reg_exponent: Some(params.reg_exponent),
        targets: Some(params.targets),
        confidence: Some(ConfidenceRule::of(params.confidence, unit)),
        post_scale: Some(params.post_scale),
        post_scale_half_life: half_life_of(params, unit),
        seed: Some(params.seed),
        ..GivenSettings::default()
    };
    if let Method::Solver(Solver::Subspace { block }) = params.solver {
        job.settings.block = Some(block);
    }
    job
}

/// What is searched of a relation: what is not given.
pub(super) fn searched(spec: &RelationSpec) -> SearchedRelation {
    let has_entries = spec.features.is_none();
    SearchedRelation {
        name: spec.name(),
        strength: spec.strength.is_none(),
        weights: has_entries && spec.weights.is_none(),
        targets: has_entries && spec.targets.is_none(),
    }
}

/// Relations with the settings of a trial.
pub(super) fn relations(trial: &Trial, given: &[RelationSpec]) -> Vec<RelationSpec> {
    let mut specs = given.to_vec();
    for (spec, settings) in specs.iter_mut().zip(&trial.relations) {
        spec.strength = settings.strength.or(spec.strength);
        spec.weights = settings.weights().or(spec.weights.take());
        spec.targets = settings.targets.or(spec.targets);
    }
    specs
}

/// The file: the score in a comment, and the table.
pub(super) fn text(result: &SearchResult, metric: &MetricName, job: &Job) -> Result<String> {
    let best = result.best();
    Ok(format!(
        "# {metric} {:.5} on held-out rows: trial {} of {}, by `absentia tune`.\n\
         # Train with: absentia train --config <this file> --model <file>\n{}",
        best.score.unwrap_or(f64::NAN),
        best.number + 1,
        result.trials.len(),
        toml::to_string(job)?
    ))
}
