//! A user and an item: what adds up to the score, and the weight of the pair if it is missing.

use absentia::error::Axis;
use absentia_report::format;
use serde_json::Value;

use super::html::{Column, Html, Page, encoded, table};
use super::look_up::{Reading, array, name, number, sentence, significant};
use crate::error::ApiError;

/// The items that add most to a score.
pub(super) fn because(explanation: &Value) -> Html {
    let mut reasons = Html::default();
    for part in array(&explanation["contributions"]) {
        let text = format!(
            "{} ({}) ",
            part["title"]
                .as_str()
                .or(part["item"].as_str())
                .unwrap_or_default(),
            format::signed(part["contribution"].as_f64().unwrap_or(0.0))
        );
        reasons = reasons.and(&Html::tag("span", &Html::text(&text)));
    }
    reasons
}

/// Why an item has its score, and what the pair weighs if it is missing.
pub(super) async fn of_pair(
    reading: &Reading<'_>,
    page: Page,
    user: &str,
    item: &str,
) -> Result<Page, ApiError> {
    let page = page.section(&format!("{user} and {item}"));
    let path = format!(
        "/v1/users/{}/explanations/{}?n=20",
        encoded(user),
        encoded(item)
    );
    let found = match reading.get(&path).await {
        Ok(found) => found,
        Err(error) if error.status < 500 => {
            let text = Html::text(&sentence(&error));
            return Ok(page.push(Html::of_class("p", "warning", &text)));
        }
        Err(error) => return Err(error),
    };
    let text = |name: &str| Html::text(name);
    let parts = array(&found["contributions"]).iter();
    let mut rows: Vec<Vec<Html>> = parts
        .map(|part| {
            let item = part["item"].as_str().unwrap_or_default();
            vec![
                name(Axis::Item, item, part["title"].as_str()),
                number(&part["contribution"]),
            ]
        })
        .collect();
    for (label, value) in [
        ("other items", &found["others"]),
        ("what no item explains", &found["remainder"]),
    ] {
        if value.as_f64().is_some_and(|value| value.abs() > 1e-9) {
            rows.push(vec![text(label), number(value)]);
        }
    }
    rows.push(vec![
        Html::tag("strong", &text("score")),
        Html::tag("strong", &number(&found["score"])),
    ]);
    let columns = [Column::Text("because of"), Column::Number("adds")];
    let page = page.push(table(&columns, &rows, ""));
    if found["observed"] == true {
        let text = Html::text("The pair was observed, so that it has no weight as a missing one.");
        return Ok(page.push(Html::tag("p", &text)));
    }
    let weight = format!(
        "The pair is missing: as such it weighs {}.",
        significant(&found["missing"]["weight"])
    );
    let rows: Vec<Vec<Html>> = array(&found["missing"]["parts"])
        .iter()
        .map(|part| {
            vec![
                text(part["scheme"].as_str().unwrap_or_default()),
                number(&part["weight"]),
                text(part["reason"].as_str().unwrap_or_default()),
            ]
        })
        .collect();
    let columns = [
        Column::Text("rule"),
        Column::Number("weight"),
        Column::Text("why"),
    ];
    Ok(page
        .push(Html::tag("p", &Html::text(&weight)))
        .push(table(&columns, &rows, "")))
}
