//! What people try first: files as they come, names they know from elsewhere, and mistakes that are easily made.

mod support;

use support::Sandbox;

const TRAIN: &str = "--model m.absentia -k 2 --iterations 1 --regularization 0.1";

#[test]
fn names_of_schemes_need_no_options() {
    let sandbox = Sandbox::new();
    for scheme in ["popularity", "uniform", "popularity*activity", "age"] {
        let line = format!("train ratings.csv {TRAIN} --weights {scheme}");
        sandbox.run(&line).ok();
    }
    let wrong = sandbox.run(&format!("train ratings.csv {TRAIN} --weights popularty"));
    wrong.fails(2, &["did you mean popularity?"]);
    let none = sandbox.run(&format!(
        "train ratings.csv {TRAIN} --weights nothing-like-it"
    ));
    let every = [
        "uniform",
        "popularity",
        "activity",
        "age",
        "available",
        "learned",
        "groups",
        "lowrank",
        "dense",
    ];
    none.fails(2, &every);
}

#[test]
fn warnings_do_not_advise_what_is_given() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "zero.csv",
        "user,item,rating\nann,heat,0\nbob,heat,4\nbob,up,3\nann,coco,1\n",
    );
    let said = |flags: &str| {
        sandbox
            .run(&format!("train zero.csv {TRAIN} {flags}"))
            .ok()
            .stderr
    };
    assert!(said("").contains("--targets raw"));
    for targets in ["raw", "log"] {
        let said = said(&format!("--targets {targets}"));
        assert!(!said.contains("--targets raw"), "{said}");
    }
    // A search has no such flag.
    let tune = "tune zero.csv --trials 2 --max-factors 2 --metric recall@1 --split ratio:0.3";
    let said = sandbox.run(tune).ok().stderr;
    let advice = said.contains("--min-rating leaves them out");
    assert!(advice && !said.contains("--targets"), "{said}");
}

#[test]
fn shares_out_of_range_are_wrong_usage_of_their_flag() {
    let sandbox = Sandbox::new();
    let train = |flags: &str| sandbox.run(&format!("train ratings.csv {TRAIN} {flags}"));
    train("--sample users:2").fails(2, &["--sample", "users:2", "from 0 to 1"]);
    train("--valid-split ratio:1.5").fails(2, &["--valid-split", "from 0 to 1"]);
    train("--valid-split ratio:-0.1").fails(2, &["--valid-split"]);
    sandbox
        .run("split ratings.csv --out p --by ratio:0.7,0.5")
        .fails(2, &["--by", "at most 1"]);
    sandbox
        .run("split ratings.csv --out p --by time:1.5")
        .fails(2, &["--by", "from 0 to 1"]);
}

#[test]
fn unknown_users_of_a_file_have_a_line_or_are_left_out() {
    let sandbox = Sandbox::with_models();
    sandbox.write("who.txt", "ann\n\nanm\nbob\n");
    let line = "recommend movies.absentia --users-file who.txt --train train.csv";
    let ran = sandbox.run(line);
    ran.fails(4, &["who.txt:3", "anm", "--skip-unknown"]);
    let ran = sandbox.run(&format!("{line} --skip-unknown --json")).ok();
    assert_eq!(ran.json().len(), 2);
    assert!(
        ran.stderr.contains("left out 1 of 3 users"),
        "{}",
        ran.stderr
    );
    sandbox.write("who.txt", "nobody\n");
    let ran = sandbox.run(&format!("{line} --skip-unknown"));
    ran.fails(4, &["none of these users"]);
}

#[test]
fn a_share_of_few_rows_leaves_one_and_says_so() {
    let sandbox = Sandbox::new();
    let rows: Vec<String> = (0..5)
        .map(|item| format!("ann,{item}\nbob,{}\n", item + 1))
        .collect();
    let rows = rows.concat();
    sandbox.write("few.csv", &format!("user,item\n{rows}"));
    let ran = sandbox
        .run("split few.csv --out parts --by share:0.9 --pick random")
        .ok();
    assert!(
        ran.stderr.contains("2 users had too few rows")
            && ran.stderr.contains("all but one of their rows"),
        "{}",
        ran.stderr
    );
    assert_eq!(sandbox.read("parts/test.csv").lines().count(), 1 + 8);
    assert_eq!(sandbox.read("parts/train.csv").lines().count(), 1 + 2);
}

