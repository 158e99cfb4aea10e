//! From a file to recommendations, and what every command says on the way.

mod support;

use std::fmt::Write as _;

use support::Sandbox;

#[test]
fn three_commands_lead_from_a_file_to_recommendations() {
    let sandbox = Sandbox::new();
    sandbox.run("split ratings.csv --out . --by last:2").ok();
    sandbox
        .run("train train.csv --model m.absentia --factors 8 --iterations 10")
        .ok();
    let measured = sandbox
        .run("evaluate m.absentia --train train.csv --test test.csv --at 3,5 --json")
        .ok();
    let found = &measured.json()[0];
    assert_eq!(found["users"], 24);
    let recall = found["recall@5"].as_f64().expect("recall@5");
    assert!(recall > 0.2 && recall <= 1.0, "{recall}");
    assert!(found["recall@3"].as_f64() <= found["recall@5"].as_f64());
    assert_eq!(found["sampled"], false);
    let shown = sandbox
        .run("recommend m.absentia ann --train train.csv --top 3")
        .ok();
    assert!(shown.stdout.contains("for ann"), "{}", shown.stdout);
    assert_eq!(
        shown
            .stdout
            .lines()
            .filter(|line| line.contains("0."))
            .count(),
        3
    );
}

#[test]
fn a_list_is_the_same_alone_in_bulk_and_in_every_format() {
    let sandbox = Sandbox::with_models();
    let bulk = sandbox
        .run("recommend movies.absentia --all --train train.csv --top 4 --json")
        .ok()
        .json();
    assert_eq!(bulk.len(), 24);
    for list in &bulk {
        let user = list["user"].as_str().expect("an id");
        let line = format!("recommend movies.absentia {user} --train train.csv --top 4 --json");
        assert_eq!(&sandbox.run(&line).ok().json()[0], list);
    }
    for name in ["lists.csv", "lists.tsv", "lists.jsonl", "lists.parquet"] {
        let line =
            format!("recommend movies.absentia --all --train train.csv --top 4 --out {name}");
        sandbox.run(&line).ok();
        assert!(sandbox.path(name).exists());
    }
    let csv = sandbox.read("lists.csv");
    let first = &bulk[0]["items"][0];
    let expected = format!("ann,{},1,", first["item"].as_str().expect("an item"));
    assert!(
        csv.lines()
            .nth(1)
            .is_some_and(|line| line.starts_with(&expected)),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 1 + 24 * 4);
    assert_eq!(sandbox.read("lists.jsonl").lines().count(), 24);
    // A parquet file of recommendations is an interaction file too.
    sandbox
        .run("convert lists.parquet --out back.csv --rating-col score")
        .ok();
    assert_eq!(sandbox.read("back.csv").lines().count(), 1 + 24 * 4);
}

#[test]
fn seen_denied_and_other_items_stay_out_of_lists() {
    let sandbox = Sandbox::with_models();
    let train = sandbox.read("train.csv");
    let items = |line: &str| -> Vec<String> {
        let list = &sandbox.run(line).ok().json()[0]["items"];
        let list = list.as_array().expect("a list");
        list.iter()
            .map(|one| one["item"].as_str().expect("an id").to_owned())
            .collect()
    };
    let found =
        items("recommend movies.absentia ann --train train.csv --top 99 --deny hidden.txt --json");
    assert!(!found.is_empty() && !found.contains(&"up".to_owned()));
    assert!(
        found
            .iter()
            .all(|item| !train.contains(&format!("ann,{item},")))
    );
    sandbox.write("allowed.txt", "heat\nalien\nup\n");
    let found = items("recommend movies.absentia ann --allow-seen --allow allowed.txt --json");
    assert_eq!(found.len(), 3);
}

