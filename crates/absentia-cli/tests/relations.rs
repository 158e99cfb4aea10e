//! Side information from a file to lists, explanations and figures.

mod support;

use std::fmt::Write;

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
    let again = TAGGED.replace("tagged.absentia", "again.absentia");
    sandbox.run(&format!("{again} --report run.html")).ok();
    let page = sandbox.read("run.html");
    // Long texts may be broken after a comma.
    for part in [
        "items-tags:tags.csv,",
        "strength=0.5,",
        "adds ",
        " tags</td>",
    ] {
        assert!(page.contains(part), "{part}");
    }
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
        .fails(4, &["has no interaction", "--relation"]);
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
    // Both solvers, one of them twice, and the two popularity baselines.
    assert_eq!((names.count(), related.count()), (5, 1), "{lines:?}");
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
    let friends = "users-users:friends.csv,context=yes";
    with(&format!("{friends} --relation {friends}")).fails(2, &["given twice", "users-friends"]);
    with(friends).ok();
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

const DESCRIBED: &str = "train train.csv --model described.absentia --factors 8 --iterations 6 --solver als \
                         --weights uniform:0.1 --regularization 0.01 --relation items-vectors:vectors.csv,dense=yes,strength=2";

/// A table of features: crime films and others lie apart, and nobody has rated laura.
fn described() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run("split ratings.csv --out . --by last:2").ok();
    let items = sandbox.read("ratings.csv");
    let items: std::collections::BTreeSet<&str> = items
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').nth(1))
        .collect();
    let mut table = "item,dark,long,new\nlaura,3,88,1944\n".to_owned();
    for (at, item) in items.iter().enumerate() {
        let (dark, long, new) = (at % 4, 80 + 7 * at, 1950 + at * at);
        let _ = writeln!(table, "{item},{dark},{long},{new}");
    }
    sandbox.write("vectors.csv", &table);
    sandbox.run(DESCRIBED).ok();
    sandbox
}

#[test]
fn features_are_trained_kept_folded_in_and_explained() {
    let sandbox = described();
    let first = sandbox.model("described.absentia");
    let related = first.model.related().expect("relations");
    let rule = related.relations[0].features.as_ref().expect("features");
    assert_eq!(rule.means.len(), 3);
    let info = sandbox.run("inspect described.absentia").ok().stdout;
    assert!(
        info.contains("items-vectors (strength 2, 3 features)"),
        "{info}"
    );
    let info = sandbox.run("inspect described.absentia --json").ok().json();
    assert_eq!(info[0]["format_version"], 3);
    // The configuration trains the same model again, and the number of threads does not matter.
    sandbox
        .shell("absentia inspect described.absentia --print-config > run.toml")
        .ok();
    std::fs::remove_file(sandbox.path("described.absentia")).expect("removed");
    sandbox.run("train --config run.toml --threads 3").ok();
    let second = sandbox.model("described.absentia");
    assert_eq!(bits(&first), bits(&second));
    // A film with the features of laura scores as laura does.
    sandbox.write("new.csv", "item,dark,long,new\nnikita,3,88,1944\n");
    let line = "recommend described.absentia ann --train train.csv --top 16 --json";
    let list = sandbox.run(&format!("{line} --relation items-vectors:new.csv"));
    let list = list.ok().json().remove(0);
    let score = |name: &str| {
        let items = list["items"].as_array().expect("a list");
        let found = items.iter().find(|item| item["item"] == name);
        found.and_then(|item| item["score"].as_f64()).expect(name)
    };
    assert!((score("nikita") - score("laura")).abs() < 1e-4, "{list}");
    let explain = "explain described.absentia ann laura --train train.csv --by item \
                   --relation items-vectors:vectors.csv";
    let shown = sandbox.run(explain).ok().stdout;
    assert!(shown.contains("vectors: dark"), "{shown}");
    sandbox.write("short.csv", "item,dark,long\nnikita,3,88\n");
    sandbox
        .run(
            "recommend described.absentia ann --train train.csv --relation items-vectors:short.csv",
        )
        .fails(3, &["its 2 columns are not the 3", "dark"]);
}

