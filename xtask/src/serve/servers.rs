//! The servers that are measured: ours, and `implicit` behind `FastAPI` with the same path.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{repository, run};

/// Factors of both models.
pub(super) const FACTORS: &str = "128";
const USERS: usize = 29_858;
const ITEMS: usize = 40_981;

/// Ways to run the peer: processes, and whether requests are ranked on threads or on the event loop.
pub(super) const PEER_SETTINGS: [(&str, &str); 4] = [
    ("1", "threads"),
    ("1", "loop"),
    ("2", "threads"),
    ("2", "loop"),
];

/// A server that is ended with its owner.
pub(super) struct Running {
    child: Child,
    /// Whether its processes are a group of their own, which ends as a whole.
    has_group: bool,
    pub(super) address: String,
    /// What it printed when it was ready.
    pub(super) ready: serde_json::Value,
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.has_group {
            let group = format!("-{}", self.child.id());
            let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Memory of the process in MiB, now and at its peak.
    pub(super) fn memory(&self) -> Option<(f64, f64)> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).ok()?;
        let number = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name))?;
            let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
            Some(kib / 1024.0)
        };
        Some((number("VmRSS:")?, number("VmHWM:")?))
    }
}

/// Where our server counts the indexes and shortlists that it has made.
const PREPARED: &str = "absentia_indexes_total ";

impl Running {
    /// Waits until our server has made shortlists, as it does once after its start.
    pub(super) fn wait_for_shortlists(&self) -> Result<(), String> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(120) {
            let metrics = self.metrics().map_err(|error| error.to_string())?;
            let counts = metrics
                .lines()
                .filter_map(|line| line.strip_prefix(PREPARED));
            if counts.filter(|count| *count != "0").count() > 0 {
                eprintln!(
                    "shortlists were made in {:.1} s",
                    begun.elapsed().as_secs_f64()
                );
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Err("shortlists were not made in two minutes".to_owned())
    }

    fn metrics(&self) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    }
}

/// Our program, the folder in which it is measured and the data.
pub(super) struct Bench {
    pub(super) program: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) data: PathBuf,
}

impl Bench {
    /// Trains the model, unless an earlier run has.
    pub(super) fn train(&self) -> Result<(), String> {
        if self.folder.join("gowalla.absentia").is_file() {
            return Ok(());
        }
        let words = "--iterations 3 --regularization 0.02 --weights popularity:mean=0.005,alpha=0.4 \
                     --targets binary --post-scale 0";
        run(Command::new(&self.program)
            .arg("train")
            .arg(&self.data)
            .args(["--model", "gowalla.absentia", "-q", "-k", FACTORS])
            .args(words.split_whitespace())
            .current_dir(&self.folder))
    }

    /// Removes the data folder, so that the next server starts with the model alone.
    pub(super) fn forget(&self) {
        let _ = std::fs::remove_dir_all(self.folder.join("data"));
    }

    /// Starts our server with some limits.
    pub(super) fn start(&self, limits: &str) -> Result<Running, String> {
        let settings = format!("[limits]\n{limits}\n");
        std::fs::write(self.folder.join("s.toml"), settings).map_err(|error| error.to_string())?;
        let words =
            "serve gowalla.absentia --folder data --settings s.toml --address 127.0.0.1:0 --json";
        let mut child = Command::new(&self.program)
            .args(words.split(' '))
            .current_dir(&self.folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let line = first_line(&mut child)?;
        let ready: serde_json::Value =
            serde_json::from_str(&line).map_err(|_| "the server did not start")?;
        let address = ready["address"].as_str().unwrap_or_default().to_owned();
        Ok(Running {
            child,
            has_group: false,
            address,
            ready,
        })
    }

    /// Starts `implicit` behind `FastAPI`, in one of the ways of [`PEER_SETTINGS`].
    pub(super) fn start_peer(&self, (processes, place): (&str, &str)) -> Result<Running, String> {
        let python = crate::bench::peer("implicit")?;
        if !crate::python::has_modules(&python, &["fastapi", "uvicorn"]) {
            let packages = ["fastapi", "uvicorn[standard]"];
            run(&mut crate::python::pip(&python, &packages))?;
        }
        let script = repository().join("xtask/python/serve_implicit.py");
        let (address, port) = ("127.0.0.1:8391".to_owned(), "8391");
        let mut child = Command::new(python)
            .arg(script)
            .args([self.data.as_os_str(), FACTORS.as_ref(), port.as_ref()])
            .args([processes, place])
            // A process that this one starts ends with its group.
            .process_group(0)
            .env("OPENBLAS_NUM_THREADS", "1")
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let line = first_line(&mut child)?;
        let running = Running {
            child,
            has_group: true,
            address,
            ready: serde_json::Value::Null,
        };
        if line.trim() != "ready" {
            return Err(format!("it said {line:?}"));
        }
        let begun = Instant::now();
        while TcpStream::connect(&running.address).is_err() {
            if begun.elapsed() > Duration::from_secs(20) {
                return Err("it does not listen".to_owned());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(running)
    }
}

fn first_line(child: &mut Child) -> Result<String, String> {
    let stdout = child.stdout.take().ok_or("no output")?;
    let mut line = String::new();
    let read = BufReader::new(stdout).read_line(&mut line);
    read.map_err(|error| error.to_string())?;
    Ok(line)
}

fn pair(number: usize) -> (usize, usize) {
    (
        number.wrapping_mul(7919) % USERS,
        number.wrapping_mul(104_729) % ITEMS,
    )
}

/// A request that needs no ranking: what the connection loop and the client reach alone.
pub(super) fn health(_: usize) -> String {
    "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned()
}

/// A request for the twenty best unseen items of some user. All users come in turn.
pub(super) fn list(number: usize) -> String {
    let (user, _) = pair(number);
    format!("GET /v1/users/{user}/recommendations?n=20 HTTP/1.1\r\nhost: localhost\r\n\r\n")
}

/// A request with one event.
pub(super) fn event(number: usize) -> String {
    let (user, item) = pair(number);
    let body =
        format!("{{\"events\":[{{\"user\":\"{user}\",\"item\":\"{item}\",\"kind\":\"click\"}}]}}");
    posted("application/json", &body)
}

/// A request with many events, one a line.
pub(super) fn many_events(number: usize, count: usize) -> String {
    let lines = (number * count..(number + 1) * count).map(|at| {
        let (user, item) = pair(at);
        format!("{{\"user\":\"{user}\",\"item\":\"{item}\",\"kind\":\"click\"}}\n")
    });
    posted("application/x-ndjson", &lines.collect::<String>())
}

fn posted(kind: &str, body: &str) -> String {
    format!(
        "POST /v1/events HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Milliseconds of a synchronisation of the disk after a small write, as a median; with a pause between two,
/// as between events.
pub(super) fn bare_sync(folder: &Path, pause: Duration) -> Result<f64, String> {
    let path = folder.join("sync-test");
    let mut file = std::fs::File::create(&path).map_err(|error| error.to_string())?;
    let mut times = Vec::new();
    for _ in 0..100 {
        std::thread::sleep(pause);
        let start = Instant::now();
        let written = file.write_all(&[7; 4096]).and_then(|()| file.sync_data());
        written.map_err(|error| error.to_string())?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let _ = std::fs::remove_file(path);
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
