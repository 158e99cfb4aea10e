//! Metrics of a model on held-out items.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use absentia::Model as Trained;
use absentia::evaluate::{
    EvaluateOptions, Evaluation, History, MetricName, TestSet, evaluate as measure,
};
use absentia::fit::Cancel;
use absentia::model::Factors;
use absentia::ranking::{FactorScorer, RankError, Scorer};
use numpy::PyArray1;
use pyo3::exceptions::PyInterruptedError;
use pyo3::prelude::*;

use crate::data::{Column, Data, Entries, borrow};
use crate::error::OrRaise;
use crate::factors::{BorrowedTable, Table, check_columns};
use crate::model::Model;
use crate::pool::{detached, interruptible};

/// Name, mean, standard error and the value of each user.
type MetricTuple<'py> = (String, f64, f64, Bound<'py, PyArray1<f32>>);

/// Marks an unwinding that ends an evaluation nobody waits for any more.
struct Interrupted;

/// Measures a model; yields the users measured, on which candidates, and every metric. Users are those of the model,
/// or rows of factors where they are given.
#[pyfunction]
#[pyo3(signature = (model, seen, users, items, metrics, exclude_seen=true, threads=None, rows=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of one call")]
pub(crate) fn evaluate(
    py: Python<'_>,
    model: Py<Model>,
    seen: Data,
    users: Column<u32>,
    items: Column<u32>,
    metrics: Vec<String>,
    exclude_seen: bool,
    threads: Option<usize>,
    rows: Option<Table>,
) -> PyResult<(Bound<'_, PyArray1<u32>>, String, Vec<MetricTuple<'_>>)> {
    let options = options(&metrics, exclude_seen)?;
    let evaluation = interruptible(py, move |py, cancel| {
        let (users, items) = (borrow(py, &users)?, borrow(py, &items)?);
        let test = TestSet::from_pairs(users.as_slice()?, items.as_slice()?).or_raise()?;
        let seen = seen.borrow(py)?;
        let entries = seen.view()?;
        let trained = &model.get().trained;
        let rows = match rows {
            Some(rows) => {
                let rows = borrow(py, &rows)?;
                check_columns(&rows, trained.n_factors())?;
                Some(BorrowedTable::of(&rows)?.copied())
            }
            None => None,
        };
        let evaluation = detached(py, threads, || {
            let known = trained.scorer();
            let new = rows.as_ref().map(|rows| scorer_of_rows(rows, trained));
            let scorer: &dyn Scorer = match &new {
                Some(Ok(new)) => new,
                Some(Err(error)) => return Some(Err(error.clone()).or_raise()),
                None => &known,
            };
            until_cancelled((scorer, model.get()), &entries, &test, &options, cancel)
        })?;
        evaluation.unwrap_or_else(|| Err(PyInterruptedError::new_err("interrupted")))
    })?;
    let requested: Vec<MetricName> = metrics
        .iter()
        .filter_map(|name| name.parse().ok())
        .collect();
    Ok(table(py, evaluation, &requested))
}

/// The scorer of new users.
fn scorer_of_rows<'a>(
    rows: &'a Factors,
    model: &'a Trained,
) -> Result<FactorScorer<'a>, RankError> {
    let scorer = FactorScorer::new(rows, model.item_factors())?;
    match model.item_scale() {
        Some(scale) => scorer.scaled(scale),
        None => Ok(scorer),
    }
}

/// The evaluation, unless it is cancelled: the engine has no other way out of one than a panic.
fn until_cancelled(
    (scorer, model): (&dyn Scorer, &Model),
    seen: &Entries<'_>,
    test: &TestSet,
    options: &EvaluateOptions,
    cancel: &Cancel,
) -> Option<PyResult<Evaluation>> {
    let model = &model.trained;
    let history = History::new(seen.seen(), &model.parts().item_counts[..]);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        measure(scorer, &history, test, options, &|_, _| {
            if cancel.is_cancelled() {
                resume_unwind(Box::new(Interrupted));
            }
        })
    }));
    match outcome {
        Ok(evaluation) => Some(evaluation.or_raise()),
        Err(panic) if panic.is::<Interrupted>() => None,
        Err(panic) => resume_unwind(panic),
    }
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

/// Keeps the requested metrics: the engine measures every metric at every cut-off.
fn table<'py>(
    py: Python<'py>,
    evaluation: Evaluation,
    requested: &[MetricName],
) -> (Bound<'py, PyArray1<u32>>, String, Vec<MetricTuple<'py>>) {
    let rows = evaluation.metrics.into_iter();
    let rows = rows.filter(|result| requested.contains(&result.name));
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
    let candidates = evaluation.candidates.to_string();
    (PyArray1::from_vec(py, evaluation.users), candidates, rows)
}
