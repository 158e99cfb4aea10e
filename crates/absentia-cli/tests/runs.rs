//! Runs that are repeated, resumed, interrupted, or end on a full disk.

mod support;

use std::fmt::Write as _;
use std::process::Stdio;
use std::time::Duration;

use absentia_testing::shared_data;
use support::{Sandbox, bits};

#[test]
fn a_stored_configuration_repeats_the_run_bit_for_bit() {
    let sandbox = Sandbox::new();
    sandbox
        .run(
            "train ratings.csv --model m.absentia -k 5 --iterations 4 --solver subspace --block 4 \
             --weights popularity:c0=3,alpha=0.4+uniform:0.01 --targets normalized:0.3 \
             --confidence linear:0.5 --regularization 0.037 --reg-exponent 1 --post-scale 0.2 \
             --seed 11 --min-rating 2 --k-core 2 --valid-split leave-one-out --valid-metric ndcg@5",
        )
        .ok();
    let first = sandbox.model("m.absentia");
    sandbox
        .shell("absentia inspect m.absentia --print-config > run.toml")
        .ok();
    std::fs::remove_file(sandbox.path("m.absentia")).expect("removed");
    sandbox.run("train --config run.toml").ok();
    let second = sandbox.model("m.absentia");
    assert_eq!(bits(&first), bits(&second));
    assert_eq!(first.config, second.config);
    assert_eq!(first.model.params(), second.model.params());
    sandbox
        .run("train --config run.toml --seed 12 --model other.absentia")
        .ok();
    assert_ne!(bits(&first), bits(&sandbox.model("other.absentia")));
}

#[test]
fn a_resumed_run_ends_in_the_bits_of_an_uninterrupted_one() {
    let sandbox = Sandbox::new();
    let train = "train ratings.csv -k 6 --valid-split leave-one-out --valid-metric recall@5";
    sandbox
        .run(&format!("{train} --model whole.absentia --iterations 6"))
        .ok();
    let kept = "--checkpoint run.ckpt --checkpoint-every 1";
    sandbox
        .run(&format!(
            "{train} --model part.absentia --iterations 3 {kept} --resume"
        ))
        .ok();
    sandbox
        .run(&format!(
            "{train} --model part.absentia --iterations 6 {kept} --resume"
        ))
        .ok();
    let (whole, part) = (
        sandbox.model("whole.absentia"),
        sandbox.model("part.absentia"),
    );
    assert_eq!(bits(&whole), bits(&part));
    assert_eq!(part.model.history().len(), whole.model.history().len());
    let other = sandbox.run(&format!(
        "{train} --model part.absentia --seed 9 {kept} --resume"
    ));
    other.fails(3, &["the checkpoint cannot be resumed", "--seed 9"]);
}

/// There, twice the first penalty does a little better, and a quarter of it does much better.
#[test]
fn a_penalty_that_is_far_too_large_is_not_taken_on_movielens() {
    let Some(data) = shared_data("ml-latest-small-2016") else {
        return;
    };
    let sandbox = Sandbox::new();
    let ratings = data.join("ratings.tsv.gz");
    let train = format!(
        "train {} --model m.absentia --iterations 10",
        ratings.display()
    );
    sandbox.run(&train).ok();
    let lambda = sandbox.model("m.absentia").model.params().regularization;
    assert!((0.01..0.1).contains(&lambda), "{lambda}");
    // Missing entries say more there than they are taken to at first.
    let config = sandbox.run("inspect m.absentia --print-config").ok().stdout;
    assert!(config.contains("popularity:mean=0.04"), "{config}");
    let kept = "--model r.absentia --checkpoint run.ckpt --checkpoint-every 1 --resume";
    let rest = train.replace("--model m.absentia", kept);
    sandbox
        .run(&rest.replace("--iterations 10", "--iterations 8"))
        .ok();
    let resumed = sandbox.run(&rest).ok();
    assert!(!resumed.stderr.contains("held out"), "{}", resumed.stderr);
    let other = sandbox.run(&format!("{rest} --weights uniform:0.5"));
    other.fails(
        3,
        &[
            "started with --weights popularity:mean=0.04",
            "pass --weights",
        ],
    );
    let bits = |model: &str| bits(&sandbox.model(model));
    assert!(bits("r.absentia") == bits("m.absentia"));
}

