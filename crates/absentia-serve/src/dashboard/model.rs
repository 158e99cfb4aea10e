//! The model: objective, settings, versions; activating, going back, training.

use std::sync::Arc;

use absentia::fit::Sweep;
use absentia_io::model::{ModelInfo, inspect};
use absentia_report::format;
use absentia_report::html::{ChartAxis, LineChart};
use serde_json::{Value, json};

use super::html::{Column, Html, Page, encoded, may_act, pairs, table, when, wide_chart};
use crate::api::{Call, ask};
use crate::auth::Principal;
use crate::core::Core;
use crate::error::ApiError;
use crate::jobs::Progress;
use crate::store::{ModelEntry, version_before};

/// Does what a form of the page asks for.
pub(super) async fn act(
    core: &Arc<Core>,
    reader: &Principal,
    path: &str,
    form: &Call,
) -> Result<(), ApiError> {
    let (target, body) = match path {
        "/dashboard/model/activate" => {
            let version = encoded(form.text("version").unwrap_or_default());
            (format!("/v1/models/{version}/activate"), json!({}))
        }
        "/dashboard/model/roll-back" => ("/v1/models/roll-back".to_owned(), json!({})),
        "/dashboard/model/train" => {
            let sweeps = match form.text("sweeps").unwrap_or_default() {
                "" => None,
                text => Some(
                    text.parse::<u32>()
                        .map_err(|_| ApiError::invalid("sweeps", "it must be a whole number"))?,
                ),
            };
            let from = form.text("from").unwrap_or("present");
            let activate = form.text("activate").is_some();
            let body = json!({"from": from, "sweeps": sweeps, "activate": activate});
            ("/v1/models/train".to_owned(), body)
        }
        _ => return Err(ApiError::not_found("no_such_page", "there is no such page")),
    };
    ask(core, reader, ("POST", &target), &body).await?;
    Ok(())
}

/// What the page shows.
struct Shown {
    models: Vec<ModelEntry>,
    active: u64,
    /// The version that going back activates.
    previous: Option<u64>,
    info: Option<ModelInfo>,
}

pub(super) async fn page(core: &Arc<Core>, reader: &Principal) -> Result<Page, ApiError> {
    let shown = core.rankings.run(|worker| {
        let active = worker.core.live().version;
        let file = worker.core.folder.as_trained(active);
        Ok(Shown {
            models: worker.store.models()?,
            active,
            previous: version_before(&worker.store.activations()?),
            info: file.and_then(|(file, _)| inspect(&file).ok()),
        })
    });
    Ok(rendered(&shown.await?, &core.jobs.progress(), reader))
}

fn rendered(shown: &Shown, progress: &Progress, reader: &Principal) -> Page {
    let lead = format!("Model {} is active.", shown.active);
    let mut page = Page::new("Model", &lead);
    if progress.state == "running" {
        page = page.again_after(2);
    }
    page = job(page, progress);
    if may_act(reader) {
        page = page.push(train_form());
    } else {
        let text =
            Html::text("Activating, going back and training need a key with the scope admin.");
        page = page.push(Html::of_class("p", "soft", &text));
    }
    page = page.section("Versions").push(versions(shown, reader));
    if let Some(previous) = shown.previous.filter(|_| may_act(reader)) {
        page = page.push(Html::trusted(format!(
            "<form class=\"line\" method=\"post\" action=\"/dashboard/model/roll-back\">\
             <button>Go back to version {previous}</button></form>",
        )));
    }
    let Some(info) = &shown.info else {
        return page;
    };
    page = page.section("Objective");
    page = page.push(objective(&info.history));
    page.section("Settings").push(settings(info))
}

