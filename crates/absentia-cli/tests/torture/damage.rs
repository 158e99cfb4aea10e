//! Damaged files of every format that is read.
//!
//! What carries a checksum is refused, or read as what it was. Other files may hold other values after
//! the damage; they too end in a result or a message, within the limits of a room.

use crate::data::Table;
use crate::dice::Dice;
use crate::room::Room;
use crate::support::bits;

/// Damaged copies of a file that are read in a round.
const COPIES: usize = 12;

/// A file, and a command that reads it.
#[derive(Clone, Copy)]
struct Case {
    file: &'static str,
    line: &'static str,
    /// What the command leaves that depends on the file; standard output for none.
    result: Option<&'static str>,
    /// Whether a checksum covers the file.
    is_sealed: bool,
}

const fn ratings(file: &'static str, is_sealed: bool) -> Case {
    Case {
        file,
        line: "convert FILE --out result.csv",
        result: Some("result.csv"),
        is_sealed,
    }
}

const RUN: &str = "train data.csv -k 3 --iterations 4 --regularization 0.1 --seed 1 --dense-ids";

const CASES: [Case; 25] = [
    ratings("x.csv", false),
    ratings("x.tsv", false),
    ratings("x.jsonl", false),
    ratings("x.inter", false),
    ratings("x.rating", false),
    ratings("x.adj", false),
    ratings("x.mtx", false),
    ratings("x.parquet", true),
    ratings("x.arrow", true),
    ratings("x.arrows", false),
    ratings("x.csv.gz", true),
    ratings("x.csv.zst", true),
    ratings("x.jsonl.gz", true),
    ratings("y.mtx.gz", true),
    ratings("z.mtx.zst", true),
    ratings("v.npz", true),
    Case {
        file: "m.absentia",
        line: "recommend FILE --all --allow-seen --top 3 --json",
        result: None,
        is_sealed: true,
    },
    Case {
        file: "n.absentia",
        line: "inspect FILE --json",
        result: None,
        is_sealed: true,
    },
    Case {
        file: "run.ckpt",
        line: "RUN --checkpoint FILE --resume --model result.absentia",
        result: Some("result.absentia"),
        is_sealed: true,
    },
    Case {
        file: "events.log",
        line: "stream m.absentia events.csv --train data.csv --dense-ids --log FILE --resume \
               --out result.absentia",
        result: Some("result.absentia"),
        is_sealed: true,
    },
    Case {
        file: "A.npy",
        line: "RUN --weights lowrank:FILE,B.npy --model result.absentia",
        result: None,
        is_sealed: false,
    },
    Case {
        file: "start.npy",
        line: "RUN --init FILE,Q.npy --model result.absentia",
        result: None,
        is_sealed: false,
    },
    Case {
        file: "config.toml",
        line: "train --config FILE --dry-run",
        result: None,
        is_sealed: false,
    },
    Case {
        file: "log.jsonl",
        line: "tune data.csv --trials 2 -k 3 --metric recall@5 --out t.toml --log FILE --resume",
        result: None,
        is_sealed: false,
    },
    Case {
        file: "users.txt",
        line: "import P.npy Q.npy --users FILE --model result.absentia",
        result: None,
        is_sealed: false,
    },
];

pub(crate) fn round(dice: &mut Dice, room: &Room) {
    fill(dice, room);
    for _ in 0..COPIES {
        let case = dice.one_of(&CASES);
        let whole = room.read(case.file);
        let line = case.line.replace("FILE", case.file).replace("RUN", RUN);
        let result = || {
            let ended = room.run(&line);
            ended.is_ok().then(|| match case.result {
                Some(name) if name.ends_with("absentia") => {
                    let model = absentia_io::model::load_model(&room.path(name));
                    format!("{:?}", bits(&model.expect("a model"))).into_bytes()
                }
                Some(name) => room.read(name),
                None => ended.stdout.into_bytes(),
            })
        };
        let expected = case.is_sealed.then(|| {
            let expected = result();
            room.write(case.file, &whole);
            expected.expect("the whole file is read")
        });
        let (damaged, what) = damaged(dice, &whole);
        room.write(case.file, &damaged);
        let found = result();
        if let (Some(found), Some(expected)) = (found, expected) {
            let is_same = found == expected;
            assert!(is_same, "{}: {what} was read as other data", case.file);
        }
        room.write(case.file, &whole);
    }
}

