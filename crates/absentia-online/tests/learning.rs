//! Records by id: what they do, and that a log and a saved state give the same bits.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc)]

use std::path::Path;

use absentia::Params;
use absentia::data::{Duplicates, Triplets};
use absentia::error::{Axis, Fault};
use absentia::fit::{Cancel, Run, fit};
use absentia::online::{Online, OnlineError, Options, Settings, TrainFrom, WeightMode};
use absentia::weights::{Scheme, SchemeSpec};
use absentia_io::model::{Ids, load_model};
use absentia_online::{
    LearnError, Learner, Log, LogError, MAX_ID_BYTES, Opening, Prequential, Record, Trained, open,
};

const USERS: u32 = 12;
const ITEMS: u32 = 9;

fn pairs() -> (Vec<u32>, Vec<u32>) {
    let pairs = (0..USERS).flat_map(|user| (0..ITEMS).map(move |item| (user, item)));
    pairs
        .filter(|(user, item)| (user * 7 + item * 5) % 4 == 0)
        .unzip()
}

/// A learner of a model with Z = 2 weights, whose ids are u0, u1, … and i0, i1, …
fn learner(mode: WeightMode) -> Learner {
    let (users, items) = pairs();
    let data = Triplets::new(&users, &items);
    let data = data
        .build(USERS as usize, ITEMS as usize, Duplicates::Last)
        .unwrap();
    let spec: SchemeSpec = "popularity:c0=20,alpha=0.5".parse().unwrap();
    let scheme = match mode {
        WeightMode::Live => spec.scheme().unwrap(),
        WeightMode::Frozen => Scheme::uniform(0.1),
    };
    let params = Params::new().factors(4).iterations(5).init_std(0.1);
    let model = fit(&data, &scheme, &params.check().unwrap(), Run::default());
    let options = Options {
        scheme: Some(scheme),
        weights: mode,
        duplicates: Duplicates::Last,
        ..Options::default()
    };
    let online = Online::new(&model.unwrap().model, &data, options).unwrap();
    Learner::new(online, ids())
}

/// u0, u1, … and i0, i1, …
fn ids() -> Ids {
    Ids {
        related: Vec::new(),
        users: (0..USERS).map(|row| format!("u{row}")).collect(),
        items: (0..ITEMS).map(|row| format!("i{row}")).collect(),
    }
}

/// A refit of frozen weights gives what training gives: their mean is kept, not the c0 that it had.
#[test]
fn a_refit_resolves_the_weights_of_the_configuration_anew() {
    let (users, items) = pairs();
    let rows = Triplets::new(&users, &items);
    let rows = rows
        .build(USERS as usize, ITEMS as usize, Duplicates::Last)
        .unwrap();
    let text = "popularity:mean=0.2,alpha=0.5";
    let scheme = text.parse::<SchemeSpec>().unwrap().scheme().unwrap();
    let params = Params::new().factors(4).iterations(5).check().unwrap();
    let model = fit(&rows, &scheme, &params, Run::default()).unwrap().model;
    let trained = Trained {
        model: &model,
        ids: ids(),
        config: Some(format!("weights = [\"{text}\"]")),
        rows: &rows,
        duplicates: Duplicates::Last,
    };
    let mut learner = Learner::start(trained, WeightMode::Frozen, Settings::default()).unwrap();
    for record in records() {
        learner.apply(&record).unwrap();
    }
    let refitted = learner.copy_state().unwrap().into_learner().unwrap();
    for mut learner in [learner, refitted] {
        learner.apply(&Record::Refit { sweeps: 1 }).unwrap();
        let online = learner.online();
        let (now, again) = (
            online.missing_weights().unwrap(),
            scheme.resolve(&online.to_rows()).unwrap(),
        );
        assert_eq!(now.a().as_slice(), again.a().as_slice());
        assert_eq!(now.b().as_slice(), again.b().as_slice());
    }
}

#[test]
fn a_cancelled_training_changes_nothing() {
    let mut learner = learner(WeightMode::Frozen);
    assert!(learner.training_stage(2).total() > learner.training_stage(1).total());
    let before = learner.online().factors(Axis::User).clone();
    let cancel = Cancel::new();
    cancel.cancel();
    let trained = learner.train(TrainFrom::Random, Some(3), &mut (), &cancel);
    assert!(matches!(
        trained,
        Err(LearnError::Online(OnlineError::Cancelled))
    ));
    assert_eq!(learner.online().factors(Axis::User), &before);
    learner
        .train(TrainFrom::Random, Some(3), &mut (), &Cancel::new())
        .unwrap();
    assert_ne!(learner.online().factors(Axis::User), &before);
}

