//! Files that belong together, of commands that are killed while they replace them.
#![cfg(target_os = "linux")]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use support::Sandbox;

/// Times that each command is killed.
const KILLS: u32 = 24;

type Contents = BTreeMap<String, Vec<u8>>;

/// The files of a folder, by name; those that are being written are not for readers.
fn contents(folder: &Path) -> Contents {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.map(|entry| {
        (
            entry.file_name().to_string_lossy().into_owned(),
            entry.path(),
        )
    });
    let visible = named.filter(|(name, _)| !name.starts_with('.'));
    let read = |path: &Path| std::fs::read(path).unwrap_or_default();
    visible.map(|(name, path)| (name, read(&path))).collect()
}

/// Kills commands that replace each other's files at moments spread over their whole runs. Whatever
/// happens, the folder holds all that one of the two wrote, and the notes that a user keeps there.
fn assert_whole(sandbox: &Sandbox, lines: [&str; 2]) {
    let out = sandbox.path("out/set");
    let mut longest = Duration::ZERO;
    let mut written: Vec<Contents> = Vec::new();
    for line in lines {
        let started = Instant::now();
        sandbox.run(line).ok();
        longest = longest.max(started.elapsed());
        if written.is_empty() {
            std::fs::write(out.join("notes.txt"), "mine").expect("written");
        }
        let mut found = contents(&out);
        found.insert("notes.txt".to_owned(), b"mine".to_vec());
        written.push(found);
    }
    assert!(written[0] != written[1] && written[0].len() > 2);
    let mut before = 1;
    for kill in 0..KILLS {
        let line = lines[1 - before];
        let mut child = sandbox.command(line).spawn().expect("started");
        std::thread::sleep(longest * kill / KILLS);
        child.kill().expect("killed");
        child.wait().expect("ended");
        let found = contents(&out);
        let whole = (0..2).find(|&at| found == written[at]);
        let Some(now) = whole else {
            let same = |at: usize, name: &String| found.get(name) == written[at].get(name);
            let of: Vec<_> = found
                .keys()
                .map(|name| (name, same(0, name), same(1, name)))
                .collect();
            panic!("{line}, killed at {kill} of {KILLS}: {of:?}");
        };
        before = now;
    }
    for line in lines {
        sandbox.run(line).ok();
        let around = std::fs::read_dir(sandbox.path("out")).expect("a folder");
        assert_eq!(around.count(), 1, "what killed runs left is removed");
    }
}

fn rows(seed: u32) -> String {
    let mut text = "user,item,rating,time\n".to_owned();
    for row in 0..30_000_u32 {
        let mixed = row.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 7;
        let (user, item) = (row % 600, mixed % 900);
        let _ = writeln!(
            text,
            "{seed}u{user},{item},{},{}",
            1 + mixed % 5,
            1_500_000_000 + row + seed
        );
    }
    text
}

#[test]
fn a_killed_split_leaves_all_old_files_or_all_new_ones() {
    let sandbox = Sandbox::new();
    sandbox.write("one.csv", &rows(1));
    sandbox.write("two.csv", &rows(2));
    let lines = ["one", "two"]
        .map(|name| format!("split {name}.csv --out out/set --by leave-one-out,valid --quiet"));
    assert_whole(&sandbox, [&lines[0], &lines[1]]);
}

#[test]
fn a_killed_export_leaves_all_old_files_or_all_new_ones() {
    let sandbox = Sandbox::new();
    for (name, seed) in [("one", 1), ("two", 2)] {
        sandbox.write("rows.csv", &rows(seed));
        let line = format!(
            "train rows.csv --model {name}.absentia -k 256 --iterations 1 --regularization 0.1 \
             --post-scale 0.2 --seed {seed}"
        );
        sandbox.run(&line).ok();
    }
    let lines = ["one", "two"].map(|name| format!("export {name}.absentia --out out/set --quiet"));
    assert_whole(&sandbox, [&lines[0], &lines[1]]);
}

#[test]
fn a_killed_generate_and_convert_leave_all_old_files_or_all_new_ones() {
    let sandbox = Sandbox::new();
    sandbox.write("one.csv", &rows(1));
    sandbox.write("two.csv", &rows(2));
    let lines = ["one", "two"]
        .map(|name| format!("convert {name}.csv --out out/set/rows.mtx --time-col none --quiet"));
    std::fs::create_dir_all(sandbox.path("out/set")).expect("made");
    assert_whole(&sandbox, [&lines[0], &lines[1]]);
    let lines = ["1", "2"].map(|seed| {
        format!(
            "generate --users 4000 --items 4000 --entries 4000 --segments 64 --categories 64 \
             --seed {seed} --out made{seed}.csv --truth out/set --quiet"
        )
    });
    std::fs::remove_dir_all(sandbox.path("out")).expect("removed");
    assert_whole(&sandbox, [&lines[0], &lines[1]]);
}

#[test]
fn files_that_cannot_be_replaced_at_once_stay() {
    let sandbox = Sandbox::new();
    sandbox.run("split ratings.csv --out . --by last:1").ok();
    let before = sandbox.contents();
    let again = "split ratings.csv --out . --by last:2";
    sandbox.run(again).fails(
        3,
        &["train.csv, test.csv cannot be replaced", "current folder"],
    );
    assert!(sandbox.contents() == before);
    sandbox
        .run("split ratings.csv --out parts --by last:1")
        .ok();
    std::fs::create_dir(sandbox.path("parts/deep")).expect("made");
    let again = "split ratings.csv --out parts --by last:2";
    sandbox
        .run(again)
        .fails(3, &["cannot be replaced", "folder deep", "hint"]);
}
