//! Metrics of a model on held-out items.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

use absentia::evaluate::{
    EvaluateOptions, Evaluation, History, MetricName, TestSet, evaluate as measure,
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::data::Data;
use crate::error::OrRaise;
use crate::model::Model;
use crate::pool::{detached, signals};

/// Name, mean, standard error and the value of each user.
type MetricTuple<'py> = (String, f64, f64, Bound<'py, PyArray1<f32>>);

/// Marks an unwinding that ends an evaluation because of a signal.
struct Interrupted;

/// Measures a model; yields the users measured, on which candidates, and every metric.
#[pyfunction]
#[pyo3(signature = (model, seen, users, items, metrics, exclude_seen=true, threads=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of one call")]
pub(crate) fn evaluate<'py>(
    py: Python<'py>,
    model: Bound<'py, Model>,
    seen: Data<'py>,
    users: PyReadonlyArray1<'py, u32>,
    items: PyReadonlyArray1<'py, u32>,
    metrics: Vec<String>,
    exclude_seen: bool,
    threads: Option<usize>,
) -> PyResult<(Bound<'py, PyArray1<u32>>, String, Vec<MetricTuple<'py>>)> {
    let test = TestSet::from_pairs(users.as_slice()?, items.as_slice()?).or_raise()?;
    let options = options(&metrics, exclude_seen)?;
    let lent = seen.lend()?;
    let model = &model.get().trained;
    let failure: Mutex<Option<PyErr>> = Mutex::new(None);
    let found = detached(py, threads, || {
        let history = History::new(lent.seen(), &model.parts().item_counts[..]);
        // The engine has no other way out of an evaluation than its end or a panic.
        catch_unwind(AssertUnwindSafe(|| {
            measure(&model.scorer(), &history, &test, &options, &|_, _| {
                if let Err(error) = signals() {
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    resume_unwind(Box::new(Interrupted));
                }
            })
        }))
    })?;
    if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let found = found
        .unwrap_or_else(|panic| resume_unwind(panic))
        .or_raise()?;
    let asked: Vec<MetricName> = metrics
        .iter()
        .filter_map(|name| name.parse().ok())
        .collect();
    Ok(table(py, found, &asked))
}

fn options(metrics: &[String], exclude_seen: bool) -> PyResult<EvaluateOptions> {
    let names: Result<Vec<MetricName>, _> = metrics.iter().map(|name| name.parse()).collect();
    let names = names.or_raise()?;
    Ok(EvaluateOptions {
        cutoffs: names.iter().filter_map(|name| name.cutoff).collect(),
        metrics: names.iter().map(|name| name.metric).collect(),
        exclude_seen,
        ..EvaluateOptions::default()
    })
}

/// Keeps the metrics asked for: the engine measures every metric at every cut-off.
fn table<'py>(
    py: Python<'py>,
    found: Evaluation,
    asked: &[MetricName],
) -> (Bound<'py, PyArray1<u32>>, String, Vec<MetricTuple<'py>>) {
    let rows = found.metrics.into_iter();
    let rows = rows.filter(|result| asked.contains(&result.name));
    let rows = rows.map(|result| {
        let values = PyArray1::from_vec(py, result.per_user);
        let summary = result.summary;
        (
            result.name.to_string(),
            summary.mean,
            summary.stderr(),
            values,
        )
    });
    let rows = rows.collect();
    let candidates = found.candidates.to_string();
    (PyArray1::from_vec(py, found.users), candidates, rows)
}
