//! A folder of its own, and the program run in it within limits of time and memory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::support::PROGRAM;

/// A command that takes longer hangs: none here has more than seconds of work.
const LIMIT: Duration = Duration::from_secs(180);
/// Address space in KiB. Files here have kilobytes.
const MEMORY: &str = "4194304";

pub(crate) struct Room {
    folder: tempfile::TempDir,
    lines: RefCell<Vec<String>>,
}

/// How a command ended.
pub(crate) struct Ended {
    pub(crate) line: String,
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Every file of a folder with its bytes; links with what they lead to.
pub(crate) type Contents = BTreeMap<PathBuf, Vec<u8>>;

impl Room {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            lines: RefCell::default(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        let folder = path.parent().expect("a folder");
        std::fs::create_dir_all(folder).expect("a folder");
        std::fs::write(path, bytes).expect("written");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).expect("UTF-8")
    }

    pub(crate) fn remove(&self, name: &str) {
        let path = self.path(name);
        let _ = if path.is_dir() && !path.is_symlink() {
            std::fs::remove_dir_all(path)
        } else {
            std::fs::remove_file(path)
        };
    }

    pub(crate) fn contents(&self) -> Contents {
        contents_of(self.folder.path())
    }

    /// Removes every file and writes these.
    pub(crate) fn restore(&self, contents: &Contents) {
        for entry in std::fs::read_dir(self.folder.path()).expect("a folder") {
            let name = entry.expect("an entry").file_name();
            self.remove(name.to_str().expect("UTF-8"));
        }
        for (name, bytes) in contents {
            self.write(name.to_str().expect("UTF-8"), bytes);
        }
    }

    /// The number of commands that were run here.
    pub(crate) fn commands(&self) -> usize {
        self.lines.borrow().len()
    }

    /// Keeps the folder, and yields it with the commands that were run there.
    pub(crate) fn keep(self) -> (PathBuf, Vec<String>) {
        (self.folder.keep(), self.lines.into_inner())
    }

    /// Starts the program with words separated by blanks.
    pub(crate) fn start(&self, line: &str) -> Child {
        self.lines.borrow_mut().push(format!("absentia {line}"));
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -v $0; exec \"$@\"", MEMORY, PROGRAM])
            .args(line.split_whitespace())
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().expect("started")
    }

    /// Runs the program; it must end by itself, without a crash, and say what is wrong if it fails.
    #[track_caller]
    pub(crate) fn run(&self, line: &str) -> Ended {
        let ended = wait(self.start(line), line);
        if ended.code != Some(0) {
            let said = ended.stderr.contains("error: ") || ended.stderr.contains("\"error\"");
            let known = ended.code.is_some_and(|code| (1..=5).contains(&code));
            assert!(known && said, "{ended}");
        }
        assert!(!ended.stderr.contains("panicked at"), "{ended}");
        ended
    }

    /// Runs the program, which must succeed.
    #[track_caller]
    pub(crate) fn ok(&self, line: &str) -> Ended {
        let ended = self.run(line);
        assert!(ended.code == Some(0), "{ended}");
        ended
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (code, signal) = (self.code, self.signal);
        write!(
            f,
            "absentia {} ended with code {code:?}, signal {signal:?}: {}",
            self.line,
            self.stderr.trim()
        )
    }
}

impl Ended {
    pub(crate) fn is_ok(&self) -> bool {
        self.code == Some(0)
    }
}

/// Waits for a command, and ends it if it takes too long.
#[track_caller]
pub(crate) fn wait(child: Child, line: &str) -> Ended {
    let id = child.id().to_string();
    let (ended, running) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let is_late = running.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout);
        if is_late {
            let _ = Command::new("kill").args(["-9", &id]).status();
        }
        is_late
    });
    let output = child.wait_with_output().expect("ended");
    drop(ended);
    let is_late = watch.join().expect("watched");
    assert!(!is_late, "absentia {line}: no end after {LIMIT:?}");
    Ended {
        line: line.to_owned(),
        code: output.status.code(),
        signal: output.status.signal(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Every file of a folder by its path from there.
pub(crate) fn contents_of(root: &Path) -> Contents {
    let mut contents = Contents::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap_or_default();
            let name = path.strip_prefix(root).expect("below the root").to_owned();
            contents.insert(name, bytes);
        }
    }
    contents
}
