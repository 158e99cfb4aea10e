//! Commands that are killed at random moments: what they write is absent, as it was or as it will be,
//! files that belong together are all of one kind, and the next run ends as if nothing had happened.

mod moment;
mod written;

use std::time::Instant;

use moment::Moment;
use written::{Written, holds_state, is_temporary, written};

use crate::data::Table;
use crate::dice::Dice;
use crate::guard::written_by;
use crate::room::{Contents, Room, wait};

/// Kills of a command in a round.
const KILLS: usize = 6;

/// A command that writes files.
#[derive(Clone, Copy)]
struct Case {
    /// With `{}` in place of what makes the old result another than the new one.
    line: &'static str,
    old: &'static str,
    new: &'static str,
    /// Files or folders that it writes.
    writes: &'static [&'static str],
    /// Whether the files belong together.
    is_set: bool,
}

const SEED: (&str, &str) = ("--seed 1", "--seed 2");

const fn case(
    line: &'static str,
    versions: (&'static str, &'static str),
    writes: &'static [&'static str],
) -> Case {
    Case {
        line,
        old: versions.0,
        new: versions.1,
        writes,
        is_set: false,
    }
}

const fn set(
    line: &'static str,
    versions: (&'static str, &'static str),
    writes: &'static [&'static str],
) -> Case {
    Case {
        is_set: true,
        ..case(line, versions, writes)
    }
}

const CASES: [Case; 20] = [
    case(
        "train data.csv --model w.absentia -k 8 --iterations 6 --regularization 0.1 --checkpoint w.ckpt \
         --checkpoint-every 1 --resume --report w.html {}",
        SEED,
        &["w.absentia", "w.ckpt", "w.html"],
    ),
    case(
        "train data.csv --model w.absentia -k 4 --iterations 3 --checkpoint w.ckpt --checkpoint-every 1 \
         --resume --valid-split leave-one-out --valid-metric ndcg@5 {}",
        SEED,
        &["w.absentia", "w.ckpt"],
    ),
    case(
        "tune small.csv --trials 3 -k 3 --metric recall@5 --out w.toml --log w.jsonl --resume \
         --model w.absentia --report w.html {}",
        SEED,
        &["w.toml", "w.jsonl", "w.absentia", "w.html"],
    ),
    set(
        "split data.csv --out w --by ratio:0.2,0.1 --pick random {}",
        SEED,
        &["w"],
    ),
    set(
        "split data.csv --out w --by users:9 --pick random --to parquet {}",
        SEED,
        &["w"],
    ),
    set(
        "split data.csv --out w --by ratio:0.3 --pick random --to mtx --time-col none {}",
        SEED,
        &["w"],
    ),
    set("export {} --out w", ("a.absentia", "b.absentia"), &["w"]),
    set(
        "export {} --out w --layout parquet",
        ("a.absentia", "b.absentia"),
        &["w"],
    ),
    case(
        "recommend {} --all --train data.csv --top 5 --out w.csv",
        ("a.absentia", "b.absentia"),
        &["w.csv"],
    ),
    case(
        "recommend {} --all --train data.csv --top 5 --out w.parquet",
        ("a.absentia", "b.absentia"),
        &["w.parquet"],
    ),
    case(
        "evaluate a.absentia --train data.csv --test test.csv --per-user w.csv {}",
        ("--at 3", "--at 5"),
        &["w.csv"],
    ),
    case(
        "generate --users 3000 --items 500 --entries 20000 --out w.csv --test wt.csv --truth w {}",
        SEED,
        &["w.csv", "wt.csv", "w"],
    ),
    case(
        "convert data.csv --out w.csv.gz {}",
        ("--min-rating 1", "--min-rating 2"),
        &["w.csv.gz"],
    ),
    set(
        "convert data.csv --out w/x.npz --time-col none {}",
        ("--min-rating 1", "--min-rating 4"),
        &["w"],
    ),
    set(
        "convert data.csv --out w/x.mtx --time-col none {}",
        ("--min-rating 1", "--min-rating 4"),
        &["w"],
    ),
    case(
        "compare small.csv -k 3 --iterations 2 --regularization 0.1 --at 5 --report w.html {}",
        SEED,
        &["w.html"],
    ),
    case(
        "import {} --model w.absentia",
        ("a/P.npy a/Q.npy", "b/P.npy b/Q.npy"),
        &["w.absentia"],
    ),
    case(
        "stream {} test.csv --train data.csv --log w.log --resume --out w.absentia",
        ("a.absentia", "b.absentia"),
        &["w.absentia", "w.log"],
    ),
    case(
        "inspect {} --card w.md",
        ("a.absentia", "b.absentia"),
        &["w.md"],
    ),
    case(
        "reproduce {} --size tiny --out w.html",
        ("slips", "data slips"),
        &["w.html"],
    ),
];

