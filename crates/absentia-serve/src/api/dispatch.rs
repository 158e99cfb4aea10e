//! From a request to an answer: route, key, body, handler, counters, log.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use super::call::{Answer, Call};
use super::routes::{Handler, ROUTES, Route, RouteMatch, find};
use super::{catalogue, events, explanations, models, operations, recommendations, similar};
use crate::auth::{Principal, Refused, Scope};
use crate::core::Core;
use crate::dashboard;
use crate::error::ApiError;
use crate::log;
use crate::settings::MAX_KEY_BYTES;

/// Numbers of requests that have no id of their own.
static REQUESTS: AtomicU64 = AtomicU64::new(1);

/// Answers a request.
pub async fn dispatch(
    core: Arc<Core>,
    peer: SocketAddr,
    is_loopback: bool,
    mut request: Request<Incoming>,
) -> Response<Full<Bytes>> {
    let start = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let id = request_id(request.headers());
    let cors = allowed_origin(&core, request.headers());
    if method == Method::HEAD {
        // The connection sends the head of the answer alone.
        *request.method_mut() = Method::GET;
    }
    let found = find(request.method().as_str(), &path);
    let route = match &found {
        RouteMatch::Route(at, _) => Some(*at),
        _ => None,
    };
    let answered = if method == "OPTIONS" && cors.is_some() {
        Ok(Answer::of(204, "text/plain", ""))
    } else if dashboard::has(&path) {
        Ok(dashboard::answer(&core, is_loopback, request).await)
    } else {
        answer(&core, is_loopback, request, found).await
    };
    let answer = answered.unwrap_or_else(|error| Answer::from(&error));
    let took = start.elapsed();
    core.metrics.count(route, answer.status, took);
    // Requests that are shed are counted: a line for each would be more work than refusing them.
    let has_failed = answer.status >= 500 && answer.status != 503;
    if has_failed || core.settings.log_requests {
        log::request(&id, peer, method.as_str(), &path, answer.status, took);
    }
    response(answer, &id, cors)
}

async fn answer(
    core: &Arc<Core>,
    is_loopback: bool,
    request: Request<Incoming>,
    found: RouteMatch,
) -> Result<Answer, ApiError> {
    let (at, parameters) = match found {
        RouteMatch::Route(at, parameters) => (at, parameters),
        RouteMatch::OtherMethods(methods) => {
            let message = format!("this path has the methods {}", methods.join(", "));
            let answer = Answer::from(&ApiError::new(405, "method_not_allowed", message));
            return Ok(answer.header("allow", methods.join(", ")));
        }
        RouteMatch::Nothing => {
            let message = "there is no such path; /openapi.json lists all";
            return Err(ApiError::not_found("no_such_path", message));
        }
    };
    let route = &ROUTES[at];
    let (head, body) = request.into_parts();
    let principal = authorised(core, is_loopback, &head.headers, route)?;
    let mut call = Call::new(parameters, head.uri.query().unwrap_or_default())?;
    call.principal = principal;
    call.target = format!("{} {}", head.method, head.uri.path());
    call.idempotency_key = idempotency_key(&head.headers)?;
    if route.method == "POST" {
        check_encoding(&head.headers)?;
        call.content_type = content_type(&head.headers);
        call.body = read_body(core, body).await?;
    }
    handle(core, route.handler, call).await
}

async fn handle(core: &Arc<Core>, handler: Handler, call: Call) -> Result<Answer, ApiError> {
    use absentia::error::Axis;
    match handler {
        Handler::Recommend => recommendations::of_user(core, &call).await,
        Handler::RecommendMany => recommendations::many(core, &call).await,
        Handler::SimilarItems => similar::similar(core, &call, Axis::Item).await,
        Handler::SimilarUsers => similar::similar(core, &call, Axis::User).await,
        Handler::Explain => explanations::explain(core, &call).await,
        Handler::PostEvents => events::post(core, &call).await,
        Handler::DeleteEvent => events::delete(core, &call).await,
        Handler::EraseUser => events::erase_user(core, &call).await,
        Handler::GetUser => catalogue::get(core, &call, Axis::User).await,
        Handler::GetItem => catalogue::get(core, &call, Axis::Item).await,
        Handler::ListUsers => catalogue::list(core, &call, Axis::User).await,
        Handler::ListItems => catalogue::list(core, &call, Axis::Item).await,
        Handler::PutUsers => catalogue::put(core, &call, Axis::User).await,
        Handler::PutItems => catalogue::put(core, &call, Axis::Item).await,
        Handler::ListModels => models::list(core, &call).await,
        Handler::RegisterModel => models::register(core, &call).await,
        Handler::TrainModel => models::train(core, &call).await,
        Handler::TrainProgress => models::progress(core, &call),
        Handler::ActivateModel => models::activate(core, &call).await,
        Handler::RollBack => models::roll_back(core, &call).await,
        Handler::Quality => operations::quality(core, &call),
        Handler::Health => operations::health(),
        Handler::Ready => operations::ready(core),
        Handler::Metrics => Ok(operations::metrics(core)),
        Handler::OpenApi => Ok(operations::open_api()),
        Handler::ApiPage => Ok(operations::page()),
    }
}

