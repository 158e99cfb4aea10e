//! Requests that are malformed, huge, slow or many.

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use serde_json::json;

use crate::client::{Server, parsed, trained, until};

const JSON: &str = "content-type: application/json\r\n";

#[test]
#[allow(clippy::too_many_lines, reason = "a list of requests")]
fn wrong_bodies_are_refused_in_one_shape() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let post = |body: &[u8]| server.send("POST", "/v1/events", JSON, body);
    for wrong in [&b""[..], b"{", b"\xff\xfe", b"{\"events\": [NaN]}", b"nul"] {
        post(wrong).refused(400, "bad_json");
    }
    for start in ["", "{\"events\": ", "{\"events\": [{\"user\": "] {
        let deep = format!("{start}{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!([400, 422].contains(&post(deep.as_bytes()).status));
    }
    let with = |event: &str| post(format!("{{\"events\": [{event}]}}").as_bytes());
    let twice = r#"{"user": "a", "user": "b", "item": "i1", "kind": "view"}"#;
    with(twice).refused(422, "invalid_body");
    with(r#"{"user": "a", "item": "i1", "kind": "view", "more": 1}"#).refused(422, "invalid_body");
    with(r#"{"user": "a", "item": "i1"}"#).refused(422, "invalid_body");
    with(r#"{"user": "a", "item": "i1", "kind": "view", "value": 1e999}"#).refused(400, "bad_json");
    for (field, event) in [
        (
            "events[0].kind",
            r#"{"user": "a", "item": "i1", "kind": "none"}"#.to_owned(),
        ),
        (
            "events[0].user",
            r#"{"user": "", "item": "i1", "kind": "view"}"#.to_owned(),
        ),
        (
            "events[0].value",
            r#"{"user": "a", "item": "i1", "kind": "rating"}"#.to_owned(),
        ),
        (
            "events[0].value",
            r#"{"user": "a", "item": "i1", "kind": "view", "value": 1e300}"#.to_owned(),
        ),
        (
            "events[0].time",
            r#"{"user": "a", "item": "i1", "kind": "view", "time": -1}"#.to_owned(),
        ),
        (
            "events[0].time",
            r#"{"user": "a", "item": "i1", "kind": "view", "time": 9000000000000000}"#.to_owned(),
        ),
        (
            "events[0].item",
            json!({"user": "a", "item": "x".repeat(2000), "kind": "view"}).to_string(),
        ),
    ] {
        let reply = with(&event);
        assert_eq!(
            (reply.status, reply.json()["error"]["field"].as_str()),
            (422, Some(field)),
            "{reply:?}"
        );
    }
    let many: Vec<_> = (0..1001)
        .map(|_| json!({"user": "a", "item": "b", "kind": "view"}))
        .collect();
    server
        .post("/v1/events", &json!({"events": many}))
        .refused(422, "invalid_value");
    post(&vec![b' '; 2 << 20]).refused(413, "body_too_large");
    let packed = format!("{JSON}content-encoding: gzip\r\n");
    let reply = server.send("POST", "/v1/events", &packed, b"\x1f\x8b\x08");
    reply.refused(415, "unsupported_encoding");
    let plain = "content-type: text/plain\r\n";
    server
        .send("POST", "/v1/events", plain, b"{}")
        .refused(415, "unsupported_media_type");
    server
        .get("/v1/users/u1/recommendations?n=0")
        .refused(422, "invalid_value");
    server
        .get("/v1/users/u1/recommendations?m=1")
        .refused(400, "unknown_parameter");
    server
        .get("/v1/users/u1/recommendations?n=1&n=2")
        .refused(400, "bad_query");
    server
        .get("/v1/users/%ff/recommendations")
        .refused(404, "no_such_path");
    server.get("/v1/events").refused(405, "method_not_allowed");
    let users: Vec<String> = (0..257).map(|user| user.to_string()).collect();
    server
        .post("/v1/recommendations", &json!({"users": users}))
        .refused(422, "invalid_value");
    // A chunked body without end, and heads without end.
    let head = "POST /v1/events HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n";
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000)).repeat(32);
    let endless = format!("{head}{JSON}connection: close\r\n\r\n{chunk}");
    parsed(&server.raw(endless.as_bytes())).refused(413, "body_too_large");
    let long = format!(
        "GET / HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n",
        "y".repeat(20 << 10)
    );
    // The answer may be lost, because the server does not read on.
    let answer = server.raw(long.as_bytes());
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 431"),
        "{answer}"
    );
    assert_eq!(server.get("/readyz").ok()["sequence"], 0);
    // Every status is counted, also of heads that no handler sees. These are counted when their connection has ended,
    // which a client can see a moment before.
    let line = "method=\"\",route=\"other\",status=\"431\"";
    let metrics = until(line, || {
        let metrics = server.get("/metrics");
        metrics.body.contains(line).then_some(metrics)
    });
    for status in [400, 413, 415, 422] {
        let line = format!("route=\"/v1/events\",status=\"{status}\"");
        assert!(metrics.body.contains(&line), "{line}");
    }
}

