//! Writing and reading again is the identity, for every format and whatever the ids are made of.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;

use absentia_io::{Dataset, Format, IdMap, ReadOptions, write};
use common::{read_one, rows};
use proptest::collection::vec;
use proptest::prelude::*;

/// Ids of any characters but the zero byte, integers among them.
fn any_id() -> impl Strategy<Value = String> {
    prop_oneof![
        "[^\\x00]{1,12}",
        "[ ,\"\\t\\n\\r:;|'a-c🦀é]{1,6}",
        any::<i64>().prop_map(|x| x.to_string()),
        any::<u64>().prop_map(|x| x.to_string()),
        "[0-9]{1,3}",
    ]
}

fn finite() -> impl Strategy<Value = f32> {
    prop_oneof![
        any::<f32>().prop_filter("finite", |x| x.is_finite()),
        (0..10_u8).prop_map(f32::from)
    ]
}

prop_compose! {
    fn any_data()(
        rows in vec((any_id(), any_id(), finite(), any::<i64>(), finite()), 1..40),
        columns in any::<[bool; 3]>(),
    ) -> Dataset {
        let mut data = Dataset::default();
        for row in &rows {
            data.user.push(data.users.intern(&row.0).unwrap());
            data.item.push(data.items.intern(&row.1).unwrap());
        }
        data.value = columns[0].then(|| rows.iter().map(|row| row.2).collect());
        data.time = columns[1].then(|| rows.iter().map(|row| row.3).collect());
        data.weight = columns[2].then(|| rows.iter().map(|row| row.4).collect());
        numbered_by_id(data)
    }
}

/// The same rows with users and items numbered as reading numbers them.
fn numbered_by_id(mut data: Dataset) -> Dataset {
    for (ids, column) in [
        (&mut data.users, &mut data.user),
        (&mut data.items, &mut data.item),
    ] {
        if let Some(rows) = ids.sort_from(0) {
            for row in column {
                *row = rows[*row as usize];
            }
        }
    }
    data
}

fn back(data: &Dataset, name: &str, format: Format) -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    write(data, &path, format).unwrap();
    read_one(&path, &ReadOptions::default()).unwrap()
}

/// The same rows with ids replaced by row numbers, without the columns a matrix cannot hold.
fn as_matrix(data: &Dataset) -> Dataset {
    Dataset {
        users: IdMap::dense(data.users.len() as u32),
        items: IdMap::dense(data.items.len() as u32),
        time: None,
        weight: None,
        ..data.clone()
    }
}

/// The same rows ordered by user.
fn by_user(data: &Dataset) -> Dataset {
    let mut order: Vec<usize> = (0..data.len()).collect();
    order.sort_by_key(|&row| data.user[row]);
    Dataset {
        user: order.iter().map(|&row| data.user[row]).collect(),
        item: order.iter().map(|&row| data.item[row]).collect(),
        value: data
            .value
            .as_ref()
            .map(|value| order.iter().map(|&row| value[row]).collect()),
        ..data.clone()
    }
}

/// The same rows, those of a pair added up if any pair is repeated.
fn summed(data: &Dataset) -> Dataset {
    let mut pairs: BTreeMap<(u32, u32), Vec<f32>> = BTreeMap::new();
    for row in 0..data.len() {
        let value = data.value.as_ref().map_or(0.0, |value| value[row]);
        let pair = pairs.entry((data.user[row], data.item[row]));
        pair.or_default().push(value);
    }
    if pairs.len() == data.len() {
        return data.clone();
    }
    let total = |mut values: Vec<f32>| {
        values.sort_by(f32::total_cmp);
        values.into_iter().map(f64::from).sum::<f64>() as f32
    };
    Dataset {
        user: pairs.keys().map(|pair| pair.0).collect(),
        item: pairs.keys().map(|pair| pair.1).collect(),
        value: data
            .value
            .as_ref()
            .map(|_| pairs.into_values().map(total).collect()),
        ..data.clone()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables_hold_everything(data in any_data()) {
        for (name, format) in [
            ("x.csv", Format::Csv),
            ("x.tsv", Format::Tsv),
            ("x.csv.gz", Format::Csv),
            ("x.tsv.zst", Format::Tsv),
            ("x.inter", Format::Inter),
            ("x.jsonl", Format::JsonLines),
            ("x.parquet", Format::Parquet),
            ("x.arrow", Format::ArrowFile),
            ("x.arrows", Format::ArrowStream),
        ] {
            prop_assert_eq!(&back(&data, name, format), &data, "{}", name);
        }
    }

    #[test]
    fn matrices_hold_values(data in any_data()) {
        let matrix = as_matrix(&data);
        prop_assert_eq!(&back(&matrix, "x.mtx.gz", Format::MatrixMarket), &matrix);
        prop_assert_eq!(&back(&matrix, "x.npz", Format::Npz), &summed(&by_user(&matrix)));
    }

    #[test]
    fn lists_hold_pairs(data in any_data()) {
        let pairs = without_blanks(&data);
        prop_assert_eq!(rows(&back(&pairs, "x.adj", Format::Adjacency)), rows(&by_user(&pairs)));
    }
}

/// The pairs alone, with what lists cannot hold replaced.
fn without_blanks(data: &Dataset) -> Dataset {
    let mut pairs = Dataset::default();
    let plain = |id: &str| id.replace(|c: char| c.is_ascii_whitespace() || c == '\u{feff}', "_");
    for row in 0..data.len() {
        let user = plain(&data.users.name(data.user[row]).unwrap());
        let item = plain(&data.items.name(data.item[row]).unwrap());
        pairs.user.push(pairs.users.intern(&user).unwrap());
        pairs.item.push(pairs.items.intern(&item).unwrap());
    }
    pairs
}

#[test]
fn what_does_not_fit_is_refused_and_the_old_file_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.adj");
    std::fs::write(&path, "old").unwrap();
    let mut data = Dataset {
        user: vec![0],
        item: vec![0],
        ..Dataset::default()
    };
    data.users.intern("a b").unwrap();
    data.items.intern("c").unwrap();
    let error = write(&data, &path, Format::Adjacency)
        .unwrap_err()
        .to_string();
    assert!(error.contains("cannot hold the id \"a b\""), "{error}");
    data.time = Some(vec![1]);
    assert!(
        write(&data, &path, Format::MatrixMarket)
            .unwrap_err()
            .to_string()
            .contains("a time column")
    );
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
}

#[test]
fn many_blocks_give_the_same_on_any_number_of_threads() {
    let mut data = Dataset {
        value: Some(Vec::new()),
        ..Dataset::default()
    };
    for row in 0..400_000_u64 {
        let user = row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 50;
        data.user
            .push(data.users.intern(&format!("user \"{user}\"")).unwrap());
        data.item.push(
            data.items
                .intern_integer((user * row % 5003).cast_signed())
                .unwrap(),
        );
        data.value.as_mut().unwrap().push((row % 7) as f32);
    }
    let data = numbered_by_id(data);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    write(&data, &path, Format::Csv).unwrap();
    assert!(path.metadata().unwrap().len() > 8 << 20, "several blocks");
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        assert_eq!(
            pool.install(|| read_one(&path, &ReadOptions::default()))
                .unwrap(),
            data
        );
    }
}
