//! Disks and clocks that fail: writing stops and is not tried again, lists go on, nothing acknowledged is lost.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Server, trained, until};

fn event(at: u32) -> Value {
    let (user, item) = (at * 11 % 41, at * 5 % 53);
    json!({"id": format!("e{at}"), "user": format!("u{user}"), "item": format!("i{item}"), "kind": "click"})
}

fn send(server: &Server, at: u32) -> crate::client::Reply {
    server.post("/v1/events", &json!({"events": [event(at)]}))
}

/// Fails unless writing has stopped for good and lists are served on, at the last acknowledged event.
fn stopped_for_good(server: &Server, acknowledged: u32) {
    for at in 500..503 {
        send(server, at).refused(503, "storage_failed");
    }
    let ready = server.get("/readyz");
    assert_eq!(
        (ready.status, &ready.json()["storage"]),
        (503, &json!("failed"))
    );
    assert_eq!(server.get("/healthz").status, 200);
    let list = server.get("/v1/users/u1/recommendations").ok();
    assert_eq!(list["sequence"], json!(acknowledged));
    let page = server.get("/dashboard").body;
    assert!(page.contains("restart the server"), "{page}");
}

/// Fails unless a server that is started again has every acknowledged event once, and writes again. The one
/// that was not acknowledged may be there or not.
fn whole_after_a_restart(path: &Path, acknowledged: u32) {
    let server = Server::start(path, "");
    for at in 0..acknowledged {
        assert_eq!(send(&server, at).ok()["duplicates"], 1, "{at}");
    }
    let again = send(&server, acknowledged).ok();
    assert_eq!(again["events"][0]["sequence"], json!(acknowledged + 1));
    assert_eq!(send(&server, 900).ok()["accepted"], 1);
}

/// The log of the database cannot grow: the system refuses the write, and not because the disk is full.
#[test]
fn a_write_that_fails_stops_writing_and_is_not_tried_again() {
    let (_folder, path) = trained();
    drop(Server::start(&path, "m.absentia"));
    // Enough for what the server writes at its start to see that it can, and for some events.
    let script = r#"trap "" XFSZ; ulimit -f 1500; exec "$0" "$@""#;
    let server = Server::start_under(script, &path, "");
    let mut acknowledged = 0;
    let refused = loop {
        let reply = send(&server, acknowledged);
        if reply.status != 200 {
            break reply;
        }
        acknowledged += 1;
        assert!(acknowledged < 400, "the limit does not work");
    };
    refused.refused(500, "storage_error");
    stopped_for_good(&server, acknowledged);
    server.kill();
    whole_after_a_restart(&path, acknowledged);
}

/// A synchronisation fails once. The next one would succeed, and must not be tried: what the first one lost
/// would seem safe.
#[test]
fn a_synchronisation_that_fails_stops_writing_and_is_not_tried_again() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    for at in 0..5 {
        send(&server, at).ok();
    }
    let tracer = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null"])
        .args(["-e", "trace=fsync,fdatasync"])
        .args(["-e", "inject=fsync,fdatasync:error=EIO:when=1+"])
        .args(["-p", &server.id().to_string()])
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut tracer) = tracer else {
        absentia_testing::skipped("no strace, which makes synchronisations fail");
        return;
    };
    let is_traced = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        threads_are_traced(server.id())
    });
    if !is_traced {
        let _ = tracer.kill();
        let _ = tracer.wait();
        absentia_testing::skipped("processes cannot be traced here");
        return;
    }
    let refused = send(&server, 5);
    tracer.kill().unwrap();
    tracer.wait().unwrap();
    refused.refused(500, "storage_error");
    stopped_for_good(&server, 5);
    server.kill();
    whole_after_a_restart(&path, 5);
}

/// Whether every thread of a process has a tracer.
fn threads_are_traced(id: u32) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{id}/task")) else {
        return false;
    };
    threads.flatten().all(|thread| {
        let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let tracer = status.lines().find(|line| line.starts_with("TracerPid:"));
        tracer.is_some_and(|line| !line.ends_with("\t0"))
    })
}

