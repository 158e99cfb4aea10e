//! A server that is killed at random moments loses nothing that it acknowledged, counts nothing twice, and
//! has the state of a server that was never killed.
//!
//! The tests make a few rounds; `cargo xtask faults` makes a hundred.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{PROGRAM, Server, trained};

const START: &str = "m.absentia --settings s.toml";

/// Random choices that repeat by seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

fn event(at: u32) -> Value {
    let (user, item) = (at * 11 % 41, at * 5 % 153);
    json!({"id": format!("e{at}"), "user": format!("u{user}"), "item": format!("i{item}"), "kind": "click"})
}

/// Sends events, one to five a request, until the server is gone; yields how many were acknowledged.
fn ingest(server: &Server, from: u32) -> u32 {
    let mut next = from;
    loop {
        let count = 1 + next % 5;
        let events: Vec<Value> = (next..next + count).map(event).collect();
        let body = json!({"events": events}).to_string();
        let headers = "content-type: application/json\r\n";
        let reply = server.send("POST", "/v1/events", headers, body.as_bytes());
        if reply.status != 200 {
            return next;
        }
        assert_eq!(reply.json()["accepted"], json!(count));
        next += count;
    }
}

/// Trains and activates models, and rolls back, until the server is gone; yields whether it was killed while
/// one was exchanged.
fn exchange_models(server: &Server, is_gone: &AtomicBool) -> bool {
    let headers = "content-type: application/json\r\n";
    let post = |path: &str, body: &[u8]| server.send("POST", path, headers, body).status;
    for turn in 0.. {
        let status = match turn % 3 {
            0 => post("/v1/models/train", br#"{"sweeps": 1, "activate": true}"#),
            1 => post("/v1/models/roll-back", b"{}"),
            _ => post("/v1/models/1/activate", b"{}"),
        };
        if status == 0 || is_gone.load(Ordering::Relaxed) {
            return status == 0;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

fn kill(id: u32) {
    Command::new("kill")
        .args(["-KILL", &id.to_string()])
        .status()
        .unwrap();
}

/// Kills a server while it starts; yields whether it was not ready yet.
fn kill_in_recovery(folder: &Path, after: Duration) -> bool {
    let mut child = Command::new(PROGRAM)
        .args("serve --json --address 127.0.0.1:0 --folder data".split(' '))
        .args(START.split(' '))
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    output.stdout.is_empty()
}

/// How many kills came while the server did something beside storing events.
#[derive(Debug, Default)]
struct Moments {
    /// While a state was being written: the temporary file is left.
    saving: usize,
    /// While a model was activated or rolled back.
    exchanging: usize,
    /// Before the server was ready.
    starting: usize,
    /// After it had made indexes while it stored events.
    indexing: usize,
}

/// Whether a server has made an index since it started.
fn has_made_indexes(server: &Server) -> bool {
    let counters = server.get("/metrics").body;
    let made = counters
        .lines()
        .find_map(|line| line.strip_prefix("absentia_indexes_total "));
    made.is_some_and(|made| made.trim() != "0")
}

/// Temporary files of states that were being written.
fn unfinished_states(folder: &Path) -> BTreeSet<OsString> {
    let entries = std::fs::read_dir(folder.join("data/states")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name());
    names
        .filter(|name| !name.to_string_lossy().ends_with(".absentia"))
        .collect()
}

fn lists(server: &Server) -> Value {
    let users: Vec<String> = (0..41).map(|user| format!("u{user}")).collect();
    let question = json!({"users": users, "n": 200, "seen": "show"});
    server.post("/v1/recommendations", &question).ok()
}

/// Removes all states of a version but the first, so that a start has to learn everything again.
fn leave_first_state(folder: &Path, version: u64) {
    let prefix = format!("{version}-");
    let names = std::fs::read_dir(folder.join("data/states")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut sequences: Vec<u64> = names
        .filter_map(|name| {
            name.strip_prefix(&prefix)?
                .strip_suffix(".absentia")?
                .parse()
                .ok()
        })
        .collect();
    sequences.sort_unstable();
    for sequence in sequences.iter().skip(1) {
        let name = format!("data/states/{version}-{sequence}.absentia");
        std::fs::remove_file(folder.join(name)).unwrap();
    }
}

#[test]
fn what_was_acknowledged_survives_kills_exactly_once() {
    let rounds = from_environment("ABSENTIA_FAULT_ROUNDS", 5);
    let mut dice = Dice(from_environment("ABSENTIA_FAULT_SEED", 7));
    let (_folder, path) = trained();
    std::fs::write(path.join("s.toml"), "[limits]\nsnapshot_events = 40\n").unwrap();
    let (mut acknowledged, mut moments) = (0_u32, Moments::default());
    for round in 0..rounds {
        let server = Server::start(&path, START);
        // A retry of the last ones, as a client makes that saw no answer.
        for at in acknowledged.saturating_sub(3)..acknowledged {
            let reply = server
                .post("/v1/events", &json!({"events": [event(at)]}))
                .ok();
            assert_eq!(reply["duplicates"], 1, "round {round}");
        }
        let (is_gone, unfinished) = (AtomicBool::new(false), unfinished_states(&path));
        acknowledged = std::thread::scope(|scope| {
            let sending = scope.spawn(|| ingest(&server, acknowledged));
            let exchanges = dice.below(2) == 0;
            let exchanging = exchanges.then(|| scope.spawn(|| exchange_models(&server, &is_gone)));
            std::thread::sleep(Duration::from_millis(5 + dice.below(600)));
            moments.indexing += usize::from(has_made_indexes(&server));
            kill(server.id());
            is_gone.store(true, Ordering::Relaxed);
            let was_exchanging = exchanging.is_some_and(|thread| thread.join().unwrap());
            moments.exchanging += usize::from(was_exchanging);
            sending.join().unwrap()
        });
        drop(server);
        let is_new = |name: &OsString| !unfinished.contains(name);
        moments.saving += usize::from(unfinished_states(&path).iter().any(is_new));
        if dice.below(3) == 0 {
            let after = Duration::from_millis(dice.below(60));
            moments.starting += usize::from(kill_in_recovery(&path, after));
        }
        let server = Server::start(&path, START);
        // The request that was on its way is there as a whole or not at all; sent again, it counts once.
        let count = 1 + acknowledged % 5;
        let events: Vec<Value> = (acknowledged..acknowledged + count).map(event).collect();
        let reply = server.post("/v1/events", &json!({"events": events})).ok();
        assert!(
            [0, count].contains(&(reply["accepted"].as_u64().unwrap() as u32)),
            "{reply}"
        );
        acknowledged += count;
        let ready = server.get("/readyz").ok();
        assert_eq!(ready["sequence"], json!(acknowledged), "round {round}");
        let (found, version) = (lists(&server), ready["model"].as_u64().unwrap());
        server.kill();
        leave_first_state(&path, version);
        let server = Server::start(&path, START);
        assert_eq!(
            lists(&server),
            found,
            "round {round}: learned again, the state is another one"
        );
        server.kill();
    }
    let Moments {
        saving,
        exchanging,
        starting,
        indexing,
    } = moments;
    eprintln!(
        "{rounds} kills, {acknowledged} events, each there once; the state is that of a replay\n\
         {saving} kills while a state was written, {exchanging} while a model was exchanged, {indexing} after \
         indexes were made, {starting} more while the server started"
    );
    // A campaign that never meets such a moment proves nothing about it.
    let is_campaign = rounds >= 100;
    assert!(!is_campaign || (saving > 0 && exchanging > 0 && indexing > 0 && starting > 0));
}