#[test]
fn one_user_has_no_interval_and_nothing_is_minus_zero() {
    let sandbox = Sandbox::with_models();
    sandbox.write("one.csv", "user,item\nann,coco\n");
    let line =
        "evaluate movies.absentia --train train.csv --test one.csv --at 1 --per-user each.csv";
    let ran = sandbox.run(line).ok();
    assert!(!ran.stdout.contains('±'), "{}", ran.stdout);
    assert!(
        !sandbox.read("each.csv").contains("-0"),
        "{}",
        sandbox.read("each.csv")
    );
    let json = sandbox.run(&format!("{line} --json")).ok().json().remove(0);
    assert!(json["intervals"]["ndcg@1"].is_null(), "{json}");
}

#[test]
fn describe_says_which_column_is_what() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "log.csv",
        "Event Time,User ID,product_id,qty\n2020-01-01,7,8,3\n2021-01-01,7,9,1\n",
    );
    let ran = sandbox.run("describe log.csv").ok();
    for said in [
        "user from \"User ID\"",
        "item from \"product_id\"",
        "time from \"Event Time\"",
    ] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.stdout);
    }
    let json = sandbox.run("describe log.csv --json").ok().json().remove(0);
    assert_eq!(json["columns"]["time"], "Event Time");
    for (user, item, time) in [
        ("account_id", "video_id", "created_at"),
        ("CustomerID", "StockCode", "InvoiceDate"),
        ("username", "product_code", "purchase_date"),
    ] {
        let rows = format!("{time},{item},{user}\n2020-01-01,x1,7\n");
        sandbox.write("shop.csv", &rows);
        let ran = sandbox.run("describe shop.csv").ok();
        let said = format!("user from {user:?}, item from {item:?}, time from {time:?}");
        assert!(ran.stdout.contains(&said), "{}", ran.stdout);
    }
    sandbox.write("bare.csv", "7,8,3\n7,9,1\n");
    let ran = sandbox.run("describe bare.csv").ok();
    assert!(
        ran.stdout.contains("rating from \"column 3\""),
        "{}",
        ran.stdout
    );
}

#[test]
fn decimal_commas_are_an_option_that_is_offered() {
    let sandbox = Sandbox::new();
    sandbox.write("dec.csv", "user;item;rating\n1;2;3,5\n2;3;4\n");
    sandbox
        .run("describe dec.csv")
        .fails(3, &["3,5", "--decimal-comma"]);
    let ran = sandbox.run("convert dec.csv --decimal-comma --out -").ok();
    assert_eq!(ran.stdout, "user,item,rating\n1,2,3.5\n2,3,4\n");
}

