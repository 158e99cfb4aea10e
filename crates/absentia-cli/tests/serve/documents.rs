//! `openapi.json` against the table of routes and against answers.

use std::collections::BTreeSet;

use absentia_serve::api::ROUTES;
use absentia_serve::settings::{Limits, MAX_BULK, MAX_EVENTS, MAX_LIST, MAX_USERS};
use serde_json::Value;

use crate::client::{Server, trained};

#[test]
fn every_route_is_documented_and_nothing_else() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let document = server.get("/openapi.json").ok();
    let mut documented = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let scope = operation["x-scope"].as_str().unwrap().to_owned();
            documented.insert((method.to_uppercase(), path.clone(), scope));
            let named: BTreeSet<String> = operation["parameters"]
                .as_array()
                .map_or(&[][..], Vec::as_slice)
                .iter()
                .filter(|parameter| parameter["in"] == "path")
                .map(|parameter| format!("{{{}}}", parameter["name"].as_str().unwrap()))
                .collect();
            let parts = path.split('/').filter(|part| part.starts_with('{'));
            assert_eq!(named, parts.map(str::to_owned).collect(), "{method} {path}");
        }
    }
    let routes = ROUTES.iter().map(|route| {
        let scope = route.scope.map_or("none", absentia_serve::Scope::name);
        (
            route.method.to_owned(),
            route.path.to_owned(),
            scope.to_owned(),
        )
    });
    assert_eq!(documented, routes.collect());
    // Limits are those of the program, references lead somewhere.
    let schemas = &document["components"]["schemas"];
    assert_eq!(
        schemas["Events"]["properties"]["events"]["maxItems"],
        MAX_EVENTS
    );
    assert_eq!(
        schemas["ListsRequest"]["properties"]["users"]["maxItems"],
        MAX_USERS
    );
    assert_eq!(
        schemas["ListsRequest"]["properties"]["n"]["maximum"],
        MAX_LIST
    );
    let events = document["paths"]["/v1/events"]["post"]["description"]
        .as_str()
        .unwrap();
    assert!(events.contains(&MAX_BULK.to_string()));
    let about = document["info"]["description"].as_str().unwrap();
    let limits = Limits::default();
    assert!(limits.body_bytes == 1 << 20 && about.contains("at most 1 MiB"));
    assert!(limits.header_bytes == 16 << 10 && about.contains("at most 16 KiB"));
    assert!(about.contains(&format!("within {} seconds", limits.read_seconds)));
    references(&document, &document);
    // Answers have the fields that the document names.
    for (path, schema) in [
        ("/v1/users/u1/recommendations", "List"),
        ("/v1/items/i1/similar", "Similar"),
        ("/v1/users/u1/explanations/i2", "Explanation"),
        ("/v1/users/u1", "User"),
        ("/v1/items/i1", "Item"),
        ("/v1/models", "Models"),
        ("/v1/models/train", "Progress"),
        ("/v1/quality", "Quality"),
        ("/readyz", "Readiness"),
        ("/healthz", "Health"),
    ] {
        let answer = server.get(path).ok();
        for field in answer.as_object().unwrap().keys() {
            assert!(
                schemas[schema]["properties"][field].is_object(),
                "{path}: {field}"
            );
        }
        for field in schemas[schema]["required"].as_array().unwrap() {
            assert!(
                answer.get(field.as_str().unwrap()).is_some(),
                "{path}: {field}"
            );
        }
    }
    let page = server.get("/docs");
    assert_eq!(page.status, 200);
    assert!(
        page.head
            .contains("content-security-policy: default-src 'none'")
    );
    for route in ROUTES {
        assert!(page.body.contains(route.path), "{}", route.path);
    }
    assert!(!page.body.contains("<script") && !page.body.contains("http://"));
}

fn references(document: &Value, value: &Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match (name.as_str(), field.as_str()) {
                    ("$ref", Some(path)) => {
                        assert!(
                            document.pointer(path.strip_prefix('#').unwrap()).is_some(),
                            "{path}"
                        );
                    }
                    _ => references(document, field),
                }
            }
        }
        Value::Array(elements) => elements
            .iter()
            .for_each(|element| references(document, element)),
        _ => {}
    }
}