#[test]
fn features_that_do_not_fit_are_refused_with_a_remedy() {
    let sandbox = Sandbox::new();
    sandbox.write("words.csv", "item,x\nheat,1\nup,tall\n");
    sandbox.write("nan.csv", "item,x\nheat,1\nup,nan\n");
    sandbox.write("same.csv", "item,x\nheat,1\nup,1\n");
    sandbox.write("twice.csv", "item,x\nheat,1\nheat,2\n");
    sandbox.write("others.csv", "item,x\nx1,1\nx2,2\n");
    let mut array = b"\x93NUMPY\x01\x00\x46\x00".to_vec();
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }";
    array.extend_from_slice(format!("{header:<69}\n").as_bytes());
    array.extend([1.0_f32, 2.0].iter().flat_map(|x| x.to_le_bytes()));
    std::fs::write(sandbox.path("x.npy"), array).expect("written");
    sandbox.write("ids.txt", "heat\nup\n");
    let train = "train ratings.csv --model m.absentia -k 4 --iterations 2 --weights uniform:0.1 --regularization 0.01";
    let with = |relation: &str| sandbox.run(&format!("{train} --relation {relation}"));
    with("items-vectors:words.csv,dense=yes").fails(3, &["words.csv:3", "tall"]);
    with("items-vectors:nan.csv,dense=yes")
        .fails(3, &["\"up\", column \"x\"", "leave the row out"]);
    with("items-vectors:same.csv,dense=yes").fails(2, &["the same features"]);
    with("items-vectors:twice.csv,dense=yes").fails(3, &["\"heat\" occurs twice"]);
    with("items-vectors:others.csv,dense=yes").fails(3, &["none of its items are in the data"]);
    with("items-vectors:x.npy").fails(3, &["not row numbers", "ids=FILE"]);
    with("items-vectors:x.npy,ids=ids.txt").ok();
    with("items-vectors:x.npy,ids=ids.txt,weights=uniform:1").fails(2, &["no effect on features"]);
    with("users-items:x.npy,ids=ids.txt").fails(2, &["is the main relation"]);
    with("items-tags:tags.csv --relation items-tags:x.npy,ids=ids.txt").fails(2, &["given twice"]);
    with("items-tags:tags.csv --relation users-tags:x.npy,ids=ids.txt").fails(2, &["same side"]);
    sandbox
        .run("train ratings.csv --model ids.txt --relation items-vectors:x.npy,ids=ids.txt")
        .fails(2, &["ids.txt"]);
}

/// A first line of numbers alone could be either; what was read is shown.
#[test]
fn names_that_are_numbers_are_not_taken_for_a_row_of_features() {
    let sandbox = Sandbox::new();
    let rows = "heat,1,4\nup,2,3\nlaura,1,5\n";
    sandbox.write("named.csv", &format!("item,2001,2002\n{rows}"));
    sandbox.write("bare.csv", rows);
    sandbox.write("pairs.csv", "film,keyword\nheat,crime\nup,family\n");
    let train = "train ratings.csv --model m.absentia -k 4 --iterations 2 --weights uniform:0.1 --regularization 0.01";
    let with = |relation: &str| sandbox.run(&format!("{train} --relation {relation}"));
    with("items-years:named.csv,dense=yes").fails(3, &["named.csv:1", "header=yes", "header=no"]);
    with("items-years:bare.csv,dense=yes").fails(3, &["bare.csv:1", "header=no"]);
    let columns = || {
        let stored = sandbox.model("m.absentia");
        assert!(stored.ids.items.get("item").is_none());
        let names = stored.ids.related[0].iter();
        names.map(std::borrow::Cow::into_owned).collect::<Vec<_>>()
    };
    let read = with("items-years:named.csv,dense=yes,header=yes").ok();
    assert_eq!(columns(), ["2001", "2002"]);
    let shown = "items-years: 2 features of 3: 2001, 2002";
    assert!(read.stderr.contains(shown), "{}", read.stderr);
    // New rows have the same question, and the same answer.
    let list = "recommend m.absentia ann --allow-seen --top 3 --relation items-years:named.csv";
    sandbox.run(list).fails(3, &["named.csv:1", "header=yes"]);
    sandbox.run(&format!("{list},header=yes")).ok();
    with("items-years:bare.csv,dense=yes,header=no").ok();
    assert_eq!(columns(), ["0", "1"]);
    with("items-tags:pairs.csv,header=yes").ok();
    assert_eq!(columns(), ["crime", "family"]);
    // A Parquet file has names: the numbers of its only column, a list, are numbered as those of an array.
    sandbox
        .run("export m.absentia --out tables --layout parquet")
        .ok();
    let parquet = "items-vectors:tables/items.parquet,dense=yes";
    with(parquet).ok();
    assert_eq!(columns(), ["0", "1", "2", "3"]);
    with(&format!("{parquet},header=yes")).fails(3, &["items.parquet", "leave out header="]);
}

