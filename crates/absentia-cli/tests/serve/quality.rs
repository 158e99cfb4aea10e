//! Events are predicted before they are learned, as `absentia stream` measures them.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::client::{Server, run, train_weighted, trained, until, weighted_rows};

/// Events of known and of new users and items, some of them again and again.
fn events() -> Vec<(String, String)> {
    let pair = |at: u32| (format!("u{}", at * 11 % 37), format!("i{}", at * at % 46));
    (0..120).map(pair).collect()
}

#[test]
fn the_live_model_is_measured_as_by_stream() {
    let (_folder, path) = trained();
    train_weighted(&path, &weighted_rows(&path), "m.absentia");
    std::fs::write(path.join("s.toml"), "[limits]\nquality_percent = 100\n").unwrap();
    let server = Server::start(&path, "m.absentia --settings s.toml");
    assert_eq!(server.get("/v1/quality").ok()["live"]["events"], 0);
    let page = server.get("/dashboard/quality").body;
    assert!(page.contains("No event came since"), "{page}");
    let mut table = "user,item,time\n".to_owned();
    for (at, (user, item)) in events().iter().enumerate() {
        let time = 1_600_000_000 + at;
        writeln!(table, "{user},{item},{time}").unwrap();
        let event = json!([{"user": user, "item": item, "kind": "view", "time": time}]);
        server.post("/v1/events", &event).ok();
    }
    // An exposure is no prediction.
    let shown = json!([{"user": "u1", "item": "i40", "kind": "impression"}]);
    server.post("/v1/events", &shown).ok();
    std::fs::write(path.join("events.csv"), table).unwrap();
    let quality = server.get("/v1/quality").ok();
    let stream = "stream m.absentia events.csv -n 20 --json -q";
    let streamed: Value = serde_json::from_str(run(&path, stream).lines().last().unwrap()).unwrap();
    let measured = &streamed["measured"];
    assert_eq!(quality["live"]["events"], 120);
    assert_eq!(quality["events"], 120);
    for name in ["hit_rate", "ndcg", "mrr"] {
        assert_eq!(quality["live"][name], measured[name], "{name}");
    }
    for name in ["new_users", "new_items"] {
        assert_eq!(quality[name], measured[name], "{name}");
    }
    // The model that learned is not the one that was trained, and both differ from popularity.
    let mrr = |who: &str| quality[who]["mrr"].as_f64().unwrap();
    assert!(mrr("trained") > 0.0 && mrr("popular") > 0.0);
    assert!(mrr("live") > mrr("trained"), "{quality}");
    // The caches are compared in the background.
    let drift = until("caches are compared", || {
        let quality = server.get("/v1/quality").ok();
        quality["drift"]["relative"].as_f64()
    });
    assert!(drift < 1e-9, "{drift}");
    let page = server.get("/dashboard/quality").body;
    for text in ["NDCG @20", "recent popularity", "<svg", "drift"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let metrics = server.get("/metrics").body;
    for name in [
        "absentia_quality_live_ndcg",
        "absentia_quality_popular_hit_rate",
        "absentia_cache_drift",
    ] {
        assert!(metrics.contains(name), "{name}");
    }
}

#[test]
fn another_model_is_measured_anew_and_nothing_is_measured_at_0_percent() {
    let (_folder, path) = trained();
    std::fs::write(path.join("s.toml"), "[limits]\nquality_percent = 100\n").unwrap();
    let server = Server::start(&path, "m.absentia --settings s.toml");
    let event = json!([{"user": "u1", "item": "i2", "kind": "view"}]);
    server.post("/v1/events", &event).ok();
    assert_eq!(server.get("/v1/quality").ok()["live"]["events"], 1);
    crate::models::trained_here(&server, &json!({"sweeps": 2, "activate": true}));
    let quality = server.get("/v1/quality").ok();
    assert_eq!(
        (
            &quality["model"],
            &quality["live"]["events"],
            &quality["trained_up_to"]
        ),
        (&json!(2), &json!(0), &json!(1))
    );
    // The page says since when nothing has come; one event came before.
    let page = server.get("/dashboard/quality").body;
    let since = "No event came since measuring began with version 2 at record 1.";
    assert!(page.contains(since), "{page}");
    server.post("/v1/events", &event).ok();
    assert_eq!(server.get("/v1/quality").ok()["live"]["events"], 1);
    server.kill();
    std::fs::write(path.join("s.toml"), "[limits]\nquality_percent = 0\n").unwrap();
    let server = Server::start(&path, "--settings s.toml");
    server.post("/v1/events", &event).ok();
    assert_eq!(server.get("/v1/quality").ok()["live"]["events"], 0);
    assert!(
        server
            .get("/dashboard/quality")
            .body
            .contains("quality_percent")
    );
}

/// Erasing a user leaves the model as it was trained in its place, without the user: it does not become the live
/// model. Its items forget the user, so that ranks may move a little.
#[test]
fn erasing_a_user_leaves_the_model_as_it_was_trained() {
    let (_folder, path) = trained();
    std::fs::write(path.join("s.toml"), "[limits]\nquality_percent = 100\n").unwrap();
    let mut server = Server::start(&path, "m.absentia --settings s.toml");
    let view = |server: &Server, user: &str, item: &str| {
        let event = json!([{"user": user, "item": item, "kind": "view"}]);
        server.post("/v1/events", &event).ok();
    };
    let place_by = |server: &Server, who: &str| {
        let quality = server.get("/v1/quality").ok();
        let mrr = quality[who]["mrr"].as_f64().unwrap();
        mrr * quality[who]["events"].as_f64().unwrap()
    };
    // One user takes an item so often that the live model puts it first.
    let item = "i40";
    view(&server, "u1", item);
    let trained = place_by(&server, "trained");
    assert!(trained > 0.0 && trained < 0.3, "{trained}");
    for _ in 0..10 {
        view(&server, "u1", item);
    }
    for erased in ["u2", "u3"] {
        assert!(server.delete(&format!("/v1/users/{erased}")).status == 200);
        for is_restarted in [false, true] {
            if is_restarted {
                assert_eq!(server.stop(), Some(0));
                server = Server::start(&path, "--settings s.toml");
            }
            assert_eq!(server.get("/v1/quality").ok()["trained_up_to"], 0);
            let before = (place_by(&server, "trained"), place_by(&server, "live"));
            view(&server, "u1", item);
            let now = place_by(&server, "trained") - before.0;
            assert!(now > 0.0 && now < 0.3, "{now} {trained}");
            let live = place_by(&server, "live") - before.1;
            assert!(live > 0.9, "{live} {trained}");
            // The erased user has left it: an event of the same id is one of a new user.
            let before = place_by(&server, "trained");
            view(&server, erased, item);
            assert_eq!(place_by(&server, "trained").to_bits(), before.to_bits());
        }
        assert_eq!(server.delete(&format!("/v1/users/{erased}")).status, 200);
    }
}
