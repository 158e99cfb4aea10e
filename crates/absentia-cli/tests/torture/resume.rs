//! Runs and searches that go on: under the same conditions they end in the same bits as if they had
//! never stopped. Under other ones they are refused and change nothing, or end as a run that starts
//! under them.

use crate::data::{Table, settings};
use crate::dice::Dice;
use crate::room::{Ended, Room};
use crate::support::bits;

/// Changes that are tried in a round.
const CHANGES: usize = 8;

pub(crate) fn round(dice: &mut Dice, room: &Room) {
    let mut train = Table::small(dice);
    let valid = train.take(dice, 0.2);
    if train.rows.is_empty() || valid.rows.is_empty() {
        return;
    }
    if dice.is(0.15) {
        searches(dice, room, &train);
    } else {
        runs(dice, room, &train, &valid);
    }
}

/// What a run is made on and with.
#[derive(Clone)]
struct Run {
    train: Table,
    valid: Table,
    flags: String,
}

impl Run {
    fn write(&self, room: &Room) {
        room.write("train.csv", self.train.csv());
        room.write("valid.csv", self.valid.csv());
    }

    fn line(&self, model: &str, sweeps: usize) -> String {
        let flags = &self.flags;
        format!("train train.csv --model {model} --iterations {sweeps} {flags} --json")
    }
}

fn runs(dice: &mut Dice, room: &Room, train: &Table, valid: &Table) {
    let mut flags = settings(dice, train);
    flags.push_str(dice.one_of(&[
        "",
        " --valid valid.csv --valid-metric ndcg@5",
        " --valid-split ratio:0.2 --valid-metric recall@5",
    ]));
    let run = Run {
        train: train.clone(),
        valid: valid.clone(),
        flags,
    };
    run.write(room);
    let (some, all) = (dice.within(1, 3), dice.within(4, 6));
    let kept = "--checkpoint run.ckpt --checkpoint-every 1";
    if !room.run(&format!("{} {kept}", run.line("m", some))).is_ok() {
        return;
    }
    let (checkpoint, model) = (room.read("run.ckpt"), room.read("m"));
    let resumed = |run: &Run| {
        room.write("run.ckpt", &checkpoint);
        room.write("m", &model);
        room.run(&format!("{} {kept} --resume", run.line("m", all)))
    };
    let whole = room.ok(&run.line("whole", all));
    let again = resumed(&run);
    assert!(again.is_ok(), "{again}");
    assert!(same(room, &again, &whole), "not as without a stop: {again}");
    for _ in 0..CHANGES {
        let (changed, what) = changed(dice, &run);
        changed.write(room);
        let again = resumed(&changed);
        if again.is_ok() {
            let whole = room.ok(&changed.line("whole", all));
            let is_same = same(room, &again, &whole);
            assert!(
                is_same,
                "{what}: went on as neither the old run nor a new one: {again}"
            );
        } else {
            let is_kept = room.read("run.ckpt") == checkpoint && room.read("m") == model;
            assert!(
                is_kept,
                "{what}: refused, but the files were changed: {again}"
            );
        }
    }
}

/// Whether a resumed run ended in the same model, and says the same of it.
fn same(room: &Room, resumed: &Ended, whole: &Ended) -> bool {
    let factors = |name: &str| {
        let model = absentia_io::model::load_model(&room.path(name)).expect("a model");
        bits(&model)
    };
    let said = |ended: &Ended| {
        let last = ended.stdout.lines().last().unwrap_or_default();
        let mut last: serde_json::Value = serde_json::from_str(last).expect("JSON");
        for key in ["model", "seconds"] {
            last.as_object_mut().map(|object| object.remove(key));
        }
        last
    };
    factors("m") == factors("whole") && said(resumed) == said(whole)
}

/// The run with one thing changed, and what that is.
fn changed(dice: &mut Dice, run: &Run) -> (Run, String) {
    let mut other = run.clone();
    let at = dice.below(other.train.rows.len());
    let of_valid = dice.below(other.valid.rows.len());
    let what = match dice.below(8) {
        0 => {
            other.train.rows[at].rating += 7;
            "the rating of a row".to_owned()
        }
        1 => {
            other.train.rows[at].time += 1000;
            "the time of a row".to_owned()
        }
        2 => {
            other.train.rows.swap_remove(at);
            "a row less".to_owned()
        }
        3 => {
            other.train.rows[at].user.push('x');
            "the user of a row".to_owned()
        }
        4 => {
            other.valid.rows.swap_remove(of_valid);
            "a validation row less".to_owned()
        }
        _ => {
            let flag = dice.one_of(&[
                "-k 4",
                "--seed 777",
                "--regularization 0.31",
                "--reg-exponent 0.25",
                "--weights uniform:0.37",
                "--weights popularity:mean=0.03,alpha=0.1",
                "--targets log",
                "--targets normalized:0.3",
                "--confidence 3",
                "--confidence linear:0.3",
                "--post-scale 0.4",
                "--init-std 0.2",
                "--solver eals",
                "--solver als",
                "--solver subspace --block 2",
                "--valid-metric hr@7",
                "--valid-every 2",
                "--valid-split last:1 --valid-metric ndcg@5",
                "--valid valid.csv",
                "--min-rating 2",
                "--k-core 2",
                "--sample rows:0.8",
                "--exclude valid.csv",
                "--exposed valid.csv",
                "--threads 3",
            ]);
            other.flags = format!("{} {flag}", other.flags);
            flag.to_owned()
        }
    };
    (other, what)
}

fn searches(dice: &mut Dice, room: &Room, train: &Table) {
    room.write("train.csv", train.csv());
    let line = |more: &str, out: &str| {
        format!("tune train.csv --trials 3 -k 3 --metric recall@5 --out {out} {more}")
    };
    let first = room.run(&line("--log log.jsonl", "t.toml").replace("--trials 3", "--trials 2"));
    if !first.is_ok() {
        return;
    }
    let (log, chosen) = (room.read("log.jsonl"), room.read("t.toml"));
    let changes = [
        "",
        "--metric ndcg@5",
        "--seed 8",
        "--search uniform",
        "-k 2",
        "--split last:1",
        "--pick random",
        "--tilt 0.5",
        "a rating",
        "a user",
    ];
    for change in changes {
        let mut table = train.clone();
        let at = dice.below(table.rows.len());
        match change {
            "a rating" => table.rows[at].rating += 9,
            "a user" => table.rows[at].user.push('x'),
            _ => {}
        }
        room.write("train.csv", table.csv());
        room.write("log.jsonl", &log);
        room.write("t.toml", &chosen);
        let flags = if change.starts_with('a') { "" } else { change };
        let again = room.run(&line(
            &format!("--log log.jsonl --resume {flags}"),
            "t.toml",
        ));
        if again.is_ok() {
            room.ok(&line(&format!("--log whole.jsonl {flags}"), "whole.toml"));
            let is_same = room.read("t.toml") == room.read("whole.toml");
            assert!(
                is_same,
                "{change}: another choice than of a new search: {again}"
            );
        } else {
            assert!(!change.is_empty(), "refused to go on: {again}");
            assert!(
                room.read("t.toml") == chosen,
                "{change}: refused, but changed: {again}"
            );
        }
    }
}