/// Users without a row in training, known by their towns alone: measured apart, folded in, explained.
#[test]
fn new_users_are_measured_folded_in_and_explained_by_their_attributes() {
    let sandbox = Sandbox::new();
    sandbox
        .run("split ratings.csv --out people --by cold-users:0.25 --seed 2")
        .ok();
    let users = |name: &str| -> std::collections::BTreeSet<String> {
        let text = sandbox.read(name);
        let rows = text.lines().skip(1);
        rows.filter_map(|row| row.split(',').next().map(str::to_owned))
            .collect()
    };
    let (known, new) = (users("people/train.csv"), users("people/test.csv"));
    let mut towns = "user,town\n".to_owned();
    for (at, user) in known.iter().chain(&new).enumerate() {
        let _ = writeln!(towns, "{user},{}", ["paris", "rome", "oslo"][at % 3]);
    }
    sandbox.write("towns.csv", &towns);
    sandbox
        .run(
            "train people/train.csv --model m.absentia -k 6 --iterations 8 --solver als --weights uniform:0.1 \
             --regularization 0.01 --relation users-towns:towns.csv",
        )
        .ok();
    let line = "evaluate m.absentia --train people/train.csv --test people/test.csv --at 5";
    let figures = sandbox.run(&format!("{line} --json")).ok().json().remove(0);
    assert!(figures["cold"]["users"]["recall@5"].is_f64(), "{figures}");
    assert!(figures["cold"].get("items_among_all").is_none());
    let shown = sandbox.run(line).ok().stdout;
    assert!(shown.contains("new users"), "{shown}");
    // Someone the model does not know, with the town of a user without rows: what that town explains of the score.
    let cold = new.first().expect("a user");
    let town = towns
        .lines()
        .find(|line| line.starts_with(&format!("{cold},")));
    let town = town
        .and_then(|line| line.split(',').nth(1))
        .expect("a town");
    sandbox.write("new.csv", &format!("user,town\nsomeone,{town}\n"));
    let list = |user: &str, more: &str| {
        let line = format!("recommend m.absentia {user} --allow-seen --top 5 --json {more}");
        sandbox.run(&line).ok().json().remove(0)["items"].clone()
    };
    assert_eq!(list(cold, "").as_array().map(Vec::len), Some(5));
    let folded = list("someone", "--relation users-towns:new.csv");
    let best = folded[0]["item"].as_str().expect("an item");
    let why = format!(
        "explain m.absentia {cold} {best} --train people/train.csv --relation users-towns:towns.csv"
    );
    let shown = sandbox.run(&why).ok().stdout;
    assert!(shown.contains(&format!("towns: {town}")), "{shown}");
    let why = sandbox.run(&format!("{why} --json")).ok().json().remove(0);
    let because = why["contributions"].as_array().expect("a list");
    assert_eq!(because.len(), 1, "{why}");
    let adds = because[0]["contribution"].as_f64().expect("a number");
    let score = folded[0]["score"].as_f64().expect("a number");
    assert!((adds - score).abs() < 1e-4, "{adds} {score}");
}

