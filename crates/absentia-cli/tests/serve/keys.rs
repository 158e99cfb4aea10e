//! Keys: who may do what.

use serde_json::json;

use crate::client::{Server, run, trained};

#[test]
fn scopes_are_kept_and_keys_of_other_processes_are_known_soon() {
    let (_folder, path) = trained();
    let key = |words: &str| {
        run(&path, &format!("serve --folder data {words}"))
            .trim()
            .to_owned()
    };
    let (read, write) = (key("--new-key read -q"), key("--new-key write -q"));
    let expired = key("--new-key admin --expires 0 -q");
    let server = Server::start(&path, "m.absentia");
    let with = |method: &str, path: &str, host: &str, key: &str| {
        let authorization = match key {
            "" => String::new(),
            key => format!("authorization: Bearer {key}\r\n"),
        };
        let body = json!({"events": [{"user": "u1", "item": "i1", "kind": "view"}]}).to_string();
        let body = if method == "POST" {
            body
        } else {
            String::new()
        };
        let text = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{authorization}\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        crate::client::parsed(&server.raw(text.as_bytes()))
    };
    let list = "/v1/users/u1/recommendations";
    let name = "shop.example.com";
    // From this machine without a key; under another name, as from a page that rebinds it, with one.
    assert_eq!(with("GET", list, "localhost:80", "").status, 200);
    with("GET", list, name, "").refused(401, "key_needed");
    assert_eq!(with("GET", list, name, &read).status, 200);
    with("POST", "/v1/events", name, &read).refused(403, "scope_too_small");
    assert_eq!(with("POST", "/v1/events", name, &write).status, 200);
    with("POST", "/v1/models/train", name, &write).refused(403, "scope_too_small");
    for wrong in ["nonsense", "absk_0_0", &read[..30], &expired] {
        with("GET", list, "localhost", wrong).refused(401, "key_refused");
    }
    assert_eq!(with("GET", "/healthz", name, "").status, 200);
    let admin = key("--new-key admin -q");
    let mut reply = with("POST", "/v1/models/train", name, &admin);
    for _ in 0..100 {
        if reply.status != 401 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        reply = with("POST", "/v1/models/train", name, &admin);
    }
    // Known by now: the body is the wrong one.
    reply.refused(422, "invalid_body");
    let other = "--address 0.0.0.0:0 --folder other";
    let told = Server::try_start(&path, &format!("m.absentia {other}"))
        .err()
        .unwrap();
    assert!(
        told.contains("--new-key") && told.contains("Some(2)"),
        "{told}"
    );
}
