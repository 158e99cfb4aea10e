//! The penalty and the post-scaling of a run that was told neither.

use absentia::Params;
use absentia::fit::Cancel;
use absentia::tune::{MOST_TRIED, Open, TuneError, settle};
use absentia::weights::Scheme;
use absentia_cli::terminal::format;

use super::Prepared;
use super::plan::named_rows;
use crate::config;
use crate::failure::Refusal;
use crate::ui::Ui;

/// Settles what is open and says how.
pub(crate) fn settled(
    params: Params,
    open: Open,
    prepared: &Prepared,
    scheme: &Scheme,
    cancel: &Cancel,
    ui: &Ui,
) -> anyhow::Result<Params> {
    params.clone().check()?;
    if !open.needs_models(prepared.data.len(), params.solver) && !open.regularization {
        return Ok(params);
    }
    let bar = ui
        .progress()
        .count("choosing the penalty", MOST_TRIED as u64, "models");
    let found = settle(&prepared.data, scheme, &params, open, cancel, &|| {
        bar.advance(1);
    });
    let elapsed = bar.elapsed();
    bar.finish();
    let found = found.map_err(|error| match error {
        TuneError::Cancelled => {
            let refusal = Refusal::interrupted("interrupted while the penalty was chosen");
            refusal.hint("no model was saved").into()
        }
        TuneError::Fit(error) => named_rows(error, prepared),
        error => error.into(),
    })?;
    if let Some(score) = found.score {
        ui.note(format!(
            "{} did best on rows held out: recall@20 {score:.4}, {} in {}",
            named(&found.params, open),
            format::counted(found.tried as u64, "model"),
            format::duration(elapsed)
        ));
    } else if found.params != params {
        ui.note(format!(
            "{}, by a rule of thumb",
            named(&found.params, open)
        ));
    }
    Ok(found.params)
}

/// The settings that were open, as flags.
fn named(params: &Params, open: Open) -> String {
    let flags = values(params, open).map(|(name, value)| format!("--{name} {value}"));
    flags.collect::<Vec<_>>().join(" and ")
}

/// A configuration with the settings that were open put in, so that the run can be repeated without
/// choosing again.
pub(super) fn in_force(effective: &toml::Table, params: &Params, open: Open) -> toml::Table {
    let mut table = effective.clone();
    for (name, value) in values(params, open) {
        table.insert(name.to_owned(), config::typed(&value));
    }
    table
}

fn values(params: &Params, open: Open) -> impl Iterator<Item = (&'static str, String)> {
    let both = [
        (open.regularization, "regularization", params.regularization),
        (open.post_scale, "post-scale", params.post_scale),
    ];
    let of = |(_, name, value): (bool, &'static str, f32)| (name, value.to_string());
    both.into_iter().filter(|(open, ..)| *open).map(of)
}