/// A stream with everything that a log can hold.
fn records() -> Vec<Record> {
    let mut records = vec![Record::insert("u0", "i1"), Record::insert("new", "i2")];
    for at in 0..30 {
        let (user, item) = (format!("u{}", at % 14), format!("i{}", (at * 5) % 11));
        records.push(Record::insert(user, item));
    }
    records.push(Record::Expose {
        user: "u3".into(),
        item: "i8".into(),
        weight: 0.3,
    });
    records.push(Record::Remove {
        user: "u0".into(),
        item: "i1".into(),
        time: None,
        later: None,
    });
    records.push(Record::Settings(Settings {
        steps: 2,
        weight_of_new: 3.5,
    }));
    records.push(Record::insert("u1", "other new"));
    records.push(Record::Erase { user: "u2".into() });
    records.push(Record::Rebuild);
    records.push(Record::Refit { sweeps: 2 });
    records.push(Record::insert("u5", "i3"));
    records
}

fn bits(learner: &Learner) -> Vec<u64> {
    let online = learner.online();
    let mut bits = vec![online.sequence()];
    for axis in [Axis::User, Axis::Item] {
        let factors = online.factors(axis);
        for row in 0..factors.rows() {
            let row = factors.row(row).iter();
            bits.extend(row.map(|x| u64::from(x.to_bits())));
        }
        bits.extend(online.cache_sums(axis).iter().map(|x| x.to_bits()));
    }
    bits
}

/// Learns records and writes them to a log.
fn learn(learner: &mut Learner, log: &mut Log, records: &[Record]) {
    for record in records {
        let applied = learner.apply(record).unwrap();
        log.append(applied.sequence, record).unwrap();
    }
    log.sync().unwrap();
}

#[test]
fn a_log_replays_to_the_same_bits_from_a_state_saved_at_any_record() {
    let folder = tempfile::tempdir().unwrap();
    let (path, saved) = (folder.path().join("log"), folder.path().join("m.absentia"));
    let records = records();
    let mut whole = learner(WeightMode::Frozen);
    let (mut log, _) = Log::open(&path, WeightMode::Frozen).unwrap();
    learn(&mut whole, &mut log, &records);
    let stored = records_in(&path);
    assert_eq!(stored.len(), records.len());
    assert!(stored.iter().map(|(_, record)| record).eq(&records));
    for cut in (0..=records.len()).step_by(3) {
        let mut first = learner(WeightMode::Frozen);
        for record in &records[..cut] {
            first.apply(record).unwrap();
        }
        first.save(&saved).unwrap();
        let mut second = open(&saved, &Opening::default(), &()).unwrap();
        assert_eq!(bits(&second), bits(&first), "saved after {cut} records");
        let replayed = second.replay(&path, &stored).unwrap();
        assert_eq!(replayed as usize, records.len() - cut);
        assert_eq!(bits(&second), bits(&whole), "replayed after {cut} records");
    }
    // A saved state is a model like any other.
    let model = load_model(&saved).unwrap();
    assert_eq!(model.model.n_users(), whole.ids().users.len());
}

#[test]
fn live_weights_replay_to_the_same_bits() {
    let (mut one, mut two) = (learner(WeightMode::Live), learner(WeightMode::Live));
    for record in &records() {
        one.apply(record).unwrap();
    }
    two.set_threads(Some(2));
    for record in &records() {
        two.apply(record).unwrap();
    }
    assert_eq!(bits(&one), bits(&two));
}

#[test]
fn a_rejected_record_changes_nothing() {
    let mut learner = learner(WeightMode::Frozen);
    let before = (bits(&learner), learner.ids().clone());
    let long = "x".repeat(MAX_ID_BYTES + 1);
    let insert = |user: &str, item: &str, value: f32, weight: f32| Record::Insert {
        user: user.into(),
        item: item.into(),
        value,
        weight,
        time: None,
    };
    for record in [
        insert("nobody", "nothing", f32::NAN, 1.0),
        insert("nobody", "nothing", 1.0, -1.0),
        insert("nobody", "i1", 1.0, f32::INFINITY),
        insert(&long, "i1", 1.0, 1.0),
        insert("u1", "", 1.0, 1.0),
        Record::Remove {
            user: "u1".into(),
            item: "i8".into(),
            time: Some(5),
            later: None,
        },
        Record::Erase {
            user: "nobody".into(),
        },
        Record::Settings(Settings {
            steps: 1,
            weight_of_new: -1.0,
        }),
    ] {
        assert!(learner.apply(&record).is_err(), "{record:?}");
        assert_eq!((bits(&learner), learner.ids().clone()), before);
    }
    let error = learner.row(Axis::User, "u_1").unwrap_err();
    assert!(matches!(error, LearnError::Unknown { similar, .. } if similar.contains(&"u1".into())));
}

