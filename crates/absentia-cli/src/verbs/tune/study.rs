//! How far choosing by held-out rows agrees with choosing by test rows, for a person or a program.

use absentia_io::time::TimeUnit;
use absentia_report::format;
use absentia_report::terminal::{Cell, Column, Table};
use absentia_search::{Agreement, StudiedSetting, Study, Trial};
use anyhow::Result;
use serde_json::{Map, json};

use super::show::brief;
use crate::cli::Context;

/// Makes the study and shows it.
pub(super) fn show(
    study: &Study<'_>,
    trials: &[Trial],
    unit: TimeUnit,
    context: &Context,
) -> Result<()> {
    let ui = &context.ui;
    let bar = ui
        .progress()
        .count("study", trials.len() as u64, "settings");
    let mut settings = |setting: &StudiedSetting<'_>| Ok(ui.json(&setting_line(setting, unit))?);
    let agreements = study.run::<anyhow::Error>(trials, &mut settings, &mut || bar.advance(1));
    bar.finish();
    let agreements = agreements?;
    let metrics = study.metrics();
    let mut table = table(&metrics);
    for agreement in &agreements {
        ui.json(&agreement_line(agreement, &metrics))?;
        table.row(row(agreement));
    }
    ui.table(&table)?;
    Ok(ui.say(format!(
        "{} settings, {} users measured at the most; the last columns are means over {} \
         choices from a third of the settings, measured on the test",
        agreements.first().map_or(0, |agreement| agreement.settings),
        format::count(Study::MAX_USERS as u64),
        Study::CHOICES,
    ))?)
}

fn setting_line(setting: &StudiedSetting<'_>, unit: TimeUnit) -> serde_json::Value {
    let scores: Map<_, _> = setting
        .scores
        .iter()
        .map(|(way, scores)| {
            let scores = scores
                .iter()
                .cloned()
                .map(|(name, score)| (name, json!(score)));
            (way.clone(), json!(scores.collect::<Map<_, _>>()))
        })
        .collect();
    let rho = setting.post_scale;
    let settings = brief(setting.trial, unit);
    let name = format!("{settings} with post-scaling {rho:.2}");
    json!({"setting": name, "scores": scores})
}

fn agreement_line(agreement: &Agreement, metrics: &[String; 2]) -> serde_json::Value {
    json!({
        "chosen_by": agreement.chosen_by,
        "measured_by": agreement.measured_by,
        "settings": agreement.settings,
        "rank_correlation": agreement.rank_correlation,
        "rank_correlation_better_half": agreement.rank_correlation_better_half,
        "of_the_best": {
            (metrics[0].as_str()): agreement.share_of_best[0],
            (metrics[1].as_str()): agreement.share_of_best[1],
        },
    })
}

fn table(metrics: &[String; 2]) -> Table {
    let of_best = |metric: &String| format!("{metric} of the best");
    Table::new([
        Column::left("chosen by"),
        Column::left("measured by"),
        Column::right("rank correlation"),
        Column::right("of the better half"),
        Column::right(of_best(&metrics[0])).highest_is_best(),
        Column::right(of_best(&metrics[1])).highest_is_best(),
    ])
}

fn row(agreement: &Agreement) -> [Cell; 6] {
    let correlation = |value: f64| Cell::number(value, format!("{value:.3}"));
    let share = |value: f64| Cell::number(value, format::percent(value));
    [
        Cell::text(agreement.chosen_by.clone()),
        Cell::text(agreement.measured_by.clone()),
        correlation(agreement.rank_correlation),
        correlation(agreement.rank_correlation_better_half),
        share(agreement.share_of_best[0]),
        share(agreement.share_of_best[1]),
    ]
}
