//! Times in any unit mean the same.

mod support;

use support::{Sandbox, bits};

/// Rows over two years, with times in a unit of which a second has `count`.
fn rows(count: i64) -> String {
    let row = |n: i64| {
        let time = (1_577_836_800 + n * 700_000) * count;
        format!("{},{},{time}\n", n * 7 % 10, n * 3 % 13)
    };
    format!(
        "user,item,timestamp\n{}",
        (0..100).map(row).collect::<String>()
    )
}

const TRAIN: &str = "-k 4 --iterations 3 --regularization 0.1 --weights uniform:0.1 --targets binary \
                     --post-scale 0 --since 2020-06-01 --confidence decay:365d";

#[test]
fn the_unit_of_times_changes_nothing() {
    let sandbox = Sandbox::new();
    let mut trained = Vec::new();
    for (unit, name, count) in [
        ("s", "seconds", 1),
        ("ms", "milliseconds", 1_000),
        ("us", "microseconds", 1_000_000),
        ("ns", "nanoseconds", 1_000_000_000),
    ] {
        std::fs::write(sandbox.path("t.csv"), rows(count)).expect("written");
        let said = sandbox
            .run(&format!("train t.csv --model m.absentia {TRAIN}"))
            .ok();
        assert!(
            said.stderr.contains("kept 81 of 100 rows"),
            "{}",
            said.stderr
        );
        assert_eq!(said.stderr.contains(name), unit != "s", "{}", said.stderr);
        trained.push(bits(&sandbox.model("m.absentia")));
        sandbox
            .run(&format!(
                "train t.csv --model m.absentia {TRAIN} --time-unit {unit}"
            ))
            .ok();
        trained.push(bits(&sandbox.model("m.absentia")));
    }
    assert!(trained.iter().all(|model| *model == trained[0]));
}

#[test]
fn times_that_cannot_be_are_refused() {
    let sandbox = Sandbox::new();
    for (times, part) in [
        (["20200131235959", "20210131235959"], "after the year 2200"),
        (["1577836800", "1577836800000000000"], "not of one unit"),
    ] {
        let text = format!("user,item,time\n1,1,{}\n2,2,{}\n", times[0], times[1]);
        std::fs::write(sandbox.path("t.csv"), text).expect("written");
        sandbox
            .run("train t.csv --model m.absentia")
            .fails(3, &[part, "--time-unit"]);
    }
    // Seconds since a start of their own, counted in milliseconds.
    std::fs::write(
        sandbox.path("t.csv"),
        "user,item,time\n1,1,5000\n2,2,86400000\n1,2,90000000\n",
    )
    .expect("written");
    let since = "train t.csv --model m.absentia -k 2 --regularization 0.1 --weights uniform:0.1 \
                 --since 1970-01-02";
    let said = sandbox.run(&format!("{since} --time-unit ms")).ok();
    assert!(said.stderr.contains("kept 2 of 3 rows"), "{}", said.stderr);
    sandbox
        .run(&format!("{since} --time-unit days"))
        .fails(2, &["s, ms, us or ns"]);
}

