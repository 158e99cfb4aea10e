//! What is said when something is wrong: the file, the line, the value and what to do.

mod support;

use std::path::Path;

use support::Sandbox;

#[test]
fn bad_files_are_distinguished() {
    let sandbox = Sandbox::new();
    sandbox.write("empty.csv", "");
    sandbox.write("one.csv", "user\nann\n");
    sandbox.write("nan.csv", "user,item,rating\nann,heat,4\nbob,heat,NaN\n");
    sandbox.write(
        "word.csv",
        "user,item,rating\nann,heat,4\nbob,heat,good\nbob,up,3\n",
    );
    let train = |file: &str| sandbox.run(&format!("train {file} --model m.absentia"));
    train("nowhere.csv").fails(4, &["nowhere.csv"]);
    train("empty.csv").fails(3, &["empty.csv", "no rows"]);
    train("one.csv").fails(3, &["one.csv", "one column"]);
    train("nan.csv").fails(3, &["nan.csv:3", "NaN", "hint: ", "--skip-bad"]);
    train("word.csv").fails(3, &["word.csv:3", "good", "hint: "]);
    train("ratings.csv --user-col who").fails(3, &["no column", "who", "--user-col"]);
    assert!(!sandbox.path("m.absentia").exists());
    let skipped = sandbox
        .run("train word.csv --model m.absentia --skip-bad 1 -k 2 --iterations 1")
        .ok();
    assert!(
        skipped.stderr.contains("left out 1 bad row,"),
        "{}",
        skipped.stderr
    );
}

#[test]
fn an_unknown_user_is_offered_near_ones() {
    let sandbox = Sandbox::with_models();
    let ran = sandbox.run("recommend movies.absentia anm --train train.csv");
    ran.fails(
        4,
        &[
            "user \"anm\" is not in the model",
            "hint: did you mean \"ann\"",
        ],
    );
    let ran = sandbox.run("similar movies.absentia heet");
    ran.fails(4, &["item \"heet\"", "\"heat\""]);
}

#[test]
fn a_key_that_nobody_knows_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("run.toml", "data = ['ratings.csv']\nfactor = 8\n");
    let ran = sandbox.run("train --config run.toml --model m.absentia");
    ran.fails(
        2,
        &[
            "run.toml",
            "unknown key \"factor\"",
            "hint: did you mean \"factors\"",
        ],
    );
    sandbox.write("run.toml", "data = ['ratings.csv'\n");
    sandbox
        .run("train --config run.toml --model m.absentia")
        .fails(2, &["run.toml:"]);
    sandbox
        .run("train --config none.toml --model m.absentia")
        .fails(4, &["none.toml"]);
}

#[test]
fn values_of_a_file_that_are_out_of_range_have_their_line() {
    let sandbox = Sandbox::with_models();
    let train = "train ratings.csv --model m.absentia --config run.toml";
    for (config, said) in [
        (
            "seed = 1\nfactors = 0\n",
            "run.toml:2: factors is 0; it must be between 1 and 8192",
        ),
        (
            "[train]\nregularization = -1\n",
            "run.toml:2: regularization is -1; it must be at least 0",
        ),
        (
            "solver = 'als-cg'\n\ncg-steps = 0\n",
            "run.toml:3: cg-steps is 0",
        ),
        (
            "weights = ['uniform:1', 'uniform:2']\n",
            "run.toml:1: weights is given 2 times",
        ),
    ] {
        sandbox.write("run.toml", config);
        sandbox.run(train).fails(2, &[said]);
    }
    // A flag that is wrong is not blamed on the file, and one that is right makes up for it.
    sandbox.write("run.toml", "factors = 0\niterations = 1\n");
    let ran = sandbox.run(&format!("{train} --factors 99999"));
    ran.fails(2, &["error: --factors is 99999"]);
    sandbox.run(&format!("{train} --factors 2")).ok();
    sandbox.write("run.toml", "top = 0\n");
    let line = "recommend movies.absentia ann --allow-seen --config run.toml";
    sandbox.run(line).fails(2, &["run.toml:1: ", "top"]);
    sandbox.write("run.toml", "at = [0]\n");
    let line = "evaluate movies.absentia --train train.csv --test test.csv --config run.toml";
    sandbox.run(line).fails(2, &["run.toml:1: ", "at"]);
}

