//! After the last sweep: the model is saved, and the result is shown.

use std::path::Path;

use absentia::data::Pick;
use absentia::fit::{Fitted, StopReason};
use absentia::model::Factors;
use absentia::ranking::UserItems;
use absentia_job::text::ConfidenceRule;
use absentia_job::{Fingerprint, Training, post_scaling_text};
use absentia_report::format;
use absentia_report::html::{ChartAxis, LineChart, Report};
use absentia_report::terminal::{Cell, Column, Table};
use serde::Serialize;

use super::RunningArgs;
use crate::cli::Context;
use crate::failure::{Outcome, Refusal};
use crate::{measure, store};

/// A run that has ended.
pub(super) struct Finished<'a> {
    pub(super) fitted: &'a Fitted,
    pub(super) training: &'a Training<'a>,
    pub(super) metric: &'a str,
    /// The configuration that repeats the run.
    pub(super) config: &'a toml::Table,
    /// What it is made on, where its state is to be saved.
    pub(super) fingerprint: Option<&'a Fingerprint>,
    pub(super) seconds: f64,
}

#[derive(Serialize)]
struct FinalLine<'a> {
    model: &'a Path,
    users: usize,
    items: usize,
    interactions: usize,
    iterations: usize,
    chosen_iteration: usize,
    reason: StopReason,
    interrupted: bool,
    objective: Option<f64>,
    validation: Option<f64>,
    seconds: f64,
}

