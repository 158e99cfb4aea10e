//! What each argument that names a file is for, and a value with which its command succeeds.

use std::any::TypeId;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Arg;

use crate::room::Room;

/// What a command does with the files that an argument names.
#[derive(Clone, Copy)]
pub(super) enum Use {
    /// Reads them; each sample names one in another way.
    Reads(&'static [Sample]),
    /// Writes a file, or files in a folder.
    Writes(&'static str),
    /// Reads a folder of data sets that others have made, and writes to none of it.
    Apart,
}

/// A value of an argument that names a file.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    /// The file, as [`fill`] makes it.
    pub(super) file: &'static str,
    /// The value, with `{}` in place of the file.
    pub(super) value: &'static str,
    /// Other arguments that this one needs.
    pub(super) needs: &'static str,
}

/// Enough for every way to hold rows out.
const USERS: usize = 40;
const ITEMS: usize = 15;

const fn sample(file: &'static str, value: &'static str, needs: &'static str) -> Sample {
    Sample { file, value, needs }
}

const fn plain(file: &'static str) -> [Sample; 1] {
    [sample(file, "{}", "")]
}

const DATA: &[Sample] = &plain("data.csv");
const TEST: &[Sample] = &plain("test.csv");
const MODEL: &[Sample] = &plain("model.absentia");
const PAIRS: &[Sample] = &plain("pairs.csv");
const CONFIG: &[Sample] = &plain("config.toml");
const SETTINGS: &[Sample] = &plain("settings.toml");
const TAGS: &[Sample] = &[
    sample("tags.csv", "items-tags:{}", ""),
    sample("looks.csv", "items-looks:{},dense=yes", ""),
    sample("items.txt", "items-looks:B.npy,ids={}", ""),
    sample(
        "by-item.csv",
        "items-tags:tags.csv,weights=lowrank:{},by-tag.csv",
        "",
    ),
    sample(
        "by-tag.csv",
        "items-tags:tags.csv,weights=lowrank:by-item.csv,{}",
        "",
    ),
];
const TOWNS: &[Sample] = &[sample("towns.csv", "users-towns:{}", "")];
const METRICS: &[Sample] = &plain("metrics.json");
const USER_LIST: &[Sample] = &plain("users.txt");
const SCALE: &[Sample] = &plain("scale.npy");
const STRANGERS: &[Sample] = &plain("strangers.csv");
const FACTORS: &[Sample] = &[
    sample("P.npy", "{} Q.npy", ""),
    sample("Q.npy", "P.npy {}", ""),
];
const ITEM_LIST: &[Sample] = &plain("items.txt");
const INIT: &[Sample] = &[
    sample("model.absentia", "{}", ""),
    sample("P.npy", "{},Q.npy", "--dense-ids"),
    sample("Q.npy", "P.npy,{}", "--dense-ids"),
];
const WEIGHTS: &[Sample] = &[
    sample("A.npy", "lowrank:{},B.npy", "--dense-ids"),
    sample("B.npy", "lowrank:A.npy,{}", "--dense-ids"),
    sample("W.npy", "dense:{},rank=2", "--dense-ids"),
    sample("table.csv", "groups:{},segments.csv,categories.csv", ""),
    sample("segments.csv", "groups:table.csv,{},categories.csv", ""),
    sample("categories.csv", "groups:table.csv,segments.csv,{}", ""),
];

/// Whether an argument can name a file, by what clap knows of it.
pub(super) fn names_file(arg: &Arg) -> bool {
    let is_path = arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    let names = arg.get_value_names().unwrap_or_default();
    let name = names.first().map_or("", clap::builder::Str::as_str);
    let by_name = [
        "DATA",
        "EVENTS",
        "MODEL",
        "FOLDER",
        "SCHEME",
        "P,Q|MODEL",
        "RELATION",
    ];
    let by_name = by_name.contains(&name);
    arg.get_action().takes_values() && (is_path || by_name || name.starts_with("FILE"))
}

/// The name of an argument: that of its flag, or of its place.
pub(super) fn name(arg: &Arg) -> &str {
    arg.get_long().unwrap_or(arg.get_id().as_str())
}

/// What an argument of a command is for; a new one has to be added here.
pub(super) fn use_of(verb: &str, name: &str) -> Option<Use> {
    let found = match (verb, name) {
        ("import", "factors") => Use::Reads(FACTORS),
        ("import" | "train" | "tune", "model") => Use::Writes("written-model.absentia"),
        ("generate", "test") => Use::Writes("written-test.csv"),
        ("split" | "export", "out") | ("serve", "folder") => Use::Writes("written-folder"),
        ("tune", "out") => Use::Writes("written-out.toml"),
        ("convert", "out") => Use::Writes("written-out.mtx"),
        ("stream", "out") => Use::Writes("written-out.absentia"),
        ("stream", "log") => Use::Writes("written.log"),
        ("serve", "settings") => Use::Reads(SETTINGS),
        ("inspect", "card") => Use::Writes("written-card.md"),
        ("inspect", "metrics") => Use::Reads(METRICS),
        ("reproduce", "out") => Use::Writes("written-out.html"),
        ("reproduce", "data") => Use::Apart,
        ("evaluate" | "recommend", "fold-in") => Use::Reads(STRANGERS),
        (_, "model" | "against") => Use::Reads(MODEL),
        (_, "test" | "valid" | "study") => Use::Reads(TEST),
        (_, "data" | "events" | "train" | "ratings" | "yelp") => Use::Reads(DATA),
        (_, "exposed" | "exclude" | "negatives") => Use::Reads(PAIRS),
        ("evaluate" | "recommend" | "explain", "relation") => Use::Reads(TOWNS),
        (_, "relation") => Use::Reads(TAGS),
        (_, "init") => Use::Reads(INIT),
        (_, "weights") => Use::Reads(WEIGHTS),
        (_, "config") => Use::Reads(CONFIG),
        (_, "users" | "users-file") => Use::Reads(USER_LIST),
        (_, "items" | "allow" | "deny") => Use::Reads(ITEM_LIST),
        (_, "item-scale") => Use::Reads(SCALE),
        (_, "out") => Use::Writes("written-out.csv"),
        (_, "checkpoint") => Use::Writes("written-checkpoint"),
        (_, "report") => Use::Writes("written-report.html"),
        (_, "per-user") => Use::Writes("written-per-user.csv"),
        (_, "log") => Use::Writes("written-log.jsonl"),
        (_, "truth") => Use::Writes("written-truth"),
        _ => return None,
    };
    Some(found)
}

/// The value of an argument that is not the one at issue.
pub(super) fn usual(samples: &[Sample], name: &str, given: &str) -> String {
    // Attributes are those of a relation that the model was trained with.
    let file = match (name, given) {
        ("model", "relation") => "related.absentia",
        _ => samples[0].file,
    };
    samples[0].value.replace("{}", file)
}

/// Whether a command needs an argument beside those that clap requires.
pub(super) fn is_needed(verb: &str, name: &str, given: &str) -> bool {
    match verb {
        "evaluate" | "recommend" => name == "train" && given != "fold-in",
        "serve" => name == "model",
        _ => false,
    }
}

/// Arguments that name no file, for a command that is soon done.
pub(super) fn other_words(verb: &str, given: &str) -> &'static str {
    match verb {
        "train" => "-k 3 --iterations 2 --regularization 0.1",
        "compare" => "-k 3 --iterations 2 --regularization 0.1 --at 5",
        "tune" => "-k 3 --trials 1 --metric recall@5",
        "recommend" if given == "users-file" => "",
        "recommend" => "--all",
        "generate" => "--users 30 --items 20 --entries 20",
        "reproduce" => "slips --size tiny",
        "split" => "--by last:1",
        "convert" => "--time-col none",
        "serve" => "--check --address 127.0.0.1:0",
        _ => "",
    }
}

