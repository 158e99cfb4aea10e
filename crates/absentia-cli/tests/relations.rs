//! Side information from a file to lists, explanations and figures.

mod support;

use support::{Sandbox, bits};

const TAGGED: &str = "train train.csv --model tagged.absentia --factors 8 --iterations 6 \
                      --weights uniform:0.1 --regularization 0.01 --relation items-tags:tags.csv,strength=0.5";

fn tagged() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run("split ratings.csv --out . --by last:2").ok();
    sandbox.run(TAGGED).ok();
    sandbox
}

#[test]
fn a_model_keeps_its_relations_and_repeats_by_its_configuration() {
    let sandbox = tagged();
    let first = sandbox.model("tagged.absentia");
    let related = first.model.related().expect("relations");
    let names: Vec<&str> = related.entities.iter().map(|e| &e.name[..]).collect();
    assert_eq!(names, ["users", "items", "tags"]);
    assert_eq!(first.ids.related[0].len(), related.entities[2].count);
    assert!(first.ids.related[0].get("noir").is_some());
    // Nobody has rated laura: known by tags, behind the items of the data, without weight as missing.
    let laura = first.ids.items.get("laura").expect("known") as usize;
    assert_eq!(laura, first.model.n_items() - 1);
    assert_eq!(first.model.parts().item_counts[laura], 0);
    let weights = first.model.weights().b().row(laura);
    assert!(weights.iter().all(|&weight| weight.to_bits() == 0));
    let factors = first.model.item_factors().row(laura);
    assert!(factors.iter().any(|&x| x != 0.0));
    let info = sandbox.run("inspect tagged.absentia --json").ok().json();
    assert_eq!(info[0]["format_version"], 2);
    assert_eq!(info[0]["relations"]["relations"][0]["name"], "items-tags");
    sandbox
        .shell("absentia inspect tagged.absentia --print-config > run.toml")
        .ok();
    let config = sandbox.read("run.toml");
    assert!(config.contains("items-tags:tags.csv,strength=0.5,weights=uniform:0.02"));
    std::fs::remove_file(sandbox.path("tagged.absentia")).expect("removed");
    sandbox.run("train --config run.toml").ok();
    let second = sandbox.model("tagged.absentia");
    assert_eq!(bits(&first), bits(&second));
    assert_eq!(
        first.model.entity_factors(2),
        second.model.entity_factors(2)
    );
}

#[test]
fn a_resumed_run_with_relations_ends_in_the_same_bits() {
    let sandbox = tagged();
    let whole = sandbox.model("tagged.absentia");
    let kept = "--checkpoint run.ckpt --checkpoint-every 1 --resume --valid-split leave-one-out --valid-metric ndcg@5";
    let train = |sweeps: usize, more: &str| {
        let line = TAGGED.replace("--iterations 6", &format!("--iterations {sweeps}"));
        sandbox.run(&format!("{line} {kept} {more}"))
    };
    train(3, "").ok();
    train(6, "").ok();
    let part = sandbox.model("tagged.absentia");
    assert_eq!(part.model.history().len(), whole.model.history().len());
    sandbox.write(
        "tags.csv",
        "item,tag\nheat,crime\nalien,space\nlaura,noir\n",
    );
    train(6, "").fails(3, &["the checkpoint is of other data"]);
}

