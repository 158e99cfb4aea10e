//! The register of models: activation, roll back, training in the background.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::client::{Server, run, train_weighted, trained, until, weighted_rows};

/// Trains in the background and waits for the end.
pub(crate) fn trained_here(server: &Server, order: &Value) -> Value {
    let begun = server.post("/v1/models/train", order);
    assert_eq!(begun.status, 202, "{begun:?}");
    let progress = until("training ends", || {
        let progress = server.get("/v1/models/train").ok();
        (progress["state"] != "running").then_some(progress)
    });
    assert_eq!(progress["state"], "done", "{progress}");
    progress
}

/// Training from scratch on the events of the server is training on a file that has them, with the weights of
/// their kinds.
#[test]
fn a_model_that_is_trained_from_scratch_is_that_of_all_rows() {
    let (_folder, path) = trained();
    let mut rows = weighted_rows(&path);
    let server = Server::start(&path, "m.absentia");
    for at in 0..40_u32 {
        let (user, item, time) = (at * 7 % 31, at * 13 % 41, 1_600_000_000 + at);
        let (kind, weight) = [("view", 1), ("purchase", 3)][at as usize % 2];
        writeln!(rows, "u{user},i{item},{time},{weight}").unwrap();
        let event = json!([{"user": format!("u{user}"), "item": format!("i{item}"), "kind": kind, "time": time}]);
        server.post("/v1/events", &event).ok();
    }
    // One of two events of a pair at the same time is removed, the other one stays.
    let twin = |id: &str, kind: &str| json!([{"id": id, "user": "u30", "item": "i40", "kind": kind, "time": 1_600_000_100}]);
    for (id, kind) in [("first", "view"), ("second", "purchase")] {
        server.post("/v1/events", &twin(id, kind)).ok();
    }
    server.delete("/v1/events/first").ok();
    rows.push_str("u30,i40,1600000100,3\n");
    train_weighted(&path, &rows, "all.absentia");
    let wrong = json!({"from": "nothing"});
    server
        .post("/v1/models/train", &wrong)
        .refused(422, "invalid_body");
    let order = json!({"from": "scratch", "activate": true});
    let progress = trained_here(&server, &order);
    // As many sweeps as the first training made.
    assert_eq!(progress["objective"].as_array().unwrap().len(), 5);
    let models = server.get("/v1/models").ok();
    let source = models["models"][1]["source"].as_str().unwrap();
    assert!(source.contains("from scratch"), "{source}");
    let users: Vec<String> = (0..31).map(|user| format!("u{user}")).collect();
    let question = json!({"users": users, "n": 41, "seen": "show"});
    let lists = server.post("/v1/recommendations", &question).ok();
    let listed = run(
        &path,
        "recommend all.absentia --all --allow-seen -n 41 --json",
    );
    let expected: Vec<Value> = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for list in lists["results"].as_array().unwrap() {
        assert_eq!(list["model"], 2);
        let own = expected.iter().filter(|row| row["user"] == list["user"]);
        let own: Vec<&Value> = own
            .flat_map(|row| row["items"].as_array().unwrap())
            .collect();
        let found = list["items"].as_array().unwrap();
        assert_eq!(found.len(), own.len());
        for (found, own) in found.iter().zip(own) {
            assert_eq!(
                (&found["item"], &found["score"]),
                (&own["item"], &own["score"]),
                "{}",
                list["user"]
            );
        }
    }
}

#[test]
fn models_are_registered_activated_and_rolled_back_under_load() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let event = json!({"events": [{"user": "u1", "item": "i2", "kind": "view"}]});
    server.post("/v1/events", &event).ok();
    let list = "/v1/users/u1/recommendations?n=50";
    let before = server.get(list).ok();
    // Two sweeps more, as a model of its own.
    let progress = trained_here(&server, &json!({"sweeps": 2}));
    assert_eq!(progress["version"], 2);
    assert_eq!(progress["objective"].as_array().unwrap().len(), 2);
    assert_eq!(server.get(list).ok(), before);
    // While lists are asked for, each is of one model or the other, and none fails.
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut versions = Vec::new();
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                versions.push(server.get(list).ok()["model"].as_u64().unwrap());
            }
            versions
        });
        let none = json!({});
        assert_eq!(
            server.post("/v1/models/2/activate", &none).ok()["active"],
            2
        );
        assert_eq!(server.get(list).ok()["model"], 2);
        assert_eq!(server.post("/v1/models/roll-back", &none).ok()["active"], 1);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let versions = asking.join().unwrap();
        assert!(versions.iter().all(|version| [1, 2].contains(version)));
    });
    assert_eq!(server.get(list).ok(), before);
    server.post("/v1/models/2/activate", &json!({})).ok();
    let of_second = server.get(list).ok();
    assert_ne!(of_second["items"], before["items"]);
    server.kill();
    let server = Server::start(&path, "m.absentia");
    assert_eq!(server.get(list).ok(), of_second);
    let models = server.get("/v1/models").ok();
    assert_eq!(
        (
            &models["active"],
            models["models"].as_array().unwrap().len()
        ),
        (&json!(2), 2)
    );
}