#[test]
fn a_dash_is_standard_input_and_output() {
    let sandbox = Sandbox::with_models();
    let ratings = std::fs::read(sandbox.path("ratings.csv")).expect("read");
    let train = std::fs::read(sandbox.path("train.csv")).expect("read");
    let described = |line: &str, input: &[u8]| sandbox.piped(line, input).ok().json().remove(0);
    assert_eq!(
        described("describe - --json", &ratings),
        described("describe ratings.csv --json", b"")
    );
    let copy = sandbox.piped("convert - --out - --json", &ratings).ok();
    assert_eq!(
        copy.stdout,
        sandbox.run("convert ratings.csv --out -").ok().stdout
    );
    assert_eq!(
        copy.stdout.lines().count(),
        sandbox.read("ratings.csv").lines().count()
    );
    sandbox.piped(&format!("train - {TRAIN}"), &ratings).ok();
    sandbox.piped("split - --out dashed", &ratings).ok();
    let lists = sandbox
        .piped("recommend movies.absentia ann --train - --out -", &train)
        .ok();
    assert!(
        lists.stdout.starts_with("user,item,rank,score\nann,"),
        "{}",
        lists.stdout
    );
    let users = sandbox.piped(
        "recommend movies.absentia --users-file - --allow-seen --json",
        b"bob\nann\n",
    );
    assert_eq!(users.ok().json().len(), 2);
    sandbox
        .piped(
            "evaluate movies.absentia --train train.csv --test -",
            &train,
        )
        .ok();
    let twice = sandbox.piped("evaluate movies.absentia --train - --test -", &train);
    twice.fails(2, &["reads standard input", "--train", "--test"]);
    for line in [
        "split ratings.csv --out -",
        "export movies.absentia --out -",
    ] {
        sandbox
            .run(line)
            .fails(2, &["--out", "expected a folder", "standard output"]);
    }
    let made = sandbox
        .run("generate --users 60 --items 200 --entries 200 --out -")
        .ok();
    assert_eq!(made.stdout.lines().count(), 201, "{}", made.stdout);
    sandbox.run("convert ratings.csv --out r.parquet").ok();
    let parquet = std::fs::read(sandbox.path("r.parquet")).expect("read");
    sandbox
        .piped("describe -", &parquet)
        .fails(3, &["parquet from a pipe", "write it to a file"]);
}

#[test]
fn someone_new_is_known_by_a_few_items() {
    let sandbox = Sandbox::with_models();
    let line = "recommend movies.absentia --items heat,alien --top 3";
    let json = sandbox.run(&format!("{line} --json")).ok().json().remove(0);
    assert!(json["user"].is_null());
    let items = json["items"].as_array().expect("a list");
    assert_eq!(items.len(), 3);
    assert!(
        items
            .iter()
            .all(|one| one["item"] != "heat" && one["item"] != "alien")
    );
    // The same as someone who is folded in from a file.
    sandbox.write("new.csv", "user,item\nzoe,heat\nzoe,alien\n");
    let folded = sandbox
        .run("recommend movies.absentia --fold-in new.csv --top 3 --json")
        .ok();
    assert_eq!(folded.json().remove(0)["items"], json["items"]);
    assert!(sandbox.run(line).ok().stdout.contains("for someone new"));
    let wrong = sandbox.run("recommend movies.absentia --items heat,aliem");
    wrong.fails(4, &["item \"aliem\"", "\"alien\""]);
    let csv = sandbox.run(&format!("{line} --out -")).ok().stdout;
    assert!(csv.lines().nth(1).expect("a row").starts_with(','), "{csv}");
}

#[test]
fn integer_ids_stay_integers() {
    let sandbox = Sandbox::new();
    let rows: Vec<String> = (0..40)
        .map(|at| format!("{},{}\n", at % 8, 100 + at * 7 % 11))
        .collect();
    let rows = rows.concat();
    sandbox.write("numbers.csv", &format!("user,item\n{rows}"));
    sandbox.run(&format!("train numbers.csv {TRAIN}")).ok();
    let list = "recommend m.absentia 3 --train numbers.csv --top 2";
    let json = sandbox.run(&format!("{list} --json")).ok().json().remove(0);
    assert_eq!(json["user"], 3);
    assert!(json["items"][0]["item"].is_i64(), "{json}");
    let json = sandbox
        .run("similar m.absentia 100 --json")
        .ok()
        .json()
        .remove(0);
    assert!(
        json["id"] == 100 && json["similar"][0]["id"].is_i64(),
        "{json}"
    );
    let json = sandbox
        .run("explain m.absentia 3 103 --train numbers.csv --json")
        .ok()
        .json()
        .remove(0);
    assert!(
        json["user"] == 3 && json["contributions"][0]["item"].is_i64(),
        "{json}"
    );
    sandbox.run(&format!("{list} --out lists.parquet")).ok();
    // Files with ids that are text have text.
    sandbox.run("convert lists.parquet --out lists.jsonl").ok();
    assert!(
        sandbox
            .read("lists.jsonl")
            .starts_with("{\"user\":3,\"item\":1")
    );
    sandbox.run("convert ratings.csv --out named.jsonl").ok();
    assert!(sandbox.read("named.jsonl").starts_with("{\"user\":\""));
}

