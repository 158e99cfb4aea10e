//! Files as people have them: compressed in any way, in old encodings, or larger than they look.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::Write;

use absentia_io::{Dataset, npy};
use common::{fixture, message, read_default, rows};
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

fn views() -> Vec<u8> {
    std::fs::read(fixture("views.tsv")).unwrap()
}

fn expected() -> Vec<String> {
    rows(&read_default("views.tsv", views()).unwrap())
}

fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zipped(files: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, content) in files {
        zip.start_file(*name, options).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn xz() -> Vec<u8> {
    std::fs::read(fixture("views.tsv.xz")).unwrap()
}

#[test]
fn bzip2_xz_and_zip_are_decompressed() {
    let mut parts = bzip2(&views()[..20]);
    parts.extend(bzip2(&views()[20..]));
    for name in ["views.tsv.bz2", "views"] {
        assert_eq!(rows(&read_default(name, &parts).unwrap()), expected());
    }
    for name in ["views.tsv.xz", "views"] {
        assert_eq!(rows(&read_default(name, xz()).unwrap()), expected());
    }
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let text = views();
        let files: [(&str, &[u8]); 2] = [("views.tsv", &text), ("__MACOSX/._views.tsv", b"junk")];
        let read = read_default("views.zip", zipped(&files, method)).unwrap();
        assert_eq!(rows(&read), expected());
    }
}

#[test]
fn the_file_in_an_archive_says_its_format() {
    let json = b"{\"user\":1,\"item\":2}\n{\"user\":2,\"item\":2}\n";
    let archive = zipped(&[("log.jsonl", json)], CompressionMethod::Deflated);
    assert_eq!(read_default("log.zip", archive).unwrap().len(), 2);
}

#[test]
fn an_archive_of_several_files_names_them() {
    let files: [(&str, &[u8]); 2] = [("ratings.csv", b"1,2\n"), ("movies.csv", b"1,2\n")];
    let said = message("ml.zip", zipped(&files, CompressionMethod::Stored));
    for part in ["2 files", "ratings.csv", "movies.csv", "extract"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn damage_in_compressed_files_is_seen() {
    let text = views();
    let stored = zipped(&[("views.tsv", &text)], CompressionMethod::Stored);
    let deflated = zipped(&[("views.tsv", &text)], CompressionMethod::Deflated);
    for (name, whole) in [
        ("x.bz2", bzip2(&text)),
        ("x.xz", xz()),
        ("x.zip", stored),
        ("x.zip", deflated),
    ] {
        let cut = &whole[..whole.len() / 2];
        assert!(read_default(name, cut).is_err(), "{name} cut");
        let unseen: Vec<usize> = (8..whole.len())
            .filter(|&at| {
                let mut flipped = whole.clone();
                flipped[at] ^= 0x10;
                // What is not part of the text, such as a date, may change.
                let read: Option<Dataset> = read_default(name, flipped).ok();
                read.is_some_and(|data| rows(&data) != expected())
            })
            .collect();
        assert!(unseen.is_empty(), "{name}: {unseen:?}");
    }
}

#[test]
fn utf_16_is_named() {
    let text = "user,item\nann,heat\nbob,up\n";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let marked = [&b"\xff\xfe"[..], &little].concat();
    for bytes in [little, big, marked] {
        let said = message("x.csv", bytes);
        assert!(said.contains("UTF-16") && said.contains("iconv"), "{said}");
    }
}

#[test]
fn carriage_returns_alone_end_lines() {
    let text = "user,item,rating\rann,heat,3\rbob,up,4\r";
    let data = read_default("x.csv", text).unwrap();
    assert_eq!(rows(&data), ["ann heat 3 - -", "bob up 4 - -"]);
    let said = message("x.csv", "user,item,rating\rann,heat,3\rbob,up,good\r");
    assert!(said.contains("x.csv:3"), "{said}");
}

#[test]
fn a_matrix_of_ones_is_not_damaged() {
    let (rows, columns) = (2000_i64, 200_i64);
    let array = |bytes: &mut Vec<u8>, data: &[i32]| npy::write(bytes, &[data.len()], data).unwrap();
    let mut arrays: Vec<(&str, Vec<u8>)> = Vec::new();
    let text = b"\x93NUMPY\x01\x00\x35\x00{'descr': '|S3', 'fortran_order': False, 'shape': ()}csr";
    arrays.push(("format.npy", text.to_vec()));
    let mut shape = Vec::new();
    npy::write(&mut shape, &[2], &[rows, columns]).unwrap();
    arrays.push(("shape.npy", shape));
    let count = (rows * columns) as usize;
    let last = (rows * columns) as i32;
    let (mut starts, mut indices, mut ones) = (Vec::new(), Vec::new(), Vec::new());
    let offsets: Vec<i32> = (0..=rows as i32).map(|row| row * columns as i32).collect();
    array(&mut starts, &offsets);
    let places: Vec<i32> = (0..last).map(|at| at % columns as i32).collect();
    array(&mut indices, &places);
    npy::write(&mut ones, &[count], &vec![1.0_f64; count]).unwrap();
    arrays.extend([
        ("indptr.npy", starts),
        ("indices.npy", indices),
        ("data.npy", ones),
    ]);
    let files: Vec<(&str, &[u8])> = arrays.iter().map(|(n, a)| (*n, &a[..])).collect();
    let archive = zipped(&files, CompressionMethod::Deflated);
    // It shrinks more than a hundredfold.
    assert!(archive.len() * 100 < count * 12, "{}", archive.len());
    assert_eq!(read_default("ones.npz", archive).unwrap().len(), count);
}