#[test]
fn a_penalty_that_is_not_given_is_chosen_once_and_kept() {
    let sandbox = Sandbox::new();
    sandbox
        .run("generate --users 400 --items 300 --entries 6000 --out g.csv")
        .ok();
    let train = "train g.csv -k 8 --iterations 3";
    let said = sandbox.run(&format!("{train} --model m.absentia")).ok();
    assert!(
        said.stderr.contains("did best on rows held out"),
        "{}",
        said.stderr
    );
    let first = sandbox.model("m.absentia");
    sandbox
        .shell("absentia inspect m.absentia --print-config > run.toml")
        .ok();
    let again = sandbox.run("train --config run.toml").ok();
    assert!(!again.stderr.contains("held out"), "{}", again.stderr);
    assert_eq!(bits(&first), bits(&sandbox.model("m.absentia")));
    let kept = "--model r.absentia --checkpoint run.ckpt --checkpoint-every 1 --resume";
    sandbox.run(&format!("{train} {kept}")).ok();
    let line = format!("train g.csv -k 8 --iterations 5 {kept}");
    let resumed = sandbox.run(&line).ok();
    assert!(!resumed.stderr.contains("held out"), "{}", resumed.stderr);
    let penalty = |model: &str| sandbox.model(model).model.params().regularization.to_bits();
    assert_eq!(penalty("r.absentia"), penalty("m.absentia"));
    let plan = sandbox.run(&format!("{train} --dry-run")).ok().stdout;
    assert!(plan.contains("to choose settings"), "{plan}");
}

