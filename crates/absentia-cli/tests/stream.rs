//! `stream`: learning from a file of events, its log, and going on after a crash.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

fn absentia(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_absentia"));
    command.args(words).current_dir(folder).output().unwrap()
}

fn done(folder: &Path, words: &[&str]) -> String {
    let output = absentia(folder, words);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {message}");
    String::from_utf8(output.stdout).unwrap()
}

/// Trains a model on the first rows and leaves the rest as events.
fn trained() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (mut train, mut events) = (String::new(), String::new());
    for out in [&mut train, &mut events] {
        out.push_str("user,item,time\n");
    }
    for at in 0..400_u32 {
        let (user, item) = (at * 7 % 31, at * at % 23);
        writeln!(train, "u{user},i{item},{}", 1_500_000_000 + at).unwrap();
    }
    for at in 0..60_u32 {
        let (user, item) = (at * 11 % 37, at * 5 % 27);
        writeln!(events, "u{user},i{item},{}", 1_500_001_000 + at).unwrap();
    }
    std::fs::write(folder.path().join("train.csv"), train).unwrap();
    std::fs::write(folder.path().join("events.csv"), events).unwrap();
    let words = "train train.csv --model m.absentia -k 4 --regularization 0.1 --weights popularity:c0=30,alpha=0.5 --targets binary --post-scale 0 --iterations 5 -q";
    done(folder.path(), &words.split(' ').collect::<Vec<_>>());
    folder
}

/// The lists of a saved model, with the scores.
fn lists(folder: &Path, model: &str) -> String {
    let words = ["recommend", model, "--all", "--allow-seen", "--json"];
    done(folder, &words)
}