/// A file system of a few megabytes, which is really full: events are refused, lists are served on.
#[test]
fn a_disk_that_is_full_refuses_events_and_serves_on() {
    let (_folder, path) = trained();
    std::fs::create_dir_all(path.join("data")).unwrap();
    let mount = "mount -t tmpfs -o size=3m tmpfs data";
    let isolated = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
        command
    };
    let tried = isolated(mount).current_dir(&path).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        absentia_testing::skipped("no file system can be mounted here");
        return;
    }
    let script = format!("{mount} && exec \"$0\" \"$@\"");
    let server = Server::start_as(&mut isolated(&script), &path, "m.absentia");
    let mut acknowledged = 0;
    // A smaller write, with which the server looks for room, may fit where these events do not: then it says so.
    let ready = loop {
        let events: Vec<Value> = (acknowledged..acknowledged + 100).map(event).collect();
        let reply = server.post("/v1/events", &json!({"events": events}));
        if reply.status == 200 {
            acknowledged += 100;
            assert!(acknowledged < 100_000, "the disk does not become full");
            continue;
        }
        assert!(reply.head.contains("retry-after"), "{reply:?}");
        reply.refused(507, "storage_full");
        let ready = server.get("/readyz");
        if ready.json()["storage"] != "writable" {
            break ready;
        }
    };
    assert_eq!(
        (ready.status, &ready.json()["storage"]),
        (503, &json!("full"))
    );
    let list = server.get("/v1/users/u1/recommendations").ok();
    assert_eq!(list["sequence"], json!(acknowledged));
    // Every event that was acknowledged is there once, and a retry of one needs no room.
    assert_eq!(send(&server, 0).ok()["duplicates"], 1);
    assert_eq!(send(&server, acknowledged - 1).ok()["duplicates"], 1);
    assert_eq!(server.get("/dashboard").status, 200);
    assert_eq!(server.stop(), Some(0));
}

/// Room comes back without a restart, and the server says so by itself.
#[test]
fn a_database_that_has_room_again_is_written_again() {
    let (_folder, path) = trained();
    drop(Server::start(&path, "m.absentia"));
    let database = path.join("data/events.db");
    let other = rusqlite::Connection::open(database).unwrap();
    let fill = |kib: u32| {
        other
            .execute("INSERT INTO probe VALUES (zeroblob(?1))", [kib << 10])
            .unwrap();
    };
    fill(600);
    std::fs::write(path.join("s.toml"), "[limits]\ndatabase_bytes = 500000\n").unwrap();
    let server = Server::start(&path, "--settings s.toml");
    // It is known before the first event comes.
    let ready = server.get("/readyz");
    assert_eq!(
        (ready.status, &ready.json()["storage"]),
        (503, &json!("full"))
    );
    let refused = (0..200).find_map(|at| {
        let reply = send(&server, at);
        (reply.status != 200).then_some(reply)
    });
    refused.unwrap().refused(507, "storage_full");
    assert_eq!(server.get("/readyz").json()["storage"], "full");
    other.execute("DELETE FROM probe", ()).unwrap();
    until("there is room again", || {
        (server.get("/readyz").status == 200).then_some(())
    });
    send(&server, 901).ok();
}