fn job(page: Page, progress: &Progress) -> Page {
    let what = match progress.kind {
        "train" => "Training",
        "register" => "Registering",
        _ => "Activating",
    };
    let text = match progress.state {
        "running" => {
            let bar = Html::trusted(format!(
                "<progress value=\"{}\" max=\"{}\"></progress> ",
                progress.done, progress.total
            ));
            let text = Html::text(&format!("{what}: {}", progress.message));
            return page.push(Html::of_class("p", "job", &bar.and(&text)));
        }
        "failed" => {
            let text = format!("{what} failed: {}", progress.message);
            return page.push(Html::of_class("p", "warning", &Html::text(&text)));
        }
        "done" => progress
            .version
            .map_or(format!("{what} is done."), |version| {
                format!("{what} is done: model {version}.")
            }),
        _ => return page,
    };
    let page = page.push(Html::of_class("p", "job", &Html::text(&text)));
    if progress.objective.len() < 2 {
        return page;
    }
    let (x, y) = (ChartAxis::whole("sweep"), ChartAxis::linear("objective"));
    let title = "Objective in the last training";
    let chart = LineChart::new(title, x, y).curve("objective", &progress.objective);
    page.push(wide_chart(chart))
}

fn train_form() -> Html {
    Html::trusted(
        "<form class=\"line\" method=\"post\" action=\"/dashboard/model/train\">\
         <label for=\"from\">Train on everything known so far,</label>\
         <select id=\"from\" name=\"from\"><option value=\"present\">from the present factors</option>\
         <option value=\"scratch\">from scratch</option></select>\
         <label for=\"sweeps\">sweeps</label>\
         <input id=\"sweeps\" name=\"sweeps\" type=\"number\" min=\"1\" max=\"1000\" placeholder=\"auto\">\
         <label><input type=\"checkbox\" name=\"activate\"> activate it then</label>\
         <button>Train</button></form>",
    )
}

fn versions(shown: &Shown, reader: &Principal) -> Html {
    let rows: Vec<Vec<Html>> = shown
        .models
        .iter()
        .rev()
        .map(|model| {
            let action = match (model.version == shown.active, may_act(reader)) {
                (true, _) => Html::tag("strong", &Html::text("active")),
                (false, false) => Html::default(),
                (false, true) => Html::trusted(format!(
                    "<form method=\"post\" action=\"/dashboard/model/activate\">\
                     <input type=\"hidden\" name=\"version\" value=\"{}\"><button>Activate</button></form>",
                    model.version
                )),
            };
            vec![
                Html::text(&model.version.to_string()),
                action,
                Html::text(&model.source),
                when(model.created),
                Html::text(&format::count(model.sequence)),
            ]
        })
        .collect();
    let columns = [
        Column::Number("version"),
        Column::Text(""),
        Column::Text("made from"),
        Column::Text("registered"),
        Column::Number("trained up to record"),
    ];
    table(&columns, &rows, "There are no models.")
}

fn objective(history: &[Sweep]) -> Html {
    let Some(last) = history.last() else {
        let text = Html::text("The model has no history of sweeps: it was imported.");
        return Html::of_class("p", "soft", &text);
    };
    let value = |value: f64| format::significant(value, 6);
    let facts = pairs(
        "facts",
        [
            ("sweeps", history.len().to_string()),
            ("objective", value(last.objective.total())),
            ("error on observed pairs", value(last.objective.observed)),
            ("scores of missing pairs", value(last.objective.missing)),
            ("size of the factors", value(last.objective.regularization)),
        ],
    );
    if history.len() < 2 {
        return facts;
    }
    let points = |part: fn(&Sweep) -> f64| -> Vec<(f64, f64)> {
        let places = history
            .iter()
            .map(|sweep| (sweep.iteration as f64, part(sweep)));
        places.collect()
    };
    let title = "Objective after each sweep, and its three parts";
    let chart = LineChart::new(
        title,
        ChartAxis::whole("sweep"),
        ChartAxis::log("objective"),
    )
    .series("objective", &points(|sweep| sweep.objective.total()))
    .series("observed pairs", &points(|sweep| sweep.objective.observed))
    .series("missing pairs", &points(|sweep| sweep.objective.missing))
    .series("factors", &points(|sweep| sweep.objective.regularization));
    wide_chart(chart).and(&facts)
}