#[test]
fn new_items_are_recommended_found_and_explained_by_their_tags() {
    let sandbox = tagged();
    let lists = "recommend tagged.absentia --all --train train.csv --top 14 --out lists.csv";
    sandbox.run(lists).ok();
    assert!(sandbox.read("lists.csv").contains("laura"));
    let near = sandbox.run("similar tagged.absentia --of tags noir --to items --top 6 --json");
    let near = near.ok().json()[0].to_string();
    assert!(near.contains("laura"), "{near}");
    sandbox
        .run("similar tagged.absentia --of towns x")
        .fails(2, &["the model has no towns", "users, items, tags"]);
    let explain = "explain tagged.absentia ann laura --train train.csv";
    sandbox
        .run(&format!("{explain} --by item"))
        .fails(4, &["has no row", "--relation"]);
    let by_tags = format!("{explain} --by item --relation items-tags:tags.csv");
    let shown = sandbox.run(&by_tags).ok().stdout;
    assert!(
        shown.contains("tags: noir") && shown.contains("tags: crime"),
        "{shown}"
    );
    let parts = sandbox
        .run(&format!("{by_tags} --json"))
        .ok()
        .json()
        .remove(0);
    let adds = |part: &serde_json::Value| part["contribution"].as_f64().expect("a number");
    let parts_sum: f64 = parts["contributions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(adds)
        .sum();
    let (score, rest) = (parts["score"].as_f64(), parts["remainder"].as_f64());
    let (score, rest) = (score.expect("a number"), rest.expect("a number"));
    assert!((parts_sum + rest - score).abs() < 1e-6);
}

/// An item that was folded in from its tags scores as one that was trained with the same tags.
#[test]
fn items_and_users_are_folded_in_from_attributes_interactions_or_both() {
    let sandbox = tagged();
    sandbox.run(&format!("{TAGGED} --solver als")).ok();
    sandbox.write("new.csv", "item,tag\nnikita,noir\nnikita,crime\n");
    let line = "recommend tagged.absentia ann --train train.csv --top 16 --json";
    let list = sandbox
        .run(&format!("{line} --relation items-tags:new.csv"))
        .ok();
    let list = list.json().remove(0);
    let score = |name: &str| {
        let items = list["items"].as_array().expect("a list");
        let found = items.iter().find(|item| item["item"] == name);
        found.and_then(|item| item["score"].as_f64()).expect(name)
    };
    assert!((score("nikita") - score("laura")).abs() < 1e-4, "{list}");
    sandbox.write(
        "history.csv",
        "user,item\nzoe,heat\nzoe,m\nann,nikita\nzoe,unheard\n",
    );
    let both = "recommend tagged.absentia --fold-in history.csv --relation items-tags:new.csv --top 20 --json";
    let ran = sandbox.run(both).ok();
    assert!(ran.stderr.contains("1 of 4 rows"), "{}", ran.stderr);
    let list = ran.json().remove(0);
    assert_eq!(list["user"], "zoe");
    let text = list.to_string();
    assert!(
        text.contains("nikita") && !text.contains("\"heat\""),
        "{text}"
    );
    sandbox
        .run("recommend movies.absentia ann --allow-seen --relation items-tags:new.csv")
        .fails(4, &["movies.absentia"]);
    sandbox
        .run("recommend tagged.absentia ann --allow-seen --relation items-words:new.csv")
        .fails(2, &["no relation items-words", "items-tags"]);
}

#[test]
fn cold_items_and_users_are_held_out_whole_and_measured_apart() {
    let sandbox = Sandbox::new();
    let split = "split ratings.csv --out cold --by cold-items:0.3 --seed 5";
    sandbox.run(split).ok();
    let column = |name: &str, at: usize| -> std::collections::BTreeSet<String> {
        let text = sandbox.read(name);
        let rows = text.lines().skip(1);
        rows.map(|row| row.split(',').nth(at).expect("a column").to_owned())
            .collect()
    };
    let (train, test) = (column("cold/train.csv", 1), column("cold/test.csv", 1));
    assert!(train.is_disjoint(&test) && !test.is_empty());
    let known = column("tags.csv", 0);
    assert!(test.iter().any(|item| known.contains(item)), "{test:?}");
    sandbox
        .run("train cold/train.csv --model m.absentia -k 6 --weights uniform:0.1 --regularization 0.01 --relation items-tags:tags.csv")
        .ok();
    let line = "evaluate m.absentia --train cold/train.csv --test cold/test.csv --at 2";
    let figures = sandbox.run(&format!("{line} --json")).ok().json().remove(0);
    let cold = &figures["cold"];
    let recall = |key: &str| cold[key]["recall@2"].as_f64().expect("a number");
    assert!(recall("items_among_themselves") >= recall("items_among_all"));
    assert!(cold.get("known").is_none() && cold.get("users").is_none());
    assert!(
        sandbox
            .run(line)
            .ok()
            .stdout
            .contains("ranked among themselves")
    );
    sandbox
        .run("split ratings.csv --out people --by cold-users:0.25")
        .ok();
    let (train, test) = (column("people/train.csv", 0), column("people/test.csv", 0));
    assert!(train.is_disjoint(&test) && test.len() == 6);
}

#[test]
fn variants_are_compared_without_and_with_relations() {
    let sandbox = Sandbox::new();
    let line = "compare ratings.csv --split leave-one-out --solver eals --solver popularity --factors 4 \
                --regularization 0.01 --relation items-tags:tags.csv --json";
    let lines = sandbox.run(line).ok().json();
    let names = lines.iter().filter_map(|line| line["variant"].as_str());
    let related = names.clone().filter(|name| name.contains("items-tags"));
    assert_eq!((names.count(), related.count()), (3, 1), "{lines:?}");
}

#[test]
fn relations_that_do_not_fit_are_refused_with_a_remedy() {
    let sandbox = Sandbox::new();
    sandbox.write("others.csv", "item,tag\nx1,a\nx2,b\n");
    sandbox.write("few.csv", "item,tag\nheat,a\nx1,a\nx2,b\nx3,b\n");
    sandbox.write("friends.csv", "user,user\nann,bob\nbob,ann\n");
    sandbox.write("values.csv", "item,tag,rating\nheat,a,1\nup,b,nan\n");
    let train = "train ratings.csv --model m.absentia -k 4 --iterations 2 --weights uniform:0.1 --regularization 0.01";
    let with = |relation: &str| sandbox.run(&format!("{train} --relation {relation}"));
    with("items-tags:others.csv").fails(3, &["none of its items are in the data"]);
    let few = with("items-tags:few.csv").ok();
    assert!(
        few.stderr.contains("only 1 of its 4 items"),
        "{}",
        few.stderr
    );
    with("users-users:friends.csv").fails(2, &["on the same side", "context=yes"]);
    with("users-users:friends.csv,context=yes").ok();
    let info = sandbox.run("inspect m.absentia").ok().stdout;
    assert!(info.contains("users of users"), "{info}");
    with("items-tags:tags.csv --relation users-tags:friends.csv").fails(2, &["same side"]);
    with("users-items:tags.csv").fails(2, &["is the main relation", "context=yes"]);
    with("shops-towns:tags.csv").fails(2, &["neither shops nor towns", "items-tags"]);
    with("items-tags:values.csv,targets=raw").fails(3, &["values.csv"]);
    with("items-tags:tags.csv,strength=-1").fails(2, &["at least 0"]);
    with("items-tags:tags.csv --solver popularity").fails(2, &["popularity has no objective"]);
    with("items-tags:absent.csv").fails(4, &["absent.csv"]);
    // No result replaces what a relation is read from.
    sandbox
        .run("train ratings.csv --model tags.csv --relation items-tags:tags.csv")
        .fails(2, &["tags.csv"]);
}
