//! Rows are numbered by id, whatever the order of rows in a file.
#![allow(clippy::unwrap_used)]

mod common;

use absentia_io::{Dataset, Format, IdMap, ReadOptions, Unknown, read_with_ids, write};
use common::{read_one, read_text};

const FORMATS: [(&str, Format); 8] = [
    ("x.csv", Format::Csv),
    ("x.tsv.gz", Format::Tsv),
    ("x.rating", Format::Rating),
    ("x.inter", Format::Inter),
    ("x.jsonl", Format::JsonLines),
    ("x.parquet", Format::Parquet),
    ("x.arrow", Format::ArrowFile),
    ("x.arrows", Format::ArrowStream),
];

/// Entries of users and items by number or by name, in an order that depends on `step`.
fn data(step: u32, name: fn(u32) -> String) -> Dataset {
    let mut data = Dataset::default();
    let mut values = Vec::new();
    for at in 0..211 {
        let entry = at * step % 211;
        let (user, item) = (entry * 7 % 23, entry * 5 % 17);
        data.user.push(data.users.intern(&name(user)).unwrap());
        data.item.push(data.items.intern(&name(item + 90)).unwrap());
        values.push(entry as f32);
    }
    data.value = Some(values);
    data
}

/// The entries by row number, sorted.
fn entries(data: &Dataset) -> Vec<(u32, u32, u32)> {
    let values = data.value.as_ref().unwrap();
    let mut entries: Vec<_> = (0..data.len())
        .map(|at| (data.user[at], data.item[at], values[at].to_bits()))
        .collect();
    entries.sort_unstable();
    entries
}

#[test]
fn rows_are_numbered_by_id_in_every_format() {
    let number = |id: u32| (10 * id).to_string();
    let name = |id: u32| format!("n{id}");
    for name in [number, name] {
        for (file, format) in FORMATS {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(file);
            let [first, second] = [1, 100].map(|step| {
                write(&data(step, name), &path, format).unwrap();
                read_one(&path, &ReadOptions::default()).unwrap()
            });
            assert_eq!(first.users, second.users, "{file}");
            assert_eq!(first.items, second.items, "{file}");
            assert_eq!(entries(&first), entries(&second), "{file}");
        }
    }
}

#[test]
fn integers_come_before_text() {
    let text = "user,item\nbob,10\n7,9\nann,9\n10,100\n";
    let read = read_text("x.csv", text, &ReadOptions::default()).unwrap();
    let names = |ids: &IdMap| {
        ids.iter()
            .map(std::borrow::Cow::into_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&read.users), ["7", "10", "ann", "bob"]);
    assert_eq!(names(&read.items), ["9", "10", "100"]);
    assert_eq!(read.user, [3, 0, 2, 1]);
    assert_eq!(read.item, [1, 0, 0, 2]);
}

#[test]
fn known_ids_keep_their_rows_and_new_ones_follow_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    std::fs::write(&path, "user,item\nd,1\na,2\nz,1\nb,3\n").unwrap();
    let known: IdMap = ["z", "b"].iter().collect();
    let ids = (known, IdMap::new());
    let options = ReadOptions::default();
    let added = read_with_ids(&[path], &options, ids, Unknown::Add, &()).unwrap();
    let names: Vec<_> = added
        .users
        .iter()
        .map(std::borrow::Cow::into_owned)
        .collect();
    assert_eq!(names, ["z", "b", "a", "d"]);
    assert_eq!(added.user, [3, 2, 0, 1]);
}