/// Answers a request that a page of this server makes for its reader, in JSON.
///
/// # Errors
/// Those of the route, and a scope that is too small.
pub(crate) async fn ask(
    core: &Arc<Core>,
    reader: &Principal,
    (method, target): (&str, &str),
    body: &serde_json::Value,
) -> Result<serde_json::Value, ApiError> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let RouteMatch::Route(at, parameters) = find(method, path) else {
        return Err(ApiError::not_found("no_such_path", "there is no such path"));
    };
    let route = &ROUTES[at];
    check_scope(reader, route.scope.unwrap_or(Scope::Read))?;
    let mut call = Call::new(parameters, query)?;
    call.principal = Some(reader.clone());
    call.target = format!("{method} {path}");
    if route.method == "POST" {
        "application/json".clone_into(&mut call.content_type);
        call.body = body.to_string().into();
    }
    let answer = handle(core, route.handler, call).await?;
    serde_json::from_slice(&answer.body)
        .map_err(|error| ApiError::new(500, "internal", error.to_string()))
}

/// Who sent a request, if its route is open to them.
fn authorised(
    core: &Core,
    is_loopback: bool,
    headers: &HeaderMap,
    route: &Route,
) -> Result<Option<Principal>, ApiError> {
    let Some(needed) = route.scope else {
        return Ok(None);
    };
    let principal = match key_of(headers)? {
        Some(key) => core.keys.check(key).map_err(|refused| {
            let message = match refused {
                Refused::Unknown => "the key is not known",
                Refused::Expired => "the key has expired",
            };
            ApiError::new(401, "key_refused", message)
        })?,
        None => without_key(core, is_loopback, headers).ok_or_else(|| {
            let message = "a key is needed: Authorization: Bearer absk_...";
            ApiError::new(401, "key_needed", message)
        })?,
    };
    check_scope(&principal, needed)?;
    Ok(Some(principal))
}

/// Headers that proxies add: who sent such a request is not on this machine.
const FORWARDED: [&str; 4] = ["forwarded", "via", "x-forwarded-for", "x-real-ip"];

/// Who sends a request without a key: someone on this machine, or nobody. A page of another origin that runs
/// in a browser on this machine is nobody, unless it is listed. So is who comes through a proxy, whichever host
/// the request names.
pub(crate) fn without_key(
    core: &Core,
    is_loopback: bool,
    headers: &HeaderMap,
) -> Option<Principal> {
    let is_foreign = has_own_origin(headers) == Some(false);
    let is_allowed = !is_foreign || allowed_origin(core, headers).is_some();
    let is_forwarded = FORWARDED.iter().any(|name| headers.contains_key(*name));
    let is_local = is_loopback && names_loopback(headers) && !is_forwarded;
    let needs_none = is_local && is_allowed && !core.settings.require_key;
    needs_none.then(|| Principal {
        key: String::new(),
        scope: Scope::Admin,
    })
}

/// Whether the page that sends a request is one of this server; `None` if the request does not say.
pub(crate) fn has_own_origin(headers: &HeaderMap) -> Option<bool> {
    let origin = headers.get("origin")?.to_str().unwrap_or_default();
    let host = headers.get("host").and_then(|host| host.to_str().ok());
    let of_origin = origin.split_once("://").map(|(_, host)| host);
    Some(of_origin.is_some() && of_origin == host)
}

fn check_scope(principal: &Principal, needed: Scope) -> Result<(), ApiError> {
    if principal.scope < needed {
        let message = format!(
            "the key has the scope {}, and this needs {}",
            principal.scope.name(),
            needed.name()
        );
        return Err(ApiError::new(403, "scope_too_small", message));
    }
    Ok(())
}

fn key_of(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let Some(value) = headers.get("authorization") else {
        return Ok(None);
    };
    let key = value
        .to_str()
        .ok()
        .and_then(|text| text.strip_prefix("Bearer "));
    let message = "the Authorization header must be: Bearer absk_...";
    key.map(|key| Some(key.trim()))
        .ok_or_else(|| ApiError::new(401, "key_refused", message))
}

/// Whether the request names this machine as its host. A page of another origin that resolves its own name
/// to this machine does not.
fn names_loopback(headers: &HeaderMap) -> bool {
    let host = headers.get("host").and_then(|host| host.to_str().ok());
    let Some(host) = host else {
        return false;
    };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    matches!(name, "localhost" | "[::1]")
        || name
            .parse()
            .is_ok_and(|address: std::net::Ipv4Addr| address.is_loopback())
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    let key = value
        .to_str()
        .ok()
        .filter(|key| (1..=MAX_KEY_BYTES).contains(&key.len()));
    key.map(|key| Some(key.to_owned())).ok_or_else(|| {
        let message = format!("it must have 1 to {MAX_KEY_BYTES} visible characters");
        ApiError::invalid("Idempotency-Key", message)
    })
}

