//! `inspect`: what a model file says of itself.

use std::path::PathBuf;

use absentia::fit::Sweep;
use absentia_io::model::{IdForm, Kind, ModelInfo, inspect, interactions, verify};
use absentia_io::output_name;
use absentia_io::time::{Moment, TimeUnit};
use absentia_job::post_scaling_text;
use absentia_job::text::ConfidenceRule;
use absentia_report::format;
use absentia_report::terminal::{LinePlot, key_values};
use anyhow::Result;
use serde_json::json;

use super::card;
use super::train::SweepLine;
use crate::cli::Context;
use crate::failure::{Outcome, Refusal};
use crate::guard::Files;
use crate::store;
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  $ absentia inspect movies.absentia
  $ absentia inspect movies.absentia --print-config
  $ absentia inspect movies.absentia --card card.md";

/// Show the parameters, the history and the sizes of a model or checkpoint.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Inspect {
    /// The model or checkpoint.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Print the configuration it was trained by, for `absentia train --config`.
    #[arg(long)]
    print_config: bool,
    /// Write a model card: a page of Markdown with data, settings, metrics and limits.
    #[arg(long, value_name = "FILE", conflicts_with = "print_config")]
    card: Option<PathBuf>,
    /// File with the output of `absentia evaluate --json`, for the metrics of --card.
    #[arg(long, value_name = "FILE", requires = "card")]
    metrics: Option<PathBuf>,
}

impl Inspect {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        Files::default()
            .reads("MODEL", [&self.model])
            .reads("--metrics", &self.metrics)
            .writes("--card", &self.card)
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Outcome> {
        verify(&self.model)?;
        let info = inspect(&self.model)?;
        if let Some(path) = &self.card {
            let metrics = self.metrics.as_deref().map(card::metrics_of).transpose()?;
            let page = card::markdown(
                &self.model,
                (&info, interactions(&self.model)?),
                &facts(&info),
                metrics.as_ref(),
            );
            store::write_text(path, &page)?;
            context.ui.json(&json!({"card": path}))?;
            context
                .ui
                .note(format!("wrote the card to {}", output_name(path)));
            return Ok(Outcome::Done);
        }
        if self.print_config {
            let name = self.model.display();
            let Some(config) = &info.config else {
                let refusal = Refusal::not_found(format!("{name} holds no configuration"));
                return Err(refusal
                    .hint("only models made by `absentia train` do")
                    .into());
            };
            print_config(config, &context.ui)?;
            return Ok(Outcome::Done);
        }
        context.ui.json(&object(&info))?;
        context
            .ui
            .say(key_values(facts(&info), context.ui.screen()))?;
        if info.history.len() > 1 && !context.ui.is_json() {
            show_history(&info.history, &context.ui)?;
        }
        Ok(Outcome::Done)
    }
}

fn print_config(config: &str, ui: &Ui) -> Result<()> {
    ui.json(&config.parse::<toml::Table>()?)?;
    Ok(ui.say(config)?)
}

fn show_history(history: &[Sweep], ui: &Ui) -> Result<()> {
    let totals: Vec<f64> = history
        .iter()
        .map(|sweep| sweep.objective.total())
        .collect();
    let plot = LinePlot::new("objective").x_label("sweep").whole_x();
    ui.say(plot.curve("objective", &totals).render(ui.screen()))?;
    let measured: Vec<(f64, f64)> = history
        .iter()
        .filter_map(|sweep| Some((sweep.iteration as f64, sweep.validation?)))
        .collect();
    if measured.len() > 1 {
        let plot = LinePlot::new("validation").x_label("sweep").whole_x();
        ui.say(plot.series("validation", &measured).render(ui.screen()))?;
    }
    Ok(())
}