/// What is not given of a relation is searched and written; what is given stays.
#[test]
fn tune_searches_what_is_not_given_of_a_relation() {
    let sandbox = Sandbox::new();
    let tune = "tune ratings.csv --trials 8 --metric recall@5 --factors 4 --search uniform --split cold-items:0.3 --out best.toml";
    sandbox
        .run(&format!(
            "{tune} --relation items-tags:tags.csv --model best.absentia"
        ))
        .ok();
    let relation = |text: &str| -> String {
        let table: toml::Table = text.parse().expect("a table");
        let given = table["relation"].as_array().expect("a list");
        given[0].as_str().expect("a text").to_owned()
    };
    let found = relation(&sandbox.read("best.toml"));
    let log = sandbox.read("best.jsonl");
    let strengths: std::collections::BTreeSet<String> = log
        .lines()
        .skip(1)
        .map(|line| {
            let trial: serde_json::Value = serde_json::from_str(line).expect("a trial");
            trial["relations"][0]["strength"].to_string()
        })
        .collect();
    assert!(strengths.len() > 2, "{strengths:?}");
    let model = sandbox.model("best.absentia");
    let related = model.model.related().expect("relations");
    let strength = related.relations[0].strength;
    assert!(found.contains(&format!("strength={strength},")), "{found}");
    sandbox
        .run("train --config best.toml --model again.absentia")
        .ok();
    assert_eq!(bits(&model), bits(&sandbox.model("again.absentia")));
    sandbox
        .run(&format!(
            "{tune} --relation items-tags:tags.csv,strength=0.3,weights=uniform:0.1,targets=binary"
        ))
        .ok();
    let found = relation(&sandbox.read("best.toml"));
    assert_eq!(
        found,
        "items-tags:tags.csv,strength=0.3,weights=uniform:0.1"
    );
}

const SHORT: &str =
    "--model m.absentia -k 4 --iterations 2 --weights uniform:0.1 --regularization 0.01";

/// A first line that may name the columns is refused until it is said, and a first row is never dropped.
#[test]
fn a_first_line_that_may_be_names_is_never_read_as_a_pair() {
    let sandbox = Sandbox::new();
    sandbox.write("names.csv", "film,keyword\nheat,crime\nup,family\n");
    sandbox.write("row.csv", "heat,time\nup,family\nheat,crime\n");
    sandbox.write("new.csv", "nikita,noir\nheat,crime\nup,family\n");
    sandbox.write("again.csv", "nikita,noir\nheat,crime\nnikita,family\n");
    sandbox.write("vectors.csv", "heat,NA\nup,2\ncoco,4\n");
    let with =
        |relation: &str| sandbox.run(&format!("train ratings.csv {SHORT} --relation {relation}"));
    let unclear = ["may be the names", "header=yes", "header=no"];
    for (file, first) in [("names", "film"), ("row", "heat"), ("new", "nikita")] {
        let place = format!("{file}.csv:1");
        with(&format!("items-tags:{file}.csv"))
            .fails(3, &[&[&place, first], &unclear[..]].concat());
    }
    with("items-vectors:vectors.csv,dense=yes").fails(3, &["vectors.csv:1", "heat", "header=no"]);
    let tags = || {
        let stored = sandbox.model("m.absentia");
        assert!(stored.ids.items.get("film").is_none());
        let names = stored.ids.related[0].iter();
        names.map(std::borrow::Cow::into_owned).collect::<Vec<_>>()
    };
    with("items-tags:names.csv,header=yes").ok();
    assert_eq!(tags(), ["crime", "family"]);
    with("items-tags:row.csv,header=no").ok();
    assert_eq!(tags(), ["crime", "family", "time"]);
    // The first id is that of other rows: it names no column.
    with("items-tags:again.csv").ok();
    assert_eq!(tags(), ["crime", "family", "noir"]);
    // Rows that are folded in have the same question where names were seen.
    sandbox.write("later.csv", "drive,time\nnikita,noir\n");
    with("items-tags:row.csv,header=no").ok();
    sandbox
        .run("recommend m.absentia ann --allow-seen --relation items-tags:later.csv")
        .fails(3, &["later.csv:1", "header=no"]);
}

