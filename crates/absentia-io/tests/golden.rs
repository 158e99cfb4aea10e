//! A file of every format that other programs write, and what must come out of it.
#![allow(clippy::unwrap_used)]

mod common;

use absentia_io::{
    ColumnRef, Columns, DenseIds, Format, NoProgress, ReadOptions, Unknown, read, read_with_ids,
};
use common::{fixture, read_default, read_one, read_text, rows};

fn golden(name: &str) -> Vec<String> {
    rows(&read_one(&fixture(name), &ReadOptions::default()).unwrap())
}

#[test]
fn csv_with_header_and_quotes() {
    let expected = [
        "1 31 2.5 1260759144 -",
        "1 1029 3 1260759179 -",
        "O\"Hara, Scarlett 31 4 1260759182 -",
    ];
    assert_eq!(golden("movielens.csv"), expected);
}

#[test]
fn double_colons() {
    let expected = [
        "1 1193 5 978300760 -",
        "1 661 3 978302109 -",
        "2 1193 4 978298413 -",
    ];
    assert_eq!(golden("movielens.dat"), expected);
}

#[test]
fn three_columns_with_a_time() {
    assert_eq!(
        golden("views.tsv"),
        [
            "0 0 - 1433223390 -",
            "1 51 - 1433350754 -",
            "0 51 - 1433350755 -"
        ]
    );
}

#[test]
fn ncf_rating() {
    assert_eq!(
        golden("ncf.rating"),
        [
            "0 25 5 978824351 -",
            "0 133 3 978300174 -",
            "1 25 4 978301000 -"
        ]
    );
}

#[test]
fn recbole_inter() {
    assert_eq!(
        golden("ml.inter"),
        [
            "196 242 3 881250949 -",
            "186 302 3 891717742 -",
            "196 302 1 878887116 -"
        ]
    );
}

#[test]
fn lightgcn_lists_keep_users_without_items() {
    let data = read_one(&fixture("lightgcn.txt"), &ReadOptions::default()).unwrap();
    assert_eq!(
        rows(&data),
        [
            "0 0 - - -",
            "0 1 - - -",
            "0 2 - - -",
            "0 3 - - -",
            "1 2 - - -",
            "3 0 - - -",
            "3 7 - - -"
        ]
    );
    assert_eq!(data.users.iter().collect::<Vec<_>>(), ["0", "1", "2", "3"]);
}

#[test]
fn json_lines() {
    assert_eq!(
        golden("reviews.jsonl"),
        ["ann 31 2.5 1365029107 -", "bob é 31 3 1365029108 -"]
    );
}

#[test]
fn matrix_market() {
    let data = read_one(&fixture("matrix.mtx"), &ReadOptions::default()).unwrap();
    assert_eq!(rows(&data), ["0 0 5 - -", "2 1 2.5 - -", "0 3 1 - -"]);
    assert_eq!((data.users.len(), data.items.len()), (3, 4));
    assert_eq!(golden("pattern.mtx"), ["0 1 - - -", "1 0 - - -"]);
}

#[test]
fn scipy_npz_in_every_form() {
    for form in ["csr", "csc", "coo", "csr_plain"] {
        let data = read_one(&fixture(&format!("{form}.npz")), &ReadOptions::default()).unwrap();
        let mut rows = rows(&data);
        rows.sort();
        assert_eq!(rows, ["0 0 5 - -", "0 3 1 - -", "2 1 2.5 - -"], "{form}");
        assert_eq!((data.users.len(), data.items.len()), (3, 4));
    }
    assert_eq!(golden("bool.npz"), ["0 0 - - -", "0 3 - - -", "2 1 - - -"]);
    assert_eq!(golden("int.npz"), ["0 0 5 - -", "0 3 1 - -", "2 1 2 - -"]);
}

#[test]
fn pyarrow_files() {
    let expected = [
        "ann 31 2.5 1365029107 -",
        "bob é 18446744073709551615 3 1365029108 -",
    ];
    for name in ["reviews.parquet", "reviews.feather", "reviews.arrows"] {
        assert_eq!(golden(name), expected, "{name}");
    }
}

#[test]
fn compression_is_recognised_by_content() {
    for name in ["views.tsv", "views"] {
        let text = std::fs::read(fixture("views.tsv")).unwrap();
        let zstd = zstd::encode_all(&text[..], 1).unwrap();
        assert_eq!(
            rows(&read_default(name, zstd).unwrap()),
            golden("views.tsv")
        );
        let mut gzip = gzipped(&text[..20]);
        gzip.extend(gzipped(&text[20..]));
        assert_eq!(
            rows(&read_default(name, gzip).unwrap()),
            golden("views.tsv")
        );
    }
}

