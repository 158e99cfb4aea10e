//! A search for a person to follow, and for a program to read.

use std::path::Path;
use std::time::Duration;

use absentia_io::time::TimeUnit;
use absentia_io::{is_standard, output_name};
use absentia_job::half_life_of;
use absentia_job::text::ConfidenceRule;
use absentia_report::format;
use absentia_report::terminal::{Bar, Cell, Column, Table};
use absentia_search::{Baseline, Budget, SearchResult, StagedSearch, Trial, sensitivity};
use anyhow::Result;
use serde_json::{Value, json};

use super::conditions::Conditions;
use super::folds::Folds;
use crate::cli::Context;
use crate::cold::{self, Cold};

/// Half of a 95% interval, in standard errors.
pub(super) const HALF: f64 = 1.96;
/// Trials in the table of the best.
const SHOWN: usize = 8;

/// The best so far, line by line, over a bar.
pub(super) struct Live<'a> {
    search: &'a StagedSearch<'a>,
    context: &'a Context,
    unit: TimeUnit,
    bar: Bar,
    /// Number of folds, and of users whose rows they hold out.
    held_out: (usize, usize),
    /// The best one that was shown.
    best: Option<Shown>,
}

/// A trial that was shown as the best so far.
struct Shown {
    score: Option<f64>,
    is_first_phase: bool,
    measured: Conditions,
}

impl<'a> Live<'a> {
    pub(super) fn new(
        search: &'a StagedSearch<'a>,
        logged: &[Trial],
        folds: &Folds,
        context: &'a Context,
    ) -> Self {
        let progress = context.ui.progress();
        let bar = match search.options().budget {
            Budget::Trials(trials) => progress.count("tuning", trials as u64, "trials"),
            Budget::Time(time) => progress.count("tuning", time.as_secs().max(1), "seconds"),
        };
        let live = Self {
            search,
            context,
            unit: folds.unit,
            bar,
            held_out: (folds.number, folds.held_out_users),
            best: None,
        };
        live.advance(logged);
        live
    }

    /// Shows the trial that was just made.
    pub(super) fn show(&mut self, trials: &[Trial]) -> Result<()> {
        let Some(trial) = trials.last() else {
            return Ok(());
        };
        self.context.ui.json(trial)?;
        self.advance(trials);
        if let Some(best) = self.search.best_of_phase(trials) {
            self.show_best(best, trials);
        }
        Ok(())
    }

    /// Shows the best trial of its phase if it is better than the best that was shown. One that is as good with fewer
    /// factors, or by NDCG, takes its place without a line: the best so far does not fall.
    fn show_best(&mut self, best: &Trial, trials: &[Trial]) {
        let now = self.shown(best, trials);
        match &self.best {
            None => {
                let metric = self.search.options().metric.to_string();
                self.bar.say(&heading(&metric));
            }
            Some(before) if before.measured == now.measured => {
                if now.score <= before.score {
                    return;
                }
            }
            Some(before) => self.bar.say(&announced(best.rung, before, &now)),
        }
        self.bar.say(&line(best, trials, self.unit));
        self.best = Some(now);
    }

    fn shown(&self, best: &Trial, trials: &[Trial]) -> Shown {
        let rung = self.search.schedule(trials).rungs[best.rung];
        Shown {
            score: best.score,
            is_first_phase: self.search.is_first_phase(best),
            measured: Conditions::new(best.params.factors, &rung, self.held_out),
        }
    }

    pub(super) fn finish(&self) {
        self.bar.finish();
    }

    fn advance(&self, trials: &[Trial]) {
        let done = match self.search.options().budget {
            Budget::Trials(_) => trials.len() as u64,
            Budget::Time(_) => elapsed(trials).as_secs(),
        };
        if let Some(trial) = trials.last() {
            let schedule = self.search.schedule(trials);
            let is_first = self.search.is_first_phase(trial);
            self.bar.note(format!(
                "trial {}{} with {} factors, rung {} of {}",
                trial.number + 1,
                if is_first {
                    ", of uniform weights,"
                } else {
                    ""
                },
                trial.params.factors,
                trial.rung + 1,
                schedule.rungs.len()
            ));
        }
        self.bar.set(done);
    }
}

