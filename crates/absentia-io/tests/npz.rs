//! Hostile archives and arrays end in an error before they cost memory.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::Write;

use absentia_io::npy::{self, Data};
use common::{fixture, message, read_default};
use zip::write::SimpleFileOptions;

/// The arrays of a CSR matrix with one of them replaced.
fn archive(replaced: &str, bytes: &[u8]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let text = b"\x93NUMPY\x01\x00\x35\x00{'descr': '|S3', 'fortran_order': False, 'shape': ()}csr"
        .to_vec();
    for (name, array) in [
        ("format", text),
        ("shape", array(&[2_i64, 2])),
        ("indptr", array(&[0_i32, 1, 2])),
        ("indices", array(&[1_i32, 0])),
        ("data", array(&[1.0_f32, 2.0])),
    ] {
        zip.start_file(format!("{name}.npy"), SimpleFileOptions::default())
            .unwrap();
        zip.write_all(if name == replaced { bytes } else { &array })
            .unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn array<T: npy::Element>(data: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    npy::write(&mut bytes, &[data.len()], data).unwrap();
    bytes
}

#[test]
fn the_plain_archive_is_read() {
    assert_eq!(
        read_default("x.npz", archive("", b"")).unwrap().item,
        [1, 0]
    );
}

/// As scipy does whenever it uses such a matrix.
#[test]
fn repeated_entries_are_added_up() {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let text = b"\x93NUMPY\x01\x00\x35\x00{'descr': '|S3', 'fortran_order': False, 'shape': ()}coo";
    for (name, array) in [
        ("format", text.to_vec()),
        ("shape", array(&[2_i64, 3])),
        ("row", array(&[1_i32, 0, 1, 1])),
        ("col", array(&[2_i32, 1, 0, 2])),
        ("data", array(&[1.5_f32, 2.0, 4.0, 3.0])),
    ] {
        zip.start_file(format!("{name}.npy"), SimpleFileOptions::default())
            .unwrap();
        zip.write_all(&array).unwrap();
    }
    let data = read_default("x.npz", zip.finish().unwrap().into_inner()).unwrap();
    assert_eq!((data.user, data.item), (vec![0, 1, 1], vec![1, 0, 2]));
    assert_eq!(data.value, Some(vec![2.0, 4.0, 4.5]));
}

#[test]
fn inconsistent_matrices_are_refused() {
    for (name, bytes, part) in [
        ("indptr", array(&[0_i32, 1]), "indptr"),
        ("indptr", array(&[0_i32, 3, 2]), "indptr"),
        ("indptr", array(&[-1_i64, 1, 2]), "indptr"),
        ("indptr", array(&[0_i64, 1, i64::MAX]), "indptr"),
        (
            "indices",
            array(&[5_i32, 0]),
            "index 5 in a dimension of length 2",
        ),
        ("indices", array(&[-5_i32, 0]), "does not hold row numbers"),
        (
            "indices",
            array(&[0.5_f32, 0.0]),
            "does not hold row numbers",
        ),
        ("shape", array(&[2_i64]), "shape"),
        ("shape", array(&[1_i64 << 40, 2]), "shape"),
        ("data", array(&[1.0_f32]), "1 values"),
        ("data", b"junk".to_vec(), "npy array"),
    ] {
        let message = message("x.npz", archive(name, &bytes));
        assert!(message.contains(part), "{message}");
    }
    assert!(message("x.npz", archive("data", &array(&[1.0_f32, f32::NAN]))).contains("not finite"));
}

#[test]
fn objects_are_never_unpickled() {
    let objects = std::fs::read(fixture("objects.npz")).unwrap();
    assert!(message("x.npz", objects).contains("pickled Python objects"));
}

#[test]
fn other_forms_are_named() {
    let bsr = std::fs::read(fixture("bsr.npz")).unwrap();
    assert!(message("x.npz", bsr).contains("\"bsr\" form is not supported"));
}

#[test]
fn a_bomb_is_refused_by_its_declared_sizes() {
    // More than any encoder could put into so few bytes, in the list at the end of the archive.
    let mut bytes = archive("", b"");
    let entry = bytes
        .windows(4)
        .position(|word| word == b"PK\x01\x02")
        .unwrap();
    bytes[entry + 24..entry + 28].copy_from_slice(&0x7fff_fff0_u32.to_le_bytes());
    assert!(message("x.npz", bytes).contains("bytes declared in a file of"));
}

#[test]
fn numpy_files_are_read() {
    let array = npy::read_file(&fixture("fortran.npy")).unwrap();
    assert_eq!(array.shape, [2, 3]);
    assert_eq!(array.data, Data::F32(vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
}
