//! `absentia tune`: what it writes can be trained from, resumed and read.

mod support;

use support::Sandbox;

const SEARCH: &str = "tune ratings.csv --trials 14 --metric ndcg@5 --max-factors 8 --split last:1 --pick latest --out best.toml";

#[test]
fn the_best_settings_train_the_model_that_was_measured() {
    let sandbox = Sandbox::new();
    let ran = sandbox
        .run(&format!("{SEARCH} --model tuned.absentia --json"))
        .ok();
    let lines = ran.json();
    assert_eq!(lines.len(), 15, "a line a trial, and what was found");
    let best = &lines[14];
    assert_eq!(best["trials"], 14);
    let number = best["best"].as_u64().expect("a number") as usize;
    assert_eq!(lines[number]["score"], best["score"]);
    for baseline in ["most popular", "most popular lately"] {
        let score = best["baselines"][baseline].as_f64();
        assert!(score.is_some_and(|score| score > 0.0), "{best}");
    }
    sandbox
        .run("train --config best.toml --model again.absentia")
        .ok();
    let (tuned, again) = (
        sandbox.model("tuned.absentia"),
        sandbox.model("again.absentia"),
    );
    assert_eq!(support::bits(&tuned), support::bits(&again));
    assert_eq!(tuned.model.params(), again.model.params());
    // Trained without the rows that were held out, it gives the metric that was logged.
    let sweeps = &lines[number]["params"]["iterations"];
    let line = format!(
        "train --config best.toml --model part.absentia --valid-split last:1 --valid-metric ndcg@5 \
         --valid-every {sweeps} --json"
    );
    let trained = sandbox.run(&line).ok().json();
    let measured = trained.last().expect("a line")["validation"].as_f64();
    let (measured, logged) = (measured.expect("a number"), best["score"].as_f64());
    assert!(
        (measured - logged.expect("a number")).abs() < 1e-9,
        "{measured} {logged:?}"
    );
}

#[test]
fn a_search_repeats_and_goes_on_from_its_log() {
    let sandbox = Sandbox::new();
    sandbox.run(SEARCH).ok();
    let timeless = |name: &str| -> Vec<serde_json::Value> {
        let text = sandbox.read(name);
        let lines = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        let mut lines: Vec<serde_json::Value> = lines.collect();
        for line in &mut lines {
            for key in ["seconds", "training_seconds"] {
                line.as_object_mut().expect("an object").remove(key);
            }
        }
        lines
    };
    let whole = timeless("best.jsonl");
    assert_eq!(whole.len(), 15);
    // A log that was cut in the middle of a line, as by a power cut.
    let text = sandbox.read("best.jsonl");
    let at = text.match_indices('\n').nth(6).expect("lines").0;
    sandbox.write("best.jsonl", &text[..at + 40]);
    let resumed = sandbox.run(&format!("{SEARCH} --resume")).ok();
    assert!(
        resumed.stderr.contains("continuing after 6 trials"),
        "{}",
        resumed.stderr
    );
    assert_eq!(timeless("best.jsonl"), whole);
    let other = sandbox.run(&format!("{SEARCH} --resume --seed 4"));
    other.fails(
        3,
        &["the log is of another search: it has seed 0", "--resume"],
    );
    // Another rating of a pair that stays in the data.
    let ratings = sandbox.read("ratings.csv");
    let row = ratings.lines().nth(1).expect("a row");
    let cells: Vec<&str> = row.split(',').collect();
    let changed = [cells[0], cells[1], "77", cells[3]].join(",");
    sandbox.write("ratings.csv", &ratings.replacen(row, &changed, 1));
    let other = sandbox.run(&format!("{SEARCH} --resume"));
    other.fails(
        3,
        &["its pairs, values, times or held-out rows", "--resume"],
    );
    sandbox.write("ratings.csv", &ratings);
    sandbox.write("best.jsonl", "not a log\n");
    sandbox
        .run(&format!("{SEARCH} --resume"))
        .fails(3, &["best.jsonl:1: this is not the log of a search"]);
}