#[test]
fn arguments_out_of_range_are_usage_errors() {
    let sandbox = Sandbox::new();
    let train = |flags: &str| sandbox.run(&format!("train ratings.csv --model m.absentia {flags}"));
    let ran = sandbox.run("train ratings.csv");
    ran.fails(2, &["no file to save the model in", "--model FILE"]);
    train("--resume").fails(2, &["--checkpoint FILE"]);
    train("--exposed-weight 2").fails(2, &["--exposed FILE"]);
    train("--factors 0").fails(2, &["factors is 0"]);
    train("--regularization -1").fails(2, &["regularization is -1"]);
    train("--factors 99999999").fails(2, &["factors is 99999999"]);
    train("--weights popular:1").fails(2, &["not a weight scheme"]);
    train("--solver subspace --block 7").fails(2, &["block is 7"]);
    train("--memory-limit 1KiB").fails(5, &["the run needs", "1024"]);
    train("--memory-limit 1KiB --dry-run").fails(5, &["the run needs"]);
    train("--min-rating 9").fails(3, &["no row is left"]);
    train("--valid-metric best@3 --valid-split leave-one-out").fails(2, &["not a metric"]);
    train("--model nowhere/m.absentia").fails(4, &["folder nowhere does not exist"]);
    train("--checkpoint nowhere/c").fails(4, &["nowhere/c: folder nowhere does not exist"]);
    train("--confidence column").fails(2, &["no column of weights", "--weight-col"]);
    train("--confidence decay:30").fails(2, &["unit"]);
    train("--weights uniform:1 --weights uniform:2").fails(2, &["' + '", "compare"]);
    train("--weights uniform:nan").fails(2, &["'nan'"]);
    train("--weights popularty:mean=1,alpha=0").fails(2, &["did you mean popularity"]);
    train("--valid-metric recall").fails(2, &["recall@K"]);
    train("--time-col none --valid-split last:1 --valid-pick latest")
        .fails(3, &["times", "--time-col"]);
    train("--duplicates error").fails(3, &["occur together more than once", "--duplicates"]);
}

#[test]
fn what_was_seen_must_be_known() {
    let sandbox = Sandbox::with_models();
    sandbox
        .run("recommend movies.absentia ann")
        .fails(2, &["--train", "--allow-seen"]);
    let ran = sandbox.run("evaluate movies.absentia --test test.csv");
    ran.fails(2, &["--train", "--rank-seen"]);
    sandbox
        .run("evaluate movies.absentia --test test.csv --rank-seen")
        .ok();
}

#[test]
fn damaged_models_are_refused() {
    let sandbox = Sandbox::with_models();
    let mut bytes = std::fs::read(sandbox.path("movies.absentia")).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(sandbox.path("bad.absentia"), &bytes).expect("written");
    std::fs::write(sandbox.path("cut.absentia"), &bytes[..middle]).expect("written");
    for name in ["bad.absentia", "cut.absentia", "ratings.csv"] {
        sandbox.run(&format!("inspect {name}")).fails(3, &[name]);
        let ran = sandbox.run(&format!("recommend {name} ann --train train.csv"));
        ran.fails(3, &[name]);
    }
}

#[test]
fn rows_of_strangers_are_counted() {
    let sandbox = Sandbox::with_models();
    sandbox.write("test.csv", "user,item\nann,up\nnobody,up\nann,nothing\n");
    let line = "evaluate movies.absentia --train train.csv --test test.csv --json";
    let ran = sandbox.run(line).ok();
    assert_eq!(ran.json()[0]["unknown_rows"], 2);
    assert_eq!(ran.json()[0]["users_left_out"], 1);
    assert!(
        ran.stderr.contains("left out 2 of 3 rows"),
        "{}",
        ran.stderr
    );
}

