//! A model card: a page of Markdown for those who did not train the model.

use std::fmt::Write as _;
use std::path::Path;

use absentia_io::model::ModelInfo;
use absentia_report::format;
use anyhow::Result;
use serde_json::Value;

use crate::failure::Refusal;

/// What is said of every model.
const LIMITS: &str = "\
- It knows only the users and items of its data. New users and items have to be folded in from a few interactions.
- It learned what people did, not why. What was shown more often is recommended more often, unless weights on missing
  entries say how often things were shown.
- Scores order the items of one user. They are not probabilities and cannot be compared between users.
- Figures hold for the data and the split they were measured on; they change as tastes and catalogues do.
";

/// The page of a model: data, settings, metrics and limits.
pub(crate) fn markdown(
    path: &Path,
    (info, interactions): (&ModelInfo, u64),
    settings: &[(&'static str, String)],
    metrics: Option<&Figures>,
) -> String {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut page = format!("# Model card: {name}\n\n");
    page.push_str(
        "A matrix factorisation of interactions for recommending items to users, trained by Absentia.\n\n## Data\n\n",
    );
    let config = info.config.as_deref().and_then(|text| text.parse().ok());
    let config: toml::Table = config.unwrap_or_default();
    if let Some(Some(files)) = config.get("data").map(toml::Value::as_array) {
        let names = files.iter().filter_map(toml::Value::as_str);
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        let _ = writeln!(page, "Trained on {}.\n", names.join(", "));
    }
    let (users, items) = (info.n_users as u64, info.n_items as u64);
    let _ = write!(
        page,
        "{}, {}",
        format::counted(users, "user"),
        format::counted(items, "item")
    );
    if interactions > 0 {
        let _ = write!(page, ", {}", format::counted(interactions, "interaction"));
    }
    page.push_str(".\n\n");
    page.push_str(&held_out(&config));
    page.push_str("## Settings\n\n| | |\n| --- | --- |\n");
    for (name, value) in settings {
        let _ = writeln!(page, "| {name} | {} |", value.replace('|', "\\|"));
    }
    if !config.is_empty() {
        let text = toml::to_string(&config).unwrap_or_default();
        let _ = writeln!(
            page,
            "\nThe whole configuration, for `absentia train --config`:\n\n```toml\n{text}```"
        );
    }
    page.push_str("\n## Metrics\n\n");
    match metrics {
        Some(figures) => {
            if let Some(measured) = &figures.measured {
                let _ = writeln!(page, "{measured}\n");
            }
            page.push_str("| metric | mean over users, 95 % interval |\n| --- | --- |\n");
            for (name, value) in &figures.values {
                let _ = writeln!(page, "| {name} | {value} |");
            }
        }
        None => page.push_str(
            "None were given. `absentia evaluate --json > metrics.json` measures the model on held-out rows, and \
             `--metrics metrics.json` puts the figures here.\n",
        ),
    }
    let _ = write!(page, "\n## Limits\n\n{LIMITS}");
    page
}

/// How rows were held out of the data, in a paragraph; nothing if none were.
fn held_out(config: &toml::Table) -> String {
    let text = |key: &str| config.get(key).and_then(toml::Value::as_str);
    if let Some(rule) = text("valid-split") {
        let pick = text("valid-pick").map_or_else(String::new, |pick| format!(" ({pick} rows)"));
        return format!("Held out before training: `{rule}`{pick}.\n\n");
    }
    let files = config.get("valid").and_then(toml::Value::as_array);
    let files = files.into_iter().flatten().filter_map(toml::Value::as_str);
    let files: Vec<String> = files.map(|file| format!("`{file}`")).collect();
    if files.is_empty() {
        return String::new();
    }
    format!("Measured during training on {}.\n\n", files.join(", "))
}

/// Figures of a model.
pub(crate) struct Figures {
    /// What they were measured on, in a sentence.
    measured: Option<String>,
    /// Metrics with their means and intervals.
    values: Vec<(String, String)>,
}

/// The figures that `evaluate --json` printed, with their intervals.
pub(crate) fn metrics_of(path: &Path) -> Result<Figures> {
    let wrong = || {
        let refusal = Refusal::data(format!(
            "{}: no figures of `absentia evaluate`",
            path.display()
        ));
        refusal.hint("write them with `absentia evaluate MODEL ... --json > FILE`")
    };
    let text = absentia_io::read_text(path)?;
    let first = text.lines().next().unwrap_or_default();
    let object: Value = serde_json::from_str(first).map_err(|_| wrong())?;
    let intervals = object["intervals"].as_object().ok_or_else(wrong)?;
    let shown = intervals.iter().filter_map(|(name, interval)| {
        let mean = format::metric(object[name].as_f64()?);
        let ends = (interval[0].as_f64(), interval[1].as_f64());
        let text = match ends {
            (Some(low), Some(high)) => {
                format!(
                    "{mean} ({} to {})",
                    format::metric(low),
                    format::metric(high)
                )
            }
            _ => mean,
        };
        Some((name.clone(), text))
    });
    let users = object["users"].as_u64().zip(object["candidates"].as_str());
    let measured = users.map(|(users, candidates)| {
        format!(
            "Measured for {}, {candidates}.",
            format::counted(users, "user")
        )
    });
    Ok(Figures {
        values: shown.collect(),
        measured,
    })
}
