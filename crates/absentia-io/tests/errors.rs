//! Files that cannot be read end in a message that says where, what and what to do.
#![allow(clippy::unwrap_used)]

mod common;

use absentia::Fault;
use absentia_io::{DenseIds, Error, ReadOptions};
use common::{fixture, message, read_default, read_one, read_text, rows, with_hint};

#[track_caller]
fn says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{message:?} lacks {part:?}");
    }
}

#[test]
fn empty_files() {
    for name in [
        "x.csv",
        "x",
        "x.jsonl",
        "x.mtx",
        "x.npz",
        "x.parquet",
        "x.arrow",
        "x.adj",
        "x.inter",
    ] {
        says(&message(name, ""), &[name, "empty"]);
    }
    says(&message("x.csv", "\n \n"), &["empty"]);
    says(&message("x.csv", "user,item\n"), &["only a header"]);
    says(&message("x.jsonl", "\n"), &["empty"]);
}

#[test]
fn one_column() {
    says(
        &message("x.csv", "1\n2\n"),
        &[
            "x.csv:1",
            "only one column in \"1\"",
            "choose the separator",
        ],
    );
    says(
        &message("x.tsv", "1,2\n3,4\n"),
        &["only one column in \"1,2\""],
    );
}

#[test]
fn bad_rows_are_named() {
    let start = "1,2,3\n4,5,6\n";
    says(
        &message("x.csv", format!("{start}7,8\n")),
        &["x.csv:3: 2 fields where 3", "\"7,8\"", "leave out bad rows"],
    );
    says(
        &message("x.csv", format!("{start}7,8,x\n")),
        &["rating \"x\" is not a number", "another rating column"],
    );
    says(
        &message("x.csv", format!("{start}7,8,nan\n")),
        &[":3: rating \"nan\" is not finite"],
    );
    says(
        &message("x.csv", format!("{start}7,8,-inf\n")),
        &["not finite"],
    );
    says(
        &message("x.csv", format!("{start}7,8,1e40\n")),
        &[":3: rating \"1e40\" is too large"],
    );
    says(
        &message("x.csv", "user,item,time\n1,2,1.6e22\n"),
        &[":2: time \"1.6e22\" is too large", "another time column"],
    );
    says(
        &message("x.jsonl", "{\"user\":1,\"item\":2,\"rating\":1e40}\n"),
        &[":1: rating", "is too large"],
    );
    says(
        &message("x.csv", format!("{start},8,1\n")),
        &["empty user", "another user column"],
    );
    says(
        &message("x.csv", format!("{start}\"7\"x,8,1\n")),
        &["unbalanced quotes"],
    );
    says(
        &message("x.csv", format!("{start}\"7,8,1\n")),
        &[":3: unbalanced quotes"],
    );
    says(
        &message("x.csv", "1,2,3,1500000000\n1,2,3,soon\n1,2,3,1500000001\n"),
        &["time \"soon\"", "another time column"],
    );
    says(
        &message("x.csv", b"a,2\nb,\xff\nc,d\n"),
        &["x.csv:2: not UTF-8"],
    );
}

#[test]
fn some_bad_rows_may_be_skipped() {
    let text = "1,2,3\nbad\n4,5,6\n7,8,x\n";
    let options = |skip_bad| ReadOptions {
        skip_bad,
        ..ReadOptions::default()
    };
    let data = read_text("x.csv", text, &options(2)).unwrap();
    assert_eq!(rows(&data), ["1 2 3 - -", "4 5 6 - -"]);
    assert_eq!(data.users.len(), 2, "a bad row leaves no id behind");
    assert_eq!(data.bad_rows.count(), 2);
    assert_eq!(data.bad_rows.examples()[1].line, 4);
    let error = read_text("x.csv", text, &options(1)).unwrap_err();
    says(
        &error.to_string(),
        &["more than 1 bad rows", "x.csv:2", "\"bad\""],
    );
}

#[test]
fn missing_columns_list_those_there_are() {
    let options = ReadOptions {
        columns: absentia_io::Columns {
            rating: Some("stars".parse().unwrap()),
            ..Default::default()
        },
        ..ReadOptions::default()
    };
    let error = read_one(&fixture("reviews.parquet"), &options).unwrap_err();
    says(
        &with_hint(&error),
        &[
            "no column \"stars\"",
            "user_id, item_id, rating, timestamp",
            "choose the rating column",
        ],
    );
    says(
        &read_text("x.csv", "user,item\n1,2\n", &options)
            .unwrap_err()
            .to_string(),
        &["\"stars\"", "user, item"],
    );
    says(
        &read_text("x.jsonl", "{\"user\":1,\"item\":2}\n", &options)
            .unwrap_err()
            .to_string(),
        &["\"stars\"", "item, user"],
    );
    says(
        &message("x.csv", "user,thing\n1,2\n"),
        &["for the item", "user, thing", "choose the item column"],
    );
    says(&message("x.jsonl", "{\"a\":1}\n"), &["for the user", "a"]);
}

