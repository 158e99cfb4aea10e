//! Lists, events, look-ups.

use serde_json::{Value, json};

use crate::client::{Server, run, trained};

fn items(list: &Value) -> Vec<(String, f64)> {
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| {
            (
                item["item"].as_str().unwrap().to_owned(),
                item["score"].as_f64().unwrap(),
            )
        })
        .collect()
}

fn event(id: &str, user: &str, item: &str) -> Value {
    json!({"id": id, "user": user, "item": item, "kind": "click"})
}

#[test]
fn an_event_changes_the_next_list_and_a_retry_counts_once() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let before = server.get("/v1/users/u3/recommendations?n=5").ok();
    assert_eq!(
        (&before["model"], &before["sequence"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(before["fallback"], Value::Null);
    let (best, _) = items(&before)[0].clone();
    let body = json!({"events": [event("e1", "u3", &best)]});
    let first = server.post("/v1/events", &body).ok();
    assert_eq!(
        (&first["accepted"], &first["sequence"]),
        (&json!(1), &json!(1))
    );
    let again = server.post("/v1/events", &body).ok();
    assert_eq!(
        (&again["accepted"], &again["duplicates"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(again["events"][0]["sequence"], 1);
    let other = json!({"events": [event("e1", "u3", "i1")]});
    server
        .post("/v1/events", &other)
        .refused(422, "event_id_reused");
    let after = server.get("/v1/users/u3/recommendations?n=5").ok();
    assert_eq!(after["sequence"], 1);
    assert!(
        items(&after).iter().all(|(item, _)| *item != best),
        "{after}"
    );
    let shown = server
        .get("/v1/users/u3/recommendations?n=50&seen=show")
        .ok();
    assert!(items(&shown).iter().any(|(item, _)| *item == best));
    let looked_up = server.get("/v1/users/u3").ok();
    assert_eq!(looked_up["events"][0]["item"], json!(best));
    // The event is forgotten, and with it its place in the history.
    assert_eq!(server.delete("/v1/events/e1").ok()["sequence"], 2);
    server
        .delete("/v1/events/e1")
        .refused(404, "event_not_found");
    let forgotten = server.get("/v1/users/u3/recommendations?n=50").ok();
    assert!(items(&forgotten).iter().any(|(item, _)| *item == best));
}

#[test]
fn an_idempotency_key_gives_the_first_answer_again() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let send = |body: &Value| {
        let headers = "content-type: application/json\r\nidempotency-key: k1\r\n";
        server.send("POST", "/v1/events", headers, body.to_string().as_bytes())
    };
    let body = json!({"events": [{"user": "u1", "item": "i2", "kind": "view"}]});
    let (first, again) = (send(&body), send(&body));
    assert_eq!(first.ok(), again.ok());
    assert!(again.head.contains("idempotent-replay: true") && !first.head.contains("replay"));
    let other = json!({"events": [{"user": "u1", "item": "i3", "kind": "view"}]});
    send(&other).refused(422, "idempotency_key_reused");
    assert_eq!(server.get("/readyz").ok()["sequence"], 1);
}

/// While events change users and items, every list is that of a model saved at the same moment.
#[test]
fn lists_are_those_of_scoring_everything() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let mut lines = String::new();
    for at in 0..300_u32 {
        let (user, item) = (at * 11 % 37, at * 5 % 97);
        lines +=
            &json!({"user": format!("u{user}"), "item": format!("i{item}"), "kind": "purchase"})
                .to_string();
        lines.push('\n');
    }
    let headers = "content-type: application/x-ndjson\r\n";
    let reply = server
        .send("POST", "/v1/events", headers, lines.as_bytes())
        .ok();
    assert_eq!(reply["accepted"], 300);
    let users: Vec<String> = (0..37).map(|user| format!("u{user}")).collect();
    let body = json!({"users": users, "n": 9, "seen": "show"});
    let lists = server.post("/v1/recommendations", &body).ok();
    assert_eq!(server.stop(), Some(0));
    let printed = run(
        &path,
        "recommend data/states/1-300.absentia --all --allow-seen -n 9 --json",
    );
    let mut compared = 0;
    for (list, line) in lists["results"].as_array().unwrap().iter().zip(&users) {
        let expected = printed
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let expected: Vec<(String, f64)> = expected
            .filter(|row| row["user"] == json!(line))
            .flat_map(|row| match row["items"].as_array() {
                Some(_) => items(&row),
                None => vec![(
                    row["item"].as_str().unwrap().to_owned(),
                    row["score"].as_f64().unwrap(),
                )],
            })
            .collect();
        assert_eq!(list["fallback"], Value::Null, "{line}");
        assert_eq!(items(list), expected, "{line}");
        compared += 1;
    }
    assert_eq!(compared, 37);
}

#[test]
fn strangers_get_popular_items_or_are_folded_in() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let stranger = server.get("/v1/users/nobody/recommendations?n=4").ok();
    assert_eq!(stranger["fallback"], "popular");
    let counts: Vec<f64> = items(&stranger).iter().map(|(_, count)| *count).collect();
    assert!(counts.is_sorted_by(|a, b| a >= b) && counts.len() == 4);
    let body = json!({"items": [{"item": "i4"}, {"item": "i9", "kind": "purchase"}, {"item": "unknown"}], "n": 50});
    let folded = server.post("/v1/recommendations", &body).ok();
    let list = &folded["results"][0];
    assert_eq!(list["fallback"], Value::Null);
    assert!(
        items(list)
            .iter()
            .all(|(item, _)| item != "i4" && item != "i9")
    );
    assert_eq!(list["unknown"], json!(["unknown"]));
    // Nothing was stored.
    assert_eq!(server.get("/readyz").ok()["sequence"], 0);
    // The list is the one that the program folds in.
    let plain = json!({"items": [{"item": "i4"}, {"item": "i9"}], "n": 9});
    let plain = server.post("/v1/recommendations", &plain).ok();
    let printed = run(&path, "recommend m.absentia --items i4,i9 -n 9 --json");
    let expected = items(&serde_json::from_str(printed.lines().next().unwrap()).unwrap());
    let found = items(&plain["results"][0]);
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found.0, expected.0);
        assert!(
            (found.1 - expected.1).abs() < 1e-5,
            "{found:?} {expected:?}"
        );
    }
    // Kinds decide which of the items are left out, and some need a value.
    let of_kinds = |seen: Value| {
        let given = json!([{"item": "i4", "kind": "view"}, {"item": "i9", "kind": "purchase"}]);
        let body = json!({"items": given, "n": 50, "seen": seen});
        let lists = server.post("/v1/recommendations", &body).ok();
        let found = items(&lists["results"][0]);
        ["i4", "i9"].map(|id| found.iter().any(|(item, _)| item == id))
    };
    assert_eq!(of_kinds(json!("hide")), [false, false]);
    assert_eq!(of_kinds(json!("show")), [true, true]);
    assert_eq!(of_kinds(json!(["purchase"])), [true, false]);
    let body = json!({"items": [{"item": "i4", "kind": "rating"}]});
    let refused = server.post("/v1/recommendations", &body);
    refused.refused(422, "invalid_value");
    assert_eq!(refused.json()["error"]["field"], "items[0].value");
    let none = json!({"items": [{"item": "unknown"}]});
    let none = server.post("/v1/recommendations", &none).ok();
    assert_eq!(none["results"][0]["fallback"], "popular");
}