#[test]
fn training_prints_a_json_object_a_sweep_and_one_at_the_end() {
    let sandbox = Sandbox::new();
    let line = "train ratings.csv --model m.absentia --factors 4 --iterations 3 \
                --valid-split leave-one-out --valid-metric recall@5 --json";
    let lines = sandbox.run(line).ok().json();
    assert_eq!(lines.len(), 4);
    let mut before = f64::INFINITY;
    for (at, line) in lines[..3].iter().enumerate() {
        assert_eq!(line["iteration"], at + 1);
        let number = |key: &str| line[key].as_f64().expect(key);
        let parts = number("observed") + number("missing") + number("regularization");
        assert!((number("objective") - parts).abs() < 1e-9);
        assert!(number("objective") < before && number("seconds") >= 0.0);
        assert!((0.0..=1.0).contains(&number("validation")));
        before = number("objective");
    }
    assert_eq!(lines[3]["model"], "m.absentia");
    assert_eq!(lines[3]["interrupted"], false);
    assert!(
        sandbox
            .run("train ratings.csv --model m.absentia --iterations 2 -k 4 --quiet")
            .ok()
            .stderr
            .is_empty()
    );
}

#[test]
fn every_command_speaks_json() {
    let sandbox = Sandbox::with_models();
    for line in [
        "describe ratings.csv",
        "convert ratings.csv --out r.jsonl",
        "split ratings.csv --out parts --by ratio:0.2,0.1 --pick random",
        "generate --users 50 --items 40 --entries 120 --out g.csv",
        "inspect movies.absentia",
        "similar movies.absentia heat alien",
        "explain movies.absentia ann tron --train train.csv",
        "evaluate movies.absentia --train train.csv --test test.csv --against other.absentia",
        "compare train.csv --test test.csv -k 4 --iterations 2 --weights uniform:0.1 --weights uniform:0",
        "train train.csv --model m.absentia --dry-run",
    ] {
        let lines = sandbox.run(&format!("{line} --json")).ok().json();
        assert!(
            !lines.is_empty() && lines.iter().all(serde_json::Value::is_object),
            "{line}"
        );
    }
}

#[test]
fn explanations_add_up_to_the_score() {
    let sandbox = Sandbox::with_models();
    let line = "explain movies.absentia bob jaws --train train.csv --top 2 --json";
    let found = &sandbox.run(line).ok().json()[0];
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let listed = found["contributions"].as_array().expect("a list");
    let listed: f64 = listed
        .iter()
        .map(|part| number(&part["contribution"]))
        .sum();
    let sum = listed + number(&found["others"]) + number(&found["remainder"]);
    assert!((sum - number(&found["score"])).abs() < 1e-6);
    assert!((number(&found["missing_weight"]) - 0.1).abs() < 1e-6);
    // Where all are listed the others add 0, which is not written as -0.
    let all = &sandbox
        .run(&line.replace("--top 2", "--top 99"))
        .ok()
        .json()[0];
    assert_eq!(all["others"].to_string(), "0.0");
}