#[test]
fn arguments_without_effect_are_remarked_on() {
    let sandbox = Sandbox::new();
    sandbox.write("bare.csv", "user,item\nann,heat\nbob,up\nann,up\n");
    let row = |at: u64| format!("u{},i{},{}\n", at % 7, at * at % 11, 1_500_000_000 + at);
    let rows: String = (0..100).map(row).collect();
    sandbox.write("mixed.csv", &format!("user,item,time\n{rows}"));
    let said = |flags: &str| {
        let line = format!("train -k 2 --iterations 1 --model m.absentia {flags}");
        sandbox.run(&line).ok().stderr
    };
    for (flags, expected) in [
        ("ratings.csv --patience 3", "--patience has no effect"),
        ("ratings.csv --valid-metric recall@5", "--valid-metric has"),
        ("ratings.csv --block 32", "--block is for --solver subspace"),
        ("ratings.csv --cg-steps 2", "--cg-steps is for"),
        (
            "ratings.csv --weight-col rating",
            "--weight-col has no effect",
        ),
        (
            "ratings.csv --checkpoint-every 3",
            "--checkpoint-every has no effect without --checkpoint",
        ),
        (
            "ratings.csv --sample-seed 2",
            "--sample-seed has no effect without --sample",
        ),
        (
            "mixed.csv --valid-split time:0.2 --valid-pick random",
            "--valid-pick has no effect with time:",
        ),
        ("bare.csv --targets raw", "all values are 1"),
        ("bare.csv --confidence linear:2", "all values are 1"),
    ] {
        let said = said(flags);
        assert!(said.contains(expected), "{flags}: {said}");
    }
    assert!(!said("ratings.csv").contains("warning"));
    for (line, expected) in [
        ("describe ratings.csv --sample-seed 2", "--sample-seed has"),
        (
            "split ratings.csv --out a --fold-in 0.3",
            "--fold-in has no effect without --by users:N",
        ),
        (
            "split ratings.csv --out b --seed 7",
            "--seed has no effect without --pick random or drift",
        ),
        (
            "generate --users 300 --items 200 --entries 4000 --out g.csv --test-items 3",
            "--test-items has no effect without --test",
        ),
        (
            "generate --users 300 --items 200 --entries 4000 --out g.csv --exposure uniform --segments 3",
            "--segments has no effect without --exposure segmented",
        ),
    ] {
        let said = sandbox.run(line).ok().stderr;
        assert!(said.contains(expected), "{line}: {said}");
    }
}

#[test]
fn arguments_that_rule_each_other_out_are_refused() {
    let sandbox = Sandbox::new();
    for (line, said) in [
        (
            "train ratings.csv --model m --valid ratings.csv --valid-pick random",
            "'--valid <FILE>' cannot be used with '--valid-pick <RULE>'",
        ),
        (
            "compare ratings.csv --test ratings.csv --pick random",
            "'--test <FILE>' cannot be used with '--pick <RULE>'",
        ),
        (
            "tune ratings.csv --study ratings.csv --model m",
            "'--study <FILE>' cannot be used with '--model <FILE>'",
        ),
    ] {
        sandbox.run(line).fails(2, &[said]);
    }
}

#[test]
fn explain_leaves_out_excluded_pairs() {
    let sandbox = Sandbox::with_models();
    let items = |flags: &str| -> Vec<String> {
        let line = format!("explain movies.absentia bob jaws --train train.csv --json {flags}");
        let explained = sandbox.run(&line).ok().json();
        let parts = explained[0]["contributions"].as_array().expect("a list");
        let names = parts.iter().map(|part| part["item"].to_string());
        names.collect()
    };
    let all = items("");
    let first = all[0].trim_matches('"');
    sandbox.write("gone.csv", &format!("user,item\nbob,{first}\n"));
    let others = items("--exclude gone.csv");
    assert_eq!(others.len(), all.len() - 1, "{others:?}");
    assert!(!others.contains(&all[0]), "{others:?}");
}

