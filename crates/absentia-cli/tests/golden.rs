//! Commands whose results must not change by a bit: `golden/commands.txt` lists them, `golden/hashes.txt` has what they
//! gave. `ABSENTIA_GOLDEN=record` records the hashes again, for a change that is meant to change results and says so.
#![allow(missing_docs)]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{Ran, Sandbox};
use xxhash_rust::xxh3::xxh3_64;

const COMMANDS: &str = include_str!("golden/commands.txt");

/// Parts of the output that differ from run to run or from machine to machine.
const VOLATILE: [&str; 8] = [
    "second", "elapsed", "memory", "bytes", "threads", "version", "config", "params",
];

#[test]
fn every_result_is_the_recorded_one() {
    let recorded_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/hashes.txt");
    let recorded = std::fs::read_to_string(&recorded_in).unwrap_or_default();
    let recording = std::env::var_os("ABSENTIA_GOLDEN").is_some_and(|value| value == "record");
    let machine = machine();
    if !recording && recorded.lines().next() != Some(machine.as_str()) {
        let why = format!("hashes.txt was recorded on another kind of machine than {machine}");
        absentia_testing::skipped(&why);
        return;
    }
    let found = format!("{machine}\n{}", results());
    if recording {
        std::fs::write(&recorded_in, found).expect("written");
        return;
    }
    let recorded: Vec<&str> = recorded.lines().collect();
    let found: Vec<&str> = found.lines().collect();
    let lost = recorded.iter().filter(|line| !found.contains(line));
    let new = found.iter().filter(|line| !recorded.contains(line));
    let differences: Vec<String> = lost
        .map(|line| format!("- {line}"))
        .chain(new.map(|line| format!("+ {line}")))
        .collect();
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

/// The kernels that run here and how the mathematical library rounds: both decide the last bits.
fn machine() -> String {
    let functions = [f64::exp, f64::ln, f64::sin, f64::cos, f64::sqrt];
    let mut bits = Vec::new();
    for step in 1..2000_u32 {
        let x = f64::from(step) * 0.013_7;
        bits.extend(functions.iter().flat_map(|f| f(x).to_le_bytes()));
        bits.extend(x.powf(0.37).to_le_bytes());
        bits.extend((x as f32).powf(0.37).to_le_bytes());
        bits.extend((x as f32).exp().to_le_bytes());
        bits.extend((x as f32).ln().to_le_bytes());
    }
    format!("machine {} {:016x}", instruction_set(), xxh3_64(&bits))
}

#[cfg(target_arch = "x86_64")]
fn instruction_set() -> &'static str {
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
        "avx512"
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        "avx2"
    } else {
        "scalar"
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn instruction_set() -> &'static str {
    std::env::consts::ARCH
}

/// One line for the exit code and output of each command, and one for each file it wrote.
fn results() -> String {
    let groups: Vec<&str> = COMMANDS.split("\n== ").skip(1).collect();
    let lines = std::thread::scope(|scope| {
        let running: Vec<_> = groups
            .iter()
            .map(|group| scope.spawn(|| group_results(group)))
            .collect();
        running
            .into_iter()
            .map(|group| group.join().expect("a group of commands ran"))
            .collect::<Vec<String>>()
    });
    lines.concat()
}

fn group_results(group: &str) -> String {
    let (name, commands) = group.split_once('\n').expect("a name, then commands");
    let sandbox = with_tables();
    let mut lines = String::new();
    let mut before = files(&sandbox);
    for command in commands.lines().filter(|line| !line.trim().is_empty()) {
        let ran = sandbox.run(&format!("{command} --json --quiet"));
        let printed = xxh3_64(stable_output(&ran).as_bytes());
        let _ = writeln!(
            lines,
            "{name}: {command} | exit {} {printed:016x}",
            ran.code
        );
        let after = files(&sandbox);
        for (file, hash) in &after {
            if before.get(file) != Some(hash) {
                let hash = stable_hash(&sandbox, file, *hash);
                let _ = writeln!(lines, "{name}: {command} | {} {hash}", file.display());
            }
        }
        before = files(&sandbox);
    }
    lines
}

