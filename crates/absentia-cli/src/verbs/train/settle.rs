//! The penalty, the post-scaling and the recipe of a run that was not told them.

use absentia::Params;
use absentia::fit::Cancel;
use absentia::weights::{Scheme, SchemeSpec};
use absentia_report::format;
use absentia_search::{Automatic, ChosenSettings, SearchError, choose_settings};

use super::Prepared;
use super::plan::named_rows;
use crate::config;
use crate::failure::Refusal;
use crate::ui::Ui;
use crate::wording;

/// Settles what is open and says how.
pub(crate) fn settled(
    params: Params,
    open: Automatic,
    prepared: &Prepared,
    scheme: &Scheme,
    cancel: &Cancel,
    ui: &Ui,
) -> anyhow::Result<ChosenSettings> {
    params.clone().check()?;
    if !open.trains_models(prepared.data.len(), params.solver) && !open.regularization {
        return Ok(ChosenSettings::given(params));
    }
    let most = open.max_models() as u64;
    let bar = ui.progress().count("choosing settings", most, "models");
    let found = choose_settings(&prepared.data, scheme, &params, open, cancel, &|| {
        bar.advance(1);
    });
    let elapsed = bar.elapsed();
    bar.finish();
    let found = found.map_err(|error| match error {
        SearchError::Cancelled => {
            let refusal = Refusal::interrupted("interrupted while settings were chosen");
            refusal.hint("no model was saved").into()
        }
        SearchError::Fit(error) => named_rows(error, prepared),
        error => error.into(),
    })?;
    let chosen = found.weights();
    let named = |open| {
        let flags = values(&found.params, chosen.as_ref(), open);
        let flags = flags.map(|(name, value)| format!("--{name} {value}"));
        flags.collect::<Vec<_>>().join(" and ")
    };
    if let Some(score) = found.score {
        ui.note(format!(
            "{} did best on rows held out: recall@20 {score:.4}, {} in {}",
            named(open),
            format::counted(found.tried as u64, "model"),
            format::duration(elapsed)
        ));
    } else if found.params != params {
        let penalty = Automatic {
            regularization: true,
            ..Automatic::default()
        };
        ui.note(format!("{}, by a rule of thumb", named(penalty)));
    }
    Ok(found)
}

/// A configuration with the settings that were open put in, so that the run can be repeated without
/// choosing again.
pub(super) fn in_force(
    effective: &toml::Table,
    params: &Params,
    weights: &SchemeSpec,
    open: Automatic,
) -> toml::Table {
    let mut table = effective.clone();
    // What was not told is not in it yet, chosen or not.
    let always = Automatic {
        recipe: true,
        ..open
    };
    for (name, value) in values(params, Some(weights), always) {
        let value = match name {
            WEIGHTS => toml::Value::Array(vec![value.into()]),
            _ => config::typed(&value),
        };
        table.insert(name.to_owned(), value);
    }
    table
}

/// The key of weights on missing entries, of which there may be several.
const WEIGHTS: &str = "weights";

fn values(
    params: &Params,
    weights: Option<&SchemeSpec>,
    open: Automatic,
) -> impl Iterator<Item = (&'static str, String)> {
    let weights = weights.map(ToString::to_string);
    let all = [
        (open.recipe, WEIGHTS, weights),
        (
            open.recipe,
            "targets",
            Some(wording::targets(params.targets)),
        ),
        (
            open.regularization,
            "regularization",
            Some(params.regularization.to_string()),
        ),
        (
            open.post_scale,
            "post-scale",
            Some(params.post_scale.to_string()),
        ),
    ];
    let known = all.into_iter().filter(|(open, ..)| *open);
    known.filter_map(|(_, name, value)| Some((name, value?)))
}