#[test]
fn the_catalogue_hides_names_and_filters() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let all = items(&server.get("/v1/users/u5/recommendations?n=50").ok());
    let (first, second) = (all[0].0.clone(), all[1].0.clone());
    let entries = json!({"entries": [
        {"id": first, "title": "First", "hidden": true},
        {"id": second, "title": "Second", "category": "drama"},
        {"id": "zz", "title": "Last", "category": "drama"},
    ]});
    assert_eq!(server.post("/v1/items", &entries).ok()["stored"], 3);
    let visible = server.get("/v1/users/u5/recommendations?n=50").ok();
    assert_eq!(items(&visible), all[1..]);
    assert_eq!(visible["items"][0]["title"], "Second");
    let drama = server
        .get("/v1/users/u5/recommendations?category=drama")
        .ok();
    assert_eq!(items(&drama), all[1..2]);
    let excluded = format!("/v1/users/u5/recommendations?n=50&exclude={second},zz");
    assert_eq!(items(&server.get(&excluded).ok()), all[2..]);
    let offset = server.get("/v1/users/u5/recommendations?n=3&offset=2").ok();
    assert_eq!(items(&offset), all[3..6]);
    let page = server.get("/v1/items?limit=2").ok();
    let next = page["next"].as_str().unwrap();
    let rest = server.get(&format!("/v1/items?limit=2&cursor={next}")).ok();
    assert_eq!(page["entries"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&rest["entries"][0]["id"], &rest["next"]),
        (&json!("zz"), &Value::Null)
    );
    assert_eq!(server.get("/v1/items/zz").ok()["in_model"], false);
    server.get("/v1/items/none").refused(404, "not_found");
    // Kinds of events decide what counts as seen.
    server
        .post(
            "/v1/events",
            &json!({"events": [event("c", "u5", &second)]}),
        )
        .ok();
    let seen = |kinds: &str| {
        let path = format!("/v1/users/u5/recommendations?n=50&seen={kinds}");
        items(&server.get(&path).ok())
            .iter()
            .any(|(item, _)| *item == second)
    };
    assert!(seen("purchase") && !seen("click") && !seen("view,click"));
}