#[test]
fn two_models_are_compared_user_by_user() {
    let sandbox = Sandbox::with_models();
    // Lists of 20 have all 14 items, in whatever order.
    for line in [
        "evaluate movies.absentia --train train.csv --test test.csv",
        "compare train.csv --test test.csv -k 2 --iterations 1 --regularization 0.1",
    ] {
        let said = sandbox.run(line).ok().stderr;
        let start = said.find("the same for all models: ");
        let warning = said[start.expect("a warning")..]
            .lines()
            .next()
            .unwrap_or_default();
        for part in ["recall@20", "have all 14 items", "--at 4"] {
            assert!(warning.contains(part), "{part}: {warning}");
        }
        assert!(!warning.contains("ndcg@20"), "{warning}");
        let said = sandbox.run(&format!("{line} --at 4")).ok().stderr;
        assert!(!said.contains("the same for all"), "{said}");
    }
    let line = "evaluate movies.absentia --train train.csv --test test.csv --at 5 --metrics ndcg \
                --against movies.absentia --per-user users.csv --json";
    let found = &sandbox.run(line).ok().json()[0];
    assert_eq!(found["difference"]["ndcg@5"]["difference"], 0.0);
    let users = sandbox.read("users.csv");
    assert!(users.starts_with("user,ndcg@5\nann,"), "{users}");
    assert_eq!(users.lines().count(), 25);
    let line = "compare train.csv --test test.csv -k 4 --iterations 2 --solver eals --solver als \
                --report compare.html --json";
    let lines = sandbox.run(line).ok().json();
    assert_eq!(lines.len(), 4);
    assert!(lines[0].get("against_first").is_none());
    assert!(lines[1]["against_first"]["recall@20"]["p"].is_number());
    assert_eq!(lines[2]["variant"], "most popular");
    assert_eq!(lines[3]["variant"], "most popular lately");
    let page = sandbox.read("compare.html");
    assert!(page.starts_with("<!doctype html>"));
    // What was compared, on what, with how many factors and which regularization; counting is not the fastest training.
    for part in ["train.csv, tested on test.csv: ", "K = 4, λ = "] {
        assert!(page.contains(part), "no {part}");
    }
    let popular = page.split("most popular<").nth(1).expect("a row");
    let row = popular.split("</tr>").next().expect("cells");
    assert!(row.ends_with("<td class=\"number\"></td>"), "{row}");
}

#[test]
fn strangers_are_folded_in() {
    let sandbox = Sandbox::new();
    sandbox
        .run("split ratings.csv --out s --by users:6 --pick random")
        .ok();
    sandbox
        .run("train s/train.csv --model m.absentia -k 4 --iterations 5")
        .ok();
    let line = "evaluate m.absentia --fold-in s/fold_in.csv --test s/test.csv --at 5 --baseline popularity --json";
    let found = &sandbox.run(line).ok().json()[0];
    assert_eq!(found["users"], 6);
    assert!(found["other"]["recall@5"].is_number());
}

#[test]
fn sampled_negatives_are_labelled() {
    let sandbox = Sandbox::with_models();
    let mut negatives = String::new();
    for line in sandbox.read("test.csv").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let _ = writeln!(negatives, "({},{})\tup\tjaws\tm", fields[0], fields[1]);
    }
    sandbox.write("test.negative", &negatives);
    let line = "evaluate movies.absentia --test test.csv --negatives test.negative --at 2";
    let shown = sandbox.run(line).ok();
    assert!(shown.stdout.contains("sampled"), "{}", shown.stdout);
    assert_eq!(
        sandbox.run(&format!("{line} --json")).ok().json()[0]["sampled"],
        true
    );
    let said = sandbox.run(&format!("{line} --rank-seen")).ok().stderr;
    assert!(said.contains("--rank-seen has no effect"), "{said}");
}

#[test]
fn weights_from_tables_by_id_and_arrays_by_position() {
    let sandbox = Sandbox::new();
    let mut users = "user,segment\nann,odd\nbob,even\n".to_owned();
    for user in 2..24 {
        let segment = if user % 2 == 0 { "even" } else { "odd" };
        let _ = writeln!(users, "user{user},{segment}");
    }
    sandbox.write("users.csv", &users);
    let items: std::collections::BTreeSet<String> = sandbox
        .read("ratings.csv")
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(1).unwrap_or_default().to_owned())
        .collect();
    let lines: Vec<String> = items.iter().map(|item| format!("{item},film")).collect();
    sandbox.write("items.csv", &lines.join("\n"));
    sandbox.write("table.csv", "segment,film\nodd,0.2\neven,0\n");
    let train = "train ratings.csv -k 4 --iterations 2 --model m.absentia";
    sandbox
        .run(&format!(
            "{train} --weights groups:table.csv,users.csv,items.csv"
        ))
        .ok();
    let loaded = sandbox.model("m.absentia");
    let weight = |user: &str| {
        let user = loaded.ids.users.get(user).expect("known");
        loaded.model.weights().weight(user, 0)
    };
    assert!((weight("ann") - 0.2).abs() < 1e-7 && weight("bob").abs() < 1e-7);
    sandbox
        .run("generate --users 30 --items 100 --entries 200 --out g.csv --truth truth")
        .ok();
    let given = "--weights lowrank:truth/A.npy,truth/B.npy+uniform:0.01";
    sandbox
        .run(&format!(
            "train g.csv --dense-ids --shape 30,100 -k 4 --iterations 2 --model g.absentia {given}"
        ))
        .ok();
    let refused = sandbox.run(&format!("train g.csv -k 4 --model g.absentia {given}"));
    refused.fails(2, &["by position", "--dense-ids"]);
}