#[test]
fn items_are_rescaled_by_recent_counts_in_any_unit() {
    let sandbox = Sandbox::new();
    let flags = "-k 4 --iterations 3 --regularization 0.1 --weights uniform:0.1 --post-scale 0.5";
    let mut scales = Vec::new();
    for count in [1, 1_000] {
        std::fs::write(sandbox.path("t.csv"), rows(count)).expect("written");
        let train = format!("train t.csv {flags} --post-scale-half-life 90d --model m.absentia");
        sandbox.run(&train).ok();
        let model = sandbox.model("m.absentia").model;
        scales.push(model.item_scale().expect("a scale").to_vec());
        let shown = sandbox.run("inspect m.absentia").ok().stdout;
        assert!(
            shown.contains("0.5, counts with a half-life of 90d"),
            "{shown}"
        );
        let why = sandbox
            .run("explain m.absentia 1 2 --train t.csv")
            .ok()
            .stdout;
        assert!(why.contains("half-life of 90d"), "{why}");
    }
    assert_eq!(scales[0], scales[1]);
    sandbox
        .run(&format!("train t.csv {flags} --model all.absentia"))
        .ok();
    let by_all = sandbox.model("all.absentia").model;
    assert_ne!(by_all.item_scale(), Some(&scales[0][..]));
    // What a model was trained with can be used again.
    let config = sandbox.model("m.absentia").config.expect("a configuration");
    sandbox.write("again.toml", &config);
    sandbox
        .run("train --config again.toml --model again.absentia")
        .ok();
    let again = sandbox.model("again.absentia").model;
    assert_eq!(again.item_scale(), Some(&scales[1][..]));
    std::fs::write(sandbox.path("bare.csv"), "user,item\n1,1\n1,2\n2,1\n").expect("written");
    let bare = format!("train bare.csv {flags} --post-scale-half-life 90d --model m.absentia");
    sandbox.run(&bare).fails(3, &["time"]);
    let unitless = format!("train t.csv {flags} --post-scale-half-life 90 --model m.absentia");
    sandbox.run(&unitless).fails(2, &["unit"]);
}

/// Users 0 to 29 take old items first and new ones later; the newest rows are of items 10 to 12 alone.
fn moving_demand() -> String {
    let row = |at: i64| {
        let (user, n) = (at / 8, at % 8);
        let item = if n < 5 {
            (user + n * 3) % 10
        } else {
            10 + (user + n) % 3
        };
        let time = 1_577_836_800 + n * 86_400 * 30 + user;
        format!("{user},{item},{time}\n")
    };
    let rows: String = (0..30 * 8).map(row).collect();
    // A user and an item that are there at the end only.
    format!("user,item,time\n{rows}99,10,1598572800\n1,77,1598572800\n")
}

#[test]
fn a_split_by_time_reports_what_is_unknown_and_shows_recent_popularity() {
    let sandbox = Sandbox::new();
    sandbox.write("t.csv", &moving_demand());
    let split = "split t.csv --out parts --by time:0.2 --json";
    let line = &sandbox.run(split).ok().json()[0];
    assert_eq!(line["test"], 49, "{line}");
    let unknown = &line["unknown"];
    assert_eq!(
        [&unknown["rows"], &unknown["users"], &unknown["items"]],
        [2, 1, 1],
        "{line}"
    );
    let said = sandbox
        .run("split t.csv --out parts --by time:0.2")
        .ok()
        .stderr;
    assert!(said.contains("2 of 49 rows cannot be measured"), "{said}");
    // The model cannot know what is popular recently, and says so.
    let compare = "compare t.csv --split time:0.2 --solver popularity --at 3 --json";
    let compared = sandbox.run(compare).ok();
    let lines = compared.json();
    let recall = |name: &str| {
        let found = lines.iter().find(|line| line["variant"] == name);
        found.expect("a variant")["recall@3"]
            .as_f64()
            .expect("a number")
    };
    assert!((recall("popularity") - recall("most popular")).abs() < 1e-9);
    assert!(recall("most popular lately") > recall("most popular"));
    let said = &compared.stderr;
    assert!(
        said.contains("popularity does worse than the most popular lately items"),
        "{said}"
    );
    let train = "train parts/train.csv --solver popularity";
    sandbox.run(&format!("{train} --model p.absentia")).ok();
    sandbox
        .run(&format!(
            "{train} --confidence decay:10d --model r.absentia"
        ))
        .ok();
    let evaluate = |model: &str| {
        let line =
            "--train parts/train.csv --test parts/test.csv --baseline recent-popularity --at 3";
        sandbox.run(&format!("evaluate {model} {line}")).ok().stderr
    };
    assert!(evaluate("p.absentia").contains("does worse than recent-popularity"));
    assert!(!evaluate("r.absentia").contains("does worse"));
    let tuned = "tune t.csv --split time:0.2 --trials 2 -k 4 --metric recall@3 --out t.toml";
    let said = sandbox.run(tuned).ok().stderr;
    assert!(said.contains("2 of 49 rows cannot be measured"), "{said}");
}
