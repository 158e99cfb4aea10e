//! Mistakes that are easily made, and what the program advises.

mod support;

use support::Sandbox;

const TRAIN: &str = "--model m.absentia -k 2 --iterations 1 --regularization 0.1";

#[test]
fn names_of_other_programs_lead_to_ours() {
    let sandbox = Sandbox::new();
    let train = |flags: &str| sandbox.run(&format!("train ratings.csv {TRAIN} {flags}"));
    train("--lambda 0.1").fails(2, &["--lambda", "'--regularization'"]);
    train("--epochs=3").fails(2, &["'--iterations'"]);
    train("--alpha 40").fails(2, &["'--confidence'"]);
    for flag in ["--out", "--output", "--save"] {
        let line = format!("train ratings.csv {flag} m.absentia");
        sandbox.run(&line).fails(2, &["'--model'"]);
    }
    let ran = sandbox.run("convert ratings.csv --save r.tsv");
    ran.fails(2, &["'--out'"]);
    for flag in ["--port 80", "--host 0.0.0.0", "--bind :80"] {
        let line = format!("serve m.absentia {flag}");
        sandbox.run(&line).fails(2, &["'--address'"]);
    }
    let verbose = train("--verbose");
    verbose.fails(2, &["'--verbose'"]);
    assert!(!verbose.stderr.contains("--version"), "{}", verbose.stderr);
    for (verb, usual) in [("fit", "'train'"), ("predict", "'recommend'")] {
        let line = format!("{verb} ratings.csv");
        sandbox.run(&line).fails(2, &["unrecognized", usual]);
    }
    let unknown = train("--frobnicate 3");
    unknown.fails(2, &["--frobnicate"]);
    assert!(!unknown.stderr.contains("as a value"), "{}", unknown.stderr);
    sandbox.write("run.toml", "data = ['ratings.csv']\nlambda = 0.1\n");
    let ran = sandbox.run("train --config run.toml --model m.absentia");
    ran.fails(2, &["run.toml:2", "\"lambda\"", "\"regularization\""]);
}

#[test]
fn folders_and_archives_of_several_files_say_what_to_name() {
    let sandbox = Sandbox::with_models();
    std::fs::create_dir(sandbox.path("months")).expect("a folder");
    sandbox.write("months/may.csv", "user,item\n1,2\n");
    sandbox
        .run("describe months")
        .fails(3, &["months", "folder", "*.csv"]);
    std::fs::create_dir(sandbox.path("empty")).expect("a folder");
    sandbox
        .run("describe empty")
        .fails(3, &["empty: the folder has no files"]);
    for line in [
        "recommend months ann --allow-seen",
        "similar months heat",
        "inspect months",
    ] {
        let said = ["months: is a folder", "name the file of the model"];
        sandbox.run(line).fails(3, &said);
    }
    let import = sandbox.run("import months months --model m.absentia");
    import.fails(1, &["months: is a directory", "name a file in it"]);
    // It is no file that a result could replace.
    sandbox
        .run(&format!("train . {TRAIN}"))
        .fails(3, &[".: is a folder", "*.csv"]);
    for line in [
        "train ratings.csv --config months",
        "recommend movies.absentia --users-file months --allow-seen",
    ] {
        sandbox.run(line).fails(1, &["months", "name a file"]);
    }
}

#[test]
fn formats_that_a_pipe_cannot_carry_are_named() {
    let sandbox = Sandbox::new();
    sandbox.run("convert ratings.csv --out r.parquet").ok();
    sandbox
        .run("convert ratings.csv --out r.npz --time-col none")
        .ok();
    // The header of a zip archive whose first file is ratings.csv, as far as a pipe shows it.
    let mut archive = b"PK\x03\x04".to_vec();
    archive.resize(26, 0);
    archive.extend(11_u16.to_le_bytes());
    archive.extend([0, 0]);
    archive.extend(b"ratings.csv");
    let bytes = |name: &str| std::fs::read(sandbox.path(name)).expect("read");
    for (input, name) in [
        (bytes("r.parquet"), "parquet from a pipe"),
        (bytes("r.npz"), "npz from a pipe"),
        (archive, "a zip archive from a pipe"),
    ] {
        sandbox
            .piped("describe -", &input)
            .fails(3, &[name, "write it to a file first"]);
    }
}

#[test]
fn too_many_entries_lead_to_the_flags() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run("generate --users 50 --items 30 --out made.csv");
    ran.fails(2, &["20000 entries", "--entries", "--items", "--like-rate"]);
}

#[test]
fn values_that_are_no_numbers_say_what_is_expected() {
    let sandbox = Sandbox::new();
    let train = |flags: &str| sandbox.run(&format!("train ratings.csv {TRAIN} {flags}"));
    for value in ["many", "2.5", ""] {
        let flags = format!("--seed={value}");
        train(&flags).fails(2, &["'--seed <N>'", "a whole number"]);
    }
    train("--seed 99999999999999999999999").fails(2, &["too large"]);
    train("--min-rating good").fails(2, &["'--min-rating <RATING>'", "expected a number"]);
    sandbox.write("run.toml", "data = ['ratings.csv']\nfactors = -3\n");
    let ran = sandbox.run("train --config run.toml --model m.absentia");
    ran.fails(2, &["run.toml:2", "factors = -3", "a whole number"]);
    sandbox
        .run("tune ratings.csv --metric foo")
        .fails(2, &["--metric: \"foo\" is not a metric"]);
    sandbox
        .run("compare ratings.csv --metrics foo")
        .fails(2, &["--metrics: \"foo\" is not a metric"]);
}

