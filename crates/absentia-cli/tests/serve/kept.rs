//! Lists that are sent again are those that ranking gives.

use serde_json::{Value, json};

use crate::client::{Server, trained};

/// Paths of lists, and the bodies that request the same ones; these are never kept.
fn requests() -> Vec<(String, Value)> {
    let mut requests = Vec::new();
    for user in ["u1", "u2", "u9", "late", "nobody"] {
        let of = format!("/v1/users/{user}/recommendations?n=7");
        for (query, body) in [
            ("", json!({})),
            ("&offset=3", json!({"offset": 3})),
            ("&seen=show", json!({"seen": "show"})),
            ("&seen=purchase,view", json!({"seen": ["purchase", "view"]})),
            ("&category=drama", json!({"categories": ["drama"]})),
            ("&exclude=i1,i2", json!({"exclude": ["i1", "i2"]})),
        ] {
            let mut body = body;
            body["n"] = json!(7);
            body["users"] = json!([user]);
            requests.push((format!("{of}{query}"), body));
        }
    }
    requests
}

fn sent_again(server: &Server) -> u64 {
    let metrics = server.get("/metrics").body;
    let (_, rest) = metrics.split_once("\nabsentia_lists_sent_again ").unwrap();
    rest.lines().next().unwrap().parse().unwrap()
}

/// Requests all lists twice: each equals the one that is made for the other kind of request.
fn compare(server: &Server, after: &str) {
    for (path, body) in requests() {
        let made = server.post("/v1/recommendations", &body).ok();
        for _ in 0..2 {
            assert_eq!(
                server.get(&path).ok(),
                made["results"][0],
                "{path} after {after}"
            );
        }
    }
}

#[test]
fn lists_that_are_sent_again_are_those_of_ranking() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let post = |path: &str, body: Value| {
        let reply = server.post(path, &body);
        assert!([200, 201].contains(&reply.status), "{path}: {reply:?}");
    };
    let event = |id: &str, user: &str, item: &str, kind: &str| {
        let event = json!([{"id": id, "user": user, "item": item, "kind": kind}]);
        post("/v1/events", event);
    };
    let entry = |entry: Value| post("/v1/items", json!({"entries": [entry]}));
    compare(&server, "the start");
    let before = sent_again(&server);
    assert_eq!(before, requests().len() as u64);
    for at in 0..12 {
        event(
            &format!("e{at}"),
            &format!("u{}", at % 3),
            &format!("i{}", at * 7 % 41),
            "view",
        );
        compare(&server, "an event");
    }
    event("new", "late", "brand-new", "purchase");
    compare(&server, "a new user and item");
    event("shown", "u1", "i5", "impression");
    compare(&server, "an impression");
    server.delete("/v1/events/e4").ok();
    compare(&server, "a removed event");
    entry(json!({"id": "i3", "title": "A title", "category": "drama"}));
    compare(&server, "a category");
    entry(json!({"id": "i3", "title": "Another", "category": "drama", "hidden": true}));
    compare(&server, "a hidden item");
    entry(json!({"id": "i3", "category": "comedy"}));
    compare(&server, "another category");
    crate::models::trained_here(&server, &json!({"sweeps": 2, "activate": true}));
    compare(&server, "an activation");
    post("/v1/models/roll-back", json!({}));
    compare(&server, "going back");
    server.delete("/v1/users/u2").ok();
    compare(&server, "an erased user");
    assert!(sent_again(&server) > before);
    assert_eq!(server.stop(), Some(0));
    std::fs::write(path.join("s.toml"), "[limits]\nlist_cache_mib = 0\n").unwrap();
    let server = Server::start(&path, "--settings s.toml");
    compare(&server, "a start that keeps none");
    assert_eq!(sent_again(&server), 0);
}

/// After an event is acknowledged, no list without it is sent, however many wait for the same list meanwhile.
#[test]
fn no_list_from_before_an_event_is_sent_after_it() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let list = "/v1/users/u4/recommendations?n=3";
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut last = 0;
                for _ in 0..300 {
                    let sequence = server.get(list).ok()["sequence"].as_u64().unwrap();
                    assert!(sequence >= last, "{sequence} after {last}");
                    last = sequence;
                }
            });
        }
        for _ in 0..20 {
            let best = server.get(list).ok()["items"][0]["item"].clone();
            let event = json!([{"user": "u4", "item": best, "kind": "view"}]);
            let acknowledged = server.post("/v1/events", &event).ok()["sequence"].as_u64();
            let after = server.get(list).ok();
            assert!(after["sequence"].as_u64() >= acknowledged, "{after}");
            let items = after["items"].as_array().unwrap();
            assert!(items.iter().all(|item| item["item"] != best), "{after}");
        }
    });
}