#[test]
fn a_split_is_refused_or_remarked_on_before_it_misleads() {
    let sandbox = Sandbox::new();
    sandbox
        .run("split ratings.csv --out parts --by users:99999999")
        .fails(3, &["99,999,999 users", "24 of 24", "at most 24"]);
    sandbox
        .run("split ratings.csv --out parts --by leave-one-out,valid")
        .ok();
    sandbox
        .run("split ratings.csv --out parts")
        .fails(2, &["parts/valid.csv", "earlier split"]);
    let line = "split ratings.csv --out empty --by last:99";
    let said = sandbox.run(line).ok().stderr;
    assert!(said.contains("no row is in the test part"), "{said}");
    sandbox
        .run("split ratings.csv --out t --time-col none")
        .fails(3, &["--pick random"]);
}

#[test]
fn errors_are_objects_where_json_is_asked_for() {
    let sandbox = Sandbox::new();
    for line in ["train nowhere.csv --model m.absentia", "train --warp"] {
        let ran = sandbox.run(&format!("{line} --json"));
        let message: serde_json::Value = serde_json::from_str(&ran.stderr).expect("an object");
        assert!(
            message["error"].is_string() && ran.code != 0,
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn what_cannot_be_measured_or_listed_is_refused() {
    let sandbox = Sandbox::with_models();
    sandbox.write("negatives.csv", "user,item\nann,nothing\n");
    let line =
        "evaluate movies.absentia --train train.csv --test test.csv --negatives negatives.csv";
    assert_eq!(sandbox.run(line).code, 3);
    let line = "recommend movies.absentia ann --train train.csv --top 0";
    sandbox.run(line).fails(2, &["--top", "at least 1"]);
    sandbox.run("export movies.absentia --out f").ok();
    sandbox
        .run("import f/P.npy --model x.absentia")
        .fails(2, &["both user and item factors"]);
}

#[test]
fn what_is_read_is_not_written_over_and_devices_stay() {
    let sandbox = Sandbox::new();
    let before = sandbox.read("ratings.csv");
    sandbox
        .run("train ratings.csv --model ./ratings.csv --factors 2")
        .fails(2, &["ratings.csv is read", "name another file"]);
    assert_eq!(sandbox.read("ratings.csv"), before);
    sandbox
        .run("train ratings.csv --model . --factors 2")
        .fails(1, &["is a folder"]);
    if cfg!(target_os = "linux") {
        let line = "train ratings.csv --model full --factors 2 --iterations 1 --regularization 0.1";
        sandbox.shell("ln -s /dev/full full").ok();
        sandbox.run(line).fails(1, &["/dev/full"]);
        sandbox.shell("test -c /dev/full && test -L full").ok();
    }
}

/// Every result against every file that is read, and against the other results.
#[cfg(unix)]
#[test]
fn no_result_replaces_what_is_read_or_another_result() {
    let sandbox = Sandbox::with_models();
    sandbox
        .run("convert train.csv --out exclude.csv --sample users:0.2")
        .ok();
    sandbox.run("export movies.absentia --out factors").ok();
    sandbox.write("seen.csv", "user,item\nann,up\n");
    sandbox.write("run.toml", "factors = 2\n");
    sandbox
        .shell(
            "ln -s valid.csv link.csv; cp test.csv valid.csv; ln valid.csv hard.csv; ln -s . here",
        )
        .ok();
    sandbox
        .shell("mkdir in && cp ratings.csv in/train.csv && cp ratings.csv in/users.parquet")
        .ok();
    sandbox
        .shell("cp movies.absentia in/P.npy && cp ratings.csv in/x.users.txt")
        .ok();
    let train = "train train.csv --factors 2 --iterations 1 --regularization 0.1";
    let evaluate = "evaluate movies.absentia --train train.csv --test test.csv";
    let recommend = "recommend movies.absentia --all --train train.csv";
    let tune = "tune train.csv --trials 1 --max-factors 2";
    let import = "import factors/P.npy factors/Q.npy --users factors/users.txt";
    for line in [
        "split in/train.csv --out in".to_owned(),
        "split in/train.csv --out here/in".to_owned(),
        "convert train.csv --out ./train.csv".to_owned(),
        "convert train.csv --out exclude.csv --exclude exclude.csv".to_owned(),
        "convert in/x.users.txt --format csv --time-col none --out in/x.mtx".to_owned(),
        format!("{train} --valid valid.csv --model valid.csv"),
        format!("{train} --valid valid.csv --model link.csv"),
        format!("{train} --valid link.csv --model valid.csv"),
        format!("{train} --valid valid.csv --model hard.csv"),
        format!("{train} --valid va*d.csv --model here/valid.csv"),
        format!("{train} --exclude exclude.csv --model exclude.csv"),
        format!("{train} --exposed seen.csv --model seen.csv"),
        format!("{train} --exposed seen.csv --model m --checkpoint seen.csv"),
        format!("{train} --valid valid.csv --model m --report valid.csv"),
        format!("{train} --model new --report new"),
        format!("{train} --model new --checkpoint here/new"),
        format!("{train} --init other.absentia --model other.absentia"),
        format!("{train} --config run.toml --model run.toml"),
        format!("{train} --model Q.npy --weights lowrank:P.npy,Q.npy"),
        format!("{recommend} --out movies.absentia"),
        format!("{recommend} --out train.csv"),
        format!("{recommend} --deny hidden.txt --out hidden.txt"),
        format!("{evaluate} --per-user test.csv"),
        format!("{evaluate} --per-user train.csv"),
        format!("{evaluate} --per-user other.absentia --against other.absentia"),
        "export in/P.npy --out in".to_owned(),
        format!("{import} --model factors/P.npy"),
        format!("{import} --model factors/users.txt"),
        format!("{import} --model factors/item_scale.npy --item-scale factors/item_scale.npy"),
        "compare train.csv --test test.csv --factors 2 --report test.csv".to_owned(),
        format!("{tune} --valid valid.csv --out valid.csv"),
        format!("{tune} --out train.toml --log train.csv"),
        format!("{tune} --out new.toml --log new.toml"),
        format!("{tune} --out new.toml --model new.toml"),
        "generate --out new.csv --test new.csv".to_owned(),
    ] {
        let before = sandbox.contents();
        let ran = sandbox.run(&line);
        assert_eq!(ran.code, 2, "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains("replace"), "{line}: {}", ran.stderr);
        assert!(sandbox.contents() == before, "{line}");
    }
    // What no result replaces may be named as often as one likes.
    sandbox
        .run(&format!("{train} --model /dev/null --report /dev/null"))
        .ok();
}

#[test]
fn row_numbers_that_memory_has_no_room_for_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("far.csv", "user,item\n0,0\n4294967290,1\n");
    // They take 103 GB at the least.
    if absentia_io::limits::memory_available().is_some_and(|bytes| bytes < 90 << 30) {
        sandbox
            .run("train far.csv --dense-ids --model x.absentia --factors 2")
            .fails(5, &["far.csv", "row numbers", "without --dense-ids"]);
    }
}

#[test]
fn dates_cut_times_in_milliseconds() {
    let sandbox = Sandbox::new();
    let row = |user: u64, day: u64, scale: u64| {
        format!(
            "{user},{day},5,{}\n",
            (1_577_836_800 + 86_400 * day) * scale
        )
    };
    for (name, scale) in [("s.csv", 1), ("ms.csv", 1000)] {
        let rows: String = (0..40).map(|n| row(n % 4, n, scale)).collect();
        sandbox.write(name, &format!("user,item,rating,time\n{rows}"));
        let ran = sandbox.run(&format!(
            "convert {name} --since 2020-01-31 --out later.csv"
        ));
        assert_eq!(
            sandbox.read("later.csv").lines().count(),
            1 + 10,
            "{}",
            ran.ok().stderr
        );
        let line = format!("split {name} --by time:2020-02-04 --out parts");
        sandbox.run(&line).ok();
        assert_eq!(sandbox.read("parts/test.csv").lines().count(), 1 + 6);
    }
}

#[test]
fn a_model_without_scores_and_ratings_of_zero_are_warned_about() {
    let sandbox = Sandbox::new();
    let line = "train ratings.csv --model void.absentia --factors 2 --weights uniform:0.5";
    let ran = sandbox.run(&format!("{line} --regularization 50")).ok();
    assert!(ran.stderr.contains("every score is 0"), "{}", ran.stderr);
    let ran = sandbox.run(&format!("{line} --regularization 0.001")).ok();
    assert!(!ran.stderr.contains("every score is 0"), "{}", ran.stderr);
    sandbox.write(
        "signed.csv",
        "user,item,rating\na,x,1\na,y,0\nb,y,1\nb,z,0\n",
    );
    let line = "train signed.csv --model s.absentia --factors 2 --regularization 0.01";
    let ran = sandbox.run(line).ok();
    assert!(
        ran.stderr.contains("2 of 4 rows are rated 0"),
        "{}",
        ran.stderr
    );
}

#[test]
fn rows_that_are_rated_too_low_are_not_missed_by_the_model() {
    let sandbox = Sandbox::new();
    sandbox.write("a.csv", "user,item,rating\na,x,1\na,y,1\nb,x,1\nb,z,1\n");
    let line = "train a.csv --model a.absentia --factors 2 --regularization 0.01 --rating-col none";
    sandbox.run(line).ok();
    // Of five rows that are liked one names an item, and one a user, that the model does not know.
    let rows = "a,z,1\nb,y,1\na,new,1\nc,x,1\nb,y,1\nb,new,0\nd,x,0\n";
    sandbox.write("b.csv", &format!("user,item,rating\n{rows}"));
    let line = "evaluate a.absentia --train a.csv --test b.csv --min-rating 1 --json";
    let found = &sandbox.run(line).ok().json()[0];
    assert_eq!(found["unknown_rows"], 2, "{found}");
    assert_eq!(found["users_left_out"], 1, "{found}");
}

#[test]
fn models_without_factors_are_not_exported() {
    let sandbox = Sandbox::new();
    sandbox
        .run("train ratings.csv --solver itemknn --model knn.absentia")
        .ok();
    sandbox
        .run("export knn.absentia --out f")
        .fails(2, &["itemknn", "no factors"]);
    assert!(!sandbox.path("f").exists());
}

#[test]
fn what_is_popular_is_known_of_imported_models_too() {
    let sandbox = Sandbox::with_models();
    sandbox.run("export movies.absentia --out f").ok();
    let line =
        "import f/P.npy f/Q.npy --users f/users.txt --items f/items.txt --model again.absentia";
    sandbox.run(line).ok();
    let popularity = |model: &str| {
        let line = format!("evaluate {model} --train train.csv --test test.csv --at 5 --json");
        sandbox.run(&line).ok().json()[0]["popularity@5"].as_f64()
    };
    let imported = popularity("again.absentia").expect("a number");
    assert!(imported > 0.0, "{imported}");
    assert_eq!(Some(imported), popularity("movies.absentia"));
    // A pair that has two rows is one interaction.
    let rows = sandbox.read("train.csv");
    let twice = rows.lines().chain(rows.lines().skip(1));
    sandbox.write("twice.csv", &twice.collect::<Vec<_>>().join("\n"));
    let [once, twice] = ["train", "twice"].map(|name| {
        sandbox.run(&format!("{line} --train {name}.csv")).ok();
        std::fs::read(sandbox.path("again.absentia")).expect("read")
    });
    assert!(once == twice);
}

/// A decoder that panics on a damaged file is an error like any other, and nothing else is printed.
#[test]
fn panics_of_decoders_are_not_shown() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus/arrow-stream/offset_past_end.arrows");
    let sandbox = Sandbox::new();
    std::fs::copy(fixture, sandbox.path("x.arrows")).expect("copied");
    let ran = sandbox.run("describe x.arrows");
    ran.fails(3, &["x.arrows"]);
    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
}
