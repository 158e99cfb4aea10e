//! The program as a server, and a plain client that can also misbehave.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_absentia");

/// A server in a process of its own.
pub(crate) struct Server {
    child: Child,
    log: Option<JoinHandle<String>>,
    pub(crate) address: SocketAddr,
    /// Records that it learned at its start.
    pub(crate) replayed: u64,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    #[track_caller]
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()
    }

    /// Fails unless the request was refused with this status and code, in the one shape of errors.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) {
        assert_eq!(self.status, status, "{self:?}");
        let value = self.json();
        assert_eq!(value["error"]["code"], code, "{self:?}");
        assert!(value["error"]["message"].is_string(), "{self:?}");
    }
}

impl Server {
    /// Starts a server with some arguments; panics if it does not start.
    pub(crate) fn start(folder: &Path, words: &str) -> Self {
        Self::try_start(folder, words).unwrap_or_else(|error| panic!("{words}: {error}"))
    }

    /// Starts a server, or yields what it said and its exit code.
    pub(crate) fn try_start(folder: &Path, words: &str) -> Result<Self, String> {
        Self::started(&mut Command::new(PROGRAM), folder, words)
    }

    /// Starts a server under a shell script, which must `exec "$0" "$@"`.
    pub(crate) fn start_under(script: &str, folder: &Path, words: &str) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        Self::start_as(&mut shell, folder, words)
    }

    /// Starts a server by a command that ends in such a script.
    pub(crate) fn start_as(command: &mut Command, folder: &Path, words: &str) -> Self {
        let started = Self::started(command.arg(PROGRAM), folder, words);
        started.unwrap_or_else(|error| panic!("{words}: {error}"))
    }

    fn started(command: &mut Command, folder: &Path, words: &str) -> Result<Self, String> {
        let mut child = command
            .args([
                "serve",
                "--json",
                "--address",
                "127.0.0.1:0",
                "--folder",
                "data",
            ])
            .args(words.split_whitespace())
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let Ok(ready) = serde_json::from_str::<Value>(&line) else {
            let mut stderr = String::new();
            child
                .stderr
                .take()
                .unwrap()
                .read_to_string(&mut stderr)
                .unwrap();
            let code = child.wait().unwrap().code();
            return Err(format!("{stderr} exit code {code:?}"));
        };
        // What it logs is read at once, so that it never waits for us.
        let mut stderr = child.stderr.take().unwrap();
        let log = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        Ok(Self {
            child,
            log: Some(log),
            address: ready["address"].as_str().unwrap().parse().unwrap(),
            replayed: ready["replayed"].as_u64().unwrap(),
        })
    }

    /// The id of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// Sends raw bytes and reads until the server closes the connection.
    pub(crate) fn raw(&self, bytes: &[u8]) -> String {
        let Ok(mut stream) = TcpStream::connect(self.address) else {
            return String::new();
        };
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).unwrap();
        // The server may refuse before it has read everything.
        let _ = stream.write_all(bytes);
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Sends a request; the status of the reply is 0 if the server is gone.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Reply {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        parsed(&self.raw(&request))
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, "", b"")
    }

    pub(crate) fn delete(&self, path: &str) -> Reply {
        self.send("DELETE", path, "", b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        let body = body.to_string();
        self.send(
            "POST",
            path,
            "content-type: application/json\r\n",
            body.as_bytes(),
        )
    }

    /// Ends the process at once, as `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends the process as a service manager does, and yields its exit code.
    pub(crate) fn stop(mut self) -> Option<i32> {
        self.ask_to_stop();
        self.child.wait().unwrap().code()
    }

    /// Asks the process to end, as a service manager does.
    pub(crate) fn ask_to_stop(&self) {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status().unwrap();
    }

    /// Stops the process and yields what it logged, line by line.
    pub(crate) fn stop_and_read_log(mut self) -> Vec<Value> {
        self.ask_to_stop();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        let text = self.log.take().unwrap().join().unwrap();
        let line = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        text.lines().map(line).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn parsed(text: &str) -> Reply {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    Reply {
        status: status.unwrap_or(0),
        head: head.to_ascii_lowercase(),
        body: body.to_owned(),
    }
}

/// Asks again and again until there is an answer. The limit is for a server that hangs: it says nothing about speed.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = answer() {
            return answer;
        }
        assert!(begun.elapsed() < Duration::from_secs(600), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs a command of the program that must succeed.
pub(crate) fn run(folder: &Path, words: &str) -> String {
    let output = Command::new(PROGRAM)
        .args(words.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// How the models of the tests are trained.
pub(crate) const TRAINING: &str = "-k 4 --regularization 0.1 --weights popularity:c0=30,alpha=0.5 \
                                   --targets binary --post-scale 0 --iterations 5 -q";

/// A folder with a trained model `m.absentia` of 31 users and 41 items, with times.
pub(crate) fn trained() -> (tempfile::TempDir, PathBuf) {
    trained_of(400, 31, 41)
}

/// A folder with a trained model `m.absentia` of some rows, users and items, with times.
pub(crate) fn trained_of(rows: u32, users: u32, items: u32) -> (tempfile::TempDir, PathBuf) {
    use std::fmt::Write as _;
    let folder = tempfile::tempdir().unwrap();
    let mut train = "user,item,time\n".to_owned();
    for at in 0..rows {
        let user = at % users;
        let item = (user * 3 + at / users * (5 + user % 3)) % items;
        writeln!(train, "u{user},i{item},{}", 1_500_000_000 + at).unwrap();
    }
    std::fs::write(folder.path().join("train.csv"), train).unwrap();
    let words = format!("train train.csv --model m.absentia {TRAINING}");
    run(folder.path(), &words);
    let path = folder.path().to_owned();
    (folder, path)
}

/// Trains a model on rows with a column of weights, as a server learns events.
pub(crate) fn train_weighted(folder: &Path, rows: &str, model: &str) {
    std::fs::write(folder.join("weighted.csv"), rows).unwrap();
    let columns = "--weight-col weight --confidence column";
    run(
        folder,
        &format!("train weighted.csv --model {model} {columns} {TRAINING}"),
    );
}

/// The rows of [`trained`], each with weight 1.
pub(crate) fn weighted_rows(folder: &Path) -> String {
    let rows = std::fs::read_to_string(folder.join("train.csv")).unwrap();
    let lines = rows.lines().skip(1).map(|line| format!("{line},1\n"));
    format!("user,item,time,weight\n{}", lines.collect::<String>())
}