/// Refuses compressed bodies: their size is not known before they are decompressed.
fn check_encoding(headers: &HeaderMap) -> Result<(), ApiError> {
    match headers.get("content-encoding") {
        Some(encoding) if encoding != "identity" => {
            let message = "bodies must not be compressed";
            Err(ApiError::new(415, "unsupported_encoding", message).field("Content-Encoding"))
        }
        _ => Ok(()),
    }
}

fn content_type(headers: &HeaderMap) -> String {
    let value = headers
        .get("content-type")
        .and_then(|value| value.to_str().ok());
    let kind = value
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

pub(crate) async fn read_body(core: &Core, mut body: Incoming) -> Result<Bytes, ApiError> {
    let limits = core.settings.limits;
    let patience = Duration::from_secs(limits.read_seconds);
    match tokio::time::timeout(patience, collected(&mut body, limits.body_bytes)).await {
        Err(_) => {
            let message = format!(
                "the body did not arrive within {} seconds",
                limits.read_seconds
            );
            Err(ApiError::new(408, "body_timeout", message))
        }
        Ok(Err(None)) => Err(ApiError::bad("bad_body", "the body ended early")),
        Ok(Err(Some(TooLarge))) => {
            // The rest is read and dropped for a while: a client that is still writing would not see the
            // answer otherwise.
            let rest = collected(&mut body, 0);
            let _ = tokio::time::timeout(Duration::from_millis(300), rest).await;
            let message = format!("a body has at most {} bytes", limits.body_bytes);
            Err(ApiError::new(413, "body_too_large", message))
        }
        Ok(Ok(bytes)) => Ok(bytes),
    }
}

struct TooLarge;

/// The bytes of a body up to a limit; with a limit of 0 all of them are read and dropped.
async fn collected(body: &mut Incoming, limit: usize) -> Result<Bytes, Option<TooLarge>> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| None)?;
        let Some(data) = frame.data_ref().filter(|_| limit > 0) else {
            continue;
        };
        if bytes.len() + data.len() > limit {
            return Err(Some(TooLarge));
        }
        bytes.extend_from_slice(data);
    }
    Ok(bytes.into())
}

/// The id of a request: its own, if that is short and visible, or a number.
fn request_id(headers: &HeaderMap) -> String {
    let own = headers.get("x-request-id").and_then(|id| id.to_str().ok());
    let is_plain = |id: &&str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        (1..=64).contains(&id.len()) && id.bytes().all(allowed)
    };
    match own.filter(is_plain) {
        Some(own) => own.to_owned(),
        None => format!("{:08x}", REQUESTS.fetch_add(1, Ordering::Relaxed)),
    }
}

/// The origin of a page that may read the answer.
fn allowed_origin(core: &Core, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get("origin")?;
    let listed = core.settings.cors_origins.iter();
    let is_listed = listed
        .map(String::as_bytes)
        .any(|listed| listed == origin.as_bytes());
    is_listed.then(|| origin.clone())
}

fn response(answer: Answer, id: &str, cors: Option<HeaderValue>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(answer.body));
    *response.status_mut() =
        StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    let fixed = [
        ("content-type", answer.content_type),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-store"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let more = answer
        .headers
        .into_iter()
        .chain([("x-request-id", id.to_owned())]);
    for (name, value) in more {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    if answer.status == 401 {
        headers.insert("www-authenticate", HeaderValue::from_static("Bearer"));
    }
    if let Some(origin) = cors {
        headers.insert("access-control-allow-origin", origin);
        headers.insert("vary", HeaderValue::from_static("origin"));
        let allowed = "authorization, content-type, idempotency-key";
        headers.insert(
            "access-control-allow-headers",
            HeaderValue::from_static(allowed),
        );
        let methods = HeaderValue::from_static("GET, POST, DELETE");
        headers.insert("access-control-allow-methods", methods);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_loopback() {
        let with = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("host", HeaderValue::from_str(host).unwrap());
            names_loopback(&headers)
        };
        for host in [
            "localhost",
            "localhost:8080",
            "127.0.0.1:80",
            "127.0.0.1",
            "[::1]:80",
        ] {
            assert!(with(host), "{host}");
        }
        for host in [
            "example.com",
            "localhost.example.com",
            "10.0.0.1:80",
            "",
            "127.0.0.1.x:80",
        ] {
            assert!(!with(host), "{host}");
        }
        assert!(!names_loopback(&HeaderMap::new()));
    }
}