/// Makes every file that samples name.
pub(super) fn fill(room: &Room) {
    let row = |user: usize, item: usize| {
        format!(
            "{user},{item},{},{}\n",
            1 + (user + item) % 5,
            1_600_000_000 + user * 50 + item
        )
    };
    let rows = |wanted: &dyn Fn(usize, usize) -> bool| {
        let all = (0..USERS).flat_map(|user| (0..ITEMS).map(move |item| (user, item)));
        let rows = all.filter(|&(user, item)| wanted(user, item));
        let rows: String = rows.map(|(user, item)| row(user, item)).collect();
        format!("user,item,rating,time\n{rows}")
    };
    room.write(
        "data.csv",
        rows(&|user, item| (user + 2 * item) % 3 == 0 || user == item),
    );
    room.write(
        "test.csv",
        rows(&|user, item| (user + 2 * item) % 3 == 1 && user != item),
    );
    room.write(
        "pairs.csv",
        rows(&|user, item| (user + 2 * item) % 3 == 2 && user != item),
    );
    let strangers = rows(&|user, item| (user + item) % 4 == 0).replace("\n1", "\n901");
    room.write("strangers.csv", strangers);
    room.write("tags.csv", table("item,tag", ITEMS, "t"));
    room.write("towns.csv", table("user,town", USERS, "t"));
    let by_item = (0..ITEMS).map(|item| format!("{item},0.{}\n", 1 + item % 5));
    room.write(
        "by-item.csv",
        format!("id,x\n{}", by_item.collect::<String>()),
    );
    let looks = (0..ITEMS).map(|item| format!("{item},{},0.5\n", item % 3));
    let looks: String = looks.collect();
    room.write("looks.csv", format!("item,size,hue\n{looks}"));
    room.write("by-tag.csv", "id,x\nt0,0.1\nt1,0.2\n");
    room.write("segments.csv", table("user,segment", USERS, "s"));
    room.write("categories.csv", table("item,category", ITEMS, "c"));
    room.write(
        "table.csv",
        "segment,category,weight\ns0,c0,0.1\ns0,c1,0.2\ns1,c0,0.3\ns1,c1,0.4\n",
    );
    room.write("config.toml", "threads = 1\n");
    room.write("settings.toml", "[limits]\nconnections = 9\n");
    let metrics = r#"{"recall@20": 0.5, "intervals": {"recall@20": [0.4, 0.6]}}"#;
    room.write("metrics.json", metrics);
    for (name, rows, columns) in [
        ("A", USERS, 2),
        ("B", ITEMS, 2),
        ("W", USERS, ITEMS),
        ("scale", ITEMS, 0),
    ] {
        let shape = if columns == 0 {
            vec![rows]
        } else {
            vec![rows, columns]
        };
        let numbers: Vec<f32> = (0..rows * columns.max(1))
            .map(|at| 0.1 + at as f32 * 0.01)
            .collect();
        let mut bytes = Vec::new();
        absentia_io::npy::write(&mut bytes, &shape, &numbers).expect("written");
        room.write(&format!("{name}.npy"), bytes);
    }
    let train = "train data.csv -k 3 --iterations 2 --regularization 0.1";
    room.ok(&format!("{train} --model model.absentia"));
    let towns = "--relation users-towns:towns.csv";
    room.ok(&format!("{train} {towns} --model related.absentia"));
    room.ok("export model.absentia --out factors");
    for name in ["P.npy", "Q.npy", "users.txt", "items.txt"] {
        std::fs::rename(room.path("factors").join(name), room.path(name)).expect("moved");
    }
    room.remove("factors");
}

fn table(header: &str, rows: usize, group: &str) -> String {
    let mut table = format!("{header}\n");
    for row in 0..rows {
        writeln!(table, "{row},{group}{}", row % 2).expect("a string");
    }
    table
}
