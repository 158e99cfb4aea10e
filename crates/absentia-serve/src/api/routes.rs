//! The table of routes, with their scopes.

use crate::auth::Scope;

/// What answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the paths in the table say what they are")]
pub enum Handler {
    Recommend,
    RecommendMany,
    SimilarItems,
    SimilarUsers,
    Explain,
    PostEvents,
    DeleteEvent,
    GetUser,
    EraseUser,
    ListUsers,
    PutUsers,
    GetItem,
    ListItems,
    PutItems,
    ListModels,
    RegisterModel,
    TrainModel,
    TrainProgress,
    ActivateModel,
    RollBack,
    Quality,
    Health,
    Ready,
    Metrics,
    OpenApi,
    ApiPage,
}

/// A route.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// Method.
    pub method: &'static str,
    /// Path; parts in braces are parameters.
    pub path: &'static str,
    /// What the key must allow; none if anyone may.
    pub scope: Option<Scope>,
    /// What answers it.
    pub handler: Handler,
}

const fn route(
    method: &'static str,
    path: &'static str,
    scope: Option<Scope>,
    handler: Handler,
) -> Route {
    Route {
        method,
        path,
        scope,
        handler,
    }
}

const READ: Option<Scope> = Some(Scope::Read);
const WRITE: Option<Scope> = Some(Scope::Write);
const ADMIN: Option<Scope> = Some(Scope::Admin);

/// All routes.
pub const ROUTES: &[Route] = &[
    route(
        "GET",
        "/v1/users/{id}/recommendations",
        READ,
        Handler::Recommend,
    ),
    route("POST", "/v1/recommendations", READ, Handler::RecommendMany),
    route("GET", "/v1/items/{id}/similar", READ, Handler::SimilarItems),
    route("GET", "/v1/users/{id}/similar", READ, Handler::SimilarUsers),
    route(
        "GET",
        "/v1/users/{id}/explanations/{item}",
        READ,
        Handler::Explain,
    ),
    route("POST", "/v1/events", WRITE, Handler::PostEvents),
    route("DELETE", "/v1/events/{id}", WRITE, Handler::DeleteEvent),
    route("GET", "/v1/users/{id}", READ, Handler::GetUser),
    route("DELETE", "/v1/users/{id}", WRITE, Handler::EraseUser),
    route("GET", "/v1/users", READ, Handler::ListUsers),
    route("POST", "/v1/users", WRITE, Handler::PutUsers),
    route("GET", "/v1/items/{id}", READ, Handler::GetItem),
    route("GET", "/v1/items", READ, Handler::ListItems),
    route("POST", "/v1/items", WRITE, Handler::PutItems),
    route("GET", "/v1/models", READ, Handler::ListModels),
    route("POST", "/v1/models", ADMIN, Handler::RegisterModel),
    route("GET", "/v1/models/train", READ, Handler::TrainProgress),
    route("POST", "/v1/models/train", ADMIN, Handler::TrainModel),
    route(
        "POST",
        "/v1/models/{version}/activate",
        ADMIN,
        Handler::ActivateModel,
    ),
    route("POST", "/v1/models/roll-back", ADMIN, Handler::RollBack),
    route("GET", "/v1/quality", READ, Handler::Quality),
    route("GET", "/healthz", None, Handler::Health),
    route("GET", "/readyz", None, Handler::Ready),
    route("GET", "/metrics", READ, Handler::Metrics),
    route("GET", "/openapi.json", None, Handler::OpenApi),
    route("GET", "/docs", None, Handler::ApiPage),
];

/// What a path leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RouteMatch {
    /// A route, by its place in the table, and its parameters.
    Route(usize, Vec<String>),
    /// A path that has other methods.
    OtherMethods(Vec<&'static str>),
    /// Nothing.
    Nothing,
}

/// Finds the route of a request.
pub(super) fn find(method: &str, path: &str) -> RouteMatch {
    let parts: Option<Vec<String>> = path.split('/').map(decoded).collect();
    let Some(parts) = parts else {
        return RouteMatch::Nothing;
    };
    let mut others = Vec::new();
    for (at, route) in ROUTES.iter().enumerate() {
        if let Some(parameters) = matched(route.path, &parts) {
            if route.method == method {
                return RouteMatch::Route(at, parameters);
            }
            others.push(route.method);
        }
    }
    if others.is_empty() {
        RouteMatch::Nothing
    } else {
        RouteMatch::OtherMethods(others)
    }
}

fn matched(pattern: &str, parts: &[String]) -> Option<Vec<String>> {
    let pattern: Vec<&str> = pattern.split('/').collect();
    if pattern.len() != parts.len() {
        return None;
    }
    let mut parameters = Vec::new();
    for (pattern, part) in pattern.iter().zip(parts) {
        if pattern.starts_with('{') {
            if part.is_empty() {
                return None;
            }
            parameters.push(part.clone());
        } else if pattern != part {
            return None;
        }
    }
    Some(parameters)
}

/// A part of a path or query with `%41` as `A`; none if it is no text.
pub(super) fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_routes_and_parameters_are_decoded() {
        let RouteMatch::Route(at, parameters) = find("GET", "/v1/users/a%2Fb/explanations/x%20y")
        else {
            panic!("no route");
        };
        assert_eq!(ROUTES[at].handler, Handler::Explain);
        assert_eq!(parameters, ["a/b", "x y"]);
        assert_eq!(
            find("PUT", "/v1/events"),
            RouteMatch::OtherMethods(vec!["POST"])
        );
        for path in [
            "/v1/users//similar",
            "/v1/users/%zz",
            "/v1/users/%ff",
            "/nothing",
            "",
        ] {
            assert_eq!(find("GET", path), RouteMatch::Nothing, "{path}");
        }
        // A word of the table comes before a parameter.
        let RouteMatch::Route(at, _) = find("POST", "/v1/models/train") else {
            panic!("no route");
        };
        assert_eq!(ROUTES[at].handler, Handler::TrainModel);
    }
}
