//! `GET /v1/users/{id}/recommendations`, `POST /v1/recommendations`.

use serde::{Deserialize, Serialize};

use super::call::{Answer, Call};
use super::json;
use crate::core::Core;
use crate::error::ApiError;
use crate::ranking::{ItemOfUser, List, ListRequest, Seen, Who, looked_up};
use crate::settings::{MAX_EXCLUDED, MAX_ITEMS, MAX_LIST, MAX_OFFSET, MAX_USERS};

const DEFAULT_LENGTH: usize = 20;

/// The body of a request for lists.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Many {
    #[serde(default)]
    users: Option<Vec<String>>,
    #[serde(default)]
    items: Option<Vec<ItemOfUser>>,
    #[serde(default = "default_length")]
    n: usize,
    #[serde(default)]
    offset: usize,
    #[serde(default)]
    exclude: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
    #[serde(default)]
    seen: SeenText,
}

fn default_length() -> usize {
    DEFAULT_LENGTH
}

/// `hide`, `show` or a list of kinds.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected hide, show or a list of kinds")]
enum SeenText {
    Word(String),
    Kinds(Vec<String>),
}

impl Default for SeenText {
    fn default() -> Self {
        Self::Word("hide".to_owned())
    }
}

#[derive(Serialize)]
struct Results {
    results: Vec<List>,
}

pub(super) async fn of_user(core: &Core, call: &Call) -> Result<Answer, ApiError> {
    call.only(&["n", "offset", "exclude", "category", "seen"])?;
    let seen = call.text("seen").unwrap_or("hide");
    let request = ListRequest {
        who: Who::User(call.parameter(0)),
        n: call.number("n", DEFAULT_LENGTH, (1, MAX_LIST))?,
        offset: call.number("offset", 0, (0, MAX_OFFSET))?,
        exclude: call.list("exclude"),
        categories: call.list("category"),
        seen: seen_of(core, seen.split(',').map(str::to_owned).collect())?,
    };
    check_excluded(&request.exclude)?;
    if let Some(list) = looked_up(core, &request) {
        return Answer::json(200, &list);
    }
    let mut lists = core.rankings.lists(vec![request]).await?;
    let list = lists.pop().ok_or_else(ApiError::overloaded)??;
    Answer::json(200, &list)
}

pub(super) async fn many(core: &Core, call: &Call) -> Result<Answer, ApiError> {
    call.only(&[])?;
    let body: Many = json::read(call)?;
    if !(1..=MAX_LIST).contains(&body.n) {
        return Err(ApiError::invalid(
            "n",
            format!("it must be from 1 to {MAX_LIST}"),
        ));
    }
    if body.offset > MAX_OFFSET {
        return Err(ApiError::invalid(
            "offset",
            format!("it must be at most {MAX_OFFSET}"),
        ));
    }
    check_excluded(&body.exclude)?;
    let seen = match body.seen {
        SeenText::Word(word) => seen_of(core, vec![word])?,
        SeenText::Kinds(kinds) => seen_of(core, kinds)?,
    };
    let whose = match (body.users, body.items) {
        (Some(users), None) if (1..=MAX_USERS).contains(&users.len()) => {
            users.into_iter().map(Who::User).collect()
        }
        (Some(_), None) => {
            let message = format!("there must be 1 to {MAX_USERS}");
            return Err(ApiError::invalid("users", message));
        }
        (None, Some(items)) if items.len() <= MAX_ITEMS => vec![Who::Items(items)],
        (None, Some(_)) => {
            return Err(ApiError::invalid(
                "items",
                format!("there are at most {MAX_ITEMS}"),
            ));
        }
        _ => {
            return Err(ApiError::invalid(
                "users",
                "either users or items must be given",
            ));
        }
    };
    let request = |who: Who| ListRequest {
        who,
        n: body.n,
        offset: body.offset,
        exclude: body.exclude.clone(),
        categories: body.categories.clone(),
        seen: seen.clone(),
    };
    let lists = core
        .rankings
        .lists(whose.into_iter().map(request).collect());
    let results: Result<Vec<List>, ApiError> = lists.await?.into_iter().collect();
    Answer::json(200, &Results { results: results? })
}

fn check_excluded(exclude: &[String]) -> Result<(), ApiError> {
    if exclude.len() > MAX_EXCLUDED {
        let message = format!("at most {MAX_EXCLUDED} items can be excluded");
        return Err(ApiError::invalid("exclude", message));
    }
    Ok(())
}

fn seen_of(core: &Core, words: Vec<String>) -> Result<Seen, ApiError> {
    match &words[..] {
        [word] if word == "hide" => return Ok(Seen::Hide),
        [word] if word == "show" => return Ok(Seen::Show),
        _ => {}
    }
    match words
        .iter()
        .find(|word| !core.settings.kinds.contains_key(*word))
    {
        None => Ok(Seen::HideKinds(words)),
        Some(word) => {
            let message = format!("{word:?} is none of hide, show and the kinds of events");
            Err(ApiError::invalid("seen", message))
        }
    }
}