#[test]
fn events_are_measured_learned_and_saved() {
    let folder = trained();
    let folder = folder.path();
    let out = done(
        folder,
        &[
            "stream",
            "m.absentia",
            "events.csv",
            "--out",
            "s.absentia",
            "--json",
            "--live",
        ],
    );
    let summary: serde_json::Value = serde_json::from_str(out.trim()).unwrap();
    assert_eq!(summary["events"], 60);
    assert_eq!(summary["users"], 37);
    assert_eq!(summary["measured"]["new_users"], 6);
    assert!(summary["measured"]["mrr"].as_f64().unwrap() > 0.0);
    // New users are known to a saved model.
    assert!(lists(folder, "s.absentia").contains("\"u36\""));
    // It goes on without its training rows.
    std::fs::remove_file(folder.join("train.csv")).unwrap();
    done(folder, &["stream", "s.absentia", "events.csv", "-q"]);
    let output = absentia(folder, &["stream", "m.absentia", "events.csv", "-q"]);
    assert_eq!(output.status.code(), Some(4));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    for part in ["was trained on \"train.csv\"", "--train FILE"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn settings_out_of_range_are_refused_by_their_flags_before_anything_is_learned() {
    let folder = trained();
    let folder = folder.path();
    for (words, expected) in [
        (["--steps", "1001"], "--steps is 1001"),
        (["--steps", "-1"], "'--steps <N>'"),
        (["--weight-of-new", "-2"], "--weight-of-new is -2"),
        (["--weight-of-new", "nan"], "--weight-of-new is NaN"),
        (["--refit-sweeps", "0"], "'--refit-sweeps <N>'"),
        (["--save-every", "0"], "'--save-every <N>'"),
    ] {
        let mut all = vec!["stream", "m.absentia", "events.csv"];
        all.extend(words);
        let output = absentia(folder, &all);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn an_event_that_is_rejected_is_named_by_its_number_and_ids() {
    let folder = trained();
    let folder = folder.path();
    let train = "train train.csv --model log.absentia -k 4 --regularization 0.1 --weights uniform:0.1 --targets log \
                 --iterations 5 -q";
    done(folder, &train.split_whitespace().collect::<Vec<_>>());
    let events = "user,item,rating,time\nu1,i2,1,1500002000\nu3,i5,-2,1500002001\n";
    std::fs::write(folder.join("events.csv"), events).unwrap();
    let output = absentia(folder, &["stream", "log.absentia", "events.csv", "-q"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{message}");
    let expected = "event 2 of 2: user \"u3\", item \"i5\": its value -2 gives a target of NaN";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn a_file_that_is_no_log_is_refused_and_stays() {
    let folder = trained();
    let folder = folder.path();
    std::fs::copy(folder.join("events.csv"), folder.join("notes.csv")).unwrap();
    let words = ["stream", "m.absentia", "events.csv", "--log", "notes.csv"];
    let output = absentia(folder, &words);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains("--log names a new file"), "{message}");
    assert_eq!(
        std::fs::read(folder.join("notes.csv")).unwrap(),
        std::fs::read(folder.join("events.csv")).unwrap()
    );
}

#[test]
fn a_run_that_was_killed_continues_from_its_log_to_the_same_model() {
    let folder = trained();
    let folder = folder.path();
    let stream = |words: &[&str]| {
        let mut all = vec![
            "stream",
            "m.absentia",
            "events.csv",
            "-q",
            "--refit-every",
            "25",
        ];
        all.extend(words);
        absentia(folder, &all)
    };
    let whole = stream(&["--log", "whole.log", "--out", "whole.absentia"]);
    assert!(whole.status.success());
    let log = std::fs::read(folder.join("whole.log")).unwrap();
    for share in [1, 2, 3] {
        // What a kill leaves: whole lines and a part of one.
        std::fs::write(folder.join("part.log"), &log[..log.len() * share / 4]).unwrap();
        let resumed = stream(&["--log", "part.log", "--resume", "--out", "part.absentia"]);
        let message = String::from_utf8_lossy(&resumed.stderr).into_owned();
        assert!(resumed.status.success(), "{message}");
        assert_eq!(std::fs::read(folder.join("part.log")).unwrap(), log);
        assert_eq!(
            lists(folder, "part.absentia"),
            lists(folder, "whole.absentia")
        );
    }
    // Another stream is not continued.
    std::fs::write(
        folder.join("events.csv"),
        "user,item,time\nu1,i1,1500002000\n",
    )
    .unwrap();
    let other = stream(&["--log", "part.log", "--resume"]);
    assert_eq!(other.status.code(), Some(3));
}

/// The log alone says how its events were learned: a run is continued without repeating its flags.
#[test]
fn a_log_has_the_settings_that_its_events_were_learned_with() {
    let folder = trained();
    let folder = folder.path();
    let stream = |words: &str| {
        let all = format!("stream m.absentia events.csv -q --no-metrics {words}");
        absentia(folder, &all.split(' ').collect::<Vec<_>>())
    };
    let cut = |from: &str, to: &str| {
        let log = std::fs::read(folder.join(from)).unwrap();
        std::fs::write(folder.join(to), &log[..log.len() / 2]).unwrap();
    };
    let flags = "--steps 3 --weight-of-new 2.5";
    assert!(
        stream(&format!("{flags} --log whole.log --out whole.absentia"))
            .status
            .success()
    );
    cut("whole.log", "part.log");
    assert!(
        stream("--log part.log --resume --out part.absentia")
            .status
            .success()
    );
    let log = |name: &str| std::fs::read(folder.join(name)).unwrap();
    assert_eq!(log("part.log"), log("whole.log"));
    assert_eq!(
        lists(folder, "part.absentia"),
        lists(folder, "whole.absentia")
    );
    // Whether weights are live cannot change on the way.
    assert!(stream("--live --log live.log").status.success());
    let refused = stream("--log live.log --resume");
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(3), "{message}");
    for part in [
        "live.log: its records were learned with live weights",
        "pass --live",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert!(stream("--live --log live.log --resume").status.success());
}

#[test]
fn a_run_that_is_continued_with_other_settings_does_not_repeat_its_last_refit() {
    let folder = trained();
    let folder = folder.path();
    let stream = |words: &[&str]| {
        let mut all = vec!["stream", "m.absentia", "events.csv", "-q", "--log", "log"];
        all.extend(["--refit-every", "60"]);
        all.extend(words);
        done(folder, &all);
        std::fs::read_to_string(folder.join("log")).unwrap()
    };
    let refits = |log: &str| log.matches("\"refit\"").count();
    assert_eq!(refits(&stream(&[])), 1);
    let changed = stream(&["--resume", "--steps", "2"]);
    assert_eq!(
        (refits(&changed), changed.matches("\"settings\"").count()),
        (1, 1)
    );
    assert_eq!(stream(&["--resume", "--steps", "2"]), changed);
}

#[test]
fn what_is_read_is_not_replaced() {
    let folder = trained();
    let folder = folder.path();
    for words in [
        ["--out", "m.absentia"],
        ["--out", "events.csv"],
        ["--log", "events.csv"],
        ["--log", "m.absentia"],
    ] {
        let mut all = vec!["stream", "m.absentia", "events.csv"];
        all.extend(words);
        assert_eq!(absentia(folder, &all).status.code(), Some(2), "{words:?}");
    }
}

#[test]
fn rows_that_are_not_those_of_the_model_are_refused_with_a_remedy() {
    let folder = trained();
    let folder = folder.path();
    let train = std::fs::read_to_string(folder.join("train.csv")).unwrap();
    // One pair is missing, and every user and item is still there.
    let lines = train.lines().filter(|line| !line.starts_with("u0,i0,"));
    let fewer: Vec<&str> = lines.collect();
    assert!(fewer.len() < train.lines().count());
    std::fs::write(folder.join("fewer.csv"), fewer.join("\n")).unwrap();
    let words = ["stream", "m.absentia", "events.csv", "--train", "fewer.csv"];
    let output = absentia(folder, &words);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{message}");
    for part in ["in the training rows and", "in the model", "--train"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn live_weights_beside_weights_of_a_file_continue_with_users_that_the_file_lacks() {
    let folder = trained();
    let folder = folder.path();
    let table = |name: &str, side: char, rows: usize| {
        let mut text = format!("{side},w\n");
        for row in 0..rows {
            writeln!(text, "{side}{row},0.{}", 1 + row % 3).unwrap();
        }
        std::fs::write(folder.join(name), text).unwrap();
    };
    table("a.csv", 'u', 31);
    table("b.csv", 'i', 23);
    let run = |words: &str| done(folder, &words.split(' ').collect::<Vec<_>>());
    run(
        "train train.csv --model m.absentia -k 4 --regularization 0.1 --iterations 5 -q \
         --weights popularity:mean=0.05,alpha=0.5+lowrank:a.csv,b.csv",
    );
    run("stream m.absentia events.csv --live --out s.absentia -q");
    run("stream s.absentia events.csv --refit-every 60 --out t.absentia -q");
    assert!(lists(folder, "t.absentia").contains("\"u36\""));
}

/// Refits resolve weights again after the model was saved too, also those that depend on times or are estimated.
#[test]
fn a_model_that_was_saved_continues_as_if_it_had_not_been() {
    let folder = trained();
    let folder = folder.path();
    let events = std::fs::read_to_string(folder.join("events.csv")).unwrap();
    let lines: Vec<&str> = events.lines().collect();
    let (first, second) = lines[1..].split_at(30);
    for (name, part) in [("first.csv", first), ("second.csv", second)] {
        let text = format!("{}\n{}\n", lines[0], part.join("\n"));
        std::fs::write(folder.join(name), text).unwrap();
    }
    let run = |words: String| done(folder, &words.split(' ').collect::<Vec<_>>());
    for weights in [
        "popularity:mean=0.05,alpha=0.5",
        "age:mean=0.1",
        "popularity:mean=0.05,alpha=0.5+available:mean=0.1",
        "learned:mean=0.1,rank=2",
    ] {
        let options = "-k 4 --regularization 0.1 --targets binary --post-scale 0 --iterations 5 -q";
        run(format!(
            "train train.csv --model m.absentia --weights {weights} {options}"
        ));
        run("stream m.absentia events.csv --out whole.absentia --refit-every 60 -q".into());
        run("stream m.absentia first.csv --out half.absentia -q".into());
        run("stream half.absentia second.csv --out end.absentia --refit-every 30 -q".into());
        let (whole, end) = (
            lists(folder, "whole.absentia"),
            lists(folder, "end.absentia"),
        );
        assert_eq!(whole, end, "{weights}");
    }
}