#[test]
fn a_model_can_keep_what_users_have_seen() {
    let sandbox = Sandbox::new();
    let train = format!("train ratings.csv {TRAIN}");
    sandbox.run(&train).ok();
    sandbox
        .run("recommend m.absentia ann")
        .fails(2, &["--train", "--keep-seen"]);
    let with_file = sandbox
        .run("recommend m.absentia ann --train ratings.csv --json")
        .ok()
        .stdout;
    sandbox.run(&format!("{train} --keep-seen")).ok();
    assert_eq!(
        sandbox.run("recommend m.absentia ann --json").ok().stdout,
        with_file
    );
    let anything = sandbox
        .run("recommend m.absentia ann --allow-seen --json")
        .ok()
        .stdout;
    assert_ne!(anything, with_file);
}

#[test]
fn models_that_keep_what_users_have_seen_are_measured_and_explained_by_it() {
    let sandbox = Sandbox::with_models();
    let train = format!("train train.csv {TRAIN} --keep-seen");
    sandbox.run(&train).ok();
    for line in [
        "evaluate m.absentia --test test.csv --at 5",
        "explain m.absentia bob jaws",
        "explain m.absentia bob jaws --by item",
    ] {
        let alone = sandbox.run(&format!("{line} --json")).ok().stdout;
        let with_file = format!("{line} --json --train train.csv");
        assert_eq!(alone, sandbox.run(&with_file).ok().stdout, "{line}");
    }
    // One that keeps nothing, and one whose targets are ratings, which are not kept.
    let why = "explain movies.absentia bob jaws";
    sandbox.run(why).fails(2, &["--train", "--keep-seen"]);
    sandbox.run(&format!("{train} --targets raw")).ok();
    let ran = sandbox.run("explain m.absentia bob jaws");
    ran.fails(2, &["depend on ratings", "--train"]);
}

#[test]
fn a_model_card_has_data_settings_metrics_and_limits() {
    let sandbox = Sandbox::with_models();
    let line = "evaluate movies.absentia --train train.csv --test test.csv --at 5 --json";
    sandbox.write("metrics.json", &sandbox.run(line).ok().stdout);
    sandbox
        .run("inspect movies.absentia --card card.md --metrics metrics.json")
        .ok();
    let card = sandbox.read("card.md");
    for part in [
        "# Model card: movies",
        "`train.csv`",
        "24 users",
        "interactions.",
        "Measured for 24 users, ",
        "| factors | 8 |",
        "| recall@5 | 0.",
        "## Limits",
    ] {
        assert!(card.contains(part), "no {part} in\n{card}");
    }
    let bare = sandbox.run("inspect movies.absentia --card -").ok().stdout;
    assert!(bare.contains("None were given"), "{bare}");
    let line =
        format!("train ratings.csv {TRAIN} --valid-split leave-one-out --valid-metric ndcg@3");
    sandbox.run(&line).ok();
    let card = sandbox.run("inspect m.absentia --card -").ok().stdout;
    let split = "Held out before training: `leave-one-out`.";
    assert!(card.contains(split), "{card}");
    sandbox
        .run("inspect movies.absentia --card card.md --metrics train.csv")
        .fails(3, &["evaluate"]);
}

#[test]
fn equal_runs_give_equal_files() {
    let sandbox = Sandbox::new();
    let train = format!("train ratings.csv {TRAIN} --iterations 3 --keep-seen");
    sandbox.run(&train).ok();
    let first = std::fs::read(sandbox.path("m.absentia")).expect("read");
    // What a run may use of the machine changes nothing.
    for flags in ["", "--threads 1", "--memory-limit 3GiB", "--json"] {
        sandbox.run(&format!("{train} {flags}")).ok();
        let again = std::fs::read(sandbox.path("m.absentia")).expect("read");
        assert!(first == again, "{flags}");
    }
}

