//! Arbitrary and damaged bytes given to every reader: an error or a data set, never a panic.
#![allow(clippy::unwrap_used)]

mod common;

use absentia_io::{Dataset, Format, ReadOptions, write};
use common::read_text;
use proptest::collection::vec;
use proptest::prelude::*;

const FORMATS: [Format; 12] = Format::ALL;

fn consistent(data: &Dataset) -> bool {
    data.user.iter().all(|&u| (u as usize) < data.users.len())
        && data.item.iter().all(|&i| (i as usize) < data.items.len())
        && data.value.as_ref().is_none_or(|v| v.len() == data.len())
        && data.time.as_ref().is_none_or(|t| t.len() == data.len())
        && data.weight.as_ref().is_none_or(|w| w.len() == data.len())
}

fn survives(bytes: &[u8], format: Option<Format>) {
    for skip_bad in [0, 1000] {
        let options = ReadOptions {
            format,
            skip_bad,
            ..ReadOptions::default()
        };
        match read_text("x", bytes, &options) {
            Ok(data) => assert!(consistent(&data)),
            Err(error) => assert!(error.to_string().len() < 2000),
        }
    }
}

/// A small valid file of a format.
fn valid(format: Format) -> Vec<u8> {
    let mut data = Dataset {
        value: Some(vec![1.0, 2.5, 3.0]),
        ..Dataset::default()
    };
    for (user, item) in [("7", "31"), ("8", "-2"), ("7", "5")] {
        data.user.push(data.users.intern(user).unwrap());
        data.item.push(data.items.intern(item).unwrap());
    }
    if format == Format::Adjacency {
        data.value = None;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    write(&data, &path, format).unwrap();
    std::fs::read(path).unwrap()
}

fn mutated(mut bytes: Vec<u8>, edits: &[(usize, u8, u8)]) -> Vec<u8> {
    for &(at, kind, byte) in edits {
        let at = at % bytes.len().max(1);
        match kind % 4 {
            0 if !bytes.is_empty() => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            2 if !bytes.is_empty() => drop(bytes.remove(at)),
            _ => bytes.truncate(at.max(1)),
        }
    }
    bytes
}

/// The decoders of other crates report some damage by panicking, which is caught; the reports are not wanted here.
fn quietly(body: impl FnOnce()) {
    use std::sync::Once;
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let place = info
                .location()
                .map(|l| l.file().to_owned())
                .unwrap_or_default();
            if !place.contains("arrow") && !place.contains("parquet") {
                hook(info);
            }
        }));
    });
    body();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(bytes in vec(any::<u8>(), 0..300), format in 0..FORMATS.len()) {
        quietly(|| survives(&bytes, Some(FORMATS[format])));
        survives(&bytes, None);
    }

    #[test]
    fn arbitrary_text(text in "[0-9a-c,;:|\"\\{\\}\\[\\] \\t\\r\\n%.\\-]{0,200}", format in 0..FORMATS.len()) {
        quietly(|| survives(text.as_bytes(), Some(FORMATS[format])));
        survives(text.as_bytes(), None);
    }

    #[test]
    fn damaged_files(format in 0..FORMATS.len(), edits in vec(any::<(usize, u8, u8)>(), 1..6)) {
        let format = FORMATS[format];
        quietly(|| survives(&mutated(valid(format), &edits), Some(format)));
    }
}

/// Every file of the fuzzers' seed corpus, whole and cut short at every length up to a bound.
#[test]
fn the_fuzzing_corpus() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut files = 0;
    for folder in std::fs::read_dir(corpus).unwrap() {
        let folder = folder.unwrap();
        let format = folder.file_name().to_str().unwrap().parse::<Format>().ok();
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            for length in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
                quietly(|| survives(&bytes[..length], format));
            }
            survives(&bytes, format);
            files += 1;
        }
    }
    assert!(files >= 16, "{files}");
}

/// Found by fuzzing: the decoder skipped a list of two thousand million numbers past the end of the
/// file, a call into the system for each. The error shows that the list was refused instead; how few
/// bytes that takes is tested beside `thrift.rs`.
#[test]
fn a_parquet_page_header_cannot_promise_an_endless_list() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let bytes = std::fs::read(corpus.join("parquet/endless_list.parquet")).unwrap();
    let error = common::message("x.parquet", bytes);
    assert!(error.contains("would fit"), "{error}");
}

/// Found by fuzzing: the decoder would allocate 112 TiB and end the process.
#[test]
fn a_compressed_arrow_buffer_cannot_ask_for_any_memory() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let bytes = std::fs::read(corpus.join("arrow/declares_too_much.feather")).unwrap();
    let error = common::message("x.feather", bytes);
    assert!(
        error.contains("bytes declared in a compressed buffer"),
        "{error}"
    );
}