/// Another process that holds the database for long is waited for, and then the request is refused for now.
#[test]
fn a_database_that_another_process_holds_is_written_later() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let other = rusqlite::Connection::open(path.join("data/events.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = send(&server, 1);
    refused.refused(503, "storage_busy");
    assert!(refused.head.contains("retry-after: 1"), "{refused:?}");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(send(&server, 1).ok()["accepted"], 1);
}

/// More events than can wait are refused at once, and taken later.
#[test]
fn more_writes_than_fit_are_refused_early() {
    let (_folder, path) = trained();
    std::fs::write(path.join("s.toml"), "[limits]\nwaiting_writes = 2\n").unwrap();
    let server = Server::start(&path, "m.absentia --settings s.toml");
    // The writer waits for the database, so that nothing leaves the queue.
    let other = rusqlite::Connection::open(path.join("data/events.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let statuses = std::thread::scope(|scope| {
        let sending: Vec<_> = (0..8).map(|_| scope.spawn(|| send(&server, 1))).collect();
        let replies = sending.into_iter().map(|thread| thread.join().unwrap());
        let statuses: Vec<u16> = replies
            .inspect(|reply| match reply.status {
                429 => {
                    reply.refused(429, "overloaded");
                    assert!(reply.head.contains("retry-after: 1"), "{reply:?}");
                }
                _ => reply.refused(503, "storage_busy"),
            })
            .map(|reply| reply.status)
            .collect();
        other.execute_batch("ROLLBACK").unwrap();
        statuses
    });
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(send(&server, 1).ok()["accepted"], 1);
    assert!(
        server
            .get("/metrics")
            .body
            .contains("route=\"/v1/events\",status=\"429\"")
    );
}

/// A log that ends in the middle of a commit loses that commit alone; damage ahead of others stops the start.
#[test]
fn a_torn_end_of_the_log_is_dropped_and_damage_ahead_of_it_stops() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    for at in 0..12 {
        send(&server, at).ok();
    }
    server.kill();
    let log = path.join("data/events.db-wal");
    let mut bytes = std::fs::read(&log).unwrap();
    // Zeros behind the last frame are room for the next ones.
    let (header, frame) = (32, 24 + 4096);
    let written = bytes.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    bytes.truncate(header + (written - header).next_multiple_of(frame));
    let shared = std::fs::read(path.join("data/events.db-shm")).ok();
    let restored = |bytes: &[u8]| {
        std::fs::write(&log, bytes).unwrap();
        if let Some(shared) = &shared {
            std::fs::write(path.join("data/events.db-shm"), shared).unwrap();
        }
    };
    let mut altered = bytes.clone();
    altered[bytes.len() / 2] ^= 4;
    restored(&altered);
    let error = Server::try_start(&path, "").err().unwrap();
    assert!(
        error.contains("commits follow it") && error.contains("Some(3)"),
        "{error}"
    );
    restored(&bytes[..bytes.len() - 100]);
    let server = Server::start(&path, "");
    let ready = server.get("/readyz").ok();
    assert_eq!(ready["sequence"], 11);
    assert_eq!(send(&server, 11).ok()["accepted"], 1);
}

/// Times by a clock that was years ahead, or stood at 1970, change nothing that is learned, and a retry is
/// still known.
#[test]
fn a_clock_that_is_wrong_changes_nothing_that_is_learned() {
    let (_folder, path) = trained();
    let server = Server::start(&path, "m.absentia");
    let headers = "content-type: application/json\r\nidempotency-key: k1\r\n";
    let body = json!([{"user": "u1", "item": "i2", "kind": "view"}]).to_string();
    let keyed = |server: &Server| server.send("POST", "/v1/events", headers, body.as_bytes());
    let first = keyed(&server).ok();
    for at in 0..20 {
        send(&server, at).ok();
    }
    let list = server.get("/v1/users/u1/recommendations?n=50").ok();
    server.kill();
    let database = rusqlite::Connection::open(path.join("data/events.db")).unwrap();
    let year = 365 * 86_400_000_i64;
    for (change, value) in [
        (
            "UPDATE records SET received = received + ?1 WHERE seq % 2",
            40 * year,
        ),
        (
            "UPDATE records SET received = received - ?1 WHERE seq % 3 = 0",
            56 * year,
        ),
        ("UPDATE replies SET received = received - ?1", 50 * year),
    ] {
        assert!(database.execute(change, [value]).unwrap() > 0, "{change}");
    }
    drop(database);
    let server = Server::start(&path, "");
    assert_eq!(server.replayed, 21);
    assert_eq!(server.get("/v1/users/u1/recommendations?n=50").ok(), list);
    let again = keyed(&server);
    assert!(again.head.contains("idempotent-replay: true"), "{again:?}");
    assert_eq!(again.ok(), first);
    for page in [
        "/dashboard",
        "/dashboard/data",
        "/dashboard/look-up?kind=user&id=u1",
    ] {
        assert_eq!(server.get(page).status, 200, "{page}");
    }
    // An event with the time of a clock that is years ahead is an ordinary event.
    let ahead = json!([{"user": "u1", "item": "i9", "kind": "view", "time": 2_900_000_000_u32}]);
    assert_eq!(server.post("/v1/events", &ahead).ok()["accepted"], 1);
}
