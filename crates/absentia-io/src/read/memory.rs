//! The memory of reading: estimated from the files before it starts, computed from the rows after it.
//!
//! Columns grow by an eighth at a time, so that they take little more than their rows. Beside them are
//! the ids and the blocks that are in work: text is read in blocks of 2 MiB, one for each thread and one
//! more, while as many are parsed; tables come in batches of 65,536 rows.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use absentia::memory::Stage;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::arrow_columns::ArrowLayout;
use super::builder::Builder;
use super::options::{NoProgress, ReadOptions, Unknown};
use super::parquet_file::ParquetFile;
use super::source::Source;
use super::{detect, read_source};
use crate::dataset::Dataset;
use crate::format::Format;
use crate::ids::IdMap;
use crate::standard::is_standard;

/// How much of a text is read to find out how long its rows are.
const SAMPLE: usize = 512 << 10;
/// Bytes of a block of text, of the block that is read meanwhile, and of its rows.
const TEXT_BLOCK: u64 = 8 << 20;
/// Bytes of a batch of a table, of the next one, and of its rows.
const TABLE_BATCH: u64 = 5 << 20;

/// Estimates the stage of reading from the sizes of the files and their first rows; nothing where they
/// do not tell, and where a file cannot be read, which reading it will report.
#[must_use]
pub fn expected_reading(paths: &[PathBuf], options: &ReadOptions) -> Option<Stage> {
    let mut bytes = 0.0;
    for path in paths {
        bytes += rows_bytes(path, options)?;
    }
    let stage = Stage::new("reading, by the size of the files");
    Some(
        stage
            .with("rows", bytes as u64)
            .with("blocks of files", blocks(paths)),
    )
}

/// Bytes of the columns of a file, estimated.
fn rows_bytes(path: &Path, options: &ReadOptions) -> Option<f64> {
    if is_standard(path) {
        return None;
    }
    let length = path
        .metadata()
        .ok()
        .filter(std::fs::Metadata::is_file)?
        .len() as f64;
    let path: Arc<Path> = Arc::from(path);
    let mut source = Source::open(&path).ok()?;
    let format = detect::format_of(options.format, &source);
    if format == Format::Parquet {
        return parquet_bytes(&path, options);
    }
    if !format.is_text() {
        return None;
    }
    let mut text = Vec::new();
    source.fill(&mut text, SAMPLE).ok()?;
    let consumed = source.consumed() as f64;
    if consumed < length {
        let end = memchr::memrchr(b'\n', &text)?;
        text.truncate(end + 1);
    }
    if format == Format::MatrixMarket {
        // A row for each line; the sample alone would not hold the entries that its header promises.
        let lines = memchr::memchr_iter(b'\n', &text).count();
        return Some(12.0 * lines as f64 * length / consumed);
    }
    let sample = ReadOptions {
        format: Some(format),
        skip_bad: u64::MAX,
        ..options.clone()
    };
    let (users, items) = (IdMap::new(), IdMap::new());
    let mut builder = Builder::new(users, items, Unknown::Add, u64::MAX, &NoProgress);
    let source = Source::new(&path, Box::new(Cursor::new(text))).ok()?;
    read_source(source, &sample, &mut builder).ok()?;
    let data = builder.finish();
    Some(data.column_bytes() as f64 * length / consumed)
}

fn parquet_bytes(path: &Arc<Path>, options: &ReadOptions) -> Option<f64> {
    const FORMAT: &str = "Parquet file";
    let file = ParquetFile::new(std::fs::File::open(path).ok()?).ok()?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).ok()?;
    let layout = ArrowLayout::new(reader.schema(), options, path, FORMAT).ok()?;
    let rows = reader.metadata().file_metadata().num_rows().max(0);
    // Ids and ratings are four bytes each, a time eight.
    let bytes = match layout.places().len() {
        columns @ 0..=3 => 4 * columns,
        columns => 4 * (columns + 1),
    };
    Some(rows as f64 * bytes as f64)
}

/// The most that reading these files took: while blocks were in work, or while ids were sorted. Ids that
/// were known before are counted where they came from.
#[must_use]
pub fn reading(paths: &[PathBuf], data: &Dataset, unknown: Unknown) -> Stage {
    let working = blocks(paths) + matrices(paths, data);
    let is_new = u64::from(unknown == Unknown::Add);
    let sorting = is_new * (data.users.bytes_to_sort() + data.items.bytes_to_sort());
    let part = if working >= sorting {
        ("blocks of files", working)
    } else {
        ("sorting of ids", sorting)
    };
    Stage::new("reading")
        .with("rows", data.column_bytes())
        .with("ids", is_new * data.id_bytes())
        .with(part.0, part.1)
}

/// Bytes of the blocks of files that are in work at a time.
#[must_use]
pub fn blocks(paths: &[PathBuf]) -> u64 {
    let threads = rayon::current_num_threads() as u64;
    let of_file = |path: &PathBuf| {
        let length = path.metadata().map_or(0, |found| found.len());
        let block = match Format::from_path(path) {
            // It is read whole.
            Some(Format::Npz) => 0,
            Some(format) if !format.is_text() => TABLE_BATCH,
            _ => TEXT_BLOCK,
        };
        (block * (threads + 1)).min(length.saturating_mul(4))
    };
    paths.iter().map(of_file).max().unwrap_or(0)
}

/// Matrices that are read whole before their rows are taken.
fn matrices(paths: &[PathBuf], data: &Dataset) -> u64 {
    let is_whole = |path: &PathBuf| Format::from_path(path) == Some(Format::Npz);
    if paths.iter().any(is_whole) {
        data.column_bytes()
    } else {
        0
    }
}
