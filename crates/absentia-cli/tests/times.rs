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
