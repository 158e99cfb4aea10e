//! The report of a search.

use std::path::Path;

use absentia_io::time::TimeUnit;
use absentia_report::format;
use absentia_report::html::{
    BarChart, ChartAxis, LineChart, ParallelChart, Point, Report, ScatterChart,
};
use absentia_search::{Dimension, Range, SearchResult, Space, StagedSearch, Trial, sensitivity};
use anyhow::Result;

use super::folds::Folds;
use super::show::{HALF, best_table, brief};
use crate::cold::{self, Cold};
use crate::store;

/// Number of lines in the chart of parallel axes; more cannot be distinguished.
const MOST_LINES: usize = 150;

/// Writes the page.
pub(super) fn write(
    path: &Path,
    search: &StagedSearch<'_>,
    (result, cold): (&SearchResult, &[Cold]),
    folds: &Folds,
    (setting, config): (&str, &str),
) -> Result<()> {
    let metric = search.options().metric.to_string();
    let best = result.best();
    let seconds: f64 = result.trials.iter().map(|trial| trial.seconds).sum();
    let mut report = Report::new("Search for settings")
        .subtitle(format!(
            "{setting}: {} interactions of {} users with {} items, {}{}",
            format::count(folds.all.n_interactions() as u64),
            format::count(folds.all.n_users() as u64),
            format::count(folds.all.n_items() as u64),
            format::counted(folds.held_out as u64, "row"),
            match folds.number {
                1 => String::new(),
                ways => format!(", in {ways} ways"),
            }
        ))
        .highlights([
            (
                metric.as_str(),
                format::metric(best.score.unwrap_or(f64::NAN)),
            ),
            ("factors", best.params.factors.to_string()),
            ("regularization", best.params.regularization.to_string()),
            ("trials", format::count(result.trials.len() as u64)),
            (
                "time",
                format::duration(std::time::Duration::from_secs_f64(seconds)),
            ),
        ])
        .table(
            "The best trials, ± half of a 95% interval; the one that is kept is highlighted",
            &best_table(result, &metric, folds.unit),
        )
        .code("The best settings", config);
    if !cold.is_empty() {
        report = report.table(
            "New and known users and items apart, with the best settings and the first held-out rows",
            &cold::table(&[("", cold)]),
        );
    }
    report = report.chart(progress(search, result, &metric));
    let space = search.most_tried(&result.trials);
    let first = result.first_rung(space);
    let known = sensitivity(space, &result.trials);
    report = report.section("Which settings matter").paragraph(
        "All of these trials have the same number of factors and sweeps, so that they differ in \
         their settings alone. The importance of a setting is its share of the variance of the metric \
         that settings explain, corrected for chance; the worst quarter of the trials is left out.",
    );
    if !known.is_empty() {
        let mut bars = BarChart::new("Importance of settings, in % of all");
        for one in &known {
            let share = format::percent(one.share);
            bars = bars.bar(&*one.name, 100.0 * one.share).text(share);
        }
        report = report.chart(bars);
    }
    report = report
        .chart(parallel(space, &first, &metric))
        .small_multiples(scatters(space, &first, &metric, folds.unit));
    store::write_text(path, &report.render())
}

/// The best so far as trials were made, by rung.
fn progress(search: &StagedSearch<'_>, result: &SearchResult, metric: &str) -> LineChart {
    let mut chart = LineChart::new(
        "The best so far, by rung",
        ChartAxis::whole("trial"),
        ChartAxis::linear(metric),
    );
    let mut made = 0;
    let is_first = |trial: &Trial| search.is_first_phase(trial);
    for trials in result.trials.chunk_by(|a, b| is_first(a) == is_first(b)) {
        made += trials.len();
        let of = if is_first(&trials[0]) {
            "uniform weights, "
        } else {
            ""
        };
        let schedule = search.schedule(&result.trials[..made]);
        for (rung, step) in schedule.rungs.iter().enumerate() {
            let here = trials.iter().filter(|trial| trial.rung == rung);
            let name = format!("{of}rung {}, {} factors", rung + 1, step.factors);
            chart = chart.series(name, &best_so_far(here));
        }
    }
    chart
}

/// The best so far after each of some trials.
fn best_so_far<'t>(trials: impl Iterator<Item = &'t Trial>) -> Vec<(f64, f64)> {
    let mut best = f64::MIN;
    let mut points = Vec::new();
    for trial in trials {
        best = best.max(trial.score.unwrap_or(f64::MIN));
        if best > f64::MIN {
            points.push((trial.number as f64 + 1.0, best));
        }
    }
    points
}

fn parallel(space: &Space, trials: &[&Trial], metric: &str) -> ParallelChart {
    let dimensions = space.dimensions();
    let mut chart = ParallelChart::new("Every trial through its settings, the best in front");
    for dimension in dimensions {
        chart = match dimension.options() {
            options if options.is_empty() => chart.axis(axis(dimension)),
            options => chart.names(dimension.label(), options),
        };
    }
    chart = chart
        .axis(ChartAxis::linear("post-scaling"))
        .axis(ChartAxis::linear(metric));
    for trial in trials.iter().take(MOST_LINES) {
        let values = dimensions.iter().enumerate();
        let mut line: Vec<f64> = values
            .map(|(at, dimension)| dimension.value_in(trial, at))
            .collect();
        line.push(f64::from(trial.params.post_scale));
        line.push(trial.score.unwrap_or(f64::NAN));
        chart = chart.line(format!("trial {}", trial.number + 1), &line);
    }
    chart
}

fn scatters(space: &Space, trials: &[&Trial], metric: &str, unit: TimeUnit) -> Vec<ScatterChart> {
    let dimensions = space.dimensions().iter().enumerate();
    let numbers = dimensions.filter(|(_, d)| !matches!(d.range, Range::Choice { .. }));
    let mut charts: Vec<ScatterChart> = numbers
        .map(|(at, dimension)| {
            let value = |trial: &Trial| dimension.value_in(trial, at);
            scatter(
                dimension.label(),
                axis(dimension),
                trials,
                (metric, unit),
                &value,
            )
        })
        .collect();
    let rho = |trial: &Trial| f64::from(trial.params.post_scale);
    let axis = ChartAxis::linear("post-scaling");
    charts.push(scatter("post-scaling", axis, trials, (metric, unit), &rho));
    charts
}

fn scatter(
    name: &str,
    axis: ChartAxis,
    trials: &[&Trial],
    (metric, unit): (&str, TimeUnit),
    value: &dyn Fn(&Trial) -> f64,
) -> ScatterChart {
    let at = |trial: &Trial| Point::new(value(trial), trial.score.unwrap_or(f64::NAN));
    let chart = ScatterChart::new(name, axis, ChartAxis::linear(metric));
    let Some((best, others)) = trials.split_first() else {
        return chart;
    };
    // The best one has a colour, a name and its interval; names of all would cover one another.
    let named = at(best).errors(0.0, HALF * best.stderr);
    let named = named.label(format!("trial {}", best.number + 1));
    let others = others.iter().map(|trial| {
        let settings = brief(trial, unit);
        at(trial).tooltip(format!("trial {}: {settings}", trial.number + 1))
    });
    chart
        .series("trials", others)
        .series("the best of them", [named])
}

fn axis(dimension: &Dimension) -> ChartAxis {
    if dimension.is_log() {
        ChartAxis::log(dimension.label())
    } else {
        ChartAxis::linear(dimension.label())
    }
}
