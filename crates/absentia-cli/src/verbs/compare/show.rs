//! A comparison as one table, as JSON and as a page.

use absentia_job::TrainingData;
use absentia_report::format;
use absentia_report::html::{BarChart, ChartAxis, LineChart, Report};
use absentia_report::terminal::{Cell, Column, Table};
use anyhow::Result;
use serde_json::{Map, Value, json};
use std::path::Path;

use super::Compared;
use crate::cli::Context;
use crate::cold::{self, Cold};
use crate::store;
use crate::verbs::evaluate::{difference_json, mean_cell, metrics_json};

/// One object for a variant that is complete.
pub(super) fn line(compared: Option<&Compared>, context: &Context) -> Result<()> {
    let Some(compared) = compared else {
        return Ok(());
    };
    let mut object = Map::new();
    object.insert("variant".to_owned(), json!(compared.name));
    object.insert("seconds".to_owned(), json!(compared.seconds));
    object.insert("iterations".to_owned(), json!(compared.iterations));
    object.insert("objective".to_owned(), json!(compared.objective));
    object.extend(metrics_json(&compared.evaluation));
    if !compared.differences.is_empty() {
        let tests: Map<String, Value> = compared
            .differences
            .iter()
            .map(|difference| (difference.name.clone(), difference_json(difference)))
            .collect();
        object.insert("against_first".to_owned(), Value::Object(tests));
    }
    if !compared.cold.is_empty() {
        object.insert("cold".to_owned(), cold::json(&compared.cold));
    }
    Ok(context.ui.json(&object)?)
}

/// Users and items without a training row, measured apart, if there are any.
fn cold_table(variants: &[Compared]) -> Option<Table> {
    let models: Vec<(&str, &[Cold])> = variants
        .iter()
        .map(|one| (one.name.as_str(), &one.cold[..]))
        .collect();
    let is_any = models.iter().any(|(_, cold)| !cold.is_empty());
    is_any.then(|| cold::table(&models))
}

/// Which models do worse than the most popular items, in words; the first variants are `trained`, the others are not.
pub(super) fn below_popularity(variants: &[Compared], trained: usize) -> Vec<String> {
    let (models, floors) = variants.split_at(trained);
    let mut texts = Vec::new();
    for model in models {
        for floor in floors {
            let pairs = model.evaluation.metrics.iter();
            let pairs = pairs.zip(&floor.evaluation.metrics);
            let lost: Vec<String> = pairs
                .filter(|(own, other)| own.summary.mean < other.summary.mean)
                .map(|(own, other)| {
                    let (own_mean, other_mean) = (own.summary.mean, other.summary.mean);
                    let (own_mean, other_mean) =
                        (format::metric(own_mean), format::metric(other_mean));
                    format!("{} {own_mean} against {other_mean}", own.name)
                })
                .collect();
            if !lost.is_empty() {
                let (name, floor) = (&model.name, &floor.name);
                texts.push(format!(
                    "{name} does worse than the {floor} items: {}",
                    lost.join(", ")
                ));
            }
        }
    }
    texts
}

/// The table for a person.
pub(super) fn tables(variants: &[Compared], context: &Context) -> Result<()> {
    if context.ui.is_json() {
        return Ok(());
    }
    context.ui.table(&table(variants))?;
    let first = &variants[0].evaluation;
    context.ui.say(format!(
        "{} users, {}; ± is half of a 95% interval, p is paired against the first line",
        first.users.len(),
        first.candidates
    ))?;
    if let Some(table) = cold_table(variants) {
        context.ui.table(&table)?;
    }
    Ok(())
}

fn table(variants: &[Compared]) -> Table {
    let first = &variants[0].evaluation;
    let mut columns = vec![Column::left("variant")];
    for metric in &first.metrics {
        columns.push(Column::right(metric.name.to_string()).highest_is_best());
        columns.push(Column::right("p"));
    }
    if let Some(list) = first.catalogue.last() {
        columns.push(Column::right(format!("coverage@{}", list.cutoff)));
        columns.push(Column::right(format!("popularity@{}", list.cutoff)));
    }
    columns.push(Column::right("seconds").lowest_is_best());
    let mut table = Table::new(columns);
    for compared in variants {
        table.row(cells(compared));
    }
    table
}