#[test]
fn a_long_search_begins_with_uniform_weights_alone() {
    let sandbox = Sandbox::new();
    let line = "tune ratings.csv --metric ndcg@5 --max-factors 8 --out best.toml";
    let ran = sandbox
        .run(&format!("{line} --trials 80 --report tune.html"))
        .ok();
    let log = sandbox.read("best.jsonl");
    assert_eq!(log.lines().count(), 81);
    for (number, trial) in log.lines().skip(1).enumerate() {
        let trial: serde_json::Value = serde_json::from_str(trial).expect("JSON");
        let searched = if number < 20 { "uniform" } else { "all" };
        assert_eq!(trial["search"], searched, "{number}");
    }
    // Both phases have 8 factors and all users, so that their scores are compared.
    assert!(!ran.stderr.contains("starts again"), "{}", ran.stderr);
    let shown = ran.stderr.lines().filter(|line| line.contains("λ="));
    let shown = shown.map(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    let shown: Vec<f64> = shown.map(|score| score.expect("a score")).collect();
    assert!(shown.len() > 1 && shown.is_sorted(), "{shown:?}");
    for (search, factors) in [("", 8), ("uniform weights, ", 8)] {
        let name = format!(">{search}rung 1, {factors} factors");
        assert!(sandbox.read("tune.html").contains(&name), "no {name}");
    }
    let more = sandbox.run(&format!("{line} --trials 120 --resume"));
    let said = ["trial 20 of the log", "the number of trials", "--resume"];
    more.fails(3, &said);
}

/// With fewer items than the lists have, nothing tells settings apart.
#[test]
fn a_metric_that_says_nothing_is_warned_about() {
    let sandbox = Sandbox::new();
    let search = "tune ratings.csv --trials 4 --max-factors 4";
    let said = sandbox.run(search).ok().stderr;
    assert!(
        said.contains("warning: recall@20 is the same for all settings"),
        "{said}"
    );
    assert!(said.contains("--metric recall@4"), "{said}");
    assert!(!said.contains("has a higher recall@20"), "{said}");
    let said = sandbox
        .run(&format!("{search} --metric recall@4"))
        .ok()
        .stderr;
    assert!(!said.contains("is the same"), "{said}");
}

#[test]
fn a_search_in_which_nothing_scores_fails() {
    let sandbox = Sandbox::new();
    let mut rows = "user,item\n".to_owned();
    for user in 0..30 {
        let liked = (0..8).filter(|item| (user + item) % 8 > 1);
        rows.extend(liked.map(|item| format!("u{user},i{item}\n")));
    }
    rows.push_str("u0,rare\nu1,scarce\n");
    sandbox.write("rows.csv", &rows);
    sandbox.write("held.csv", "user,item\nu0,scarce\nu1,rare\n");
    let search = "tune rows.csv --valid held.csv --trials 2 --factors 2 --out best.toml";
    let said = [
        "recall@1 is 0 in all of 2 trials",
        "check the held-out rows",
        "--metric",
    ];
    sandbox
        .run(&format!("{search} --metric recall@1"))
        .fails(3, &said);
    assert!(!sandbox.path("best.toml").exists());
}

#[test]
fn a_time_budget_ends_and_the_report_has_its_charts() {
    let sandbox = Sandbox::new();
    let ran = sandbox
        .run("tune ratings.csv --budget 1s --metric recall@5 --max-factors 8 --report tune.html")
        .ok();
    for part in ["recall@5", "popularity", "best on average", "kept"] {
        assert!(ran.stdout.contains(part), "no {part}: {}", ran.stdout);
    }
    let page = sandbox.read("tune.html");
    for part in [
        "mark run",
        "<p>ratings.csv, held out by share:0.2 (latest rows): ",
        ">regularization</text>",
        "in % of all",
        "class=\"number best\"",
        "The best settings",
        "weight on missing",
        "mark point",
        "the best of them",
        " %</text>",
    ] {
        assert!(page.contains(part), "no {part}");
    }
    assert!(!page.contains("NaN"));
    assert!(sandbox.path("tuned.toml").exists() && sandbox.path("tuned.jsonl").exists());
}

#[test]
fn one_kind_of_weights_and_one_size_can_be_asked_for() {
    let sandbox = Sandbox::new();
    let line = "tune ratings.csv --trials 8 --metric recall@5 --search uniform --factors 4 --json";
    for trial in &sandbox.run(line).ok().json()[..8] {
        assert!(
            trial["weights"]
                .as_str()
                .expect("a text")
                .starts_with("uniform:"),
            "{trial}"
        );
        assert_eq!(trial["params"]["post_scale"], 0.0);
        assert_eq!(trial["params"]["factors"], 4);
    }
}

#[test]
fn held_out_rows_may_be_given_and_must_be_there() {
    let sandbox = Sandbox::with_models();
    sandbox
        .run("tune train.csv --valid test.csv --trials 4 --metric recall@5 --factors 4")
        .ok();
    sandbox
        .run("tune ratings.csv --trials 2 --split users:3")
        .fails(2, &["users held out whole"]);
    sandbox
        .run("tune ratings.csv --trials 2 --pick latest --splits 2")
        .fails(2, &["--splits", "--pick random"]);
    sandbox
        .run("tune ratings.csv --trials 2 --metric recall")
        .fails(2, &["a cut-off"]);
    sandbox
        .run("tune ratings.csv --budget soon")
        .fails(2, &["a time with its unit"]);
    sandbox
        .run("tune ratings.csv --trials 2 --split ratio:0.01")
        .fails(3, &["no row is held out", "share:0.2"]);
}

#[test]
fn a_study_compares_held_out_rows_with_the_test() {
    let sandbox = Sandbox::with_models();
    let ran = sandbox
        .run("tune train.csv --study test.csv --trials 6 --metric recall@5 --factors 4 --json")
        .ok();
    sandbox
        .run("tune train.csv --trials 6 --metric recall@5 --factors 4 --resume")
        .fails(3, &["it has study: true", "--resume"]);
    let studied: Vec<serde_json::Value> = ran
        .json()
        .into_iter()
        .filter(|line| line.get("chosen_by").is_some())
        .collect();
    assert!(studied.len() >= 16, "{}", ran.stdout);
    for line in &studied {
        assert_eq!(line["settings"], 18);
        let correlation = line["rank_correlation"].as_f64().unwrap_or(0.0);
        assert!((-1.0..=1.0).contains(&correlation));
        for metric in ["recall@5", "ndcg@5"] {
            let share = line["of_the_best"][metric].as_f64().unwrap_or(0.0);
            assert!((0.1..=1.0).contains(&share), "{line}");
        }
    }
}

#[test]
fn the_log_of_an_earlier_search_is_kept() {
    let sandbox = Sandbox::new();
    sandbox.run(SEARCH).ok();
    let first = sandbox.read("best.jsonl");
    let ran = sandbox.run(SEARCH).ok();
    assert!(ran.stderr.contains("best.jsonl.old"), "{}", ran.stderr);
    assert_eq!(sandbox.read("best.jsonl.old"), first);
}

/// What is held out in a file is not trained on, whether the data has it or not.
#[test]
fn held_out_rows_that_are_in_the_data_are_not_trained_on() {
    let sandbox = Sandbox::new();
    sandbox.run("split ratings.csv --out . --by last:2").ok();
    let rest = "--valid test.csv --trials 4 --metric ndcg@5 --max-factors 4 --json";
    let scores = |data: &str| -> Vec<serde_json::Value> {
        let ran = sandbox.run(&format!("tune {data} {rest}")).ok();
        assert_eq!(
            ran.stderr
                .contains("are held out as well, and are not trained on"),
            data == "ratings.csv",
            "{}",
            ran.stderr
        );
        let lines = ran.json();
        lines.iter().map(|line| line["score"].clone()).collect()
    };
    assert!(scores("ratings.csv")[0].as_f64() > Some(0.0));
    assert_eq!(scores("ratings.csv"), scores("train.csv"));
    let train = |data: &str| {
        let line = "--valid test.csv --factors 4 --iterations 3 --regularization 0.1";
        let line = format!("train {data} {line} --model {data}.absentia");
        sandbox.run(&line).ok();
        support::bits(&sandbox.model(&format!("{data}.absentia")))
    };
    assert_eq!(train("ratings.csv"), train("train.csv"));
    let compare = |data: &str| {
        let line = "--test test.csv --factors 4 --iterations 3 --regularization 0.1 --json";
        let mut lines = sandbox.run(&format!("compare {data} {line}")).ok().json();
        for line in &mut lines {
            line.as_object_mut().expect("an object").remove("seconds");
        }
        lines
    };
    assert_eq!(compare("ratings.csv"), compare("train.csv"));
    for line in [
        "tune test.csv --valid test.csv --trials 2",
        "train test.csv --valid test.csv --model m",
        "compare test.csv --test test.csv",
    ] {
        sandbox.run(line).fails(3, &["every row is held out"]);
    }
}

/// The test rows of a study are not trained on either.
#[test]
fn test_rows_of_a_study_that_are_in_the_data_are_not_trained_on() {
    let sandbox = Sandbox::new();
    sandbox.run("split ratings.csv --out . --by last:2").ok();
    let study = |data: &str| -> Vec<serde_json::Value> {
        let flags = "--study test.csv --trials 3 --metric ndcg@5 --max-factors 4 --json";
        let ran = sandbox.run(&format!("tune {data} {flags}")).ok();
        let warned = "are held out as well, and are not trained on";
        assert_eq!(ran.stderr.contains(warned), data == "ratings.csv");
        let settings = ran.json().into_iter();
        settings
            .filter(|line| line.get("scores").is_some())
            .map(|line| line["scores"].clone())
            .collect()
    };
    let found = study("ratings.csv");
    assert!(!found.is_empty());
    assert_eq!(found, study("train.csv"));
    let line = "tune test.csv --study test.csv --trials 2";
    sandbox.run(line).fails(3, &["every row is held out"]);
}

/// A log is not renamed over what the command reads or writes.
#[test]
fn an_old_log_is_not_set_aside_over_another_file() {
    let sandbox = Sandbox::new();
    sandbox.write("best.jsonl", "an earlier search\n");
    std::fs::rename(sandbox.path("ratings.csv"), sandbox.path("best.jsonl.old")).expect("renamed");
    let line = SEARCH.replace("ratings.csv", "best.jsonl.old --format csv");
    assert_ne!(line, SEARCH);
    let before = sandbox.contents();
    sandbox
        .run(&line)
        .fails(2, &["best.jsonl.old is read as DATA"]);
    let line = format!(
        "{} --model best.jsonl.old",
        SEARCH.replace("ratings.csv", "x.csv")
    );
    sandbox.write("x.csv", &sandbox.read("best.jsonl.old"));
    sandbox.run(&line).fails(2, &["both write"]);
    std::fs::remove_file(sandbox.path("x.csv")).expect("removed");
    assert!(sandbox.contents() == before);
}