#[test]
fn help_is_a_command_too() {
    let sandbox = Sandbox::new();
    let help = sandbox.run("help train").ok().stdout;
    assert_eq!(help, sandbox.run("train --help").ok().stdout);
    assert!(
        help.contains("Usage: absentia train <DATA>... [OPTIONS]"),
        "{help}"
    );
    assert!(sandbox.run("help").ok().stdout.contains("Commands:"));
    sandbox.run("help nothing").fails(2, &["nothing"]);
}

#[test]
fn rules_that_are_given_or_have_no_flag_are_not_advised() {
    let sandbox = Sandbox::with_models();
    sandbox.write(
        "twice.csv",
        "user,item\nann,heat\nann,heat\nbob,up\nbob,heat\n",
    );
    let said = |line: &str| sandbox.run(line).ok().stderr;
    let train = format!("train twice.csv {TRAIN}");
    assert!(said(&train).contains("--duplicates"));
    for rule in ["last", "sum", "max"] {
        let said = said(&format!("{train} --duplicates {rule}"));
        assert!(
            said.contains("1 of 4 rows repeat") && !said.contains("--duplicates"),
            "{said}"
        );
        assert!(!said.contains("warning"), "{said}");
    }
    // `recommend` has no such flag.
    let folded = said("recommend movies.absentia --fold-in twice.csv --all --top 1");
    assert!(
        folded.contains("1 of 4 rows repeat") && !folded.contains("--duplicates"),
        "{folded}"
    );
}

#[test]
fn times_that_are_too_large_are_not_called_infinite() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "far.csv",
        "user,item,time\nann,heat,1500000000\nbob,heat,1.6e22\n",
    );
    let ran = sandbox.run("describe far.csv");
    ran.fails(3, &["far.csv:3", "time \"1.6e22\" is too large"]);
}

#[test]
fn values_of_a_file_that_are_out_of_range_have_their_line() {
    let sandbox = Sandbox::with_models();
    let train = "train ratings.csv --model m.absentia";
    let evaluate = "evaluate movies.absentia --train train.csv --test test.csv";
    for (line, keys, part) in [
        (train, "factors = 0", "factors is 0"),
        (train, "regularization = -1", "regularization is -1"),
        (train, "tolerance = -1", "tolerance is -1"),
        (train, "confidence = 'linear:-3'", "at least 0"),
        (train, "confidence = -3", "at least 0"),
        (
            train,
            "valid-metric = 'foo'",
            "valid-metric: \"foo\" is not a metric",
        ),
        (train, "exposed-weight = -1", "exposed-weight is -1"),
        (
            evaluate,
            "metrics = ['foo']",
            "metrics: \"foo\" is not a metric",
        ),
        (evaluate, "at = [0]", "at least 1"),
        ("compare ratings.csv", "factors = 0", "factors is 0"),
        (
            "compare ratings.csv",
            "metrics = ['foo']",
            "metrics: \"foo\" is not a metric",
        ),
        (
            "tune ratings.csv",
            "metric = 'recall@0'",
            "metric: \"recall@0\" is not a metric",
        ),
        ("tune ratings.csv", "split = 'share:1.5'", "from 0 to 1"),
        ("generate --out made.csv", "like-rate = 3", "like-rate"),
        ("generate --out made.csv", "entries = 100000000", "entries"),
        ("generate --out made.csv", "rank = 0", "rank"),
        ("split ratings.csv --out p", "by = 'ratio:2'", "from 0 to 1"),
    ] {
        let exposed = if keys.starts_with("exposed") {
            "exposed = ['test.csv']\n"
        } else {
            "\n"
        };
        sandbox.write("run.toml", &format!("# a line\n{exposed}{keys}\n"));
        let ran = sandbox.run(&format!("{line} --config run.toml"));
        ran.fails(2, &["run.toml:3: ", part]);
    }
}