impl Finished<'_> {
    /// Saves the model and the report, and shows the result.
    pub(super) fn save(
        &self,
        path: &Path,
        running: &RunningArgs,
        context: &Context,
    ) -> anyhow::Result<Outcome> {
        let interrupted = self.fitted.reason == StopReason::Cancelled;
        let ids = self.training.input.ids;
        let checkpoint = running.checkpoint.as_ref().filter(|_| interrupted);
        if let Some((path, fingerprint)) = checkpoint.zip(self.fingerprint) {
            let stored = (self.config, fingerprint);
            store::save_checkpoint(path, &self.fitted.checkpoint, ids, stored)?;
        }
        if self.fitted.model.history().is_empty() {
            let refusal = Refusal::interrupted("interrupted before the first sweep was complete");
            return Err(refusal.hint("no model was saved").into());
        }
        let seen = running
            .keep_seen
            .then(|| UserItems::from_interactions(self.training.input.data));
        store::save(path, &self.fitted.model, ids, self.config, seen.as_ref())?;
        if let Some(path) = &running.report {
            self.report(path)?;
        }
        self.say(path, running, context)?;
        if self.is_void() {
            context.ui.warn(
                "all factors went to zero, so that every score is 0: the regularization or the weights on \
                 missing entries outweigh the data; lower --regularization or --weights",
            );
        }
        Ok(Outcome::interrupted_if(interrupted))
    }

    /// Whether every score is practically 0.
    fn is_void(&self) -> bool {
        /// Least score where something was learned: targets are about 1.
        const LEAST: f32 = 1e-3;
        let model = &self.fitted.model;
        let largest = |factors: &Factors| {
            let rows = (0..factors.rows()).flat_map(|row| factors.row(row));
            rows.fold(0.0_f32, |most, x| most.max(x.abs()))
        };
        let bound = largest(model.user_factors()) * largest(model.item_factors());
        model.neighbours().is_none() && bound * (model.params().factors as f32) < LEAST
    }

    fn say(&self, path: &Path, running: &RunningArgs, context: &Context) -> anyhow::Result<()> {
        let line = self.line(path);
        context.ui.json(&line)?;
        let reason = match self.fitted.reason {
            StopReason::Iterations => "all sweeps made",
            StopReason::Converged => "the objective has converged",
            StopReason::Patience => "the validation metric no longer improved",
            StopReason::Cancelled | StopReason::Observer => "interrupted",
        };
        let mut text = format!(
            "{reason}: {} in {}, objective {}",
            format::counted(line.iterations as u64, "sweep"),
            format::duration(std::time::Duration::from_secs_f64(self.seconds)),
            format::significant(line.objective.unwrap_or(f64::NAN), 6),
        );
        if let Some(score) = line.validation {
            text = format!("{text}, {} {}", self.metric, format::metric(score));
        }
        context.ui.note(text);
        let saved = format!(
            "saved the model of sweep {} to {}",
            line.chosen_iteration,
            path.display()
        );
        if !line.interrupted {
            context.ui.note(saved);
            return Ok(());
        }
        context.ui.note(format!("{saved}; it can be used as it is"));
        if let Some(checkpoint) = &running.checkpoint {
            let checkpoint = checkpoint.display();
            context
                .ui
                .note(format!("continue with --checkpoint {checkpoint} --resume"));
        }
        Ok(())
    }

    fn line<'l>(&self, path: &'l Path) -> FinalLine<'l> {
        let history = self.fitted.model.history();
        let chosen = history
            .iter()
            .find(|sweep| sweep.iteration == self.fitted.chosen_iteration);
        FinalLine {
            model: path,
            users: self.training.input.data.n_users(),
            items: self.training.input.data.n_items(),
            interactions: self.training.input.data.n_interactions(),
            iterations: self.fitted.checkpoint.iterations(),
            chosen_iteration: self.fitted.chosen_iteration,
            reason: self.fitted.reason,
            interrupted: self.fitted.reason == StopReason::Cancelled,
            objective: chosen.map(|sweep| sweep.objective.total()),
            validation: chosen.and_then(|sweep| sweep.validation),
            seconds: self.seconds,
        }
    }

    fn report(&self, path: &Path) -> anyhow::Result<()> {
        let history = self.fitted.model.history();
        let curve = |value: &dyn Fn(&absentia::fit::Sweep) -> f64| -> Vec<f64> {
            history.iter().map(value).collect()
        };
        let sweeps = || ChartAxis::whole("sweep");
        let mut report = Report::new("Training run")
            .subtitle(format!(
                "{}{} interactions of {} users with {} items, K = {}, λ = {}, weights {}",
                self.setting(),
                format::count(self.training.input.data.n_interactions() as u64),
                format::count(self.training.input.data.n_users() as u64),
                format::count(self.training.input.data.n_items() as u64),
                self.fitted.model.params().factors,
                self.fitted.model.params().regularization,
                self.weights()
            ))
            .chart(
                LineChart::new("Objective", sweeps(), ChartAxis::linear("objective"))
                    .curve("in all", &curve(&|sweep| sweep.objective.total()))
                    .curve("observed", &curve(&|sweep| sweep.objective.observed))
                    .curve("missing", &curve(&|sweep| sweep.objective.missing))
                    .curve(
                        "regularization",
                        &curve(&|sweep| sweep.objective.regularization),
                    ),
            );
        let measured: Vec<(f64, f64)> = history
            .iter()
            .filter_map(|sweep| Some((sweep.iteration as f64, sweep.validation?)))
            .collect();
        if !measured.is_empty() {
            let chart = LineChart::new("Validation", sweeps(), ChartAxis::linear(self.metric));
            report = report.chart(chart.series(self.metric, &measured));
        }
        let report = report.table("Parameters", &self.parameters());
        store::write_text(path, &report.render())
    }

    /// The files and how rows were held out, in words.
    fn setting(&self) -> String {
        let files = self.config.get("data").and_then(toml::Value::as_array);
        let Some(files) = files else {
            return String::new();
        };
        let names: Vec<&str> = files.iter().filter_map(toml::Value::as_str).collect();
        let text = |key: &str| self.config.get(key).and_then(toml::Value::as_str);
        let split = text("valid-split").and_then(|rule| rule.parse().ok());
        let usual = Pick::usual(self.training.input.data.times().is_some());
        let pick = text("valid-pick").and_then(|pick| pick.parse().ok());
        let held_out = split.map_or_else(String::new, |rule| {
            format!(", {}", measure::held_out_by(rule, pick.unwrap_or(usual)))
        });
        format!("{}{held_out}: ", names.join(", "))
    }

    fn weights(&self) -> String {
        let weights = self.training.weights.as_ref();
        weights.map_or_else(String::new, ToString::to_string)
    }

    fn confidence(&self) -> String {
        let unit = self.training.input.unit();
        ConfidenceRule::of(self.training.params.confidence, unit).to_string()
    }

    fn parameters(&self) -> Table {
        let params = self.fitted.model.params();
        let mut table = Table::new([Column::left("parameter"), Column::left("value")]);
        let rows = [
            ("factors", params.factors.to_string()),
            ("iterations", params.iterations.to_string()),
            ("regularization", params.regularization.to_string()),
            (
                "exponent of the regularization",
                params.reg_exponent.to_string(),
            ),
            ("solver", params.solver.name().to_owned()),
            ("weights on missing entries", self.weights()),
            ("targets", params.targets.to_string()),
            ("confidence", self.confidence()),
            (
                "post-scaling",
                post_scaling_text(params, self.training.input.unit()),
            ),
            ("seed", params.seed.to_string()),
        ];
        for (name, value) in rows {
            table.row([Cell::text(name), Cell::text(value)]);
        }
        for relation in self.relations() {
            table.row([Cell::text("relation"), Cell::text(relation)]);
        }
        table
    }

    /// The relations with all their settings, and what they add to users and items.
    fn relations(&self) -> Vec<String> {
        let given = self.config.get("relation").and_then(toml::Value::as_array);
        let given = given.into_iter().flatten().filter_map(toml::Value::as_str);
        let mut lines: Vec<String> = given.map(str::to_owned).collect();
        if let Some(related) = self.fitted.model.related() {
            let added = related.entities.iter().skip(2);
            let added =
                added.map(|one| format!("{} {}", format::count(one.count as u64), one.name));
            lines.push(format!("adds {}", added.collect::<Vec<_>>().join(", ")));
        }
        lines
    }
}
