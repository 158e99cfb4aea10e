//! A user or an item: history, lists with reasons, similar ones, the weight of any pair.

use std::sync::Arc;

use absentia::error::Axis;
use absentia_report::format;
use serde_json::Value;

use super::html::{Column, Html, Page, encoded, pairs, table, when};
use super::pair::{because, of_pair};
use crate::api::{Call, ask, escaped};
use crate::auth::Principal;
use crate::core::Core;
use crate::error::ApiError;

/// Entries of each table.
const SHOWN: usize = 10;
/// Entries of a history.
const HISTORY: usize = 50;

/// Who asks for what.
pub(super) struct Reading<'a> {
    core: &'a Arc<Core>,
    reader: &'a Principal,
}

impl Reading<'_> {
    pub(super) async fn get(&self, path: &str) -> Result<Value, ApiError> {
        ask(self.core, self.reader, ("GET", path), &Value::Null).await
    }
}

pub(super) async fn page(
    core: &Arc<Core>,
    reader: &Principal,
    call: &Call,
) -> Result<Page, ApiError> {
    let axis = match call.text("kind") {
        Some("item") => Axis::Item,
        _ => Axis::User,
    };
    let id = call.text("id").unwrap_or_default();
    let page = Page::new(
        "Look up",
        "What the model knows, and why it recommends what it does.",
    )
    .push(form(axis, id));
    if id.is_empty() {
        return examples(core, page).await;
    }
    let reading = Reading { core, reader };
    match axis {
        Axis::User => of_user(&reading, page, id, call.text("item").unwrap_or_default()).await,
        Axis::Item => of_item(&reading, page, id).await,
    }
}

fn form(axis: Axis, id: &str) -> Html {
    let option = |own: Axis, name: &str| {
        let selected = if own == axis { " selected" } else { "" };
        format!("<option value=\"{name}\"{selected}>{name}</option>")
    };
    Html::trusted(format!(
        "<form class=\"line\" method=\"get\" action=\"/dashboard/look-up\">\
         <label class=\"hidden\" for=\"kind\">Kind</label><select id=\"kind\" name=\"kind\">{}{}</select>\
         <label class=\"hidden\" for=\"id\">Id</label>\
         <input id=\"id\" name=\"id\" value=\"{}\" placeholder=\"id\" required><button>Look up</button></form>",
        option(Axis::User, "user"),
        option(Axis::Item, "item"),
        escaped(id)
    ))
}

/// Some users and items to begin with: those with most interactions.
async fn examples(core: &Arc<Core>, page: Page) -> Result<Page, ApiError> {
    let most = core.rankings.run(|worker| {
        let live = worker.core.live();
        let state = live.read();
        let catalogue = worker.core.catalogue();
        Ok([Axis::User, Axis::Item].map(|axis| {
            let counts = state.learner.online().counts(axis);
            let mut rows: Vec<u32> = (0..counts.len() as u32).collect();
            let order = |&row: &u32| (std::cmp::Reverse(counts[row as usize]), row);
            if rows.len() > SHOWN {
                rows.select_nth_unstable_by_key(SHOWN, order);
                rows.truncate(SHOWN);
            }
            rows.sort_unstable_by_key(order);
            let named = rows.into_iter().map(|row| {
                let ids = state.learner.ids();
                let ids = match axis {
                    Axis::User => &ids.users,
                    Axis::Item => &ids.items,
                };
                let id = ids.name(row).unwrap_or_default().into_owned();
                let title = catalogue
                    .get(axis, &id)
                    .and_then(|entry| entry.title.clone());
                vec![
                    name(axis, &id, title.as_deref()),
                    Html::text(&format::count(counts[row as usize].into())),
                ]
            });
            named.collect::<Vec<_>>()
        }))
    });
    let [users, items] = most.await?;
    let columns = |name| [Column::Text(name), Column::Number("interactions")];
    Ok(page
        .section("Users with most interactions")
        .push(table(&columns("user"), &users, "There are no users yet."))
        .section("Items with most interactions")
        .push(table(&columns("item"), &items, "There are no items yet.")))
}

