//! A folder of small files, and the program run in it.
#![allow(dead_code, missing_docs)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use absentia_io::model::{LoadedModel, load_model};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_absentia");

const ITEMS: [&str; 14] = [
    "heat", "alien", "up", "jaws", "big", "ran", "her", "tron", "drive", "fargo", "shrek", "m",
    "selma", "coco",
];

/// Tags of items, one of which, laura, nobody has rated.
const TAGS: &str = "item,tag
heat,crime
heat,noir
fargo,crime
drive,noir
drive,crime
m,noir
m,crime
laura,noir
laura,crime
alien,space
tron,space
jaws,sea
up,family
shrek,family
coco,family
big,family
";

pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
}

pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// Fails the test unless the command succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Fails the test unless the command failed with this code and said all of this.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, said: &[&str]) {
        assert_eq!(self.code, code, "{}\n{}", self.stdout, self.stderr);
        assert!(self.stderr.starts_with("error: ") || self.stderr.contains("\nerror: "));
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        for text in said {
            assert!(
                self.stderr.contains(text),
                "no {text:?} in: {}",
                self.stderr
            );
        }
    }

    /// Every line of standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        let parse = |line| serde_json::from_str(line).expect("a JSON object a line");
        self.stdout.lines().map(parse).collect()
    }
}

impl Sandbox {
    /// A folder with ratings.csv: 24 named users, 14 named items, ratings and times; and tags.csv, tags of items.
    pub(crate) fn new() -> Self {
        let sandbox = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        sandbox.write("ratings.csv", &ratings());
        sandbox.write("tags.csv", TAGS);
        sandbox
    }

    /// The same, split, with two models, for commands that need them.
    pub(crate) fn with_models() -> Self {
        let sandbox = Self::new();
        sandbox.run("split ratings.csv --out . --by last:2").ok();
        for (name, weights) in [("movies", "uniform:0.1"), ("other", "uniform:0.5")] {
            sandbox
                .run(&format!(
                    "train train.csv --model {name}.absentia --factors 8 --iterations 4 --weights {weights}"
                ))
                .ok();
        }
        sandbox
            .run(
                "train train.csv --model tagged.absentia --factors 8 --iterations 4 --weights uniform:0.1 \
                 --relation items-tags:tags.csv",
            )
            .ok();
        sandbox.write("new.csv", "item,tag\nnikita,noir\nnikita,crime\n");
        sandbox.write("users.txt", "ann\nbob\n");
        sandbox.write("hidden.txt", "up\n");
        sandbox
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("read")
    }

    pub(crate) fn model(&self, name: &str) -> LoadedModel {
        load_model(&self.path(name)).expect("a model")
    }

    /// Runs a command with a text as its standard input.
    pub(crate) fn piped(&self, line: &str, input: &[u8]) -> Ran {
        let mut command = self.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("started");
        // A command that does not read to the end closes the pipe.
        let _ = child.stdin.take().expect("a pipe").write_all(input);
        Ran::of(child.wait_with_output().expect("ended"))
    }

    /// Every file here, folders included, with its bytes.
    pub(crate) fn contents(&self) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
        let mut contents = std::collections::BTreeMap::new();
        let mut folders = vec![self.folder().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let entry = entry.expect("an entry");
                let path = entry.path();
                if entry.file_type().expect("a type").is_dir() {
                    folders.push(path);
                } else {
                    let bytes = std::fs::read(&path).unwrap_or_default();
                    contents.insert(path, bytes);
                }
            }
        }
        contents
    }

    /// A command ready to be run here, its words separated by blanks.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(line.split_whitespace())
            .current_dir(self.folder());
        command
    }

    /// Runs the program with words separated by blanks.
    pub(crate) fn run(&self, line: &str) -> Ran {
        Ran::of(self.command(line).output().expect("started"))
    }

    /// Runs a line in a shell that finds the program as `absentia`.
    pub(crate) fn shell(&self, line: &str) -> Ran {
        let folder = Path::new(PROGRAM).parent().expect("a folder");
        let path = format!(
            "{}:{}",
            folder.display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(line)
            .current_dir(self.folder())
            .env("PATH", path);
        Ran::of(command.output().expect("started"))
    }
}

/// Two tastes, a popular head, times in order.
fn ratings() -> String {
    let mut text = "user,item,rating,time\n".to_owned();
    for user in 0..24_usize {
        let name = match user {
            0 => "ann".to_owned(),
            1 => "bob".to_owned(),
            _ => format!("user{user}"),
        };
        for at in 0..7_usize {
            let taste = if user % 2 == 0 { 0 } else { 7 };
            let item = if at < 5 {
                taste + (user / 2 + at) % 7
            } else {
                (user * 5 + at * 3) % 14
            };
            let rating = 1 + (user + item * 3 + at) % 5;
            let time = 1_500_000_000 + user * 1000 + at * 10;
            let _ = writeln!(text, "{name},{},{rating},{time}", ITEMS[item]);
        }
    }
    text
}

/// The bits of both sides of a model.
pub(crate) fn bits(loaded: &LoadedModel) -> (Vec<u32>, Vec<u32>) {
    let side = |factors: &absentia::model::Factors| {
        let rows = (0..factors.rows()).flat_map(|row| factors.row(row).to_vec());
        rows.map(f32::to_bits).collect()
    };
    (
        side(loaded.model.user_factors()),
        side(loaded.model.item_factors()),
    )
}
