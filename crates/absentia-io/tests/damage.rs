//! A damaged file is refused or read as what it was, never as other data.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::Write as _;
use std::path::Path;

use absentia_io::{Dataset, Error, Format, ReadOptions, npy, write};
use common::{read_one, rows};
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

fn ratings() -> Dataset {
    let mut data = Dataset::default();
    for row in 0..60_u32 {
        data.user
            .push(data.users.intern(&(row / 5).to_string()).unwrap());
        data.item
            .push(data.items.intern(&(row * 7 % 60 / 4).to_string()).unwrap());
    }
    data.value = Some((0..60).map(|row| (row % 9) as f32 / 2.0).collect());
    data
}

/// Flips every `step`th bit of a file in turn and reads it; returns what was read as other data.
fn unseen_damage(name: &str, file: &[u8], step: usize) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let read = |bytes: &[u8]| -> Result<Vec<String>, Error> {
        std::fs::write(&path, bytes).unwrap();
        read_one(&path, &ReadOptions::default()).map(|data| rows(&data))
    };
    let whole = read(file).unwrap();
    let mut unseen = Vec::new();
    for bit in (0..file.len() * 8).step_by(step) {
        let mut damaged = file.to_vec();
        damaged[bit / 8] ^= 1 << (bit % 8);
        if read(&damaged).is_ok_and(|found| found != whole) {
            unseen.push(format!("bit {} of byte {}", bit % 8, bit / 8));
        }
    }
    unseen
}

fn written(name: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    write(&ratings(), &path, Format::from_path(&path).unwrap()).unwrap();
    std::fs::read(&path).unwrap()
}

#[test]
fn damage_in_what_we_write_is_seen() {
    // Where every reading takes long, some bits of every place in a byte are enough.
    let names = [
        ("x.npz", 1),
        ("x.csv.zst", 1),
        ("x.csv.gz", 1),
        ("x.mtx.zst", 1),
        ("x.parquet", 61),
        ("x.arrow", 61),
    ];
    for (name, step) in names {
        let unseen = unseen_damage(name, &written(name), step);
        assert!(
            unseen.is_empty(),
            "{name}: {} unseen, such as {:?}",
            unseen.len(),
            unseen[0]
        );
    }
}

/// A matrix as `scipy.sparse.save_npz(compressed=False)` stores it.
fn stored() -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let text = b"\x93NUMPY\x01\x00\x35\x00{'descr': '|S3', 'fortran_order': False, 'shape': ()}coo";
    let mut add = |name: &str, bytes: &[u8]| {
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(bytes).unwrap();
    };
    add("row", &array(&[0_i32, 1, 2, 2]));
    add("col", &array(&[1_i32, 0, 2, 1]));
    add("format", text);
    add("shape", &array(&[4_i64, 4]));
    add("data", &array(&[1.0_f32, 2.0, 3.0, 4.0]));
    zip.finish().unwrap().into_inner()
}

fn array<T: npy::Element>(data: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    npy::write(&mut bytes, &[data.len()], data).unwrap();
    bytes
}

#[test]
fn damage_in_stored_members_is_seen() {
    let unseen = unseen_damage("x.npz", &stored(), 1);
    assert!(
        unseen.is_empty(),
        "{} unseen, such as {:?}",
        unseen.len(),
        unseen[0]
    );
}

#[test]
fn arrays_that_go_on_are_refused() {
    let bytes = [array(&[1.0_f32, 2.0]), vec![0]].concat();
    let length = bytes.len() as u64 - 1;
    assert!(npy::read(&mut &bytes[..], length, Path::new("x.npy")).is_err());
}

/// What another program wrote after it changed a table: it copies the metadata, and names itself.
#[test]
fn metadata_that_another_program_copied_is_no_checksum() {
    use parquet::arrow::ArrowWriter;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use parquet::file::properties::WriterProperties;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    std::fs::write(&path, written("x.parquet")).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let metadata = reader.metadata().file_metadata().key_value_metadata();
    let properties = WriterProperties::builder()
        .set_key_value_metadata(metadata.cloned())
        .build();
    let batch = reader.build().unwrap().next().unwrap().unwrap();
    let changed = folder.path().join("y.parquet");
    let file = std::fs::File::create(&changed).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch.slice(0, 20)).unwrap();
    writer.close().unwrap();
    assert_eq!(
        read_one(&changed, &ReadOptions::default()).unwrap().len(),
        20
    );
}

#[test]
fn some_columns_and_no_rows_are_read_from_files_with_checksums() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["x.parquet", "x.arrow"] {
        let path = folder.path().join(name);
        std::fs::write(&path, written(name)).unwrap();
        let mut options = ReadOptions::default();
        options.columns.rating = Some("none".parse().unwrap());
        assert_eq!(read_one(&path, &options).unwrap().value, None, "{name}");
        write(
            &Dataset::default(),
            &path,
            Format::from_path(&path).unwrap(),
        )
        .unwrap();
        let empty = read_one(&path, &ReadOptions::default());
        assert!(
            !matches!(empty, Err(Error::Corrupt { .. })),
            "{name}: {empty:?}"
        );
    }
}