/// An array where an object is expected, and fields that are missing, unknown, repeated or of another type: one
/// shape of errors, with the path of what is wrong.
#[test]
fn bodies_of_another_shape_are_refused_with_the_field() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    for (target, body, field) in [
        ("/v1/models/train", r#"["scratch", 1, false]"#, None),
        (
            "/v1/models/train",
            r#"{"from": {"scratch": null}}"#,
            Some("from"),
        ),
        ("/v1/models/train", r#"{"sweeps": "3"}"#, Some("sweeps")),
        ("/v1/models", r#"["m.absentia", 0]"#, None),
        ("/v1/models", r#"{"sequence": 0}"#, Some("file")),
        ("/v1/items", r#"[[{"id": "i1"}]]"#, None),
        (
            "/v1/items",
            r#"{"entries": [["i1", "a title"]]}"#,
            Some("entries[0]"),
        ),
        (
            "/v1/items",
            r#"{"entries": [{"id": 7}]}"#,
            Some("entries[0].id"),
        ),
        (
            "/v1/users",
            r#"{"entries": [{"id": "u", "age": 7}]}"#,
            Some("entries[0].age"),
        ),
        ("/v1/recommendations", r#"[["u1"], null, 20]"#, None),
        (
            "/v1/recommendations",
            r#"{"items": [["i1", "view"]]}"#,
            Some("items[0]"),
        ),
        (
            "/v1/recommendations",
            r#"{"items": [{"kind": "view"}]}"#,
            Some("items[0].item"),
        ),
        (
            "/v1/recommendations",
            r#"{"users": ["u1"], "seen": 7}"#,
            Some("seen"),
        ),
        (
            "/v1/recommendations",
            r#"{"users": ["u1"], "n": -1}"#,
            Some("n"),
        ),
        ("/v1/events", r#"{"events": {}}"#, Some("events")),
        (
            "/v1/events",
            r#"{"events": [["e", "u1", "i1", "view"]]}"#,
            Some("events[0]"),
        ),
        (
            "/v1/events",
            r#"[{"user": "u1", "item": "i1"}]"#,
            Some("events[0].kind"),
        ),
        (
            "/v1/events",
            r#"[{"user": "u1", "item": "i1", "kind": "view", "user": "u2"}]"#,
            Some("events[0].user"),
        ),
        (
            "/v1/events",
            r#"[{"user": "u1", "item": "i1", "kind": "view", "time": "soon"}]"#,
            Some("events[0].time"),
        ),
        ("/v1/events", "{}", Some("events")),
    ] {
        let refused = server.send("POST", target, JSON, body.as_bytes());
        refused.refused(422, "invalid_body");
        assert_eq!(
            refused.json()["error"]["field"].as_str(),
            field,
            "{target} {body}"
        );
    }
    let lines = "content-type: application/x-ndjson\r\n";
    let good = r#"{"user": "u1", "item": "i1", "kind": "view"}"#;
    for (line, field) in [
        (r#"["e", "u1", "i1", "view"]"#, "events[1]"),
        (r#"{"user": 7}"#, "events[1].user"),
    ] {
        let body = format!("{good}\n\n{line}\n");
        let refused = server.send("POST", "/v1/events", lines, body.as_bytes());
        refused.refused(422, "invalid_body");
        let error = &refused.json()["error"];
        assert_eq!(error["field"], field, "{error}");
        assert!(
            error["message"].as_str().unwrap().starts_with("line 3: "),
            "{error}"
        );
    }
    assert_eq!(server.get("/readyz").ok()["sequence"], 0);
    assert_eq!(server.get("/v1/models/train").ok()["state"], "none");
}

/// A request that never ends is counted as refused; a connection that waits for the next one is not.
#[test]
fn idle_connections_are_not_counted_as_refused() {
    let (_folder, path) = trained();
    std::fs::write(path.join("s.toml"), "[limits]\nread_seconds = 1\n").unwrap();
    let server = Server::start(&path, "m.absentia --settings s.toml");
    let (mut idle, mut silent, mut slow) = (server.connect(), server.connect(), server.connect());
    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    idle.write_all(request).unwrap();
    slow.write_all(request).unwrap();
    let mut answer = [0; 12];
    slow.read_exact(&mut answer).unwrap();
    slow.write_all(b"GET /healthz HTTP/1.1\r\nhost: local")
        .unwrap();
    for stream in [&mut idle, &mut silent, &mut slow] {
        let _ = stream.read_to_end(&mut Vec::new());
    }
    let line = "route=\"other\",status=\"408\"} ";
    let counted = |server: &Server| {
        let metrics = server.get("/metrics").body;
        let (_, rest) = metrics.split_once(line)?;
        rest.lines().next()?.parse::<u32>().ok()
    };
    // It is counted when the connection has ended, which a client can see a moment before.
    assert_eq!(until(line, || counted(&server)), 1);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(counted(&server), Some(1));
}

#[test]
fn slow_and_many_clients_do_not_hold_the_server() {
    let (_folder, path) = trained();
    let settings = "[limits]\nread_seconds = 3\nwrite_seconds = 1\nconnections = 12\n";
    std::fs::write(path.join("s.toml"), settings).unwrap();
    let server = Server::start(&path, "m.absentia --settings s.toml");
    let mut slow: Vec<_> = (0..12).map(|_| server.connect()).collect();
    for (at, stream) in slow.iter_mut().enumerate() {
        let text = match at % 2 {
            0 => "GET /healthz HTTP/1.1\r\nhost: local",
            _ => {
                "POST /v1/events HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"
            }
        };
        stream.write_all(text.as_bytes()).unwrap();
    }
    // Connections are accepted in their order.
    let refused = parsed(&server.raw(b""));
    refused.refused(503, "too_many_connections");
    // All of them are ended by the server.
    for (at, stream) in slow.iter_mut().enumerate() {
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        let expected = if at % 2 == 0 { "" } else { "HTTP/1.1 408" };
        assert!(text.starts_with(expected), "{at}: {text}");
    }
    // A reader that takes nothing is ended, and does not hold up a graceful stop.
    let mut lazy = server.connect();
    let patience = Some(Duration::from_millis(100));
    lazy.set_write_timeout(patience).unwrap();
    let mut asked = 0;
    until("the connection is ended", || {
        let text = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n";
        loop {
            match lazy.write_all(text) {
                Ok(()) => asked += 1,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => return None,
                    _ => return Some(()),
                },
            }
        }
    });
    let (mut answers, size) = (Vec::new(), server.get("/openapi.json").body.len());
    let _ = lazy.read_to_end(&mut answers);
    assert!(answers.len() < asked * size, "{asked} answers were taken");
    assert_eq!(server.get("/v1/users/u1/recommendations").status, 200);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn more_requests_than_fit_are_refused_early_and_served_again_later() {
    let (_folder, path) = trained();
    let settings = "[limits]\nwaiting_rankings = 2\nranking_threads = 1\n";
    std::fs::write(path.join("s.toml"), settings).unwrap();
    let server = Server::start(&path, "m.absentia --settings s.toml");
    let users: Vec<String> = (0..256).map(|user| format!("u{user}")).collect();
    let body = json!({"users": users, "n": 1000});
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let sending: Vec<_> = (0..24)
            .map(|_| {
                scope.spawn(|| {
                    let replies = (0..10).map(|_| server.post("/v1/recommendations", &body));
                    let replies = replies.inspect(|reply| {
                        if reply.status != 200 {
                            reply.refused(503, "overloaded");
                            assert!(reply.head.contains("retry-after: 1"));
                        }
                    });
                    replies.map(|reply| reply.status).collect::<Vec<_>>()
                })
            })
            .collect();
        sending
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(
        statuses.contains(&200) && statuses.contains(&503),
        "{statuses:?}"
    );
    assert_eq!(server.get("/v1/users/u1/recommendations").status, 200);
}

/// The head and the first byte of a request whose body is on its way.
const BEGUN: &str = "POST /v1/events HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                     content-type: application/json\r\ncontent-length: 45\r\n\r\n[";

/// What has begun is answered; nothing new is accepted.
#[test]
fn a_server_that_stops_answers_what_it_has_begun() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let (mut begun, mut idle) = (server.connect(), server.connect());
    begun.write_all(BEGUN.as_bytes()).unwrap();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .unwrap();
    let mut answer = [0; 12];
    idle.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    server.ask_to_stop();
    // A connection without a request ends at once.
    idle.read_to_end(&mut Vec::new()).unwrap();
    assert!(std::net::TcpStream::connect(server.address).is_err());
    let rest = r#"{"user":"u1","item":"i2","kind":"view"} ]   "#;
    assert_eq!(rest.len(), 44);
    begun.write_all(rest.as_bytes()).unwrap();
    let mut text = String::new();
    begun.read_to_string(&mut text).unwrap();
    assert_eq!(parsed(&text).ok()["accepted"], 1);
    assert_eq!(server.stop(), Some(0));
    // It was stored, and the state was saved with it.
    let server = Server::start(&path, "");
    assert_eq!(server.replayed, 0);
    assert_eq!(server.get("/readyz").ok()["sequence"], 1);
}

/// A request that never ends holds up a stop until the deadline and no longer.
#[test]
fn a_server_that_stops_waits_until_its_deadline() {
    let (_folder, path) = trained();
    let settings = "[limits]\nread_seconds = 100000\nstop_seconds = 1\n";
    std::fs::write(path.join("s.toml"), settings).unwrap();
    let server = Server::start(&path, "m.absentia --settings s.toml");
    let mut begun = server.connect();
    begun.write_all(BEGUN.as_bytes()).unwrap();
    server.get("/healthz").ok();
    // Without a deadline this would wait for a day.
    assert_eq!(server.stop(), Some(0));
}