#[test]
fn explanations_add_up_and_neighbours_are_those_of_the_program() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let list = server.get("/v1/users/u7/recommendations?n=1").ok();
    let (item, score) = items(&list)[0].clone();
    let explanation = server
        .get(&format!("/v1/users/u7/explanations/{item}?n=3"))
        .ok();
    let number = |value: &Value| value.as_f64().unwrap();
    let parts = explanation["contributions"].as_array().unwrap().iter();
    let sum: f64 = parts.map(|part| number(&part["contribution"])).sum();
    let sum = sum + number(&explanation["others"]) + number(&explanation["remainder"]);
    assert!(
        (sum - number(&explanation["score"])).abs() < 1e-6,
        "{explanation}"
    );
    assert!((score - number(&explanation["score"])).abs() < 1e-6);
    // Where all are listed the others add 0, which is not written as -0.
    let all = server.get(&format!("/v1/users/u7/explanations/{item}?n=1000"));
    assert_eq!(all.ok()["others"].to_string(), "0.0");
    assert!(
        number(&explanation["missing"]["weight"]) > 0.0
            && explanation["missing"]["parts"][0]["reason"].is_string()
    );
    server
        .get("/v1/users/u7/explanations/none")
        .refused(404, "not_found");
    let similar = server.get("/v1/items/i3/similar?n=4").ok();
    let expected = run(&path, "similar m.absentia i3 -n 4 --json");
    let ids = similar["similar"].as_array().unwrap().iter();
    let ids: Vec<&str> = ids.map(|found| found["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 4);
    // In the order of the program.
    let places = ids.iter().map(|id| expected.find(&format!("\"{id}\"")));
    let places: Vec<usize> = places.map(|place| place.expect(&expected)).collect();
    assert!(places.is_sorted(), "{ids:?} {expected}");
    assert_eq!(
        server.get("/v1/users/u1/similar?n=3").ok()["similar"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
}

/// The data of the model has times in seconds.
#[test]
fn times_of_events_may_be_dates_and_heads_are_answers_without_a_body() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let event = |id: &str, time: Value| {
        let event = json!({"id": id, "user": "u1", "item": "i2", "kind": "view", "time": time});
        server.post("/v1/events", &json!([event]))
    };
    let date = json!("2017-07-14T03:00:00Z");
    assert_eq!(event("a", date.clone()).ok()["accepted"], 1);
    assert_eq!(event("a", date).ok()["duplicates"], 1);
    assert_eq!(event("b", json!(1_500_001_200)).ok()["accepted"], 1);
    let before_1970 = event("c", json!("1969-07-20"));
    before_1970.refused(422, "invalid_value");
    for path in ["/v1/users/u1", "/healthz", "/dashboard/style.css"] {
        let (head, got) = (server.send("HEAD", path, "", b""), server.get(path));
        let length = format!("content-length: {}\r\n", got.body.len());
        assert_eq!(
            (head.status, head.body.as_str()),
            (got.status, ""),
            "{path}"
        );
        assert!(head.head.contains(&length), "{}", head.head);
    }
    assert_eq!(server.send("HEAD", "/v1/events", "", b"").status, 405);
}

/// An item that was shown is an entry with the target 0: it is scored lower and still recommended. All that was
/// shown is forgotten with the last of its events.
#[test]
fn impressions_become_exposures() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let list = || items(&server.get("/v1/users/u4/recommendations?n=50").ok());
    let (best, score) = list()[0].clone();
    let now = || {
        list()
            .into_iter()
            .find(|(item, _)| *item == best)
            .unwrap()
            .1
    };
    let why = || {
        server
            .get(&format!("/v1/users/u4/explanations/{best}"))
            .ok()
    };
    assert_eq!(why()["observed"], false);
    for id in ["s1", "s2"] {
        let shown = json!([{"id": id, "user": "u4", "item": best, "kind": "impression"}]);
        server.post("/v1/events", &shown).ok();
    }
    let exposed = now();
    assert!(exposed < score, "{exposed} {score}");
    assert_eq!(
        (&why()["observed"], &why()["missing"]),
        (&json!(true), &Value::Null)
    );
    server.delete("/v1/events/s1").ok();
    assert_eq!(why()["observed"], true);
    server.delete("/v1/events/s2").ok();
    assert_eq!(why()["observed"], false);
    // A pair that was taken as well is not made a missing one by the deletion of what was shown before.
    let both = json!([
        {"id": "s3", "user": "u4", "item": best, "kind": "impression"},
        {"id": "t1", "user": "u4", "item": best, "kind": "click"},
    ]);
    server.post("/v1/events", &both).ok();
    server.delete("/v1/events/s3").refused(409, "conflict");
    assert!(list().iter().all(|(item, _)| *item != best));
}

#[test]
fn events_may_be_a_list_alone_and_a_wrong_shape_is_explained() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let list = json!([event("a1", "u1", "i2"), event("a2", "u1", "i3")]);
    assert_eq!(server.post("/v1/events", &list).ok()["accepted"], 2);
    assert_eq!(server.post("/v1/events", &list).ok()["duplicates"], 2);
    let alone = server.post("/v1/events", &event("a3", "u1", "i4"));
    alone.refused(422, "invalid_body");
    assert!(alone.body.contains("or the list alone"), "{alone:?}");
    server
        .post("/v1/events", &json!([]))
        .refused(422, "invalid_value");
}

