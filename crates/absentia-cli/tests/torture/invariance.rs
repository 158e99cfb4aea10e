//! The order of rows, the number of threads and the format of the file change no bit of a result.

use crate::data::{Table, settings};
use crate::dice::Dice;
use crate::room::Room;
use crate::support::bits;

/// Numbers of threads; more than the machine has among them.
const THREADS: [u32; 4] = [1, 2, 3, 7];

pub(crate) fn round(dice: &mut Dice, room: &Room) {
    // Sums over rows are made in chunks of 2,048, so that a table of more has several.
    let is_large = dice.is(0.2);
    let mut table = if is_large {
        let users = dice.within(2100, 5000);
        Table::random(dice, users, 60, 0.06)
    } else {
        Table::small(dice)
    };
    if dice.is(0.5) {
        let share = dice.one_of(&[0.02, 0.2]);
        table.repeat(dice, share);
    }
    // The last of repeated ratings is the latest. Without times there is none, but counts are the same.
    let columns = if table.has_times {
        ""
    } else {
        "--rating-col none"
    };
    room.write("a.csv", table.csv());
    let other = table.shuffled(dice);
    room.write("b.csv", other.csv());
    let (mut rest, share) = (table.shuffled(dice), dice.unit());
    let part = rest.take(dice, share.clamp(0.1, 0.9));
    room.write("c1.csv", part.csv());
    room.write("c2.csv", rest.csv());
    room.ok("convert b.csv --out b.parquet");
    models(dice, room, (&table, columns), is_large);
    splits(dice, room, columns);
    if dice.is(0.2) && !is_large {
        searches(room, columns);
    }
}

fn models(dice: &mut Dice, room: &Room, (table, columns): (&Table, &str), is_large: bool) {
    let mut flags = settings(dice, table);
    if dice.is(0.3) {
        let solvers = [
            "svd",
            "ials1",
            "rcd",
            "ii-svd",
            "bpr",
            "sgd-observed",
            "itemknn",
        ];
        flags = format!("--solver {} -k 4 --seed 3", dice.one_of(&solvers));
    }
    if is_large {
        // The slow algorithm would take minutes.
        flags = flags.replace("eals-vanilla", "eals");
    } else if dice.is(0.3) {
        flags.push_str(" --valid-split ratio:0.2 --valid-metric ndcg@5");
    }
    flags = format!("{flags} {columns}");
    let sweeps = dice.within(1, 4);
    let result = |data: &str, threads: u32| {
        let line = format!(
            "train {data} --model m.absentia --iterations {sweeps} {flags} --threads {threads}"
        );
        if !room.run(&line).is_ok() {
            return None;
        }
        let model = absentia_io::model::load_model(&room.path("m.absentia")).expect("a model");
        let names = |ids: &absentia_io::IdMap| -> Vec<String> {
            ids.iter().map(std::borrow::Cow::into_owned).collect()
        };
        let names = (names(&model.ids.users), names(&model.ids.items));
        let lists = "recommend m.absentia --all --train a.csv --top 5 --json";
        let lists = room.ok(&format!("{lists} --threads {threads}")).stdout;
        Some((bits(&model), names, lists))
    };
    let expected = result("a.csv", 2);
    for data in ["b.csv", "c1.csv c2.csv", "c2.csv c1.csv", "b.parquet"] {
        let is_same = result(data, 2) == expected;
        assert!(is_same, "another result for {data}: {flags}");
    }
    for threads in THREADS {
        let is_same = result("a.csv", threads) == expected;
        assert!(is_same, "another result on {threads} threads: {flags}");
    }
}

fn splits(dice: &mut Dice, room: &Room, columns: &str) {
    let by = dice.one_of(&[
        "ratio:0.3 --pick random --seed 5",
        "last:2 --pick random",
        "leave-one-out,valid",
        "ratio:0.2,0.1 --pick drift",
        "users:3 --pick random --seed 2",
        "share:0.2 --pick latest",
    ]);
    let parts = |data: &str| -> Vec<(String, Vec<String>)> {
        room.remove("parts");
        let ended = room.run(&format!("split {data} --out parts --by {by} {columns}"));
        if !ended.is_ok() {
            return vec![(ended.stderr, Vec::new())];
        }
        ["train", "valid", "test", "fold_in"]
            .iter()
            .filter(|part| room.path(&format!("parts/{part}.csv")).exists())
            .map(|part| {
                let text = room.text(&format!("parts/{part}.csv"));
                let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
                rows.sort_unstable();
                ((*part).to_owned(), rows)
            })
            .collect()
    };
    let expected = parts("a.csv");
    for data in ["b.csv", "c1.csv c2.csv", "c2.csv c1.csv", "b.parquet"] {
        let found = parts(data);
        // Parquet keeps numbers, so that they are written in another way.
        let same = if data == "b.parquet" {
            let sizes = |parts: &[(String, Vec<String>)]| -> Vec<usize> {
                parts.iter().map(|(_, rows)| rows.len()).collect()
            };
            sizes(&found) == sizes(&expected)
        } else {
            found == expected
        };
        assert!(same, "another split of {data} by {by}");
    }
}

fn searches(room: &Room, columns: &str) {
    let result = |data: &str, threads: u32| {
        let line = format!(
            "tune {data} --trials 2 -k 3 --metric recall@5 --out t.toml --threads {threads} {columns}"
        );
        let ended = room.run(&line);
        if !ended.is_ok() {
            return ended.stderr;
        }
        let text = room.text("t.toml");
        let lines = text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.contains("data"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let expected = result("a.csv", 2);
    for (data, threads) in [("a.csv", 1), ("a.csv", 7), ("b.csv", 2)] {
        let found = result(data, threads);
        assert!(
            found == expected,
            "{data}, {threads} threads: {found}\nand not {expected}"
        );
    }
}