/// A folder with tables for weights by groups, exposed pairs and a configuration file.
fn with_tables() -> Sandbox {
    let sandbox = Sandbox::new();
    let ratings = sandbox.read("ratings.csv");
    let mut users = "user,segment\n".to_owned();
    let mut items = "item,category\n".to_owned();
    let mut exposed = "user,item\n".to_owned();
    let rows: Vec<Vec<&str>> = ratings
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    let mut seen = std::collections::BTreeSet::new();
    for row in &rows {
        if seen.insert(row[0]) {
            let _ = writeln!(
                users,
                "{},{}",
                row[0],
                ["old", "new", "vip"][seen.len() % 3]
            );
        }
        if seen.insert(row[1]) {
            let _ = writeln!(items, "{},{}", row[1], ["a", "b"][seen.len() % 2]);
        }
    }
    for (user, item) in [("ann", "shrek"), ("bob", "heat"), ("user5", "alien")] {
        let known = rows.iter().any(|row| row[0] == user && row[1] == item);
        if !known {
            let _ = writeln!(exposed, "{user},{item}");
        }
    }
    sandbox.write("users.csv", &users);
    sandbox.write("items.csv", &items);
    sandbox.write("exposed.csv", &exposed);
    sandbox.write(
        "table.csv",
        "segment,a,b\nold,0.1,0.2\nnew,0.05,0\nvip,0.3,0.1\n",
    );
    sandbox.write(
        "run.toml",
        "data = [\"ratings.csv\"]\nfactors = 7\niterations = 4\nregularization = 0.05\nweights = \"uniform:0.2\"\ntargets = \"log\"\nconfidence = \"linear:0.5\"\nk-core = \"3\"\nseed = 3\n",
    );
    sandbox
}

/// Every file of the folder with a hash of its bytes.
fn files(sandbox: &Sandbox) -> BTreeMap<PathBuf, u64> {
    let mut found = BTreeMap::new();
    let mut folders = vec![sandbox.folder().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let hash = xxh3_64(&std::fs::read(&path).expect("read"));
                let name = path.strip_prefix(sandbox.folder()).expect("inside");
                found.insert(name.to_owned(), hash);
            }
        }
    }
    found
}

/// A hash of what must not change: models by their factors and lists, since they hold seconds too.
fn stable_hash(sandbox: &Sandbox, file: &Path, hash: u64) -> String {
    let name = file.display();
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("absentia") => {
            let exported = sandbox.run(&format!("export {name} --out exported --json --quiet"));
            let lists = sandbox.run(&format!(
                "recommend {name} --all --allow-seen --top 5 --json --quiet"
            ));
            let lists = xxh3_64(lists.stdout.as_bytes());
            let mut text = format!("lists {lists:016x}");
            if exported.code == 0 {
                for part in ["P.npy", "Q.npy", "users.txt", "items.txt"] {
                    let path = sandbox.path("exported").join(part);
                    let hash = std::fs::read(path).map_or(0, |bytes| xxh3_64(&bytes));
                    let _ = write!(text, " {part} {hash:016x}");
                }
                std::fs::remove_dir_all(sandbox.path("exported")).expect("removed");
            }
            text
        }
        // A checkpoint holds seconds; the run that goes on from it is recorded.
        Some("ckpt") => "written".to_owned(),
        // The log of a search and its configuration: seconds are left out.
        Some("jsonl" | "toml" | "log") => {
            let text = sandbox.read(&name.to_string());
            let stable: Vec<String> = text.lines().map(stable_line).collect();
            format!("{:016x}", xxh3_64(stable.join("\n").as_bytes()))
        }
        _ => format!("{hash:016x}"),
    }
}

fn stable_line(line: &str) -> String {
    match serde_json::from_str::<Value>(line) {
        Ok(mut value) => {
            drop_volatile(&mut value);
            value.to_string()
        }
        Err(_) if line.trim_start().starts_with('#') => String::new(),
        Err(_) => line.to_owned(),
    }
}

fn stable_output(ran: &Ran) -> String {
    let lines: Vec<String> = ran.stdout.lines().map(stable_line).collect();
    lines.join("\n")
}

fn drop_volatile(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !VOLATILE.iter().any(|volatile| name.contains(volatile)));
            fields.values_mut().for_each(drop_volatile);
        }
        Value::Array(values) => values.iter_mut().for_each(drop_volatile),
        _ => {}
    }
}