#[test]
fn two_new_ids_start_alike_whatever_other_ids_came_before() {
    let steps = |steps| {
        Record::Settings(Settings {
            steps,
            ..Settings::default()
        })
    };
    let of_new = |before: &[Record]| {
        let mut learner = learner(WeightMode::Frozen);
        for record in before {
            learner.apply(record).unwrap();
        }
        learner.apply(&Record::insert("dan", "fresh")).unwrap();
        let rows = [(Axis::User, "dan"), (Axis::Item, "fresh")];
        rows.map(|(axis, id)| {
            let row = learner.row(axis, id).unwrap() as usize;
            learner.online().factors(axis).row(row).to_vec()
        })
    };
    // Recorded and not learned, so that no factors change: the rows of both come after others, or first.
    let other = Record::insert("eve", "other");
    let after = of_new(&[steps(0), other.clone(), steps(1)]);
    let shown = Record::Expose {
        user: "dan".into(),
        item: "fresh".into(),
        weight: 1.0,
    };
    let hidden = Record::Remove {
        user: "dan".into(),
        item: "fresh".into(),
        time: None,
        later: None,
    };
    let first = of_new(&[steps(0), shown, hidden, other, steps(1)]);
    assert!(after.iter().flatten().all(|&x| x != 0.0));
    assert_eq!(first, after);
}

#[test]
fn a_rejected_event_is_named_by_its_ids() {
    let mut learner = learner(WeightMode::Frozen);
    let mut message = |user: &str, item: &str, weight: f32| {
        let record = Record::Insert {
            user: user.into(),
            item: item.into(),
            value: 1.0,
            weight,
            time: None,
        };
        learner.apply(&record).unwrap_err().to_string()
    };
    let expected = r#"user "u7", item "i2": its weight is -1; it must be at least 0"#;
    assert_eq!(message("u7", "i2", -1.0), expected);
    let expected = r#"user "dan", item "i2": its weight is NaN; it must be finite"#;
    assert_eq!(message("dan", "i2", f32::NAN), expected);
    let remove = Record::Remove {
        user: "u0".into(),
        item: "i1".into(),
        time: None,
        later: None,
    };
    let error = learner.apply(&remove).unwrap_err();
    let expected = r#"user "u0", item "i1": there is no interaction to remove"#;
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.fault(), Fault::NotFound);
}

#[test]
fn a_log_of_another_model_is_refused_by_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let (mut log, _) = Log::open(&path, WeightMode::Frozen).unwrap();
    let erase = Record::Erase {
        user: "somebody".into(),
    };
    log.append(1, &Record::insert("u0", "i1")).unwrap();
    log.append(2, &erase).unwrap();
    log.sync().unwrap();
    let mut learner = learner(WeightMode::Frozen);
    let error = learner.replay(&path, &records_in(&path));
    let message = error.unwrap_err().to_string();
    let expected = r#"log:3: user "somebody" is not in the model"#;
    assert!(message.ends_with(expected), "{message}");
}

fn records_in(path: &Path) -> Vec<(u64, Record)> {
    Log::open(path, WeightMode::Frozen).unwrap().1
}

fn logged(path: &Path) -> Vec<u8> {
    let (mut log, _) = Log::open(path, WeightMode::Frozen).unwrap();
    learn(&mut learner(WeightMode::Frozen), &mut log, &records());
    std::fs::read(path).unwrap()
}

#[test]
fn a_log_cut_at_any_byte_keeps_its_whole_lines_and_can_be_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let bytes = logged(&path);
    let header = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    for cut in (header..bytes.len()).step_by(13) {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let (mut log, records) = Log::open(&path, WeightMode::Frozen).unwrap();
        let lines = bytes[..cut].split(|&byte| byte == b'\n').count() - 1;
        assert_eq!(records.len(), lines - 1);
        log.append(7, &Record::Rebuild).unwrap();
        log.sync().unwrap();
        assert_eq!(records_in(&path).len(), lines);
    }
}