async fn of_user(
    reading: &Reading<'_>,
    page: Page,
    id: &str,
    pair: &str,
) -> Result<Page, ApiError> {
    let base = format!("/v1/users/{}", encoded(id));
    let found = reading.get(&format!("{base}?events={HISTORY}")).await;
    let found = match found {
        Ok(found) => found,
        Err(error) if error.status == 404 => {
            let text = format!(
                "{} This is the list for someone who is not known.",
                sentence(&error)
            );
            let text = Html::of_class("p", "warning", &Html::text(&text));
            return recommended(reading, page.push(text), id, &base, false).await;
        }
        Err(error) => return Err(error),
    };
    let known = found["in_model"] == true;
    let mut page = page.push(facts(&found, id));
    if !pair.is_empty() {
        page = of_pair(reading, page, id, pair).await?;
    }
    page = recommended(reading, page, id, &base, known).await?;
    page = page.section("Any item").push(Html::trusted(format!(
        "<form class=\"line\" method=\"get\" action=\"/dashboard/look-up\">\
         <input type=\"hidden\" name=\"kind\" value=\"user\"><input type=\"hidden\" name=\"id\" value=\"{}\">\
         <label class=\"hidden\" for=\"item\">Item</label>\
         <input id=\"item\" name=\"item\" value=\"{}\" placeholder=\"id of an item\" required>\
         <button>Explain</button></form>",
        escaped(id),
        escaped(pair)
    )));
    page = page.section("Events").push(events(reading.core, &found));
    if known {
        let items = neighbours(reading.core, Axis::User, id).await?;
        let columns = [Column::Text("item"), Column::Number("users who took it")];
        page = page
            .section("Items in the model")
            .push(table(&columns, &items, "There are none."));
        page = similar(reading, page, Axis::User, &base).await?;
    }
    Ok(page)
}

async fn of_item(reading: &Reading<'_>, page: Page, id: &str) -> Result<Page, ApiError> {
    let base = format!("/v1/items/{}", encoded(id));
    let found = match reading.get(&base).await {
        Ok(found) => found,
        Err(error) if error.status == 404 => {
            let text = Html::text(&sentence(&error));
            return Ok(page.push(Html::of_class("p", "warning", &text)));
        }
        Err(error) => return Err(error),
    };
    let page = page.push(facts(&found, id));
    if found["in_model"] != true {
        return Ok(page);
    }
    let page = similar(reading, page, Axis::Item, &base).await?;
    let users = neighbours(reading.core, Axis::Item, id).await?;
    let columns = [Column::Text("user"), Column::Number("items taken")];
    Ok(page
        .section("Users in the model")
        .push(table(&columns, &users, "Nobody has taken it yet.")))
}

fn facts(found: &Value, id: &str) -> Html {
    let mut facts = vec![
        ("id", id.to_owned()),
        ("title", shown(&found["title"])),
        ("category", shown(&found["category"])),
        (
            "in the model",
            if found["in_model"] == true {
                "yes"
            } else {
                "not yet"
            }
            .to_owned(),
        ),
        (
            "interactions",
            format::count(found["interactions"].as_u64().unwrap_or(0)),
        ),
    ];
    if found["hidden"] == true {
        facts.push(("hidden", "yes: it is never recommended".to_owned()));
    }
    facts.retain(|(_, value)| value != "–");
    pairs("facts", facts)
}

async fn recommended(
    reading: &Reading<'_>,
    page: Page,
    user: &str,
    base: &str,
    known: bool,
) -> Result<Page, ApiError> {
    let list = reading
        .get(&format!("{base}/recommendations?n={SHOWN}"))
        .await?;
    let fallback = list["fallback"] == "popular";
    let mut rows = Vec::new();
    for (at, listed) in array(&list["items"]).iter().enumerate() {
        let item = listed["item"].as_str().unwrap_or_default();
        let mut row = vec![
            Html::text(&(at + 1).to_string()),
            name(Axis::Item, item, listed["title"].as_str()),
            number(&listed["score"]),
        ];
        if known && !fallback {
            let path = format!("{base}/explanations/{}?n=2", encoded(item));
            let reasons = match reading.get(&path).await {
                Ok(explanation) => because(&explanation),
                Err(_) => Html::default(),
            };
            let all = format!(
                "/dashboard/look-up?kind=user&id={}&item={}",
                encoded(user),
                encoded(item)
            );
            row.push(reasons.and(&Html::text(" ")).and(&Html::link(&all, "all")));
        }
        rows.push(row);
    }
    let score = if fallback {
        Column::Number("interactions")
    } else {
        Column::Number("score")
    };
    let mut columns = vec![Column::Number("#"), Column::Text("item"), score];
    if known && !fallback {
        columns.push(Column::Text("mostly because of"));
    }
    let heading = if fallback {
        "Recommended: popular items"
    } else {
        "Recommended"
    };
    Ok(page
        .section(heading)
        .push(table(&columns, &rows, "Nothing is left to recommend.")))
}

