//! A user and an item: what adds up to the score, and the weight of the pair if it is missing.

use absentia::error::Axis;
use absentia_report::format;
use serde_json::{Value, json};

use super::html::{Column, Html, Page, encoded, table};
use super::look_up::{Reading, array, name, number, sentence, significant};
use crate::error::ApiError;
use crate::settings::MAX_LIST;

/// Items that are named with what they add.
const NAMED: usize = 12;

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

/// The parts of an explanation that add or take away most, and the sum of all others.
fn largest(explanation: &Value) -> (Vec<&Value>, f64) {
    let size = |part: &Value| part["contribution"].as_f64().unwrap_or(0.0);
    let mut parts: Vec<&Value> = array(&explanation["contributions"]).iter().collect();
    parts.sort_by(|a, b| size(b).abs().total_cmp(&size(a).abs()));
    let rest = parts.split_off(parts.len().min(NAMED));
    let rest: f64 = rest.into_iter().map(size).sum();
    (parts, explanation["others"].as_f64().unwrap_or(0.0) + rest)
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
        "/v1/users/{}/explanations/{}?n={MAX_LIST}",
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
    let (parts, others) = largest(&found);
    let mut rows: Vec<Vec<Html>> = parts
        .into_iter()
        .map(|part| {
            let item = part["item"].as_str().unwrap_or_default();
            vec![
                name(Axis::Item, item, part["title"].as_str()),
                number(&part["contribution"]),
            ]
        })
        .collect();
    for (label, value) in [
        ("other items", &json!(others)),
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
        "The pair is missing: as such it weighs {}. The larger this weight, the more the model takes the \
         missing pair for a refusal, and the lower it scores it.",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_away_most_is_named_too_and_the_sum_stays() {
        let part = |at: usize| {
            let sign = if at.is_multiple_of(3) { -1.0 } else { 1.0 };
            json!({"item": at.to_string(), "contribution": sign * at as f64})
        };
        let parts: Vec<Value> = (0..40).map(part).collect();
        let explanation = json!({"contributions": parts, "others": 0.5});
        let (named, others) = largest(&explanation);
        let size = |part: &Value| part["contribution"].as_f64().unwrap();
        assert_eq!(named.len(), NAMED);
        assert_eq!(
            size(named[0]).abs().total_cmp(&39.0),
            std::cmp::Ordering::Equal
        );
        let sum: f64 = named.into_iter().map(size).sum();
        let all: f64 = parts.iter().map(size).sum();
        assert!((sum + others - all - 0.5).abs() < 1e-12);
    }
}