#[test]
fn compressed_files_that_end_early() {
    let text = "1,2\n".repeat(10_000);
    let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
    says(
        &message("x.csv", &zstd[..zstd.len() - 3]),
        &["truncated zstd"],
    );
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    std::io::Write::write_all(&mut gzip, text.repeat(5).as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    for length in [5, 100, gzip.len() / 2, gzip.len() - 1] {
        let error = read_default("x.csv.gz", &gzip[..length]).unwrap_err();
        says(&error.to_string(), &["truncated gzip", "x.csv.gz"]);
        assert_eq!(error.fault(), Fault::Caller);
    }
}

#[test]
fn binary_data_given_as_text() {
    let bytes: Vec<u8> = (0..=255).cycle().take(5000).collect();
    says(
        &message("x.csv", &bytes),
        &["binary data where text was expected"],
    );
    says(&message("x.csv", &bytes[128..256]), &["binary data"]);
    let parquet = std::fs::read(fixture("reviews.parquet")).unwrap();
    says(
        &message("x.csv", parquet),
        &["looks like parquet", "choose the format"],
    );
}

#[test]
fn a_line_without_end() {
    for (name, start) in [
        ("x.csv", "1,2\n3,"),
        ("x.jsonl", "{\"user\":1,\"item\":2}\n{\"user\":\""),
        ("x.adj", "1 2\n3 "),
    ] {
        let mut text = start.as_bytes().to_vec();
        text.resize(10 << 20, b'4');
        says(
            &message(name, &text),
            &[":2: line longer than 1048576 bytes", "allow longer lines"],
        );
        text.extend_from_slice(b"\n");
        says(
            &message(name, &text),
            &[":2: line longer than 1048576 bytes"],
        );
    }
    let mut quoted = b"1,2\n\"".to_vec();
    quoted.resize(10 << 20, b'\n');
    says(&message("x.csv", quoted), &[":2: unbalanced quotes"]);
}

#[test]
fn row_numbers_outside_the_shape() {
    let options = ReadOptions {
        dense_ids: Some(DenseIds {
            shape: Some((2, 3)),
        }),
        ..ReadOptions::default()
    };
    for (text, part) in [
        (
            "0\t0\n2\t0\n",
            ":2: user 2 is outside the declared shape (2 rows",
        ),
        ("0\t3\n", "item 3 is outside"),
        ("0\tx\n", "item \"x\" is not a row number"),
        ("0\t-1\n", "item \"-1\" is not a row number"),
        ("0\t99999999999\n", "is outside"),
    ] {
        says(
            &with_hint(&read_text("x.tsv", text, &options).unwrap_err()),
            &[part, "leave out bad rows"],
        );
    }
}

#[test]
fn matrix_market_rules() {
    let head = "%%MatrixMarket matrix coordinate real general\n";
    for (text, part) in [
        (
            "%%MatrixMarket matrix array real general\n2 2\n1\n".to_owned(),
            "array matrix is not supported",
        ),
        (
            "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n".to_owned(),
            "complex numbers is not",
        ),
        (
            "%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 1\n".to_owned(),
            "symmetric matrix is not",
        ),
        ("1 1 1\n".to_owned(), "not a %%MatrixMarket banner"),
        (head.to_owned(), "no line with the matrix's size"),
        (format!("{head}2 2\n"), "not three counts"),
        (
            format!("{head}99999999999 2 1\n1 1 1\n"),
            "not three counts",
        ),
        (
            format!("{head}2 2 9000000000000000000\n1 1 1\n"),
            "9000000000000000000 entries declared, 1 found",
        ),
        (
            format!("{head}2 2 1\n1 1 1\n2 2 2\n"),
            "1 entries declared, 2 found",
        ),
        (
            format!("{head}2 2 1\n3 1 1\n"),
            ":3: user 3 is outside the declared shape (2 rows, counted from 1)",
        ),
        (format!("{head}2 2 1\n0 1 1\n"), ":3: user 0 is outside"),
        (format!("{head}2 2 1\n1 1\n"), ":3: 2 fields where 3"),
    ] {
        says(&message("x.mtx", &text), &[part]);
    }
    // Nothing is made as long as a header says; what memory has no room for later is refused at once.
    let text = format!("{head}4294967294 4294967294 1\n1 1 1\n");
    match read_default("x.mtx", text) {
        Ok(huge) => assert_eq!(huge.users.len(), 4_294_967_294),
        Err(error) => says(
            &error.to_string(),
            &["x.mtx", "8589934588 users and items", "206158430112 bytes"],
        ),
    }
    let large = read_default("x.mtx", format!("{head}4000000 4000000 1\n1 1 1\n")).unwrap();
    assert_eq!(large.users.len(), 4_000_000);
}

#[test]
fn json_rules() {
    let good = "{\"user\":1,\"item\":2}\n";
    for (line, part) in [
        ("{\"user\":1,\"item\":2", "not a JSON object"),
        ("[1,2]", "not a JSON object"),
        ("{\"user\":1}", "no usable item under key \"item\""),
        ("{\"user\":null,\"item\":2}", "no usable user"),
        ("{\"user\":1.5,\"item\":2}", "no usable user"),
        ("{\"user\":\"\",\"item\":2}", "empty user"),
    ] {
        says(
            &message("x.jsonl", format!("{good}{line}\n")),
            &["x.jsonl:2", part],
        );
    }
    says(
        &message("x.json", "[{\"user\":1}]"),
        &["a JSON array is not supported", "one JSON object a line"],
    );
}

#[test]
fn files_of_one_set_must_agree() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [
        folder.path().join("a.csv"),
        folder.path().join("b.csv"),
        folder.path().join("c.csv"),
    ];
    std::fs::write(&paths[0], "1,2,3\n").unwrap();
    std::fs::write(&paths[1], "").unwrap();
    std::fs::write(&paths[2], "1,2\n").unwrap();
    let error = absentia_io::read(&paths, &ReadOptions::default(), &()).unwrap_err();
    says(
        &error.to_string(),
        &["c.csv: this file has no rating column"],
    );
    assert_eq!(
        absentia_io::read(&paths[..2], &ReadOptions::default(), &())
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn missing_files_are_not_found() {
    let error = read_one(
        std::path::Path::new("no/such/file.csv"),
        &ReadOptions::default(),
    )
    .unwrap_err();
    assert_eq!(error.fault(), Fault::NotFound);
    assert!(matches!(error, Error::Io { .. }));
}
