//! Damage, a full database, a second server.

use serde_json::{Value, json};

use crate::client::{Server, run, trained};

fn body(at: u32) -> Value {
    let (user, item) = (at * 11 % 41, at * 5 % 53);
    json!({"events": [
        {"id": format!("e{at}"), "user": format!("u{user}"), "item": format!("i{item}"), "kind": "click"},
    ]})
}

#[test]
fn a_damaged_state_falls_back_and_a_damaged_log_stops() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    for at in 0..30 {
        server.post("/v1/events", &body(at)).ok();
    }
    let list = server.get("/v1/users/u1/recommendations?n=60").ok();
    assert_eq!(server.stop(), Some(0));
    // A newer state that is damaged, and remains of one that was being written.
    let newest = path.join("data/states/1-30.absentia");
    let mut bytes = std::fs::read(&newest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&newest, bytes).unwrap();
    std::fs::write(path.join("data/states/9-9.absentia"), b"stray").unwrap();
    std::fs::write(path.join("data/states/.tmp123"), b"stray").unwrap();
    let server = Server::start(&path, "");
    assert_eq!(server.replayed, 30);
    assert_eq!(server.get("/v1/users/u1/recommendations?n=60").ok(), list);
    server.kill();
    assert!(run(&path, "serve --folder data --check --address 127.0.0.1:0").contains("sound"));
    let database = path.join("data/events.db");
    let connection = rusqlite::Connection::open(database).unwrap();
    let altered = "UPDATE records SET record = replace(record, 'u', 'v') WHERE seq = 11";
    assert_eq!(connection.execute(altered, ()).unwrap(), 1);
    drop(connection);
    let error = Server::try_start(&path, "").err().unwrap();
    assert!(
        error.contains("record 11 was altered") && error.contains("Some(3)"),
        "{error}"
    );
}

#[test]
fn a_full_database_refuses_events_and_serves_on() {
    let (_folder, path) = trained();
    std::fs::write(path.join("s.toml"), "[limits]\ndatabase_bytes = 200000\n").unwrap();
    let server = Server::start(&path, "m.absentia --settings s.toml");
    let mut accepted = 0;
    let refused = loop {
        let events: Vec<Value> = (0..200)
            .map(|at| body(accepted + at)["events"][0].clone())
            .collect();
        let reply = server.post("/v1/events", &json!({"events": events}));
        if reply.status != 200 {
            break reply;
        }
        accepted += 200;
    };
    refused.refused(507, "storage_full");
    assert!(refused.head.contains("retry-after"));
    let list = server.get("/v1/users/u1/recommendations").ok();
    assert_eq!(list["sequence"], json!(accepted));
    assert_eq!(server.get("/readyz").status, 503);
    assert_eq!(server.get("/healthz").status, 200);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_second_server_is_kept_out_of_the_folder() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let error = Server::try_start(&path, "m.absentia").err().unwrap();
    assert!(
        error.contains("another server uses this folder") && error.contains("Some(2)"),
        "{error}"
    );
    server.kill();
    Server::start(&path, "m.absentia");
}
