//! Evaluations as tables and as JSON.

use absentia::evaluate::{Evaluation, Interval, Summary, TTest};
use absentia_report::format;
use absentia_report::terminal::{Cell, Column, Table};
use serde_json::{Map, Value, json};

use super::LeftOut;

/// How two models differ in one metric.
pub(crate) struct Difference {
    pub(crate) name: String,
    pub(crate) test: TTest,
    pub(crate) interval: Interval,
}

/// One object with `recall@20` style keys.
pub(crate) fn evaluation_json(
    own: &Evaluation,
    other: Option<&(String, Evaluation)>,
    differences: &[Difference],
    left_out: LeftOut,
) -> Value {
    let mut object = metrics_json(own);
    object.insert("unknown_rows".to_owned(), json!(left_out.rows));
    object.insert("users_left_out".to_owned(), json!(left_out.users));
    if let Some((name, other)) = other {
        object.insert("against".to_owned(), json!(name));
        object.insert("other".to_owned(), Value::Object(metrics_json(other)));
        let tests: Map<String, Value> = differences
            .iter()
            .map(|difference| (difference.name.clone(), difference_json(difference)))
            .collect();
        object.insert("difference".to_owned(), Value::Object(tests));
    }
    Value::Object(object)
}

/// The figures of one evaluation.
pub(crate) fn metrics_json(evaluation: &Evaluation) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("users".to_owned(), json!(evaluation.users.len()));
    object.insert(
        "candidates".to_owned(),
        json!(evaluation.candidates.to_string()),
    );
    let sampled = matches!(
        evaluation.candidates,
        absentia::evaluate::CandidateKind::Sampled { .. }
    );
    object.insert("sampled".to_owned(), json!(sampled));
    let mut intervals = Map::new();
    for metric in &evaluation.metrics {
        let name = metric.name.to_string();
        object.insert(name.clone(), json!(metric.summary.mean));
        // One user says nothing about how far the mean can be trusted.
        let interval = (metric.summary.n > 1).then(|| metric.summary.interval());
        intervals.insert(name, json!(interval));
    }
    for list in &evaluation.catalogue {
        let k = list.cutoff;
        object.insert(format!("coverage@{k}"), json!(list.coverage));
        object.insert(format!("gini@{k}"), json!(list.gini));
        object.insert(format!("popularity@{k}"), json!(list.popularity));
    }
    object.insert("intervals".to_owned(), Value::Object(intervals));
    object
}

pub(crate) fn difference_json(difference: &Difference) -> Value {
    json!({
        "difference": difference.test.difference,
        "p": difference.test.p,
        "t": difference.test.t,
        "effect": difference.test.effect,
        "low": difference.interval.low,
        "high": difference.interval.high,
    })
}

/// The figures for a person: metrics, and what is recommended.
pub(crate) fn evaluation_tables(
    name: &str,
    own: &Evaluation,
    other: Option<&(String, Evaluation)>,
    differences: &[Difference],
) -> Vec<Table> {
    let mut columns = vec![Column::left("metric"), Column::right(name)];
    if let Some((other, _)) = other {
        columns.push(Column::right(other.as_str()));
        columns.push(Column::right("difference, 95%"));
        columns.push(Column::right("paired t-test"));
    }
    let mut metrics = Table::new(columns);
    for (at, metric) in own.metrics.iter().enumerate() {
        let mut cells = vec![Cell::text(metric.name.to_string()), mean(own, at)];
        if let Some((_, other)) = other {
            cells.push(mean(other, at));
        }
        if let Some(difference) = differences.get(at) {
            cells.extend(difference_cells(difference));
        }
        metrics.row(cells);
    }
    let mut tables = vec![metrics];
    if !own.catalogue.is_empty() {
        tables.push(catalogue(own));
    }
    tables
}

fn mean(evaluation: &Evaluation, at: usize) -> Cell {
    mean_cell(&evaluation.metrics[at].summary)
}

/// A mean with its interval, which one user does not have.
pub(crate) fn mean_cell(summary: &Summary) -> Cell {
    if summary.n < 2 {
        return Cell::metric(summary.mean);
    }
    let (low, high) = summary.interval();
    Cell::mean(summary.mean, (high - low) / 2.0)
}

fn difference_cells(difference: &Difference) -> [Cell; 2] {
    let (low, high) = (difference.interval.low, difference.interval.high);
    [
        Cell::text(format!(
            "{} [{}, {}]",
            format::signed(difference.test.difference),
            format::signed(low),
            format::signed(high)
        )),
        Cell::text(format::p_value(difference.test.p)),
    ]
}

fn catalogue(evaluation: &Evaluation) -> Table {
    let mut table = Table::new([
        Column::left("lists"),
        Column::right("coverage"),
        Column::right("Gini"),
        Column::right("mean popularity"),
    ]);
    for list in &evaluation.catalogue {
        table.row([
            Cell::text(format!("first {}", list.cutoff)),
            Cell::number(list.coverage, format::percent(list.coverage)),
            Cell::metric(list.gini),
            Cell::number(list.popularity, format::compact(list.popularity)),
        ]);
    }
    table
}
