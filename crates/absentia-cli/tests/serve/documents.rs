//! `openapi.json` against the table of routes and against answers.

use std::collections::BTreeSet;

use absentia_serve::api::ROUTES;
use absentia_serve::settings::{
    Limits, MAX_BULK, MAX_EVENTS, MAX_EXCLUDED, MAX_ITEMS, MAX_KEY_BYTES, MAX_LIST, MAX_OFFSET,
    MAX_TITLE_BYTES, MAX_USERS,
};
use serde_json::{Value, json};

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
    references(&document, &document);
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

#[test]
fn documented_limits_are_those_of_the_program() {
    let (_folder, path) = trained();
    let document = Server::start(&path, "m.absentia").get("/openapi.json").ok();
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
    for limit in [
        format!("within {} seconds each", limits.read_seconds),
        format!("taken within {} seconds", limits.write_seconds),
        format!("At most {} connections", limits.connections),
        format!("{} requests wait for lists", limits.waiting_rankings),
        format!("({} milliseconds at most)", limits.ranking_wait_ms),
        format!("{} for writing", limits.waiting_writes),
    ] {
        assert!(about.contains(&limit), "{limit}");
    }
    for (schema, field, word, limit) in [
        ("ListsRequest", "items", "maxItems", MAX_ITEMS),
        ("ListsRequest", "exclude", "maxItems", MAX_EXCLUDED),
        ("ListsRequest", "offset", "maximum", MAX_OFFSET),
        ("Event", "id", "x-maxBytes", MAX_KEY_BYTES),
        ("Event", "user", "x-maxBytes", absentia_online::MAX_ID_BYTES),
        ("Event", "item", "x-maxBytes", absentia_online::MAX_ID_BYTES),
        ("Entry", "id", "x-maxBytes", absentia_online::MAX_ID_BYTES),
        ("Entry", "title", "x-maxBytes", MAX_TITLE_BYTES),
        ("Entry", "category", "x-maxBytes", MAX_TITLE_BYTES),
        ("NewEntries", "entries", "maxItems", MAX_EVENTS),
    ] {
        let documented = &schemas[schema]["properties"][field][word];
        assert_eq!(*documented, limit, "{schema} {field}");
    }
}

/// `maxLength` of a schema counts characters, the server bytes: a text of its body is limited in bytes.
#[test]
fn limits_of_texts_are_bytes_in_the_document_and_in_the_program() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let document = server.get("/openapi.json").ok();
    assert!(!document["components"].to_string().contains("maxLength"));
    let limit = &document["components"]["schemas"]["Entry"]["properties"]["title"]["x-maxBytes"];
    let limit = limit.as_u64().unwrap() as usize;
    let with = |title: &str| {
        let entries = json!({"entries": [{"id": "i1", "title": title}]});
        server.post("/v1/items", &entries)
    };
    with(&"ü".repeat(limit / 2)).ok();
    let refused = with(&"ü".repeat(limit / 2 + 1));
    refused.refused(422, "invalid_value");
    assert_eq!(refused.json()["error"]["field"], "entries[0].title");
}

#[test]
fn answers_have_the_fields_that_the_document_names() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let document = server.get("/openapi.json").ok();
    let schemas = &document["components"]["schemas"];
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