/// Fails if a command can write a file and no case has that.
fn check_cases() {
    for (verb, argument) in written_by() {
        // `cargo xtask faults` kills servers, and looks at what is in their folders.
        if verb == "serve" {
            continue;
        }
        let is_case = |case: &Case| {
            let mut words = case.line.split_whitespace();
            words.next() == Some(verb.as_str()) && words.any(|word| word == format!("--{argument}"))
        };
        assert!(
            CASES.iter().any(is_case),
            "{verb} --{argument}: add a command to kill"
        );
    }
}

pub(crate) fn round(dice: &mut Dice, room: &Room) {
    check_cases();
    let mut data = Table::random(dice, 2500, 50, 0.12);
    room.write("test.csv", data.take(dice, 0.1).csv());
    room.write("data.csv", data.csv());
    room.write("small.csv", Table::small(dice).csv());
    for name in ["a", "b"] {
        let seed = if name == "a" { 1 } else { 2 };
        let line = "train data.csv -k 16 --iterations 1 --regularization 0.1";
        room.ok(&format!("{line} --model {name}.absentia --seed {seed}"));
        room.ok(&format!("export {name}.absentia --out {name}"));
    }
    let clean = room.contents();
    // Each round has another share of the commands, so that a few rounds have them all.
    let first = dice.below(CASES.len());
    for step in 0..5 {
        attack(dice, room, &CASES[(first + 3 * step) % CASES.len()], &clean);
    }
}

/// Kills a command several times, each time from its start.
fn attack(dice: &mut Dice, room: &Room, case: &Case, clean: &Contents) {
    let result = |version: &str| {
        room.restore(clean);
        if case.line.starts_with("convert") && case.is_set {
            std::fs::create_dir(room.path("w")).expect("a folder");
        }
        let started = Instant::now();
        room.ok(&case.line.replace("{}", version));
        (written(room, case), started.elapsed())
    };
    let (old, _) = result(case.old);
    let old_files: Contents = room.contents();
    let (new, elapsed) = result(case.new);
    let line = case.line.replace("{}", case.new);
    for _ in 0..KILLS {
        // Files are moved one by one into a folder that is there and has none of them.
        let is_fresh = dice.is(0.3) && !line.starts_with("convert");
        room.restore(if is_fresh { clean } else { &old_files });
        // These hold the state of the old run, which the new one would go on from.
        for name in case.writes.iter().filter(|name| holds_state(name)) {
            room.remove(name);
        }
        let mut child = room.start(&line);
        Moment::random(dice, elapsed).wait_for(&mut child, room, case);
        child.kill().expect("killed");
        wait(child, &line);
        let before = if is_fresh { Vec::new() } else { old.clone() };
        check(room, case, &before, &new);
        let again = room.ok(&line);
        let after = written(room, case);
        assert!(after == new, "another result after a kill: {again}");
        let left = room.contents();
        let left: Vec<_> = left.keys().filter(|path| is_temporary(path)).collect();
        assert!(left.is_empty(), "{line}: left behind: {left:?}");
    }
}

/// Every file is absent, old or new, and those of a set are all the one or all the other.
fn check(room: &Room, case: &Case, old: &[Written], new: &[Written]) {
    let found = written(room, case);
    for file in &found {
        let is_known = old.contains(file) || new.contains(file);
        assert!(is_known, "{}: {} is neither old nor new", case.line, file.0);
    }
    // A file of the old run may only go with the whole set.
    if case.is_set {
        let names = |files: &[Written]| files.iter().map(|file| file.0.clone()).collect::<Vec<_>>();
        let is_all = found == old || found == new;
        assert!(
            is_all,
            "{}: a mix of old and new: {:?} of {:?}",
            case.line,
            found
                .iter()
                .filter(|file| new.contains(file))
                .map(|file| &file.0)
                .collect::<Vec<_>>(),
            names(&found)
        );
    } else {
        let is_lost = old
            .iter()
            .find(|file| !holds_state(&file.0) && !found.iter().any(|other| other.0 == file.0));
        assert!(is_lost.is_none(), "{}: an old file is gone", case.line);
    }
}
