//! The order of rows in a file decides nothing: neither bits of a model, nor splits, nor lists.

mod support;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use absentia_testing::shared_data;
use support::{Sandbox, bits};

/// The rows of a file with a header in other orders.
fn shuffled(text: &str) -> [String; 2] {
    let (header, rows) = text.split_once('\n').expect("a header");
    let rows: Vec<&str> = rows.lines().collect();
    let backwards = rows.iter().rev().copied().collect::<Vec<_>>();
    // A step without a factor in common with the number of rows goes through all of them.
    let in_common = |step: usize, d: usize| step.is_multiple_of(d) && rows.len().is_multiple_of(d);
    let step = (rows.len() / 3..rows.len())
        .find(|&step| !(2..=step).any(|d| in_common(step, d)))
        .expect("a step");
    let mixed = (0..rows.len())
        .map(|at| rows[at * step % rows.len()])
        .collect();
    [backwards, mixed].map(|rows: Vec<&str>| format!("{header}\n{}\n", rows.join("\n")))
}

/// Folders with the same rows in three orders.
fn in_three_orders(text: &str) -> [Sandbox; 3] {
    let [second, third] = shuffled(text);
    [text.to_owned(), second, third].map(|text| {
        let sandbox = Sandbox::new();
        sandbox.write("ratings.csv", &text);
        sandbox
    })
}

/// Many pairs occur several times, some of them at the same time with another rating.
fn repeated() -> String {
    let mut text = "user,item,rating,time\n".to_owned();
    for user in 0..30_u32 {
        for at in 0..14_u32 {
            let item = (user % 3 * 4 + at * at * 5 + user * at) % 12;
            let rating = 1 + (user * 7 + at * 3) % 5;
            let time = 1_500_000_000 + (user * 31 + at * 17) % 9 * 86_400;
            let _ = writeln!(text, "u{user},i{item},{rating},{time}");
        }
    }
    text
}

fn assert_same<T: PartialEq>(found: &[T; 3]) {
    assert!(found[0] == found[1], "backwards");
    assert!(found[0] == found[2], "mixed");
}

#[test]
fn models_and_lists_do_not_depend_on_the_order_of_rows() {
    let found = in_three_orders(&repeated()).map(|sandbox| {
        let given = "--weights uniform:0.1 --regularization 0.05 --targets log";
        let mut found = Vec::new();
        // With settings that are given, and with settings that are chosen on held-out rows.
        for flags in [
            given.to_owned(),
            format!("{given} --rating-col none"),
            format!("{given} --rating-col none --time-col none"),
            format!("{given} --duplicates sum"),
            format!("{given} --duplicates max"),
            format!("{given} --duplicates max --time-col none"),
            format!("{given} --sample rows:0.7"),
            format!("{given} --k-core 3"),
            format!("{given} --valid-split leave-one-out"),
            "--seed 3".to_owned(),
        ] {
            let line = format!("train ratings.csv --model m.absentia -k 6 --iterations 3 {flags}");
            sandbox.run(&line).ok();
            let model = sandbox.model("m.absentia");
            let names: Vec<String> = model.ids.users.iter().map(Cow::into_owned).collect();
            assert!(names.is_sorted(), "{names:?}");
            let lists = "recommend m.absentia --all --train ratings.csv --top 5 --json";
            let why = "explain m.absentia u3 i1 --train ratings.csv --json";
            let answers = [lists, why].map(|line| sandbox.run(line).ok().stdout);
            found.push((flags, bits(&model), names, answers));
        }
        found
    });
    assert_same(&found);
}

#[test]
fn splits_do_not_depend_on_the_order_of_rows() {
    let found = in_three_orders(&repeated()).map(|sandbox| {
        let mut found = Vec::new();
        let rules = [
            "leave-one-out,valid",
            "leave-one-out,valid --rating-col none",
            "leave-one-out,valid --rating-col none --time-col none --pick random",
            "last:2,1",
            "ratio:0.3,0.1",
            "ratio:0.3 --pick random --seed 5",
            "ratio:0.3 --pick drift",
            "share:0.2",
            "share:0.2 --pick random",
            "time:2017-07-20,2017-07-18",
            "users:4",
            "users:4,2 --pick random",
        ];
        for (at, rule) in rules.into_iter().enumerate() {
            let line = format!("split ratings.csv --out parts{at} --by {rule}");
            sandbox.run(&line).ok();
            for part in ["train.csv", "valid.csv", "test.csv", "fold_in.csv"] {
                let path = sandbox.path(&format!("parts{at}/{part}"));
                let text = std::fs::read_to_string(path).unwrap_or_default();
                let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
                rows.sort_unstable();
                found.push((rule, part, rows));
            }
        }
        found
    });
    assert_same(&found);
}