/// The regularization of a relation is that of the type which it adds, on whichever side of the dash that is.
#[test]
fn the_regularization_of_a_relation_is_of_the_type_it_adds() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "flipped.csv",
        "tag,item\ncrime,heat\nfamily,up\nnoir,laura\n",
    );
    sandbox.write("words.csv", "word,tag\nbank,crime\nbank,noir\ntoy,family\n");
    let lambdas = |relations: &str| -> Vec<(String, Option<f32>)> {
        sandbox
            .run(&format!("train ratings.csv {SHORT} {relations}"))
            .ok();
        let stored = sandbox.model("m.absentia");
        let entities = &stored.model.related().expect("relations").entities;
        entities
            .iter()
            .map(|e| (e.name.clone(), e.regularization))
            .collect()
    };
    let flipped = "--relation tags-items:flipped.csv,regularization=0.5";
    let words = "--relation words-tags:words.csv,regularization=0.25";
    let expected = |tags, words: Option<Option<f32>>| {
        let main = [("users", None), ("items", None), ("tags", tags)];
        let words = words.map(|lambda| ("words", lambda));
        let all = main.into_iter().chain(words);
        all.map(|(name, lambda)| (name.to_owned(), lambda))
            .collect::<Vec<_>>()
    };
    assert_eq!(lambdas(flipped), expected(Some(0.5), None));
    // Whichever is named first, words are what the second relation adds.
    let both = format!("{words} {flipped}");
    assert_eq!(lambdas(&both), expected(Some(0.5), Some(Some(0.25))));
    sandbox.write("jargon.csv", "user,word\nann,bank\nbob,toy\n");
    let circle = format!("{flipped} --relation users-words:jargon.csv {words}");
    sandbox
        .run(&format!("train ratings.csv {SHORT} {circle}"))
        .fails(2, &["words-tags", "both of its types are there"]);
}

/// A chain must meet the relation it continues, as a relation must meet the data.
#[test]
fn a_chain_that_meets_nothing_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("none.csv", "word,tag\nbank,x1\ntoy,x2\n");
    sandbox.write("few.csv", "word,tag\nbank,crime\ntoy,x2\ntoy,x3\n");
    // The order of the relations does not matter.
    for order in ["{tags} {words}", "{words} {tags}"] {
        let with = |file: &str| {
            let relations = order
                .replace("{tags}", "--relation items-tags:tags.csv")
                .replace("{words}", &format!("--relation words-tags:{file}"));
            sandbox.run(&format!("train ratings.csv {SHORT} {relations}"))
        };
        with("none.csv").fails(3, &["none.csv", "none of its tags are in another relation"]);
        let few = with("few.csv").ok();
        assert!(
            few.stderr
                .contains("only 1 of its 3 tags are in another relation"),
            "{}",
            few.stderr
        );
    }
}

/// Known users keep what their interactions say unless rows of theirs are given, and the program says so.
#[test]
fn attributes_alone_do_not_replace_what_is_known_of_users_and_items() {
    let sandbox = Sandbox::new();
    let users: std::collections::BTreeSet<String> = sandbox
        .read("ratings.csv")
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').next().map(str::to_owned))
        .collect();
    let mut towns = "user,town\n".to_owned();
    for (at, user) in users.iter().enumerate() {
        let _ = writeln!(towns, "{user},{}", ["paris", "rome", "oslo"][at % 3]);
    }
    sandbox.write("towns.csv", &towns);
    sandbox
        .run(&format!("train ratings.csv {SHORT} --relation users-towns:towns.csv --relation items-tags:tags.csv"))
        .ok();
    let run = |more: &str| {
        sandbox
            .run(&format!(
                "recommend m.absentia ann --train ratings.csv --top 3 --json {more}"
            ))
            .ok()
    };
    let list = |more: &str| run(more).json().remove(0)["items"].clone();
    let trained = list("");
    sandbox.write("move.csv", "user,town\nann,oslo\nsomeone,rome\n");
    assert_eq!(list("--relation users-towns:move.csv"), trained);
    let said = run("--relation users-towns:move.csv").stderr;
    assert!(
        said.contains("1 user whom the model knows: kept the factors"),
        "{said}"
    );
    sandbox.write("known.csv", "item,tag\nheat,family\n");
    assert_eq!(list("--relation items-tags:known.csv"), trained);
    // With rows, both count.
    sandbox.write("rows.csv", "user,item\nann,up\nann,big\n");
    let rows = list("--fold-in rows.csv");
    assert_ne!(rows, trained);
    let both = list("--fold-in rows.csv --relation users-towns:move.csv");
    assert!(both != rows && both != trained, "{both} {rows} {trained}");
    let said = run("--fold-in rows.csv").stderr;
    assert!(
        said.contains("1 user whom the model knows: folded in without"),
        "{said}"
    );
    assert!(said.contains("users-towns"), "{said}");
}