fn gzipped(text: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn separators_and_headers_are_found() {
    for (text, expected) in [
        ("a;b;1\nc;d;2\n", ["a b 1 - -", "c d 2 - -"]),
        ("a|b|1\nc|d|2", ["a b 1 - -", "c d 2 - -"]),
        ("a  b 1\nc d\t2\n", ["a b 1 - -", "c d 2 - -"]),
        (
            "uid,iid,stars\r\na,b,1\r\nc,d,2\r\n",
            ["a b 1 - -", "c d 2 - -"],
        ),
        ("who,what,how\na,b,1\nc,d,2\n", ["a b 1 - -", "c d 2 - -"]),
        ("\u{feff}item,user\nb,a\nd,c\n", ["a b - - -", "c d - - -"]),
        (
            "a,b,2020-01-01\nc,d,2020-01-02 00:00:01\n",
            ["a b - 1577836800 -", "c d - 1577923201 -"],
        ),
        ("a,b,title one\nc,d,title two\n", ["a b - - -", "c d - - -"]),
        ("\n\na,b\n\nc,d\n\n", ["a b - - -", "c d - - -"]),
    ] {
        assert_eq!(
            rows(&read_default("x.txt", text).unwrap()),
            expected,
            "{text:?}"
        );
    }
}

#[test]
fn choices_override_what_is_found() {
    let name = |name: &str| Some(ColumnRef::Name(name.to_owned()));
    let columns = Columns {
        user: name("b"),
        item: name("a"),
        weight: name("c"),
        ..Columns::default()
    };
    let options = ReadOptions {
        columns,
        ..ReadOptions::default()
    };
    assert_eq!(
        rows(&read_text("x.csv", "a,b,c,rating\n1,2,3,4\n", &options).unwrap()),
        ["2 1 4 - 3"]
    );
    let options = ReadOptions {
        header: Some(false),
        separator: Some("comma".into()),
        ..ReadOptions::default()
    };
    assert_eq!(
        rows(&read_text("x", "user,item\n1,2\n", &options).unwrap()),
        ["user item - - -", "1 2 - - -"]
    );
    let options = ReadOptions {
        format: Some(Format::Adjacency),
        ..ReadOptions::default()
    };
    assert_eq!(
        rows(&read_text("x.csv", "u a b\n", &options).unwrap()),
        ["u a - - -", "u b - - -"]
    );
    let options = ReadOptions {
        quotes: false,
        ..ReadOptions::default()
    };
    assert_eq!(
        rows(&read_text("x.tsv", "\"Weird\t1\n2\t3\n", &options).unwrap()),
        ["\"Weird 1 - - -", "2 3 - - -"]
    );
}

#[test]
fn dense_ids_keep_empty_rows() {
    let options = ReadOptions {
        dense_ids: Some(DenseIds {
            shape: Some((5, 9)),
        }),
        ..ReadOptions::default()
    };
    let data = read_text("x.tsv", "3\t7\n0\t1\n", &options).unwrap();
    assert_eq!(
        (data.users.len(), data.items.len(), &data.user[..]),
        (5, 9, &[3, 0][..])
    );
    let options = ReadOptions {
        dense_ids: Some(DenseIds::default()),
        ..ReadOptions::default()
    };
    let data = read_text("x.tsv", "3\t7\n0\t1\n", &options).unwrap();
    assert_eq!((data.users.len(), data.items.len()), (4, 8));
}

#[test]
fn several_files_are_one_data_set() {
    let paths = [fixture("views.tsv"), fixture("views.tsv")];
    let data = read(&paths, &ReadOptions::default(), &NoProgress).unwrap();
    assert_eq!((data.len(), data.users.len(), data.items.len()), (6, 2, 2));
}

#[test]
fn known_ids_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.csv");
    std::fs::write(&path, "51,0\n1,51\n1,x\n").unwrap();
    let train = read_one(&fixture("views.tsv"), &ReadOptions::default()).unwrap();
    let again = |unknown| {
        let ids = (train.users.clone(), train.items.clone());
        read_with_ids(
            std::slice::from_ref(&path),
            &ReadOptions::default(),
            ids,
            unknown,
            &NoProgress,
        )
    };
    let skipped = again(Unknown::Skip).unwrap();
    assert_eq!(
        (rows(&skipped), skipped.unknown_rows, skipped.users.len()),
        (vec!["1 51 - - -".to_owned()], 2, 2)
    );
    let added = again(Unknown::Add).unwrap();
    assert_eq!((added.user, added.users.len()), (vec![2, 1, 1], 3));
    let error = again(Unknown::Error).unwrap_err();
    assert_eq!(error.fault(), absentia::Fault::NotFound);
    assert!(
        error
            .to_string()
            .contains("user \"51\" is not among the known users"),
        "{error}"
    );
}