#[test]
fn missing_files_lead_to_similar_names() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run("describe rating.csv");
    ran.fails(
        4,
        &["rating.csv: no such file", "did you mean \"ratings.csv\""],
    );
    let ran = sandbox.run("describe purchases.parquet");
    ran.fails(4, &["no such file", "check the name"]);
    sandbox
        .run("describe *.parquet")
        .fails(4, &["no file matches \"*.parquet\""]);
}

#[test]
fn files_that_only_contain_tables_say_what_to_do() {
    let sandbox = Sandbox::new();
    let mut tar = b"ratings.csv".to_vec();
    tar.resize(257, 0);
    tar.extend(b"ustar  \0");
    for (bytes, said) in [
        (&tar[..], ["a tar archive", "extract"]),
        (b"7z\xbc\xaf\x27\x1c\0\x04", ["a 7z archive", "extract"]),
        (b"SQLite format 3\0", ["an SQLite database", "as CSV"]),
        (b"\x93NUMPY\x01\0v\0", ["an array of NumPy", "as CSV"]),
        (b"\xff\xfe\0\0u\0\0\0", ["UTF-32", "iconv -f UTF-32"]),
        (b"\xff\xfeu\0,\0", ["UTF-16", "iconv -f UTF-16"]),
        (
            b"\n<!DOCTYPE html>\n<html><body>Not found</body></html>",
            ["an HTML page", "download the file itself"],
        ),
        (
            b"user,item\nann,caf\xe9 noir and milk\n",
            [":2: not UTF-8", "iconv -f WINDOWS-1252 -t UTF-8"],
        ),
    ] {
        std::fs::write(sandbox.path("table"), bytes).expect("written");
        sandbox.run("describe table").fails(3, &said);
    }
}

#[test]
fn arrays_of_objects_and_bare_numbers_say_what_to_write() {
    let sandbox = Sandbox::new();
    sandbox.write("a.json", "[{\"user\": 1, \"item\": 2}]");
    let ran = sandbox.run("describe a.json");
    ran.fails(3, &["a JSON array", "jq -c '.[]'"]);
    let ran = sandbox.run(&format!("train ratings.csv {TRAIN} --weights 0.1"));
    ran.fails(2, &["did you mean uniform:0.1?"]);
    // How many were bought is the value of a row.
    sandbox.write("sold.csv", "User,Product,Quantity\nann,1,2\nbob,2,1\n");
    let described = sandbox.run("describe sold.csv").ok().stdout;
    assert!(
        described.contains("rating from \"Quantity\""),
        "{described}"
    );
}

#[test]
fn lists_are_written_in_the_format_that_is_named() {
    let sandbox = Sandbox::with_models();
    let line = "recommend movies.absentia ann --allow-seen --top 2 --out";
    let ran = sandbox.run(&format!("{line} - --to jsonl")).ok();
    assert_eq!(ran.json().len(), 1);
    assert!(
        ran.stderr.contains("for 1 user to standard output"),
        "{}",
        ran.stderr
    );
    sandbox.run(&format!("{line} lists --to tsv")).ok();
    assert!(sandbox.read("lists").starts_with("user\titem\t"));
    sandbox
        .run(&format!("{line} lists.npz"))
        .fails(2, &["npz", "--to"]);
    sandbox.run(&format!("{line} lists")).fails(2, &["--to"]);
}

#[test]
fn unknown_items_of_someone_new_can_be_left_out() {
    let sandbox = Sandbox::with_models();
    let line = "recommend movies.absentia --top 3 --items";
    let known = sandbox.run(&format!("{line} heat")).ok();
    let ran = sandbox
        .run(&format!("{line} heat,nosuch --skip-unknown"))
        .ok();
    assert_eq!(ran.stdout, known.stdout);
    assert!(
        ran.stderr.contains("left out 1 of 2 items"),
        "{}",
        ran.stderr
    );
    sandbox
        .run(&format!("{line} nosuch --skip-unknown"))
        .fails(4, &["none of these items"]);
}

#[test]
fn settings_ids_and_figures_come_from_standard_input_too() {
    let sandbox = Sandbox::with_models();
    let tuned = sandbox
        .run("tune ratings.csv --trials 2 --max-factors 2 --metric recall@3 --out -")
        .ok();
    assert!(!tuned.stderr.contains("--config -"), "{}", tuned.stderr);
    sandbox
        .piped(
            "train --config - --model t.absentia",
            tuned.stdout.as_bytes(),
        )
        .ok();
    sandbox.run("export movies.absentia --out factors").ok();
    let users = sandbox.read("factors/users.txt");
    let import =
        "import factors/P.npy factors/Q.npy --items factors/items.txt --model again.absentia";
    sandbox
        .piped(&format!("{import} --users -"), users.as_bytes())
        .ok();
    assert_eq!(sandbox.model("again.absentia").ids.users.len(), 24);
    sandbox
        .piped(
            "train ratings.csv --model aged.absentia --factors 2 --weights age:mean=0.1,released=-",
            b"item,released\nheat,2015-01-01\n",
        )
        .ok();
    let measured = sandbox
        .run("evaluate movies.absentia --train train.csv --test test.csv --at 5 --json")
        .ok();
    let card = sandbox.piped(
        "inspect movies.absentia --card - --metrics -",
        measured.stdout.as_bytes(),
    );
    let card = card.ok();
    assert!(card.stdout.contains("| recall@5 | 0."), "{}", card.stdout);
    assert!(
        card.stderr.contains("wrote the card to standard output"),
        "{}",
        card.stderr
    );
}

#[test]
fn a_search_says_that_users_have_too_few_rows_for_the_share() {
    let sandbox = Sandbox::new();
    let ran = sandbox
        .run("tune ratings.csv --split share:0.99 --trials 1 --max-factors 2 --metric recall@3 --out t.toml")
        .ok();
    assert!(
        ran.stderr.contains("24 users had too few rows"),
        "{}",
        ran.stderr
    );
}