#[test]
fn a_new_item_is_not_recommended_to_who_took_it() {
    let sandbox = tagged();
    sandbox.write("new.csv", "item,tag\nnikita,noir\nnikita,crime\n");
    sandbox.write(
        "history.csv",
        "user,item\nann,nikita\nzoe,heat\nzoe,nikita\nbob,argo\n",
    );
    let lists = |more: &str| {
        let line = "recommend tagged.absentia ann bob zoe --train train.csv --fold-in history.csv --top 20 --json";
        let lists = sandbox
            .run(&format!("{line} --relation items-tags:new.csv {more}"))
            .ok()
            .json();
        let has = |user: usize, item: &str| {
            lists[user]["items"]
                .to_string()
                .contains(&format!("\"{item}\""))
        };
        [
            has(0, "nikita"),
            has(1, "nikita"),
            has(2, "nikita"),
            has(0, "argo"),
            has(1, "argo"),
        ]
    };
    // Nikita is new, and zoe as well: she took it all the same.
    assert_eq!(lists(""), [false, true, false, true, false]);
    sandbox.write("denied.txt", "nikita\n");
    assert_eq!(
        lists("--deny denied.txt"),
        [false, false, false, true, false]
    );
    sandbox.write("allowed.txt", "nikita\nup\n");
    assert_eq!(
        lists("--allow allowed.txt"),
        [false, true, false, false, false]
    );
}

/// A model that has never heard of some items, and their tags in a file: they are folded in, and measured.
#[test]
fn evaluate_folds_in_what_relations_say_of_new_items_and_users() {
    let sandbox = Sandbox::new();
    sandbox
        .run("split ratings.csv --out cold --by cold-items:0.3 --seed 5")
        .ok();
    let items = |name: &str| -> std::collections::BTreeSet<String> {
        let text = sandbox.read(name);
        let rows = text.lines().skip(1);
        rows.filter_map(|row| row.split(',').nth(1).map(str::to_owned))
            .collect()
    };
    let (known, new) = (items("cold/train.csv"), items("cold/test.csv"));
    let tags = |keep: &dyn Fn(&str) -> bool| -> String {
        let text = sandbox.read("tags.csv");
        let rows = text
            .lines()
            .filter(|row| keep(row.split(',').next().unwrap_or_default()));
        rows.collect::<Vec<_>>().join("\n") + "\n"
    };
    sandbox.write(
        "known.csv",
        &tags(&|item| item == "item" || known.contains(item)),
    );
    sandbox.write(
        "new.csv",
        &tags(&|item| item == "item" || new.contains(item)),
    );
    let train = "train cold/train.csv -k 6 --iterations 8 --solver als --weights uniform:0.1 --regularization 0.01";
    sandbox
        .run(&format!(
            "{train} --model m.absentia --relation items-tags:known.csv"
        ))
        .ok();
    let line =
        "evaluate m.absentia --train cold/train.csv --test cold/test.csv --at 3 --metrics recall";
    // Without their tags no row can be measured.
    sandbox
        .run(line)
        .fails(3, &["none of its users and items are known"]);
    let line = format!("{line} --relation items-tags:new.csv");
    let said = sandbox.run(&line).ok();
    assert!(
        said.stdout.contains("ranked among themselves"),
        "{}",
        said.stdout
    );
    let measured = sandbox.run(&format!("{line} --json")).ok();
    let figures = measured.json().remove(0);
    let recall = |key: &str| figures["cold"][key]["recall@3"].as_f64().expect("a number");
    let (themselves, all) = (recall("items_among_themselves"), recall("items_among_all"));
    assert!(themselves >= all && themselves > 0.0, "{figures}");
    assert_eq!(figures["recall@3"].as_f64(), Some(all), "{figures}");
    // Users held out whole are folded in from part of their rows, and new items are ranked for them as well.
    sandbox.write("history.csv", "user,item\nzoe,heat\nzoe,drive\n");
    let first = new
        .iter()
        .find(|item| tags(&|one| one == *item).len() > 1)
        .expect("a tagged item");
    sandbox.write("later.csv", &format!("user,item\nzoe,{first}\n"));
    let folded = "evaluate m.absentia --fold-in history.csv --test later.csv --at 30 --metrics recall --json";
    let figures = sandbox
        .run(&format!("{folded} --relation items-tags:new.csv"))
        .ok()
        .json()
        .remove(0);
    assert_eq!(figures["recall@30"].as_f64(), Some(1.0), "{figures}");
    assert!(
        figures["cold"]["items_among_themselves"].is_object(),
        "{figures}"
    );
}