fn facts(info: &ModelInfo) -> Vec<(&'static str, String)> {
    let params = &info.params;
    let mut facts = vec![
        ("kind", info.kind.name().to_owned()),
        (
            "written by",
            format!(
                "absentia {}, format {}",
                info.product_version, info.format_version
            ),
        ),
        ("size", format::bytes(info.bytes)),
        ("users", side(info.n_users, info.user_ids)),
        ("items", side(info.n_items, info.item_ids)),
        ("factors", info.n_factors.to_string()),
        ("weights on missing entries", weights(info)),
        ("solver", params.solver.to_string()),
        ("regularization", params.regularization.to_string()),
        ("exponent of it", params.reg_exponent.to_string()),
        ("targets", params.targets.to_string()),
        (
            "confidence",
            ConfidenceRule::of(params.confidence, unit(info)).to_string(),
        ),
        ("post-scaling", post_scaling_text(params, unit(info))),
        ("seed", params.seed.to_string()),
    ];
    if let Some(related) = &info.relations {
        let types = related.entities.iter().skip(2);
        let types = types.map(|e| format!("{} {}", format::count(e.count as u64), e.name));
        facts.push(("further types", types.collect::<Vec<_>>().join(", ")));
        let relations = related.relations.iter();
        let relations = relations.map(|r| match r.features {
            Some(columns) => format!("{} (strength {}, {columns} features)", r.name, r.strength),
            None => format!("{} (strength {}, {})", r.name, r.strength, r.weights),
        });
        facts.push(("relations", relations.collect::<Vec<_>>().join(", ")));
    }
    if let Some((unit, latest)) = times(info) {
        let text = format!("in {}, the latest {latest}", unit.name());
        facts.push(("times of the data", text));
    }
    if let (Some(last), Some(chosen)) = (info.history.last(), chosen(info)) {
        facts.push(("sweeps made", last.iteration.to_string()));
        let text = match chosen.validation {
            Some(score) => format!(
                "{} (best validation, {})",
                chosen.iteration,
                format::metric(score)
            ),
            None => format!("{} (the last)", chosen.iteration),
        };
        facts.push(("sweep chosen", text));
        let objective = chosen.objective.total();
        facts.push(("objective of it", format::significant(objective, 8)));
    }
    if let Some((iteration, score)) = info.best {
        facts.push((
            "best",
            format!("{} at sweep {iteration}", format::metric(score)),
        ));
    }
    facts
}

/// The unit of the data's times, which follows from the latest of them.
fn unit(info: &ModelInfo) -> TimeUnit {
    TimeUnit::of_latest(info.transform.now)
}

/// The unit and the latest of the data's times, if it had any.
fn times(info: &ModelInfo) -> Option<(TimeUnit, Moment)> {
    let (now, unit) = (info.transform.now, unit(info));
    (now != 0).then(|| (unit, Moment(unit.seconds(now))))
}

/// The sweep whose factors these are: that of the best validation where there is one, the earlier
/// of equals, and otherwise the last; a checkpoint is always at its last.
fn chosen(info: &ModelInfo) -> Option<&Sweep> {
    let mut best: Option<(&Sweep, f64)> = None;
    if info.kind == Kind::Model {
        for sweep in &info.history {
            if let Some(score) = sweep.validation.filter(|score| !score.is_nan())
                && best.is_none_or(|(_, most)| score > most)
            {
                best = Some((sweep, score));
            }
        }
    }
    best.map(|(sweep, _)| sweep).or(info.history.last())
}

fn side(count: usize, form: IdForm) -> String {
    format!("{} ({})", format::count(count as u64), form_name(form))
}

fn form_name(form: IdForm) -> &'static str {
    match form {
        IdForm::Dense => "row numbers",
        IdForm::Integers => "integer ids",
        IdForm::Text => "text ids",
    }
}

fn weights(info: &ModelInfo) -> String {
    let scheme = given_weights(info).unwrap_or_else(|| info.weights.to_string());
    format!("{scheme} (rank {})", info.weights_rank)
}

/// The scheme as it was given, where the configuration has it.
fn given_weights(info: &ModelInfo) -> Option<String> {
    let config: toml::Table = info.config.as_ref()?.parse().ok()?;
    let given = match config.get("weights")? {
        toml::Value::Array(schemes) => schemes.first()?,
        given => given,
    };
    given.as_str().map(str::to_owned)
}

fn object(info: &ModelInfo) -> serde_json::Value {
    let chosen = chosen(info);
    let history: Vec<SweepLine> = info.history.iter().map(SweepLine::from).collect();
    let mut object = json!({
        "kind": info.kind.name(),
        "format_version": info.format_version,
        "product_version": info.product_version,
        "bytes": info.bytes,
        "users": info.n_users,
        "items": info.n_items,
        "user_ids": form_name(info.user_ids),
        "item_ids": form_name(info.item_ids),
        "factors": info.n_factors,
        "weights_rank": info.weights_rank,
        "weights": info.weights,
        "params": info.params,
        "time_unit": times(info).map(|(unit, _)| unit.to_string()),
        "latest_time": times(info).map(|(_, latest)| latest.to_string()),
        "sweeps": info.history.last().map(|sweep| sweep.iteration),
        "chosen_iteration": chosen.map(|sweep| sweep.iteration),
        "objective": chosen.map(|sweep| sweep.objective.total()),
        "validation": chosen.and_then(|sweep| sweep.validation),
        "scheme": given_weights(info).unwrap_or_else(|| info.weights.to_string()),
        "history": history,
        "best": info.best.map(|(iteration, score)| json!({"iteration": iteration, "score": score})),
        "config": info.config.as_ref().and_then(|config| config.parse::<toml::Table>().ok()),
    });
    if let Some(related) = &info.relations {
        object["relations"] = json!(related);
    }
    object
}
