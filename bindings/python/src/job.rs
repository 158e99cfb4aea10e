//! Jobs as Python gives them, and the text forms of what a model was trained with.

use std::path::PathBuf;

use absentia::evaluate::EvaluateOptions;
use absentia_io::time::TimeUnit;
use absentia_job::text::ConfidenceRule;
use absentia_job::{ConfigFile, Job, defaults, half_life_of};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

use crate::error::OrRaise;

/// Reads a job: an object of JSON with the keys of a configuration file.
pub(crate) fn parse(text: &str) -> PyResult<Job> {
    let table: toml::Table = serde_json::from_str(text)
        .map_err(|error| PyValueError::new_err(format!("settings: {error}")))?;
    let mut job = Job::default();
    for (key, value) in table {
        job.set(&key, &value).or_raise()?;
    }
    let job = job.with_preset().or_raise()?;
    job.check().or_raise()?;
    Ok(job)
}

/// The job of a configuration file, as JSON, and where it writes its model and its checkpoints.
#[pyfunction]
pub(crate) fn job_of_file(path: PathBuf) -> PyResult<(String, Option<String>, Option<String>)> {
    let file = ConfigFile::read(&path).or_raise()?;
    let job = file.job().or_raise()?;
    let text = serde_json::to_string(&job.table());
    let text = text.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let output = |key: &str| {
        file.output(key)
            .and_then(|value| value.as_str())
            .map(str::to_owned)
    };
    Ok((text, output("model"), output("checkpoint")))
}

/// The argument of Python for a key.
pub(crate) fn argument(key: &str) -> String {
    match key {
        "seed" => "random_state".to_owned(),
        "threads" => "num_threads".to_owned(),
        key => key.replace('-', "_"),
    }
}

/// The argument for every key of a job.
#[pyfunction]
pub(crate) fn setting_names() -> Vec<String> {
    Job::keys().iter().map(|key| argument(key)).collect()
}

/// The default of every argument that has one, as text.
#[pyfunction]
pub(crate) fn default_settings() -> Vec<(String, String)> {
    let table = defaults::table().into_iter();
    table.map(|(key, value)| (argument(key), value)).collect()
}

/// The default of a flag of a command, as text.
#[pyfunction]
pub(crate) fn default_of(command: &str, flag: &str) -> PyResult<String> {
    let mut all = defaults::of_commands().into_iter();
    let found = all.find(|(of, key, _)| (*of, *key) == (command, flag));
    let unknown = || PyKeyError::new_err(format!("{command} --{flag} has no default"));
    found.map(|(_, _, text)| text).ok_or_else(unknown)
}

/// The metrics that are measured where none are named.
#[pyfunction]
pub(crate) fn default_metrics() -> PyResult<Vec<String>> {
    let names = EvaluateOptions::default().names().or_raise()?;
    Ok(names.iter().map(ToString::to_string).collect())
}

/// Solver, targets, confidence, and the half-life of the post-scaling if there is one.
pub(crate) type Texts = (String, String, String, Option<String>);

/// Solver, targets, confidence and half-life of the post-scaling of a model as they are written; `latest` is the
/// latest time of its data.
pub(crate) fn texts(params: &absentia::Params, latest: i64) -> Texts {
    let unit = TimeUnit::of_latest(latest);
    let confidence = ConfidenceRule::of(params.confidence, unit);
    (
        params.solver.to_string(),
        params.targets.to_string(),
        confidence.to_string(),
        half_life_of(params, unit).map(|half_life| half_life.to_string()),
    )
}
