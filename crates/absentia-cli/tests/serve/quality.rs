//! Events are predicted before they are learned, as `absentia stream` measures them.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Server, run, train_weighted, trained, weighted_rows};

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
    assert!(page.contains("No event was measured"), "{page}");
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
    let drift = (0..200).find_map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        let quality = server.get("/v1/quality").ok();
        quality["drift"]["relative"].as_f64()
    });
    assert!(drift.unwrap() < 1e-9, "{drift:?}");
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