#[test]
fn a_model_that_does_not_fit_is_refused_and_the_old_one_serves_on() {
    let (_folder, path) = trained();
    std::fs::write(path.join("other.csv"), "user,item\na,x\nb,y\na,y\nc,x\n").unwrap();
    run(
        &path,
        "train other.csv --model other.absentia -k 2 --regularization 0.1 --iterations 2 -q",
    );
    let server = Server::start(&path, "m.absentia");
    let incoming = path.join("data/incoming");
    std::fs::copy(path.join("other.absentia"), incoming.join("other.absentia")).unwrap();
    std::fs::copy(path.join("m.absentia"), incoming.join("same.absentia")).unwrap();
    let mut bytes = std::fs::read(path.join("m.absentia")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(incoming.join("damaged.absentia"), bytes).unwrap();
    let register = |file: &str| server.post("/v1/models", &json!({"file": file}));
    register("other.absentia").refused(422, "model_refused");
    register("damaged.absentia").refused(422, "model_refused");
    register("none.absentia").refused(404, "file_not_found");
    for outside in ["../m.absentia", "/etc/passwd", "", ".hidden"] {
        register(outside).refused(422, "invalid_value");
    }
    let registered = register("same.absentia");
    assert_eq!(
        (registered.status, &registered.json()["version"]),
        (201, &json!(2))
    );
    // Damaged between registration and activation.
    let state = path.join("data/states/2-0.absentia");
    let mut bytes = std::fs::read(&state).unwrap();
    bytes.truncate(middle);
    std::fs::write(state, bytes).unwrap();
    let activate = || server.post("/v1/models/2/activate", &json!({}));
    activate().refused(422, "model_refused");
    // Exchanged for a whole model of other users and items.
    run(
        &path,
        "serve other.absentia --folder elsewhere --check --address 127.0.0.1:0",
    );
    let other = path.join("elsewhere/states/1-0.absentia");
    std::fs::copy(other, path.join("data/states/2-0.absentia")).unwrap();
    let refused = activate();
    refused.refused(422, "model_refused");
    assert!(
        refused.body.contains("at least half are needed"),
        "{refused:?}"
    );
    server
        .post("/v1/models/7/activate", &json!({}))
        .refused(404, "model_not_found");
    server
        .post("/v1/models/roll-back", &json!({}))
        .refused(409, "nothing_before");
    assert_eq!(server.get("/v1/users/u1/recommendations").ok()["model"], 1);
}

/// Going back walks the history of activations backwards, also after a start, and never forward again.
#[test]
fn rolling_back_again_goes_further_back() {
    let (_folder, path) = trained();
    let mut server = Server::start(&path, "m.absentia");
    for sweeps in 1..=2 {
        trained_here(&server, &json!({"sweeps": sweeps, "activate": true}));
    }
    let back = |server: &Server| server.post("/v1/models/roll-back", &json!({}));
    let previous = |server: &Server| server.get("/v1/models").ok()["previous"].clone();
    assert_eq!(previous(&server), 2);
    assert_eq!(back(&server).ok()["active"], 2);
    server.kill();
    server = Server::start(&path, "");
    assert_eq!(previous(&server), 1);
    assert_eq!(back(&server).ok()["active"], 1);
    assert_eq!(previous(&server), Value::Null);
    back(&server).refused(409, "nothing_before");
    let page = server.get("/dashboard/model").body;
    assert!(!page.contains("roll-back"), "{page}");
    // A version that was gone back from can be activated again; going back then leads to where it came from.
    assert_eq!(
        server.post("/v1/models/3/activate", &json!({})).ok()["active"],
        3
    );
    let page = server.get("/dashboard/model").body;
    assert!(page.contains("Go back to version 1"), "{page}");
    assert_eq!(back(&server).ok()["active"], 1);
}