#[test]
fn merged_rows_are_counted_and_the_rule_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "ratings.csv",
        "user,item,rating,time\nann,up,5,20\nann,up,1,10\nann,jaws,2,10\nbob,up,3,10\nbob,heat,4,10\n",
    );
    let said = |flags: &str, what: &str| {
        let line = format!("split ratings.csv --out parts --pick random {flags}");
        let ran = sandbox.run(&line).ok();
        let whole = format!("1 of 5 rows repeat a pair of user and item: {what}");
        assert!(ran.stderr.contains(&whole), "{whole}\n{}", ran.stderr);
        let line = format!("train ratings.csv --model m.absentia -k 2 {flags}");
        let ran = sandbox.run(&line).ok();
        assert!(ran.stderr.contains(&whole), "{whole}\n{}", ran.stderr);
        let mut rows = sandbox.read("parts/train.csv");
        rows.push_str(&sandbox.read("parts/test.csv"));
        rows
    };
    let rows = said("", "the latest row of a pair counts");
    assert!(rows.contains("ann,up,5,20"), "{rows}");
    let rows = said(
        "--time-col none",
        "the row of a pair that comes last in the data counts",
    );
    assert!(rows.contains("ann,up,1"), "{rows}");
    let rows = said(
        "--rating-col none",
        "the number of rows of a pair is its rating",
    );
    assert!(rows.contains("ann,up,2,20"), "{rows}");
    let rows = said("--duplicates sum", "the ratings of a pair are added");
    assert!(rows.contains("ann,up,6,20"), "{rows}");
    let rows = said(
        "--duplicates max",
        "the row of a pair with the largest rating counts",
    );
    assert!(rows.contains("ann,up,5,20"), "{rows}");
}

/// What reads a matrix would merge repeated entries by rules of its own.
#[test]
fn matrices_hold_a_pair_once() {
    let sandbox = Sandbox::new();
    sandbox.write("rows.csv", "user,item,rating\na,x,5\nb,x,3\na,x,2\nb,y,1\n");
    let ran = sandbox.run("convert rows.csv --out rows.mtx").ok();
    assert!(ran.stderr.contains("1 of 4 rows repeat"), "{}", ran.stderr);
    let text = sandbox.read("rows.mtx");
    let mut entries: Vec<&str> = text.lines().skip(1).collect();
    entries.sort_unstable();
    assert_eq!(entries, ["1 1 2", "2 1 3", "2 2 1", "2 2 3"]);
    let ran = sandbox.run("convert rows.csv --out rows.tsv").ok();
    assert!(!ran.stderr.contains("repeat"), "{}", ran.stderr);
    assert_eq!(sandbox.read("rows.tsv").lines().count(), 5);
}

#[test]
fn the_latest_rows_of_real_data_are_held_out_in_any_order_of_the_files() {
    let Some(folder) = shared_data("retailrocket-sslrec") else {
        return;
    };
    let files = ["view", "cart", "buy"].map(|kind| {
        let path = folder.join(format!("train_{kind}.tsv.gz"));
        path.display().to_string()
    });
    let sandbox = Sandbox::new();
    sandbox
        .run(&format!("convert {} --out all.csv", files.join(" ")))
        .ok();
    let mut latest: BTreeMap<String, (i64, BTreeSet<String>)> = BTreeMap::new();
    for row in sandbox.read("all.csv").lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let time = cells[2].parse().expect("a time");
        let (last, items) = latest.entry(cells[0].to_owned()).or_default();
        if time > *last {
            (*last, *items) = (time, BTreeSet::new());
        }
        if time == *last {
            items.insert(cells[1].to_owned());
        }
    }
    let mut tests = Vec::new();
    for (at, order) in [[0, 1, 2], [2, 1, 0], [1, 2, 0]].into_iter().enumerate() {
        let files = order.map(|at| files[at].clone()).join(" ");
        sandbox.run(&format!("split {files} --out parts{at}")).ok();
        let text = sandbox.read(&format!("parts{at}/test.csv"));
        let mut rows: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
        rows.sort_unstable();
        let wrong = rows.iter().filter(|row| {
            let cells: Vec<&str> = row.split(',').collect();
            !latest[cells[0]].1.contains(cells[1])
        });
        assert_eq!(wrong.count(), 0, "of {} users, in order {at}", rows.len());
        tests.push(rows);
    }
    assert!(tests[0].len() > 1800 && tests[0] == tests[1] && tests[0] == tests[2]);
}