fn elapsed(trials: &[Trial]) -> Duration {
    Duration::from_secs_f64(trials.iter().map(|trial| trial.seconds).sum())
}

/// A rung whose scores are not compared with those before: a lower one is no step back.
fn announced(rung: usize, before: &Shown, now: &Shown) -> String {
    let phase = if before.is_first_phase && !now.is_first_phase {
        "after uniform weights, "
    } else {
        ""
    };
    let changes = now.measured.changes(&before.measured);
    format!(
        "{phase}rung {}, with other {changes}, starts again:",
        rung + 1
    )
}

fn heading(metric: &str) -> String {
    format!(
        "best so far: {metric:>12}  {:>7}  {:>6}  {:>6}  settings",
        "time", "trial", "K"
    )
}

fn line(best: &Trial, trials: &[Trial], unit: TimeUnit) -> String {
    format!(
        "             {:>12}  {:>7}  {:>6}  {:>6}  {}",
        format::metric(best.score.unwrap_or(f64::NAN)),
        format::duration(elapsed(trials)),
        best.number + 1,
        best.params.factors,
        brief(best, unit)
    )
}

/// The settings of a trial in a line; times of the data have this unit.
pub(super) fn brief(trial: &Trial, unit: TimeUnit) -> String {
    let params = &trial.params;
    let mut text = format!("{} λ={}", trial.weights_text(), params.regularization);
    let mut add = |part: String| {
        text.push(' ');
        text.push_str(&part);
    };
    if (params.reg_exponent - 1.0).abs() > 1e-6 {
        add(format!("ν={}", params.reg_exponent));
    }
    add(params.targets.to_string());
    let confidence = ConfidenceRule::of(params.confidence, unit).to_string();
    if confidence != "1" {
        add(format!("c={confidence}"));
    }
    if params.post_scale != 0.0 {
        add(format!("ρ={}", params.post_scale));
        if let Some(half_life) = half_life_of(params, unit) {
            add(format!("half-life={half_life}"));
        }
    }
    if params.solver.name() != "eals" {
        add(params.solver.name().to_owned());
    }
    text
}

/// The best trials of the last rungs that were reached, best first, and the most popular items.
pub(super) fn best_table(result: &SearchResult, metric: &str, unit: TimeUnit) -> Table {
    let mut table = Table::new([
        Column::right("trial"),
        Column::right(metric).highest_is_best(),
        Column::right("K"),
        Column::right("sweeps"),
        Column::right("training"),
        Column::left("settings"),
    ]);
    let best = result.best().number;
    let is_shown = |(place, trial): &(usize, &Trial)| *place < SHOWN || trial.number == best;
    for (_, trial) in result.measured_alike().enumerate().filter(is_shown) {
        table.row([
            Cell::count(trial.number as u64 + 1),
            Cell::mean(trial.score.unwrap_or(f64::NAN), HALF * trial.stderr),
            Cell::count(trial.params.factors as u64),
            Cell::count(trial.params.iterations as u64),
            Cell::number(
                trial.training_seconds,
                format!("{:.1}s", trial.training_seconds),
            ),
            Cell::text(brief(trial, unit)),
        ]);
        // What is kept need not be what has the highest metric.
        if trial.number == best {
            table.choose_last();
        }
    }
    for baseline in &result.baselines {
        table.row([
            Cell::text(""),
            Cell::mean(baseline.score, HALF * baseline.stderr),
            Cell::text(""),
            Cell::text(""),
            Cell::text(""),
            Cell::text(format!("({})", baseline.name)),
        ]);
    }
    table
}