#[cfg(unix)]
#[test]
fn the_first_ctrl_c_leaves_a_usable_model_and_says_so() {
    let sandbox = Sandbox::new();
    sandbox
        .run("generate --users 2000 --items 1000 --entries 40000 --out g.csv")
        .ok();
    let line = "train g.csv --model m.absentia -k 64 --iterations 100000 --checkpoint run.ckpt --checkpoint-every 1";
    let mut command = sandbox.command(line);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    while !sandbox.path("run.ckpt").exists() {
        let ended = child.try_wait().expect("asked");
        assert!(ended.is_none(), "the run ended before its first sweep");
        std::thread::sleep(Duration::from_millis(20));
    }
    let kill = std::process::Command::new("kill")
        .arg("-INT")
        .arg(child.id().to_string())
        .status();
    assert!(kill.is_ok_and(|status| status.success()));
    let output = child.wait_with_output().expect("ended");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(
        said.contains("saved the model of sweep") && said.contains("--resume"),
        "{said}"
    );
    let list = sandbox
        .run("recommend m.absentia 7 --train g.csv --json")
        .ok()
        .json();
    assert_eq!(list[0]["items"].as_array().map(Vec::len), Some(10));
    // The run can be resumed, for more sweeps than it has made.
    let made = sandbox.model("m.absentia").model.history().len();
    let line = format!(
        "train g.csv --model m.absentia -k 64 --iterations {} --checkpoint run.ckpt --resume",
        made + 1
    );
    sandbox.run(&line).ok();
    assert_eq!(sandbox.model("m.absentia").model.history().len(), made + 1);
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_model_as_it_was() {
    let sandbox = Sandbox::with_models();
    let before = std::fs::read(sandbox.path("movies.absentia")).expect("read");
    // A limit on the size of files fails writes in the same way, without needing a small disk.
    let line = "trap '' XFSZ; ulimit -f 1; exec absentia train train.csv --model movies.absentia --factors 200 --iterations 1";
    let ran = sandbox.shell(line);
    ran.fails(1, &["movies.absentia"]);
    assert_eq!(
        std::fs::read(sandbox.path("movies.absentia")).expect("read"),
        before
    );
    let left: Vec<_> = std::fs::read_dir(sandbox.folder())
        .expect("listed")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with(".absentia"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The same on a disk that is really full, where this user may make one.
#[cfg(target_os = "linux")]
#[test]
fn a_full_tmpfs_leaves_the_old_model_as_it_was() {
    let sandbox = Sandbox::with_models();
    let small = "mkdir -p small && mount -t tmpfs -o size=256k tmpfs small";
    let own = |line: &str| format!("unshare --user --map-root-user --mount sh -c '{line}'");
    if sandbox.shell(&own(small)).code != 0 {
        absentia_testing::skipped("no right to mount a tmpfs");
        return;
    }
    let train =
        "absentia train train.csv --model small/movies.absentia --factors 2000 --iterations 1";
    let line = format!(
        "{small} && cp movies.absentia small/ || exit 9; {train}; code=$?; \
         cmp movies.absentia small/movies.absentia || exit 8; test \"$(ls -A small)\" = movies.absentia || exit 7; exit $code"
    );
    sandbox.shell(&own(&line)).fails(1, &["movies.absentia"]);
}

#[test]
fn a_start_can_be_given() {
    let sandbox = Sandbox::with_models();
    let line = "train train.csv -k 8 --iterations 1 --weights uniform:0.1 --model warm.absentia --init movies.absentia --json";
    let warm = sandbox.run(line).ok().json();
    let cold =
        "train train.csv -k 8 --iterations 1 --weights uniform:0.1 --model more.absentia --json";
    let cold = sandbox.run(cold).ok().json();
    assert!(warm[0]["objective"].as_f64() < cold[0]["objective"].as_f64());
    // Tables by id start a run as the model they came from does.
    sandbox
        .run("export movies.absentia --out f --layout parquet")
        .ok();
    let line = "train train.csv -k 8 --iterations 1 --weights uniform:0.1 --model again.absentia \
                --init f/users.parquet,f/items.parquet";
    sandbox.run(line).ok();
    let (more, again) = (
        sandbox.model("warm.absentia"),
        sandbox.model("again.absentia"),
    );
    assert_eq!(bits(&more), bits(&again));
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let sandbox = Sandbox::new();
    for threads in [1, 3] {
        let line = format!(
            "train ratings.csv -k 6 --iterations 3 --model t{threads}.absentia --threads {threads}"
        );
        sandbox.run(&line).ok();
    }
    assert_eq!(
        bits(&sandbox.model("t1.absentia")),
        bits(&sandbox.model("t3.absentia"))
    );
}

#[test]
fn a_report_is_a_page_of_its_own() {
    let sandbox = Sandbox::new();
    let line = "train ratings.csv -k 4 --iterations 4 --model m.absentia --report run.html \
                --valid-split leave-one-out --valid-metric recall@5";
    sandbox.run(line).ok();
    let page = sandbox.read("run.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("<svg"));
    assert!(page.contains("popularity:mean=0.01,alpha=0.25") && page.contains("recall@5"));
}

/// Held-out rows count under the same rule as the rows that are trained on.
#[test]
fn held_out_rows_are_rated_high_enough_too() {
    let sandbox = Sandbox::new();
    sandbox.run("split ratings.csv --out . --by last:3").ok();
    sandbox
        .run("convert test.csv --out liked.csv --min-rating 4")
        .ok();
    let (all, liked) = (sandbox.read("test.csv"), sandbox.read("liked.csv"));
    assert!(liked.lines().count() > 1 && liked.lines().count() < all.lines().count());
    let rest = "--factors 4 --iterations 3 --regularization 0.1 --min-rating 4";
    let train = |valid: &str| {
        let line =
            format!("train train.csv --valid {valid} --model {valid}.absentia {rest} --json");
        sandbox.run(&line).ok().json().pop().expect("a result")["validation"].clone()
    };
    assert!(train("liked.csv").is_number());
    assert_eq!(train("test.csv"), train("liked.csv"));
    let compare = |test: &str| {
        let line = format!("compare train.csv --test {test} {rest} --at 5 --json");
        let mut lines = sandbox.run(&line).ok().json();
        for line in &mut lines {
            line.as_object_mut().expect("an object").remove("seconds");
        }
        lines
    };
    assert_eq!(compare("test.csv"), compare("liked.csv"));
    sandbox
        .run("convert test.csv --out bare.csv --rating-col none --time-col none")
        .ok();
    sandbox
        .run(&format!(
            "train train.csv --valid bare.csv --model m {rest}"
        ))
        .fails(3, &["bare.csv", "no ratings", "--rating-col"]);
}

/// What is held out was taken: it must not be trained as passed over.
#[test]
fn held_out_pairs_are_no_exposures() {
    let sandbox = Sandbox::new();
    sandbox.run("split ratings.csv --out . --by last:2").ok();
    let held: Vec<String> = sandbox.read("test.csv").lines().map(pair).collect();
    let (shown, also) = ("ann,coco\nbob,m\ncid,tron\n", held[1..].join("\n"));
    sandbox.write("shown.csv", &format!("user,item\n{shown}"));
    sandbox.write("both.csv", &format!("user,item\n{shown}{also}\n"));
    let rest = "--factors 4 --iterations 3 --regularization 0.1 --exposed-weight 0.5";
    for held_out in [
        "train.csv --valid test.csv",
        "ratings.csv --valid-split last:2",
        "ratings.csv --exclude test.csv",
    ] {
        let train = |exposed: &str| {
            let line =
                format!("train {held_out} --exposed {exposed} --model {exposed}.absentia {rest}");
            let said = sandbox.run(&line).ok().stderr;
            (said, sandbox.model(&format!("{exposed}.absentia")))
        };
        let ((_, without), (said, with)) = (train("shown.csv"), train("both.csv"));
        let n = held.len() - 1;
        let left_out = format!("{n} pairs of --exposed left out");
        assert!(said.contains(&left_out), "{said}");
        assert_eq!(bits(&without), bits(&with), "{held_out}");
    }
}

/// The user and the item of a line.
fn pair(line: &str) -> String {
    line.split(',').take(2).collect::<Vec<_>>().join(",")
}

/// Only its own run resumes from a checkpoint: data, held-out rows and metric are those it began with.
#[test]
fn a_checkpoint_of_another_run_is_refused_and_what_differs_is_said() {
    let sandbox = Sandbox::new();
    sandbox.run("split ratings.csv --out . --by last:2").ok();
    let lines: Vec<String> = sandbox
        .read("train.csv")
        .lines()
        .map(str::to_owned)
        .collect();
    let changed = |at: usize, to: &str| {
        let mut lines = lines.clone();
        let mut cells: Vec<&str> = lines[3].split(',').collect();
        cells[at] = to;
        lines[3] = cells.join(",");
        lines.join("\n") + "\n"
    };
    sandbox.write("values.csv", &changed(2, "17"));
    sandbox.write("times.csv", &changed(3, "1400000000"));
    sandbox.write("pairs.csv", &changed(1, "coco"));
    let test: Vec<String> = sandbox
        .read("test.csv")
        .lines()
        .map(str::to_owned)
        .collect();
    sandbox.write("fewer.csv", &test[..test.len() - 1].join("\n"));
    let rest = "-k 4 --regularization 0.1 --post-scale 0 --targets raw --checkpoint run.ckpt";
    let train = |data: &str, valid: &str, iterations: usize| {
        let valid = valid.to_owned() + " --iterations " + &iterations.to_string();
        sandbox.run(&format!(
            "train {data} {valid} {rest} --checkpoint-every 1 --model m --resume"
        ))
    };
    let valid = "--valid test.csv --valid-metric recall@5";
    train("train.csv", valid, 2).ok();
    let before = sandbox.contents();
    for (data, valid, said) in [
        ("values.csv", valid, "its values are not those"),
        ("times.csv", valid, "its times are not those"),
        (
            "pairs.csv",
            valid,
            "its pairs of user and item are not those",
        ),
        (
            "train.csv",
            "--valid fewer.csv --valid-metric recall@5",
            "its held-out rows are not",
        ),
        ("train.csv", "", "its held-out rows are not"),
        (
            "train.csv",
            "--valid test.csv --valid-metric ndcg@5",
            "--valid-metric recall@5",
        ),
        (
            "train.csv",
            "--valid test.csv --valid-metric recall@5 --valid-every 2",
            "--valid-every 1",
        ),
    ] {
        train(data, valid, 4).fails(3, &["run.ckpt: the checkpoint", said, "--resume"]);
        assert!(sandbox.contents() == before, "{data} {valid}");
    }
    train("train.csv", valid, 4).ok();
    // Rows that are held out later were trained on.
    sandbox.shell("rm run.ckpt").ok();
    train("ratings.csv", "", 2).ok();
    train("ratings.csv", "--valid-split last:1", 4).fails(3, &["the checkpoint is of other data"]);
}

/// A metric that is 0 after every sweep chooses no model.
#[test]
fn a_run_whose_validation_metric_stays_zero_fails() {
    let sandbox = Sandbox::new();
    // What everybody else likes comes first, and nobody likes what is held out.
    let mut rows = "user,item\n".to_owned();
    for user in 0..30 {
        for item in 0..8 {
            if (user + item) % 8 > 1 {
                let _ = writeln!(rows, "u{user},i{item}");
            }
        }
    }
    rows.push_str("u0,rare\nu1,scarce\n");
    sandbox.write("rows.csv", &rows);
    sandbox.write("held.csv", "user,item\nu0,scarce\nu1,rare\n");
    let flags =
        "--factors 4 --iterations 4 --regularization 0.1 --weights uniform:1 --valid held.csv";
    let line = format!("train rows.csv --model m.absentia {flags} --valid-metric recall@1");
    let said = ["recall@1 is 0 after each of 4 sweeps", "no model was saved"];
    sandbox.run(&line).fails(3, &said);
    assert!(!sandbox.path("m.absentia").exists());
    let line = format!("train rows.csv --model m.absentia {flags} --valid-metric recall@20");
    sandbox.run(&line).ok();
}

/// A weight that is given takes the place of a column, which the file of exposed pairs need not have.
#[test]
fn exposed_pairs_with_a_weight_need_no_column() {
    let sandbox = Sandbox::new();
    sandbox.write("w.csv", "user,item,weight\na,x,2\na,y,1\nb,x,3\nc,z,1\n");
    sandbox.write("shown.csv", "user,item\nb,y\n");
    let line = "train w.csv --model m.absentia -k 2 --regularization 0.1 --weights uniform:0.1 \
                --confidence column --weight-col weight --exposed shown.csv";
    let ran = sandbox.run(line);
    ran.fails(3, &["shown.csv: no column \"weight\""]);
    sandbox.run(&format!("{line} --exposed-weight 0.5")).ok();
}