fn cells(compared: &Compared) -> Vec<Cell> {
    let mut cells = vec![Cell::text(compared.name.as_str())];
    for (at, metric) in compared.evaluation.metrics.iter().enumerate() {
        cells.push(mean_cell(&metric.summary));
        let test = compared.differences.get(at);
        cells.push(Cell::text(
            test.map_or_else(String::new, |difference| p_only(difference.test.p)),
        ));
    }
    if let Some(list) = compared.evaluation.catalogue.last() {
        cells.push(Cell::number(list.coverage, format::percent(list.coverage)));
        cells.push(Cell::number(
            list.popularity,
            format::compact(list.popularity),
        ));
    }
    // Counting rows is no training: it would always be the fastest.
    cells.push(match compared.size {
        Some(_) => Cell::number(compared.seconds, format!("{:.2}", compared.seconds)),
        None => Cell::text(""),
    });
    cells
}

fn p_only(p: f64) -> String {
    format::p_value(p)
        .trim_start_matches("p = ")
        .trim_start_matches("p ")
        .to_owned()
}

/// The problems that were solved, each once: only objectives of the same one can be compared.
fn problems(variants: &[Compared]) -> Vec<&str> {
    let mut problems: Vec<&str> = Vec::new();
    for problem in variants.iter().filter_map(|one| one.problem.as_deref()) {
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    problems
}

/// Factors and regularization of all variants, or of each if they differ.
fn sizes(variants: &[Compared]) -> String {
    let known = || variants.iter().filter_map(|one| one.size.as_deref());
    match known().next() {
        None => String::new(),
        Some(first) if known().all(|size| size == first) => format!(", {first}"),
        Some(_) => {
            let each = variants.iter().filter_map(|one| {
                let size = one.size.as_deref()?;
                Some(format!("{} {size}", one.name))
            });
            format!(". {}", each.collect::<Vec<_>>().join("; "))
        }
    }
}

/// The page.
pub(super) fn report(
    path: &Path,
    variants: &[Compared],
    prepared: &TrainingData,
    setting: &str,
) -> Result<()> {
    let Some(first) = variants.first() else {
        return Ok(());
    };
    let mut report = Report::new("Comparison")
        .subtitle(format!(
            "{setting}: {} interactions of {} users with {} items; {} test users, {}{}",
            format::count(prepared.data.n_interactions() as u64),
            format::count(prepared.data.n_users() as u64),
            format::count(prepared.data.n_items() as u64),
            format::count(first.evaluation.users.len() as u64),
            first.evaluation.candidates,
            sizes(variants)
        ))
        .table(
            "Metrics, ± half of a 95% interval, p paired against the first line",
            &table(variants),
        );
    if let Some(table) = cold_table(variants) {
        report = report.table("New and known users and items apart", &table);
    }
    for (at, metric) in first.evaluation.metrics.iter().enumerate() {
        let mut chart = BarChart::new(metric.name.to_string());
        for compared in variants {
            let summary = &compared.evaluation.metrics[at].summary;
            let (low, high) = summary.interval();
            chart = chart.interval(compared.name.as_str(), summary.mean, (high - low) / 2.0);
        }
        report = report.chart(chart);
    }
    for problem in problems(variants) {
        let mut curves = LineChart::new(
            format!("Objective, {problem}"),
            ChartAxis::whole("sweep"),
            ChartAxis::linear("objective"),
        );
        let own = |compared: &&Compared| compared.problem.as_deref() == Some(problem);
        for compared in variants.iter().filter(own) {
            curves = curves.curve(compared.name.as_str(), &compared.curve);
        }
        report = report.chart(curves);
    }
    store::write_text(path, &report.render())
}