#[test]
fn compare_and_tune_show_new_items_apart() {
    let sandbox = Sandbox::new();
    let compare = "compare ratings.csv --split cold-items:0.3 --factors 4 --regularization 0.01 --at 3 \
                   --relation items-tags:tags.csv --report compared.html";
    let lines = sandbox.run(&format!("{compare} --json")).ok().json();
    let figure = |line: &serde_json::Value, key: &str| line["cold"][key]["recall@3"].as_f64();
    for line in &lines {
        let (themselves, all) = (
            figure(line, "items_among_themselves"),
            figure(line, "items_among_all"),
        );
        assert!(
            themselves.is_some() && all.is_some() && themselves >= all,
            "{line}"
        );
    }
    let shown = sandbox.run(compare).ok().stdout;
    assert!(
        shown.contains("new items, ranked among themselves"),
        "{shown}"
    );
    assert!(sandbox.read("compared.html").contains("ranked among all"));
    let tune = "tune ratings.csv --trials 6 --metric recall@5 --factors 4 --search uniform --split cold-items:0.3 \
                --relation items-tags:tags.csv --out best.toml --report tuned.html";
    let lines = sandbox.run(&format!("{tune} --json")).ok().json();
    let best = lines
        .iter()
        .find(|line| line["best"].is_number())
        .expect("a result");
    assert!(
        best["cold"]["items_among_themselves"]["recall@5"].is_f64(),
        "{best}"
    );
    assert!(
        best["cold"]["items_among_all"]["recall@5"].is_f64(),
        "{best}"
    );
    let shown = sandbox.run(tune).ok().stdout;
    assert!(
        shown.contains("new items, ranked among themselves"),
        "{shown}"
    );
    assert!(sandbox.read("tuned.html").contains("ranked among all"));
}

/// Ids that the model does not know are explained by their attributes.
#[test]
fn scores_of_new_ids_are_explained_by_attributes() {
    let sandbox = tagged();
    sandbox.write("new.csv", "item,tag\nnikita,noir\nnikita,crime\n");
    let why = "explain tagged.absentia ann nikita --train train.csv";
    sandbox.run(why).fails(4, &["nikita", "not in the model"]);
    let tags = "--relation items-tags:new.csv";
    sandbox
        .run(&format!("{why} {tags}"))
        .fails(2, &["nikita", "--by item"]);
    let shown = sandbox.run(&format!("{why} {tags} --by item")).ok().stdout;
    assert!(
        shown.contains("tags: noir") && shown.contains("tags: crime"),
        "{shown}"
    );
    assert!(shown.contains("the item is new"), "{shown}");
    let why = sandbox
        .run(&format!("{why} {tags} --by item --json"))
        .ok()
        .json()
        .remove(0);
    assert_eq!(why["item"], "nikita");
    let list = format!("recommend tagged.absentia ann --train train.csv --top 20 --json {tags}");
    let list = sandbox.run(&list).ok().json().remove(0);
    let items = list["items"].as_array().expect("a list");
    let nikita = items
        .iter()
        .find(|item| item["item"] == "nikita")
        .expect("listed");
    let (score, listed) = (why["score"].as_f64(), nikita["score"].as_f64());
    let off = (score.expect("a number") - listed.expect("a number")).abs();
    assert!(
        off < 1e-4 && why["remainder"].as_f64() == Some(0.0),
        "{why} {list}"
    );
}