#[test]
fn exposed_pairs_and_excluded_pairs() {
    let sandbox = Sandbox::new();
    sandbox.write("shown.csv", "user,item\nann,m\nann,coco\n");
    let line = "train ratings.csv -k 4 --iterations 2 --model m.absentia --exposed shown.csv --exposed-weight 5";
    assert!(
        sandbox
            .run(line)
            .ok()
            .stderr
            .contains("2 pairs were shown and not taken")
    );
    sandbox.write("some.csv", "user,item\nann,heat\nann,alien\n");
    let line = "convert ratings.csv --out less.csv --exclude some.csv";
    sandbox.run(line).ok();
    let kept = |line: &&str| !line.starts_with("ann,heat,") && !line.starts_with("ann,alien,");
    let ratings = sandbox.read("ratings.csv");
    let expected: Vec<&str> = ratings.lines().filter(kept).collect();
    assert!(expected.len() < ratings.lines().count());
    assert_eq!(sandbox.read("less.csv").lines().count(), expected.len());
}

#[test]
fn factors_go_out_and_come_back() {
    let sandbox = Sandbox::with_models();
    sandbox.run("export movies.absentia --out f").ok();
    assert_eq!(sandbox.read("f/users.txt").lines().next(), Some("ann"));
    let line = "import f/P.npy f/Q.npy --users f/users.txt --items f/items.txt --train train.csv --model again.absentia";
    sandbox.run(line).ok();
    let list = |model: &str| {
        let line = format!("recommend {model} ann bob --train train.csv --json");
        sandbox.run(&line).ok().stdout
    };
    assert_eq!(list("movies.absentia"), list("again.absentia"));
    let (own, again) = (
        sandbox.model("movies.absentia"),
        sandbox.model("again.absentia"),
    );
    assert_eq!(
        own.model.parts().item_counts,
        again.model.parts().item_counts
    );
    let printed = sandbox.run("inspect again.absentia --print-config");
    printed.fails(4, &["no configuration"]);
    for layout in ["parquet", "faiss", "onnx", "usearch", "hnswlib"] {
        sandbox
            .run(&format!(
                "export movies.absentia --out {layout} --layout {layout}"
            ))
            .ok();
    }
}

#[test]
fn the_demonstration_shows_a_gain_that_the_control_lacks() {
    let sandbox = Sandbox::new();
    let line = "demo --users 800 --items 600 --entries 16000 --json";
    let lines = sandbox.run(line).ok().json();
    assert_eq!(lines.len(), 10);
    let recall = |at: usize| lines[at]["recall@20"].as_f64().expect("a share");
    assert!(recall(2) > 1.1 * recall(0) && recall(2) > recall(1));
    let liked = |at: usize| lines[3 + at]["liked@20"].as_f64().expect("a share");
    assert!(liked(1) > liked(0) && liked(2) > 1.1 * liked(1));
    assert!(liked(5) - liked(3) < 0.25 * (liked(2) - liked(0)));
    let shown = sandbox
        .run("demo --users 300 --items 300 --entries 4000")
        .ok();
    assert!(
        shown.stdout.contains("The reason") && shown.stdout.contains("Recommendations for user")
    );
}