fn events(core: &Core, found: &Value) -> Html {
    let catalogue = core.catalogue();
    let rows: Vec<Vec<Html>> = array(&found["events"])
        .iter()
        .map(|event| {
            let item = event["item"].as_str().unwrap_or_default();
            let kind = event["kind"].as_str().unwrap_or_default();
            let kind = if event["deleted"] == true {
                format!("{kind} (removed)")
            } else {
                kind.to_owned()
            };
            let received = event["received"].as_i64().unwrap_or(0);
            let entry = catalogue.get(Axis::Item, item);
            let title = entry.and_then(|entry| entry.title.as_deref());
            vec![
                Html::text(&event["sequence"].to_string()),
                Html::text(&kind),
                name(Axis::Item, item, title),
                when(received),
            ]
        })
        .collect();
    let columns = [
        Column::Number("record"),
        Column::Text("kind"),
        Column::Text("item"),
        Column::Text("received"),
    ];
    table(
        &columns,
        &rows,
        "No event of this user was sent to the server.",
    )
}

async fn similar(
    reading: &Reading<'_>,
    page: Page,
    axis: Axis,
    base: &str,
) -> Result<Page, ApiError> {
    let found = reading.get(&format!("{base}/similar?n={SHOWN}")).await?;
    let rows: Vec<Vec<Html>> = array(&found["similar"])
        .iter()
        .map(|one| {
            let id = one["id"].as_str().unwrap_or_default();
            vec![
                name(axis, id, one["title"].as_str()),
                number(&one["similarity"]),
            ]
        })
        .collect();
    let (heading, label) = match axis {
        Axis::User => ("Similar users", "user"),
        Axis::Item => ("Similar items", "item"),
    };
    let columns = [Column::Text(label), Column::Number("cosine")];
    Ok(page
        .section(heading)
        .push(table(&columns, &rows, "There are none.")))
}

/// The items of a user, or the users of an item, with their counts.
async fn neighbours(core: &Arc<Core>, axis: Axis, id: &str) -> Result<Vec<Vec<Html>>, ApiError> {
    let id = id.to_owned();
    let task = move |worker: &crate::ranking::Worker| {
        let live = worker.core.live();
        let state = live.read();
        let row = state.learner.row(axis, &id)?;
        let (online, ids) = (state.learner.online(), state.learner.ids());
        let (other, ids) = match axis {
            Axis::User => (Axis::Item, &ids.items),
            Axis::Item => (Axis::User, &ids.users),
        };
        let (counts, catalogue) = (online.counts(other), worker.core.catalogue());
        let columns = online.columns(axis, row).iter().take(HISTORY);
        Ok(columns
            .map(|&column| {
                let id = ids.name(column).unwrap_or_default();
                let entry = catalogue.get(other, &id);
                let title = entry.and_then(|entry| entry.title.as_deref());
                let count = format::count(counts[column as usize].into());
                vec![name(other, &id, title), Html::text(&count)]
            })
            .collect())
    };
    core.rankings.run(task).await
}

/// A user or item by its title and id, as a link to itself.
pub(super) fn name(axis: Axis, id: &str, title: Option<&str>) -> Html {
    let kind = match axis {
        Axis::User => "user",
        Axis::Item => "item",
    };
    let link = Html::link(
        &format!("/dashboard/look-up?kind={kind}&id={}", encoded(id)),
        title.unwrap_or(id),
    );
    match title {
        None => link,
        Some(_) => link.and(&Html::of_class("span", "id", &Html::text(id))),
    }
}

pub(super) fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn shown(value: &Value) -> String {
    value.as_str().unwrap_or("–").to_owned()
}

pub(super) fn significant(value: &Value) -> String {
    format::significant(value.as_f64().unwrap_or(f64::NAN), 4)
}

pub(super) fn number(value: &Value) -> Html {
    Html::text(&significant(value))
}

/// What an error says, as a sentence.
pub(super) fn sentence(error: &ApiError) -> String {
    let mut letters = error.message.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}
