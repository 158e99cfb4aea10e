//! The best settings as a configuration for `train`.

use absentia::evaluate::MetricName;
use absentia::{Method, Solver};
use absentia_io::time::TimeUnit;
use absentia_job::Job;
use absentia_job::text::ConfidenceRule;
use absentia_search::{SearchResult, Trial};
use anyhow::Result;
use toml::{Table, Value};

use crate::args::DataArgs;

/// The configuration of `train` that repeats a trial on all rows: how the data is read and prepared, as
/// it was for the search, and the settings.
pub(super) fn config(trial: &Trial, now: i64, data: &DataArgs) -> Table {
    let mut table = Job::of_data(&data.data, &data.read, &data.prepare).table();
    table.extend(settings(trial, now));
    table
}

fn settings(trial: &Trial, now: i64) -> Table {
    let params = &trial.params;
    let text = |text: String| Value::String(text);
    // As texts, because a float of 32 bits written as one of 64 reads back as another number.
    let mut table = Table::new();
    let mut set = |key: &str, value| table.insert(key.to_owned(), value);
    set("factors", whole(params.factors as u64));
    set("iterations", whole(params.iterations as u64));
    set("regularization", text(params.regularization.to_string()));
    set("reg-exponent", text(params.reg_exponent.to_string()));
    set("solver", text(params.solver.name().to_owned()));
    if let Method::Solver(Solver::Subspace { block }) = params.solver {
        set("block", whole(block as u64));
    }
    set("weights", Value::Array(vec![text(trial.weights_text())]));
    set("targets", text(params.targets.to_string()));
    set(
        "confidence",
        text(ConfidenceRule::of(params.confidence, TimeUnit::of_latest(now)).to_string()),
    );
    set("post-scale", text(params.post_scale.to_string()));
    set("seed", whole(params.seed));
    table
}

/// A whole number, or its digits where TOML has no integer so large.
fn whole(number: u64) -> Value {
    i64::try_from(number).map_or_else(|_| Value::String(number.to_string()), Value::Integer)
}

/// The file: the score in a comment, and the table.
pub(super) fn text(result: &SearchResult, metric: &MetricName, config: &Table) -> Result<String> {
    let best = result.best();
    Ok(format!(
        "# {metric} {:.5} on held-out rows: trial {} of {}, by `absentia tune`.\n\
         # Train with: absentia train --config <this file> --model <file>\n{}",
        best.score.unwrap_or(f64::NAN),
        best.number + 1,
        result.trials.len(),
        toml::to_string(config)?
    ))
}
