//! The server under load, beside `implicit` behind `FastAPI`: `cargo xtask bench serve`.

mod client;

use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use client::{Report, as_fast_as_possible, at_rate};

use crate::{repository, run};

const FACTORS: &str = "128";
const CONNECTIONS: usize = 16;
const SECONDS: f64 = 8.0;
const EVENTS: usize = 100_000;

/// A server that is ended with its owner.
struct Running {
    child: Child,
    address: String,
    started: serde_json::Value,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Measures a program, the release build if none is named by `--program`.
pub(crate) fn bench(words: &[String]) -> Result<(), String> {
    let program = match words {
        [flag, program] if flag == "--program" => PathBuf::from(program),
        [] => {
            crate::bench::build(&["absentia-cli"])?;
            crate::target().join("release/absentia")
        }
        _ => return Err("xtask: bench serve [--program FILE]".to_owned()),
    };
    let data = repository().join("../shared/data/gowalla-lightgcn/train.tsv.gz");
    if !data.is_file() {
        return Err(format!("xtask: {} is not there", data.display()));
    }
    let folder = crate::target().join("bench/serve");
    let _ = std::fs::remove_dir_all(folder.join("data"));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    train(&program, &folder, &data)?;
    let sync = bare_sync(&folder)?;
    eprintln!("a bare fdatasync takes {sync:.2} ms (median)");
    let ours = start(&program, &folder)?;
    let capacity = lists(&ours)?;
    updates(&ours, capacity, sync)?;
    drop(ours);
    replay(&program, &folder)?;
    match peer(&data) {
        Ok(peer) => beside(&peer, capacity),
        Err(why) => {
            eprintln!("implicit behind FastAPI is left out: {why}");
            Ok(())
        }
    }
}

fn train(program: &Path, folder: &Path, data: &Path) -> Result<(), String> {
    if folder.join("gowalla.absentia").is_file() {
        return Ok(());
    }
    let words = "--iterations 3 --regularization 0.02 --weights popularity:mean=0.005,alpha=0.4 --targets binary";
    run(Command::new(program)
        .arg("train")
        .arg(data)
        .args(["--model", "gowalla.absentia", "-q", "-k", FACTORS])
        .args(words.split(' '))
        .current_dir(folder))
}

fn start(program: &Path, folder: &Path) -> Result<Running, String> {
    // Nothing is saved while events are sent, so that the replay has all of them.
    let settings = format!("[limits]\nsnapshot_events = {}\n", 100 * EVENTS);
    std::fs::write(folder.join("s.toml"), settings).map_err(|error| error.to_string())?;
    let words =
        "serve gowalla.absentia --folder data --settings s.toml --address 127.0.0.1:0 --json";
    let mut child = Command::new(program)
        .args(words.split(' '))
        .current_dir(folder)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let stdout = child.stdout.take().ok_or("no output")?;
    let mut line = String::new();
    BufReader::new(stdout)
        .read_line(&mut line)
        .map_err(|error| error.to_string())?;
    let started: serde_json::Value = serde_json::from_str(&line).map_err(|_| "it did not start")?;
    let address = started["address"].as_str().unwrap_or_default().to_owned();
    Ok(Running {
        child,
        address,
        started,
    })
}

/// A request for the twenty best unseen items of some user.
fn list(number: usize) -> String {
    let user = number.wrapping_mul(7919) % 29_858;
    format!("GET /v1/users/{user}/recommendations?n=20 HTTP/1.1\r\nhost: localhost\r\n\r\n")
}

fn event(number: usize) -> String {
    let (user, item) = (
        number.wrapping_mul(7919) % 29_858,
        number.wrapping_mul(104_729) % 40_981,
    );
    let body =
        format!("{{\"events\":[{{\"user\":\"{user}\",\"item\":\"{item}\",\"kind\":\"click\"}}]}}");
    posted("application/json", &body)
}

fn posted(kind: &str, body: &str) -> String {
    format!(
        "POST /v1/events HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn show(what: &str, report: &Report) {
    eprintln!(
        "{what}: {:.0} a second, p50 {:.2} ms, p99 {:.2} ms, {} refused",
        report.rate(),
        report.quantile(0.5),
        report.quantile(0.99),
        report.refused
    );
}

fn lists(ours: &Running) -> Result<f64, String> {
    as_fast_as_possible(&ours.address, CONNECTIONS, 2.0, list)?;
    let full = as_fast_as_possible(&ours.address, CONNECTIONS, SECONDS, list)?;
    show("lists, as fast as possible", &full);
    let capacity = full.rate();
    let most = at_rate(&ours.address, CONNECTIONS, 0.7 * capacity, SECONDS, list)?;
    show("lists at 70 % of that", &most);
    Ok(capacity)
}

fn updates(ours: &Running, capacity: f64, sync: f64) -> Result<(), String> {
    let events = at_rate(&ours.address, 4, 50.0, SECONDS / 2.0, event)?;
    show("single events, 50 a second", &events);
    eprintln!(
        "  acknowledged in {:.1} bare fdatasyncs (median)",
        events.quantile(0.5) / sync
    );
    let (lists, events) = std::thread::scope(|scope| {
        let events = scope.spawn(|| at_rate(&ours.address, 16, 500.0, SECONDS, event));
        let lists = at_rate(&ours.address, CONNECTIONS, 0.4 * capacity, SECONDS, list);
        (
            lists,
            events
                .join()
                .unwrap_or_else(|_| Err("a client panicked".to_owned())),
        )
    });
    show("lists at 40 %, beside 500 events a second", &lists?);
    show("  those events", &events?);
    Ok(())
}

/// Stores many events, ends the server as kill -9 does, and starts it again.
fn replay(program: &Path, folder: &Path) -> Result<(), String> {
    let _ = std::fs::remove_dir_all(folder.join("data"));
    let ours = start(program, folder)?;
    let lines = |number: usize| {
        let lines = (0..5000).map(|at| {
            let at = number * 5000 + at;
            let (user, item) = (
                at.wrapping_mul(7919) % 29_858,
                at.wrapping_mul(104_729) % 40_981,
            );
            format!("{{\"user\":\"{user}\",\"item\":\"{item}\",\"kind\":\"click\"}}\n")
        });
        posted("application/x-ndjson", &lines.collect::<String>())
    };
    let begun = Instant::now();
    let sent = at_rate(
        &ours.address,
        1,
        1000.0,
        EVENTS as f64 / 5000.0 / 1000.0,
        lines,
    )?;
    eprintln!(
        "{} requests of 5,000 events: {:.0} events a second",
        sent.good,
        sent.good as f64 * 5000.0 / begun.elapsed().as_secs_f64()
    );
    drop(ours);
    let again = start(program, folder)?;
    let seconds = again.started["seconds"].as_f64().unwrap_or(f64::NAN);
    eprintln!(
        "started again in {seconds:.2} s, {} records learned",
        again.started["replayed"]
    );
    Ok(())
}

/// Milliseconds of a synchronisation of the disk after a small write.
fn bare_sync(folder: &Path) -> Result<f64, String> {
    let path = folder.join("sync-test");
    let mut file = File::create(&path).map_err(|error| error.to_string())?;
    let mut times = Vec::new();
    for _ in 0..200 {
        let start = Instant::now();
        let written = file.write_all(&[7; 4096]).and_then(|()| file.sync_data());
        written.map_err(|error| error.to_string())?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let _ = std::fs::remove_file(path);
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// Starts `implicit` behind `FastAPI` with the same path.
fn peer(data: &Path) -> Result<Running, String> {
    let python = crate::bench::peer("implicit")?;
    if !crate::python::has_modules(&python, &["fastapi", "uvicorn"]) {
        run(&mut crate::python::pip(
            &python,
            &["fastapi", "uvicorn[standard]"],
        ))?;
    }
    let script = repository().join("xtask/python/serve_implicit.py");
    let address = "127.0.0.1:8391".to_owned();
    let mut child = Command::new(python)
        .arg(script)
        .args([data.as_os_str(), FACTORS.as_ref(), "8391".as_ref()])
        .env("OPENBLAS_NUM_THREADS", "1")
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let stdout = child.stdout.take().ok_or("no output")?;
    let mut line = String::new();
    BufReader::new(stdout)
        .read_line(&mut line)
        .map_err(|error| error.to_string())?;
    let running = Running {
        child,
        address,
        started: serde_json::Value::Null,
    };
    if line.trim() != "ready" {
        return Err(format!("it said {line:?}"));
    }
    std::thread::sleep(std::time::Duration::from_secs(2));
    Ok(running)
}

fn beside(peer: &Running, capacity: f64) -> Result<(), String> {
    as_fast_as_possible(&peer.address, 4, 2.0, list)?;
    let full = as_fast_as_possible(&peer.address, 4, SECONDS, list)?;
    show("implicit behind FastAPI, as fast as possible", &full);
    eprintln!("ours answers {:.1} times as many", capacity / full.rate());
    Ok(())
}
