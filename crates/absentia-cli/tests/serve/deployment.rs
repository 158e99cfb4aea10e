//! The deployment of `docs/serving.md`: its settings, its service, its backup.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::client::{PROGRAM, Server, run, trained};
use crate::guide::{block, guide};

fn event(at: u32) -> Value {
    let (user, item) = (at * 11 % 41, at * 5 % 53);
    json!({"id": format!("e{at}"), "user": format!("u{user}"), "item": format!("i{item}"), "kind": "click"})
}

fn send(server: &Server, at: u32) -> Value {
    let body = json!({"events": [event(at)]});
    server.post("/v1/events", &body).ok()
}

fn lists(server: &Server) -> Value {
    let users: Vec<String> = (0..41).map(|user| format!("u{user}")).collect();
    let question = json!({"users": users, "n": 60, "seen": "show"});
    server.post("/v1/recommendations", &question).ok()
}

fn copied(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn the_settings_of_the_guide_are_accepted() {
    let (_folder, path) = trained();
    let settings = block(&guide(), "Kinds of events", "toml");
    std::fs::write(path.join("s.toml"), settings).unwrap();
    let server = Server::start(&path, "m.absentia --settings s.toml");
    let of_kind = |kind: &str| {
        let event = json!([{"user": "u1", "item": "i2", "kind": kind}]);
        server.post("/v1/events", &event)
    };
    for kind in ["view", "purchase", "impression"] {
        of_kind(kind).ok();
    }
    // It needs a value, and kinds that are not named do not exist.
    of_kind("rating").refused(422, "invalid_value");
    of_kind("click").refused(422, "invalid_value");
}

#[test]
fn systemd_accepts_the_service_of_the_guide() {
    let (_folder, path) = trained();
    let unit = block(&guide(), "A deployment", "ini");
    let program = "/usr/local/bin/absentia";
    assert!(unit.contains(&format!("ExecStart={program} serve ")));
    let file = path.join("absentia.service");
    std::fs::write(&file, unit.replace(program, PROGRAM)).unwrap();
    let verified = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(&file)
        .output();
    let Ok(output) = verified else {
        absentia_testing::skipped("no systemd-analyze");
        return;
    };
    let complaints = String::from_utf8_lossy(&output.stderr);
    let own = complaints
        .lines()
        .filter(|line| line.contains("absentia.service"));
    assert_eq!(own.collect::<Vec<_>>(), Vec::<&str>::new(), "{complaints}");
    assert!(output.status.success(), "{complaints}");
}

/// A backup that is made by the commands of the guide while events are stored is whole: with the events after
/// it, the restored server has the lists of the first one, bit for bit.
#[test]
fn a_backup_made_under_load_is_restored() {
    let (_folder, path) = trained();
    let commands = block(&guide(), "A deployment", "sh");
    let commands = commands
        .replace("/var/lib/absentia", "data")
        .replace("/backup", "backup");
    let has_sqlite = Command::new("sqlite3").arg("--version").output().is_ok();
    if !has_sqlite {
        absentia_testing::skipped("no sqlite3, which copies the database of a server that runs");
        return;
    }
    std::fs::create_dir_all(path.join("backup")).unwrap();
    std::fs::write(path.join("s.toml"), "[limits]\nsnapshot_events = 25\n").unwrap();
    let server = Server::start(&path, "m.absentia --settings s.toml");
    for at in 0..100 {
        send(&server, at);
    }
    let is_copied = AtomicBool::new(false);
    let stored = std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let mut at = 100;
            while !is_copied.load(Ordering::Relaxed) {
                send(&server, at);
                at += 1;
            }
            at
        });
        let script = format!("set -e\n{commands}");
        let copied = Command::new("sh")
            .args(["-c", &script])
            .current_dir(&path)
            .output()
            .unwrap();
        is_copied.store(true, Ordering::Relaxed);
        let stderr = String::from_utf8_lossy(&copied.stderr);
        assert!(copied.status.success(), "{commands}\n{stderr}");
        sending.join().unwrap()
    });
    let expected = lists(&server);
    server.kill();
    let elsewhere = path.join("elsewhere");
    let empty = elsewhere.join("data");
    copied(&path.join("backup/states"), &empty.join("states"));
    std::fs::copy(path.join("backup/events.db"), empty.join("events.db")).unwrap();
    let check = "serve --folder data --check --address 127.0.0.1:0";
    let checked = run(&elsewhere, check);
    assert!(checked.contains("sound"), "{checked}");
    let server = Server::start(&elsewhere, "");
    let restored = server.get("/readyz").ok()["sequence"].as_u64().unwrap() as u32;
    assert!((100..=stored).contains(&restored), "{restored} of {stored}");
    for at in restored..stored {
        assert_eq!(send(&server, at)["accepted"], 1);
    }
    assert_eq!(lists(&server), expected);
}