/// Makes a file of each format.
fn fill(dice: &mut Dice, room: &Room) {
    let mut table = Table::small(dice);
    // Matrices have no room for times.
    table.has_times = false;
    for row in &mut table.rows {
        // Formats without ids and arrays by position need row numbers.
        row.user = number(&row.user);
        row.item = number(&row.item);
    }
    room.write("data.csv", table.csv());
    let names = CASES.iter().filter(|case| case.line.starts_with("convert"));
    for case in names {
        let less = if case.file == "x.adj" {
            "--rating-col none"
        } else {
            ""
        };
        room.ok(&format!("convert data.csv --out {} {less}", case.file));
    }
    let run = RUN;
    room.ok(&format!("{run} --model m.absentia"));
    let model = room.read("m.absentia");
    room.write("n.absentia", model);
    let half = run.replace("--iterations 4", "--iterations 2");
    room.ok(&format!(
        "{half} --checkpoint run.ckpt --checkpoint-every 1 --model other.absentia"
    ));
    room.ok("export m.absentia --out .");
    let events = Table {
        rows: table.rows[..table.rows.len().min(30)].to_vec(),
        has_times: false,
    };
    room.write("events.csv", events.csv());
    room.ok("stream m.absentia events.csv --train data.csv --dense-ids --log events.log");
    for (name, source) in [("A.npy", "P.npy"), ("B.npy", "Q.npy")] {
        let bytes = room.read(source);
        let array = absentia_io::npy::read(&mut &bytes[..], bytes.len() as u64, &room.path(source));
        let array = array.expect("an array");
        let numbers = array.data.into_f32().expect("numbers");
        let numbers: Vec<f32> = numbers.iter().map(|x| x.abs() * 0.1).collect();
        let mut bytes = Vec::new();
        absentia_io::npy::write(&mut bytes, &array.shape, &numbers).expect("written");
        room.write(name, bytes);
    }
    let start = room.read("P.npy");
    room.write("start.npy", start);
    room.ok("tune data.csv --trials 2 -k 3 --metric recall@5 --out config.toml --log log.jsonl");
}

fn number(id: &str) -> String {
    let digits: String = id.chars().filter(char::is_ascii_digit).collect();
    digits.parse::<u32>().expect("a number").to_string()
}

/// A damaged copy, and how it was damaged.
fn damaged(dice: &mut Dice, whole: &[u8]) -> (Vec<u8>, String) {
    let mut bytes = whole.to_vec();
    let at = dice.below(bytes.len());
    let length = dice.within(1, 64).min(bytes.len() - at);
    let what = match dice.below(8) {
        0 | 1 => {
            let bit = dice.below(8);
            bytes[at] ^= 1 << bit;
            format!("bit {bit} of byte {at} flipped")
        }
        2 => {
            for _ in 0..8 {
                let at = dice.below(bytes.len());
                bytes[at] ^= 1 << dice.below(8);
            }
            "eight bits flipped".to_owned()
        }
        3 => {
            bytes.truncate(at);
            format!("cut after {at} bytes")
        }
        4 => {
            bytes.drain(at..at + length);
            format!("{length} bytes from byte {at} on left out")
        }
        5 => {
            let more: Vec<u8> = (0..length).map(|_| dice.next() as u8).collect();
            bytes.splice(at..at, more);
            format!("{length} bytes inserted at byte {at}")
        }
        6 => {
            let byte = dice.one_of(&[0x00, 0xff, 0x7f, b'9', b'\n']);
            bytes[at..at + length].fill(byte);
            format!("{length} bytes from byte {at} on set to {byte}")
        }
        _ => {
            let other = dice.below(bytes.len() - length + 1);
            for step in 0..length {
                bytes.swap(at + step, other + step);
            }
            format!("{length} bytes at {at} and at {other} swapped")
        }
    };
    (bytes, what)
}
