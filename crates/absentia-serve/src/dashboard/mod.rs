//! The dashboard: pages that the server makes for people, without any script.
//!
//! | file | concept |
//! | --- | --- |
//! | `session` | who reads: the cookie, logging in and out, requests of other sites |
//! | `html` | markup that holds escaped text only, tables, the frame of a page |
//! | `overview` | how the server is: sizes, requests, latencies, errors, lag |
//! | `look_up` | a user or an item: history, lists with reasons, similar ones |
//! | `pair` | what adds up to a score, and the weight of a missing pair |
//! | `model` | objective, settings, versions; activating, going back, training |
//! | `data` | long tail, activity, events over time |
//! | `quality` | how well events are predicted before they are learned, and cache drift |
//!
//! Pages ask the handlers of the API with the scope of their reader, so that they show and allow what the
//! API does.

mod data;
mod html;
mod look_up;
mod model;
mod overview;
mod pair;
mod quality;
mod session;

use std::sync::Arc;

use hyper::Request;
use hyper::body::Incoming;

use crate::api::{Answer, Call, read_body};
use crate::auth::Principal;
use crate::core::Core;
use crate::error::ApiError;
use html::{Html, Page};

/// What pages may load: the style sheet and the icon of this server. Forms lead here alone.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; \
                      form-action 'self'; frame-ancestors 'none'";
const STYLE: &str = include_str!("dashboard.css");
const ICON: &str = include_str!("icon.svg");

/// Whether a path is one of the dashboard.
pub(crate) fn has(path: &str) -> bool {
    path == "/" || path == "/dashboard" || path.starts_with("/dashboard/")
}

/// Answers a request for a page.
pub(crate) async fn answer(
    core: &Arc<Core>,
    is_loopback: bool,
    request: Request<Incoming>,
) -> Answer {
    let reader = session::reader(core, is_loopback, request.headers());
    let answered = answered(core, reader.as_ref(), request).await;
    let answer = answered.unwrap_or_else(|error| failed(reader.as_ref(), &error));
    answer
        .header("content-security-policy", POLICY)
        .header("referrer-policy", "same-origin")
        .header("x-frame-options", "DENY")
}

async fn answered(
    core: &Arc<Core>,
    reader: Option<&Principal>,
    request: Request<Incoming>,
) -> Result<Answer, ApiError> {
    let (head, body) = request.into_parts();
    let (method, path) = (head.method.as_str(), head.uri.path());
    match (method, path) {
        ("GET", "/") => return Ok(redirect("/dashboard")),
        ("GET", "/dashboard/style.css") => {
            let text = format!("{}{STYLE}", absentia_report::html::STYLE);
            return Ok(Answer::of(200, "text/css; charset=utf-8", text));
        }
        ("GET", "/dashboard/icon.svg") => return Ok(Answer::of(200, "image/svg+xml", ICON)),
        _ => {}
    }
    if method == "POST" {
        session::check_origin(&head.headers)?;
        let body = read_body(core, body).await?;
        let fields = std::str::from_utf8(&body)
            .map_err(|_| ApiError::bad("bad_body", "the form is no text"))?;
        let form = Call::new(Vec::new(), fields)?;
        if path == "/dashboard/login" {
            return Ok(session::log_in(core, &head.headers, &form));
        }
        if path == "/dashboard/logout" {
            return Ok(session::log_out());
        }
        let reader = reader.ok_or_else(needs_key)?;
        model::act(core, reader, path, &form).await?;
        return Ok(redirect("/dashboard/model"));
    }
    if method != "GET" {
        let message = "pages have the methods GET and POST";
        return Err(ApiError::new(405, "method_not_allowed", message));
    }
    let Some(reader) = reader else {
        return Ok(session::page(401, ""));
    };
    let call = Call::new(Vec::new(), head.uri.query().unwrap_or_default())?;
    let page = match path {
        "/dashboard" => overview::page(core).await?,
        "/dashboard/look-up" => look_up::page(core, reader, &call).await?,
        "/dashboard/model" => model::page(core, reader).await?,
        "/dashboard/data" => data::page(core).await?,
        "/dashboard/quality" => quality::page(core),
        _ => return Err(ApiError::not_found("no_such_page", "there is no such page")),
    };
    Ok(page.answer(200, Some(reader)))
}

fn needs_key() -> ApiError {
    ApiError::new(401, "key_needed", "log in with a key first")
}

fn failed(reader: Option<&Principal>, error: &ApiError) -> Answer {
    let mut text = error.message.clone();
    if let Some(field) = &error.field {
        text = format!("{field}: {text}");
    }
    Page::new("That did not work", "")
        .push(Html::tag("p", &Html::text(&text)))
        .push(Html::tag("p", &Html::link("/dashboard", "To the overview")))
        .answer(error.status, reader)
}

fn redirect(to: &'static str) -> Answer {
    Answer::of(303, "text/plain; charset=utf-8", "").header("location", to)
}
