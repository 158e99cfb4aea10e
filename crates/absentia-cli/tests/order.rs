//! The order of rows in a file decides nothing: neither bits of a model, nor splits, nor lists.

mod support;

use std::borrow::Cow;
use std::collections::BTreeSet;

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

fn sandboxes() -> [Sandbox; 3] {
    let first = Sandbox::new();
    // Of a repeated pair the last row counts, so that their order matters by design.
    let mut pairs = BTreeSet::new();
    let text: String = first
        .read("ratings.csv")
        .split_inclusive('\n')
        .filter(|row| pairs.insert(row.split(',').take(2).collect::<String>()))
        .collect();
    first.write("ratings.csv", &text);
    let orders = shuffled(&text);
    let [second, third] = orders.map(|text| {
        let sandbox = Sandbox::new();
        sandbox.write("ratings.csv", &text);
        sandbox
    });
    assert_ne!(first.read("ratings.csv"), third.read("ratings.csv"));
    [first, second, third]
}

#[test]
fn models_and_lists_do_not_depend_on_the_order_of_rows() {
    let found = sandboxes().map(|sandbox| {
        let given = "--weights uniform:0.1 --regularization 0.05 --targets log";
        let mut found = Vec::new();
        // With settings that are given, and with settings that are chosen on held-out rows.
        for flags in [given, "--seed 3"] {
            let line = format!("train ratings.csv --model m.absentia -k 6 --iterations 3 {flags}");
            sandbox.run(&line).ok();
            let model = sandbox.model("m.absentia");
            let names: Vec<String> = model.ids.users.iter().map(Cow::into_owned).collect();
            assert!(names.is_sorted(), "{names:?}");
            let lists = "recommend m.absentia --all --train ratings.csv --top 5 --json";
            found.push((bits(&model), names, sandbox.run(lists).ok().stdout));
        }
        found
    });
    assert!(found[0] == found[1] && found[0] == found[2]);
}

#[test]
fn splits_do_not_depend_on_the_order_of_rows() {
    let found = sandboxes().map(|sandbox| {
        let mut found = Vec::new();
        for rule in ["ratio:0.3 --pick random --seed 5", "last:2", "users:4"] {
            let line = format!("split ratings.csv --out . --by {rule}");
            sandbox.run(&line).ok();
            for part in ["train.csv", "test.csv"] {
                let mut rows: Vec<String> = sandbox.read(part).lines().map(str::to_owned).collect();
                rows.sort_unstable();
                found.push(rows);
            }
        }
        found
    });
    assert!(found[0] == found[1] && found[0] == found[2]);
}