/// The settings of the run: by the names of their flags, with what they mean.
fn settings(info: &ModelInfo) -> Html {
    let params = &info.params;
    let rows = [
        (
            "factors",
            info.n_factors.to_string(),
            "numbers that describe each user and each item",
        ),
        (
            "weights",
            format!("{} (rank {})", scheme(info), info.weights_rank),
            "how much pairs count that were not observed; look up a user and an item to see the weight of a pair",
        ),
        (
            "regularization",
            params.regularization.to_string(),
            "how strongly factors are kept small, so that chance is not learned",
        ),
        (
            "reg-exponent",
            params.reg_exponent.to_string(),
            "how much more of that active users and popular items get; 0 is the same for all",
        ),
        (
            "targets",
            params.targets.to_string(),
            "the score that an observed pair should get",
        ),
        (
            "post-scale",
            params.post_scale.to_string(),
            "above 0, popular items are raised in lists after training; below 0, rare ones",
        ),
        (
            "solver",
            params.solver.to_string(),
            "the method that found the factors",
        ),
        (
            "seed",
            params.seed.to_string(),
            "where random numbers began; the same seed gives the same model",
        ),
    ];
    // What it means is under the name: a third column would leave the screen of a phone.
    let rows = rows.map(|(name, value, meaning)| {
        let name = Html::tag("code", &Html::text(name));
        let meaning = Html::of_class("span", "id", &Html::text(meaning));
        let value = Html::of_class("span", "wrap", &Html::text(&value));
        vec![name.and(&meaning), value]
    });
    let columns = [Column::Text("setting"), Column::Text("value")];
    let file = pairs(
        "facts",
        [
            ("size of the file", format::bytes(info.bytes)),
            ("written by", format!("absentia {}", info.product_version)),
        ],
    );
    table(&columns, &rows, "").and(&file)
}

/// The weights as they were given, where the configuration has them.
fn scheme(info: &ModelInfo) -> String {
    let given = info.config.as_ref().and_then(|config| {
        let config: toml::Table = config.parse().ok()?;
        let weights = serde_json::to_value(config.get("weights")?).ok()?;
        let first = match weights {
            Value::Array(schemes) => schemes.into_iter().next()?,
            given => given,
        };
        first.as_str().map(str::to_owned)
    });
    given.unwrap_or_else(|| info.weights.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Scope;
    use crate::jobs::{Following, Jobs};
    use absentia::Objective;
    use absentia::fit::Observer as _;

    /// The page as a reader of some scope sees it while a job is at some point.
    fn page(jobs: &Jobs, scope: Scope) -> String {
        let shown = Shown {
            models: Vec::new(),
            active: 2,
            previous: Some(1),
            info: None,
        };
        let reader = Principal {
            key: String::new(),
            scope,
        };
        let page = rendered(&shown, &jobs.progress(), &reader);
        String::from_utf8(page.answer(200, Some(&reader)).body.to_vec()).unwrap()
    }

    #[test]
    fn a_training_that_is_under_way_shows_how_far_it_is() {
        let jobs = Jobs::default();
        assert!(!page(&jobs, Scope::Admin).contains("<progress"));
        jobs.begin("train", 4).unwrap();
        let mut following = Following::new(&jobs, 3);
        for (sweeps, value, text) in [
            (0, 0, "Training: sweep 1 of 3"),
            (1, 1, "Training: sweep 2 of 3"),
            (3, 3, "Training: sweep 3 of 3"),
        ] {
            if sweeps > 0 {
                following.swept(&Sweep {
                    iteration: sweeps,
                    objective: Objective::default(),
                    seconds: 0.1,
                    validation: None,
                });
            }
            for scope in [Scope::Read, Scope::Admin] {
                let page = page(&jobs, scope);
                let bar = format!("<progress value=\"{value}\" max=\"4\">");
                assert!(page.contains(&bar) && page.contains(text), "{page}");
                // The page follows the training by itself.
                assert!(
                    page.contains("http-equiv=\"refresh\" content=\"2\""),
                    "{page}"
                );
            }
        }
        jobs.end(&Ok(3));
        let done = page(&jobs, Scope::Admin);
        assert!(
            done.contains("Training is done: model 3") && !done.contains("<progress"),
            "{done}"
        );
        assert!(!done.contains("http-equiv=\"refresh\""), "{done}");
        jobs.begin("activate", 1).unwrap();
        jobs.end(&Err(ApiError::new(422, "model_refused", "no such file")));
        assert!(page(&jobs, Scope::Admin).contains("Activating failed: no such file"));
    }
}
