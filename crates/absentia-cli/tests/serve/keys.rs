//! Keys: who may do what.

use serde_json::json;

use crate::client::{Server, run, trained, until};

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
    let reply = until("the key is known", || {
        let reply = with("POST", "/v1/models/train", name, &admin);
        (reply.status != 401).then_some(reply)
    });
    // The body is the wrong one.
    reply.refused(422, "invalid_body");
    let other = "--address 0.0.0.0:0 --folder other";
    let error = Server::try_start(&path, &format!("m.absentia {other}"))
        .err()
        .unwrap();
    assert!(
        error.contains("--new-key") && error.contains("Some(2)"),
        "{error}"
    );
}

/// Who comes through a proxy on this machine can name any host, also this machine. Headers that proxies add show
/// it, and `require_key` makes sure.
#[test]
fn requests_through_a_proxy_need_a_key_whichever_host_they_name() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let list = "/v1/users/u1/recommendations";
    for header in [
        "x-forwarded-for: 192.0.2.1",
        "x-real-ip: 192.0.2.1",
        "forwarded: for=192.0.2.1",
        "via: 1.1 proxy",
    ] {
        let headers = format!("{header}\r\n");
        let reply = server.send("GET", list, &headers, b"");
        reply.refused(401, "key_needed");
        let page = server.send("GET", "/dashboard", &headers, b"");
        assert_eq!(page.status, 401, "{header}");
    }
    assert_eq!(server.get(list).status, 200);
    server.kill();
    std::fs::write(path.join("s.toml"), "require_key = true\n").unwrap();
    let error = Server::try_start(&path, "--settings s.toml").err().unwrap();
    assert!(error.contains("--new-key"), "{error}");
    let key = run(&path, "serve --folder data --new-key read -q");
    let server = Server::start(&path, "--settings s.toml");
    server.get(list).refused(401, "key_needed");
    assert_eq!(server.get("/dashboard").status, 401);
    let headers = format!("authorization: Bearer {}\r\n", key.trim());
    assert_eq!(server.send("GET", list, &headers, b"").status, 200);
    assert_eq!(server.get("/healthz").status, 200);
}

/// Every request has an id, which its answer and its line of the log have; keys are in no line.
#[test]
fn requests_are_logged_with_their_ids_and_without_keys() {
    let (_folder, path) = trained();
    let key = run(&path, "serve --folder data --new-key read -q");
    let key = key.trim();
    let server = Server::start(&path, "m.absentia --log-requests");
    let list = "/v1/users/u1/recommendations";
    let headers = format!("authorization: Bearer {key}\r\nx-request-id: abc-1\r\n");
    let named = server.send("GET", list, &headers, b"");
    assert!(named.head.contains("x-request-id: abc-1"), "{named:?}");
    let wrong = "authorization: Bearer absk_wrong_secret\r\nx-request-id: a b\r\n";
    server
        .send("GET", list, wrong, b"")
        .refused(401, "key_refused");
    let cookie = format!("cookie: absentia_key={key}\r\n");
    assert_eq!(server.send("GET", "/dashboard", &cookie, b"").status, 200);
    let unnamed = server.get("/v1/nothing?key=absk_query_secret");
    assert_eq!(unnamed.status, 404);
    let id = unnamed.head.split("x-request-id: ").nth(1).unwrap();
    let id = id.lines().next().unwrap().to_owned();
    let lines = server.stop_and_read_log();
    let of_id = |id: &str| {
        let found: Vec<_> = lines.iter().filter(|line| line["id"] == id).collect();
        assert_eq!(found.len(), 1, "{id}: {lines:?}");
        (found[0]["path"].clone(), found[0]["status"].clone())
    };
    assert_eq!(of_id("abc-1"), (json!(list), json!(200)));
    assert_eq!(of_id(&id), (json!("/v1/nothing"), json!(404)));
    let requests = lines.iter().filter(|line| line["event"] == "request");
    assert_eq!(requests.count(), 4, "{lines:?}");
    for line in &lines {
        let text = line.to_string();
        let secret = key.rsplit('_').next().unwrap();
        assert!(!text.contains(secret) && !text.contains("secret"), "{text}");
    }
}

/// A page of another origin may read answers only if its origin is listed.
#[test]
fn other_origins_are_allowed_if_they_are_listed() {
    let (_folder, path) = trained();
    let settings = "cors_origins = [\"https://shop.example.com\"]\n";
    std::fs::write(path.join("s.toml"), settings).unwrap();
    let server = Server::start(&path, "m.absentia --settings s.toml");
    let from = |method: &str, origin: &str| {
        let headers = format!("origin: {origin}\r\n");
        server.send(method, "/v1/users/u1/recommendations", &headers, b"")
    };
    let listed = from("GET", "https://shop.example.com");
    assert_eq!(listed.status, 200, "{listed:?}");
    let allowed = "access-control-allow-origin: https://shop.example.com";
    assert!(listed.head.contains(allowed), "{listed:?}");
    let before = from("OPTIONS", "https://shop.example.com");
    assert_eq!(before.status, 204, "{before:?}");
    assert!(
        before
            .head
            .contains("access-control-allow-methods: get, post, delete")
    );
    for origin in [
        "https://evil.example",
        "https://shop.example.com.evil.example",
        "null",
    ] {
        let other = from("GET", origin);
        other.refused(401, "key_needed");
        assert!(!other.head.contains("access-control"), "{other:?}");
        assert_eq!(from("OPTIONS", origin).status, 405);
    }
    server.kill();
    let server = Server::start(&path, "");
    let headers = "origin: https://shop.example.com\r\n";
    let reply = server.send("GET", "/v1/users/u1/recommendations", headers, b"");
    assert!(
        reply.status == 401 && !reply.head.contains("access-control"),
        "{reply:?}"
    );
}