#[test]
fn an_erased_user_is_gone_from_every_file() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let events = json!({"events": [event("x1", "private-person", "i1"), event("x2", "u2", "i5")]});
    server.post("/v1/events", &events).ok();
    // Clients choose the ids of events: answers that are kept for a retry have them.
    let body = json!([
        event("order-of-jane-roe", "private-person", "i3"),
        event("order-of-another", "u2", "i3")
    ]);
    let keyed = |server: &Server| {
        let headers = "content-type: application/json\r\nidempotency-key: k1\r\n";
        let sent = body.to_string();
        server.send("POST", "/v1/events", headers, sent.as_bytes())
    };
    let first = keyed(&server).ok();
    server
        .post(
            "/v1/users",
            &json!({"entries": [{"id": "private-person", "title": "Jane Roe"}]}),
        )
        .ok();
    assert_eq!(
        server.delete("/v1/users/private-person").ok()["sequence"],
        5
    );
    // A retry of the request gets the same answer but for the id.
    let mut expected = first;
    expected["events"][0]["id"] = json!("seq-3");
    assert_eq!(keyed(&server).ok(), expected);
    server
        .delete("/v1/users/private-person")
        .refused(404, "user_not_found");
    let after = server.get("/v1/users/private-person/recommendations").ok();
    assert_eq!(after["fallback"], "popular");
    assert_eq!(
        server.get("/v1/users/u2").ok()["events"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    // A late retry of the event does not bring the user back, nor does the answer to it that is kept.
    let late = json!([event("order-of-jane-roe", "private-person", "i3")]).to_string();
    let headers = "content-type: application/json\r\nidempotency-key: k2\r\n";
    let late = server.send("POST", "/v1/events", headers, late.as_bytes());
    assert_eq!(late.ok()["duplicates"], 1);
    let lists = server.get("/v1/users/u2/recommendations?n=50").ok();
    server.kill();
    let again = Server::start(&path, "m.absentia");
    assert_eq!(again.get("/v1/users/u2/recommendations?n=50").ok(), lists);
    again
        .get("/v1/users/private-person")
        .refused(404, "not_found");
    assert_eq!(again.stop(), Some(0));
    // Neither name nor id is in the database or in a saved state.
    let mut searched = 0;
    for folder in ["data", "data/states"] {
        for file in std::fs::read_dir(path.join(folder)).unwrap() {
            let file = file.unwrap().path();
            if file.is_file() {
                searched += 1;
                let bytes = std::fs::read(&file).unwrap();
                for trace in [&b"private-person"[..], b"Jane Roe", b"order-of-jane-roe"] {
                    let is_there = bytes.windows(trace.len()).any(|window| window == trace);
                    assert!(!is_there, "{}", file.display());
                }
            }
        }
    }
    assert!(searched >= 3);
    // The id is free: a new event is one of a new user, also after another start.
    let again = Server::start(&path, "m.absentia");
    let events = json!([
        event("x9", "private-person", "i1"),
        event("x8", "erased-31", "i1")
    ]);
    again.post("/v1/events", &events).ok();
    assert_eq!(
        again.get("/v1/users/private-person").ok()["interactions"],
        1
    );
    assert_eq!(again.delete("/v1/users/private-person").ok()["sequence"], 8);
    assert_eq!(again.get("/v1/users/erased-31").status, 200);
}