#[test]
fn a_damaged_line_is_refused_by_number_and_the_file_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut bytes = logged(&path);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let line = bytes[..middle].split(|&byte| byte == b'\n').count() as u64;
    let error = Log::open(&path, WeightMode::Frozen).unwrap_err();
    assert!(
        matches!(error, LogError::Damaged { line: at, .. } if at == line),
        "{error}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    std::fs::write(&path, "user,item\n1,2\n").unwrap();
    assert!(Log::open(&path, WeightMode::Frozen).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"user,item\n1,2\n");
}

#[test]
fn a_log_is_not_continued_with_other_weights() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let bytes = logged(&path);
    let error = Log::open(&path, WeightMode::Live).unwrap_err();
    let expected =
        "its records were learned with frozen weights, and the weights of this model are live";
    assert!(error.to_string().ends_with(expected), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

/// Ids of training rows may be longer than those of events.
#[test]
fn records_with_long_ids_come_back_from_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let (mut log, _) = Log::open(&path, WeightMode::Frozen).unwrap();
    let remove = Record::Remove {
        user: "\u{1}".repeat(1 << 20),
        item: "x".repeat(1 << 20),
        time: None,
        later: None,
    };
    let records = vec![(1, remove), (2, Record::Rebuild)];
    for (seq, record) in &records {
        log.append(*seq, record).unwrap();
    }
    log.sync().unwrap();
    assert_eq!(records_in(&path), records);
}

#[test]
fn floats_come_back_from_a_log_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let (mut log, _) = Log::open(&path, WeightMode::Frozen).unwrap();
    let mut state = 0x9E37_79B9_u32;
    let mut written = Vec::new();
    for seq in 0..20_000 {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let (value, weight) = (f32::from_bits(state), f32::from_bits(state.rotate_left(7)));
        if !(value.is_finite() && weight.is_finite()) {
            continue;
        }
        let record = Record::Insert {
            user: "a".into(),
            item: "b".into(),
            value,
            weight,
            time: Some(i64::from(state) << 20),
        };
        log.append(seq, &record).unwrap();
        written.push((seq, record));
    }
    log.sync().unwrap();
    assert_eq!(records_in(&path), written);
}

#[test]
fn ranks_are_those_of_all_scores_sorted() {
    let mut learner = learner(WeightMode::Frozen);
    learner.apply(&Record::insert("u4", "i7")).unwrap();
    let mut measured = Prequential::new(3);
    let mut reciprocal = 0.0;
    for item in 0..ITEMS {
        let scores = learner.online().scores(4);
        let before = |&other: &u32| {
            let (a, b) = (scores[other as usize], scores[item as usize]);
            a > b || (a >= b && other < item)
        };
        let rank = (0..ITEMS).filter(before).count() as u32 + 1;
        let got = measured.measure(&learner, "u4", &format!("i{item}"));
        assert_eq!(got.unwrap(), Some(rank));
        reciprocal += 1.0 / f64::from(rank);
    }
    assert_eq!(measured.measure(&learner, "stranger", "i1").unwrap(), None);
    let means = measured.means();
    assert_eq!((means.events, means.new_users, means.new_items), (10, 1, 0));
    assert!((means.hit_rate - 0.3).abs() < 1e-12);
    assert!((means.mrr - reciprocal / 10.0).abs() < 1e-12);
    let expected: f64 = (1..=3)
        .map(|rank| 2_f64.ln() / f64::from(rank + 1).ln())
        .sum();
    assert!((means.ndcg - expected / 10.0).abs() < 1e-12);
    let list = learner.recommend("u4", 20, &[]).unwrap();
    assert!(list.iter().all(|(item, _)| item != "i7"));
    assert!(list.windows(2).all(|pair| pair[0].1 >= pair[1].1));
    // Lists and ranks are computed in different ways, and agree.
    let mut measured = Prequential::new(3);
    let mut rank = |item: &str| measured.measure(&learner, "u4", item).unwrap();
    let ranks: Vec<Option<u32>> = list.iter().map(|(item, _)| rank(item)).collect();
    assert!(ranks.windows(2).all(|pair| pair[0] < pair[1]), "{ranks:?}");
}
