//! Items and users without any interaction in the training data, measured apart.

use absentia::evaluate::{Candidates, Evaluation, TestSet};
use absentia_report::terminal::{Cell, Column, Table};
use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::verbs::evaluate::metrics_json;

/// An evaluation of some of the held-out rows.
pub(crate) struct Cold {
    /// Its key in JSON.
    key: &'static str,
    /// What it is of, in words.
    pub(crate) name: &'static str,
    pub(crate) evaluation: Evaluation,
}

/// Interactions of each row: of users, and of items.
pub(crate) type Counts<'c> = (&'c [u32], &'c [u32]);

/// Measures the held-out rows of items, and of users, without any interaction, and the rest; `measured` ranks some
/// held-out rows among some items.
pub(crate) fn measure(
    test: &TestSet,
    (user_counts, item_counts): Counts<'_>,
    measured: &dyn Fn(&TestSet, Candidates) -> Result<Evaluation>,
) -> Result<Vec<Cold>> {
    let is_cold = |counts: &[u32], row: u32| counts[row as usize] == 0;
    let cold_item = |_: u32, item: u32| is_cold(item_counts, item);
    let cold_user = |user: u32, _: u32| is_cold(user_counts, user);
    let warm = |user: u32, item: u32| !cold_item(user, item) && !cold_user(user, item);
    let counts = item_counts;
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
    let mut cold = Vec::new();
    for (key, name, keep, candidates) in wanted {
        let part = some(test, keep)?;
        if part.users().is_empty() {
            continue;
        }
        cold.push(Cold {
            key,
            name,
            evaluation: measured(&part, candidates)?,
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

/// Their figures by what they are of.
pub(crate) fn json(cold: &[Cold]) -> Value {
    let figures = cold.iter().map(|one| {
        let figures = metrics_json(&one.evaluation);
        (one.key.to_owned(), Value::Object(figures))
    });
    json!(figures.collect::<Map<String, Value>>())
}

/// Their figures, of several models if those have names.
pub(crate) fn table(models: &[(&str, &[Cold])]) -> Table {
    let is_named = models.len() > 1;
    let mut columns = vec![Column::left("apart")];
    columns.extend(is_named.then(|| Column::left("variant")));
    columns.push(Column::right("users"));
    let parts = || models.iter().flat_map(|(_, cold)| cold.iter());
    let metrics = parts().next().map(|one| &one.evaluation.metrics);
    let metrics = metrics.into_iter().flatten();
    columns.extend(metrics.map(|metric| Column::right(metric.name.to_string())));
    let mut table = Table::new(columns);
    let mut names: Vec<&str> = Vec::new();
    for one in parts() {
        if !names.contains(&one.name) {
            names.push(one.name);
        }
    }
    for name in names {
        for (model, cold) in models {
            for one in cold.iter().filter(|one| one.name == name) {
                table.row(cells(one, is_named.then_some(*model)));
            }
        }
    }
    table
}

fn cells(one: &Cold, model: Option<&str>) -> Vec<Cell> {
    let evaluation = &one.evaluation;
    let mut cells = vec![Cell::text(one.name)];
    cells.extend(model.map(Cell::text));
    cells.push(Cell::count(evaluation.users.len() as u64));
    let means = evaluation.metrics.iter().map(|m| m.summary.mean);
    cells.extend(means.map(Cell::metric));
    cells
}