/// What each setting is worth, where it was best on average, and what it is in the trial that is kept.
pub(super) fn sensitivity_table(search: &StagedSearch<'_>, result: &SearchResult) -> Option<Table> {
    let space = search.most_tried(&result.trials);
    let sensitivities = sensitivity(space, &result.trials);
    if sensitivities.is_empty() {
        return None;
    }
    let mut table = Table::new([
        Column::left("setting"),
        Column::right("importance"),
        Column::left("best on average"),
        Column::left("kept"),
    ]);
    let dimensions = space.dimensions();
    let best = search.in_space(space, result.best());
    let kept = |name: &str| {
        let at = dimensions.iter().position(|d| d.label() == name)?;
        let dimension = &dimensions[at];
        if !space.is_in_use(&best, at) {
            return Some("-".to_owned());
        }
        Some(if dimension.options().is_empty() {
            format::significant(dimension.value_in(&best, at), 4)
        } else {
            dimension.text(best.point[at])
        })
    };
    for one in sensitivities {
        let range = if one.best_from == one.best_to {
            one.best_from
        } else {
            format!("{} to {}", one.best_from, one.best_to)
        };
        let kept = kept(&one.name).unwrap_or_default();
        table.row([
            Cell::text(one.name),
            Cell::number(one.share, format::percent(one.share)),
            Cell::text(range),
            Cell::text(kept),
        ]);
    }
    Some(table)
}

/// Shows the result and where it is.
pub(super) fn result(
    search: &StagedSearch<'_>,
    (result, cold): (&SearchResult, &[Cold]),
    (out, unit): (&Path, TimeUnit),
    context: &Context,
) -> Result<()> {
    let (ui, best) = (&context.ui, result.best());
    let metric = search.options().metric.to_string();
    let mut object = json!({
        "best": best.number,
        "metric": metric,
        "score": best.score,
        "stderr": best.stderr,
        "trials": result.trials.len(),
        "seconds": elapsed(&result.trials).as_secs_f64(),
        "interrupted": result.interrupted,
        "highest": result.not_kept().map(|trial| trial.number),
        "baselines": baselines_json(result),
        "out": out,
        "sensitivity": sensitivity(search.most_tried(&result.trials), &result.trials),
    });
    if !cold.is_empty() {
        object["cold"] = cold::json(cold);
    }
    ui.json(&object)?;
    ui.table(&best_table(result, &metric, unit))?;
    if !cold.is_empty() {
        ui.say("\nNew and known ones apart, with the best settings and the first held-out rows:")?;
        ui.table(&cold::table(&[("", cold)]))?;
    }
    if let Some(table) = sensitivity_table(search, result) {
        ui.say("\nWhat the metric depends on, of the settings tried first:")?;
        ui.table(&table)?;
    }
    for text in below_popularity(result, &metric) {
        ui.warn(text);
    }
    if let Some(trial) = result.not_kept() {
        ui.note(format!(
            "trial {} has a higher {metric}, by no more than noise or at the cost of NDCG: the simpler settings are kept",
            trial.number + 1
        ));
    }
    ui.note(format!(
        "{} in {}; wrote the settings of trial {} to {}",
        format::counted(result.trials.len() as u64, "trial"),
        format::duration(elapsed(&result.trials)),
        best.number + 1,
        output_name(out)
    ));
    if !is_standard(out) {
        ui.note(format!(
            "train with: absentia train --config {} --model FILE",
            out.display()
        ));
    }
    Ok(())
}

fn baselines_json(result: &SearchResult) -> Value {
    let pairs = result.baselines.iter();
    let pairs = pairs.map(|baseline| (baseline.name.to_owned(), json!(baseline.score)));
    Value::Object(pairs.collect())
}

/// Rankings by popularity that do better than the best trial, in words.
fn below_popularity(result: &SearchResult, metric: &str) -> Vec<String> {
    let score = result.best().score.unwrap_or(f64::NAN);
    let better = result.baselines.iter().filter(|other| score < other.score);
    let text = |other: &Baseline| {
        let (own, other_score) = (format::metric(score), format::metric(other.score));
        let name = other.name;
        format!(
            "the best trial does worse than the {name} items: {metric} {own} against {other_score}"
        )
    };
    better.map(text).collect()
}
