//! `inspect`: what a model file says of itself.

use std::path::PathBuf;

use absentia::fit::Sweep;
use absentia_cli::terminal::{LinePlot, format, key_values};
use absentia_io::model::{IdForm, ModelInfo, inspect};
use anyhow::Result;
use serde_json::json;

use super::train::SweepLine;
use crate::cli::Context;
use crate::failure::{Outcome, Refusal};
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  $ absentia inspect movies.absentia
  $ absentia inspect movies.absentia --print-config";

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
}

impl Inspect {
    pub(crate) fn run(&self, context: &Context) -> Result<Outcome> {
        let info = inspect(&self.model)?;
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
        ("solver", params.solver.name().to_owned()),
        ("regularization", params.regularization.to_string()),
        ("exponent of it", params.reg_exponent.to_string()),
        ("targets", format!("{:?}", params.targets)),
        ("confidence", format!("{:?}", params.confidence)),
        ("post-scaling", params.post_scale.to_string()),
        ("seed", params.seed.to_string()),
    ];
    if let Some(last) = info.history.last() {
        facts.push(("sweeps", last.iteration.to_string()));
        facts.push(("objective", format::significant(last.objective.total(), 8)));
    }
    if let Some((iteration, score)) = info.best {
        facts.push((
            "best",
            format!("{} at sweep {iteration}", format::metric(score)),
        ));
    }
    facts
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
    let parts: Vec<&str> = info
        .weights
        .parts
        .iter()
        .map(|part| part.kind.name())
        .collect();
    format!("{} (rank {})", parts.join(" + "), info.weights_rank)
}

fn object(info: &ModelInfo) -> serde_json::Value {
    let history: Vec<SweepLine> = info.history.iter().map(SweepLine::from).collect();
    json!({
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
        "history": history,
        "best": info.best.map(|(iteration, score)| json!({"iteration": iteration, "score": score})),
        "config": info.config.as_ref().and_then(|config| config.parse::<toml::Table>().ok()),
    })
}
