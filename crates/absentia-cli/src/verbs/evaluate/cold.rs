//! Items and users without any interaction in the training data, measured apart.

use absentia::Model;
use absentia::evaluate::{Candidates, Evaluation, TestSet};
use absentia_report::terminal::{Cell, Column, Table};
use anyhow::Result;
use serde_json::{Map, Value, json};

use super::Setting;
use super::show::metrics_json;
use crate::ui::Ui;

/// An evaluation of some of the held-out rows.
pub(super) struct Cold {
    /// Its key in JSON.
    key: &'static str,
    /// What it is of, in words.
    name: &'static str,
    evaluation: Evaluation,
}

/// Measures the held-out rows of items, and of users, that the model knows by its relations alone, and the rest.
/// A model without relations knows nothing of them, and nothing is measured apart.
pub(super) fn measure(setting: &Setting, model: &Model, ui: &Ui) -> Result<Vec<Cold>> {
    if model.related().is_none() || matches!(setting.options.candidates, Candidates::Sampled(_)) {
        return Ok(Vec::new());
    }
    let parts = model.parts();
    let is_cold = |counts: &[u32], row: u32| counts[row as usize] == 0;
    let cold_item = |_: u32, item: u32| is_cold(&parts.item_counts, item);
    let cold_user = |user: u32, _: u32| is_cold(&parts.user_counts, user);
    let warm = |user: u32, item: u32| !cold_item(user, item) && !cold_user(user, item);
    let counts = &parts.item_counts;
    let cold_items: Vec<u32> = (0..counts.len() as u32)
        .filter(|&item| is_cold(counts, item))
        .collect();
    let all = Candidates::All;
    let wanted: [(_, _, &dyn Fn(u32, u32) -> bool, _); 4] = [
        (
            "items_among_themselves",
            "new items, ranked among themselves",
            &cold_item,
            Candidates::Only(cold_items),
        ),
        (
            "items_among_all",
            "new items, ranked among all",
            &cold_item,
            all.clone(),
        ),
        ("users", "new users", &cold_user, all.clone()),
        (
            "known",
            "known users and items, ranked among all",
            &warm,
            all,
        ),
    ];
    let scorer = model.scorer();
    let mut cold = Vec::new();
    for (key, name, keep, candidates) in wanted {
        let test = some(&setting.test, keep)?;
        if test.users().is_empty() {
            continue;
        }
        let mut options = setting.options.clone();
        options.candidates = candidates;
        let evaluation = setting.measure_on(&scorer, &test, &options, ui)?;
        cold.push(Cold {
            key,
            name,
            evaluation,
        });
    }
    // Where every row is of known ones, that is the evaluation itself.
    if cold.iter().all(|one| one.key == "known") {
        cold.clear();
    }
    Ok(cold)
}

/// Some of the held-out pairs.
fn some(test: &TestSet, keep: &dyn Fn(u32, u32) -> bool) -> Result<TestSet> {
    let (mut users, mut items) = (Vec::new(), Vec::new());
    for (row, &user) in test.users().iter().enumerate() {
        for &item in test.lists().row(row) {
            if keep(user, item) {
                users.push(user);
                items.push(item);
            }
        }
    }
    Ok(TestSet::from_pairs(&users, &items)?)
}

pub(super) fn json(cold: &[Cold]) -> Value {
    let figures = cold.iter().map(|one| {
        let figures = metrics_json(&one.evaluation);
        (one.key.to_owned(), Value::Object(figures))
    });
    json!(figures.collect::<Map<String, Value>>())
}

pub(super) fn table(cold: &[Cold]) -> Table {
    let mut columns = vec![Column::left("apart"), Column::right("users")];
    let metrics = cold.first().map(|one| &one.evaluation.metrics);
    let metrics = metrics.into_iter().flatten();
    columns.extend(metrics.map(|metric| Column::right(metric.name.to_string())));
    let mut table = Table::new(columns);
    for one in cold {
        let evaluation = &one.evaluation;
        let mut cells = vec![
            Cell::text(one.name),
            Cell::count(evaluation.users.len() as u64),
        ];
        cells.extend(
            evaluation
                .metrics
                .iter()
                .map(|m| Cell::metric(m.summary.mean)),
        );
        table.row(cells);
    }
    table
}