#[test]
fn held_out_pairs_that_are_trained_on_are_noticed() {
    let sandbox = Sandbox::with_models();
    let line = "evaluate movies.absentia --train ratings.csv --test test.csv";
    let said = sandbox.run(line).ok().stderr;
    assert!(said.contains("are in --train as well"), "{said}");
    let line = "train ratings.csv --valid test.csv --model m.absentia -k 4 --iterations 1";
    let said = sandbox.run(line).ok().stderr;
    assert!(
        said.contains("are held out as well, and are not trained on"),
        "{said}"
    );
}

#[test]
fn post_scaling_survives_the_way_out_and_back() {
    let sandbox = Sandbox::with_models();
    sandbox
        .run("train train.csv --model s.absentia -k 8 --iterations 4 --regularization 0.01 --post-scale -0.7")
        .ok();
    let said = sandbox.run("export s.absentia --out f").ok().stderr;
    assert!(said.contains("is not the ranking"), "{said}");
    let line = "import f/P.npy f/Q.npy --users f/users.txt --items f/items.txt --train train.csv --model again.absentia";
    let said = sandbox.run(line).ok().stderr;
    assert!(said.contains("item_scale.npy"), "{said}");
    let quality = |model: &str| {
        let line = format!("evaluate {model} --train train.csv --test test.csv --at 5 --json");
        sandbox.run(&line).ok().json()[0]["ndcg@5"].clone()
    };
    assert_eq!(quality("s.absentia"), quality("again.absentia"));
    std::fs::remove_file(sandbox.path("f/item_scale.npy")).expect("removed");
    sandbox.run(line).ok();
    assert_ne!(quality("s.absentia"), quality("again.absentia"));
}

#[test]
fn matrices_come_with_lists_of_their_ids() {
    let sandbox = Sandbox::new();
    let line = "convert ratings.csv --out r.mtx.gz --time-col none";
    let said = sandbox.run(line).ok().stderr;
    assert!(said.contains("r.users.txt"), "{said}");
    assert_eq!(sandbox.read("r.users.txt").lines().next(), Some("ann"));
    assert_eq!(sandbox.read("r.items.txt").lines().count(), 14);
}

#[test]
fn a_model_says_which_sweep_it_is_and_what_it_was_made_by() {
    let sandbox = Sandbox::new();
    let line = "train ratings.csv --model m.absentia -k 4 --iterations 6 --valid-split last:2 \
                --valid-metric recall@3 --confidence linear:2 --json";
    let trained = sandbox.run(line).ok().json();
    let found = &sandbox.run("inspect m.absentia --json").ok().json()[0];
    assert_eq!(found["sweeps"], 6);
    for key in ["chosen_iteration", "objective", "validation"] {
        assert_eq!(found[key], trained[6][key], "{key}");
    }
    let shown = sandbox.run("inspect m.absentia").ok().stdout;
    for text in [
        "linear:2",
        "popularity:mean=0.01,alpha=0.25",
        "sweep chosen",
    ] {
        assert!(shown.contains(text), "{shown}");
    }
}

#[test]
fn only_what_was_rated_well_counts_as_liked() {
    let sandbox = Sandbox::with_models();
    let mut few = vec!["user,item,rating".to_owned()];
    for (at, line) in sandbox.read("test.csv").lines().skip(1).enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        let rating = if at % 3 == 0 { 2 } else { 5 };
        few.push(format!("{},{},{rating}", cells[0], cells[1]));
    }
    let few = few.join("\n");
    sandbox.write("rated.csv", &few);
    let good: Vec<&str> = few.lines().filter(|line| !line.ends_with(",2")).collect();
    sandbox.write("good.csv", &good.join("\n"));
    let measure = |test: &str| {
        let line = format!("evaluate movies.absentia --train train.csv {test} --json");
        sandbox.run(&line).ok().json()
    };
    let filtered = measure("--test rated.csv --min-rating 3");
    assert_eq!(filtered, measure("--test good.csv"));
    assert_ne!(filtered, measure("--test rated.csv"));
    let line = "evaluate movies.absentia --train train.csv --test rated.csv --min-rating 9";
    sandbox
        .run(line)
        .fails(3, &["no test row is rated 9 or more"]);
}
