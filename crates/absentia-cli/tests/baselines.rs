//! The methods to compare with, from the command line to a file and back.
#![allow(missing_docs)]

mod support;

use support::Sandbox;

const ALL: [&str; 8] = [
    "svd",
    "ials1",
    "rcd",
    "ii-svd",
    "bpr",
    "sgd-observed",
    "popularity",
    "itemknn",
];

#[test]
fn every_baseline_is_trained_saved_measured_and_asked() {
    let sandbox = Sandbox::new();
    sandbox.run("split ratings.csv --out . --by last:2").ok();
    for solver in ALL {
        sandbox
            .run(&format!(
                "train train.csv --model m.absentia --factors 4 --iterations 3 --solver {solver} --regularization 0"
            ))
            .ok();
        let measured = sandbox
            .run("evaluate m.absentia --train train.csv --test test.csv --at 5 --json")
            .ok();
        assert!(measured.stdout.contains("recall@5"), "{}", measured.stdout);
        let listed = sandbox
            .run("recommend m.absentia ann --train train.csv -n 3 --json")
            .ok();
        assert!(listed.stdout.contains("ann"), "{}", listed.stdout);
        let shown = sandbox.run("inspect m.absentia").ok();
        assert!(shown.stdout.contains(solver), "{}", shown.stdout);
    }
}

#[test]
fn a_saved_itemknn_scores_as_the_one_that_was_trained() {
    let sandbox = Sandbox::new();
    sandbox
        .run("train ratings.csv --model knn.absentia --solver itemknn --neighbours 5")
        .ok();
    let loaded = sandbox.model("knn.absentia").model;
    let neighbours = loaded.neighbours().expect("saved");
    assert_eq!(neighbours.n_users(), 24);
    let lists: Vec<usize> = neighbours
        .neighbours()
        .0
        .windows(2)
        .map(|ends| (ends[1] - ends[0]) as usize)
        .collect();
    assert!(
        lists.iter().all(|&n| n <= 5) && lists.contains(&5),
        "{lists:?}"
    );
    sandbox
        .run("similar knn.absentia heat")
        .fails(2, &["itemknn", "it has none"]);
}

#[test]
fn weights_that_cannot_be_honoured_are_refused_by_name() {
    let sandbox = Sandbox::new();
    let train = |rest: &str| sandbox.run(&format!("train ratings.csv --model m.absentia {rest}"));
    train("--solver rcd --weights popularity:mean=0.1,alpha=0.5")
        .fails(2, &["rcd cannot honour non-uniform weights", "uniform:W"]);
    train("--solver svd --weights uniform:0.5").fails(2, &["svd cannot honour", "uniform:1"]);
    train("--solver bpr --weights activity:mean=0.1,alpha=0.5").fails(2, &["bpr cannot honour"]);
    train("--solver itemknn --targets raw").fails(2, &["itemknn cannot honour targets"]);
}

#[test]
fn a_comparison_trains_each_baseline_once() {
    let sandbox = Sandbox::new();
    let solvers = ALL.join(" --solver ");
    let found = sandbox
        .run(&format!(
            "compare ratings.csv --split last:1 --factors 4 --iterations 3 --at 5 --json \
             --weights uniform:0.1 --weights uniform:0.5 --solver eals --solver {solvers}"
        ))
        .ok();
    let names: Vec<String> = found
        .json()
        .iter()
        .filter_map(|line| line["variant"].as_str().map(str::to_owned))
        .collect();
    for once in ["svd", "ii-svd", "sgd-observed", "popularity", "itemknn"] {
        assert_eq!(
            names.iter().filter(|name| *name == once).count(),
            1,
            "{names:?}"
        );
    }
    for twice in ["eals", "ials1", "rcd", "bpr"] {
        let variants = names.iter().filter(|name| name.ends_with(twice));
        assert_eq!(variants.count(), 2, "{names:?}");
    }
}
