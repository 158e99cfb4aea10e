//! Apache Parquet files; only the columns in use are decoded.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::Schema;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::FileMetaData;

use super::arrow_columns::ArrowLayout;
use super::arrow_ipc::{Batches, guarded};
use super::builder::Builder;
use super::options::ReadOptions;
use super::parquet_file::ParquetFile;
use super::pipeline;
use crate::error::Error;
use crate::seal::{self, Check};

const FORMAT: &str = "Parquet file";
const BATCH: usize = 64 << 10;

/// Reads a Parquet file.
pub(super) fn read(
    path: &Arc<Path>,
    options: &ReadOptions,
    builder: &mut Builder<'_>,
) -> Result<(), Error> {
    let file = File::open(path).map_err(Error::io(path))?;
    let length = file.metadata().map_err(Error::io(path))?.len();
    let reader = guarded(path, FORMAT, || {
        ParquetRecordBatchReaderBuilder::try_new(ParquetFile::new(file)?)
    })?;
    let check = seal_of(reader.metadata().file_metadata(), reader.schema());
    let check = check.map_err(|detail| Error::corrupt(path, FORMAT, detail))?;
    let layout = ArrowLayout::new(reader.schema(), options, path, FORMAT)?;
    let rows = reader.metadata().file_metadata().num_rows().max(1);
    let mask = ProjectionMask::roots(reader.parquet_schema(), layout.places());
    let reader = guarded(path, FORMAT, || {
        reader.with_projection(mask).with_batch_size(BATCH).build()
    })?;
    builder.report_columns(&layout.found);
    let batches = Batches {
        reader,
        check,
        path: Arc::clone(path),
        format: FORMAT,
        next_row: 1,
        first_bytes: 0,
        per_row: length as f64 / rows as f64,
    };
    pipeline::run(batches, |batch| layout.parse_guarded(batch), builder)
}

/// The checksums of a file that this program wrote.
fn seal_of(file: &FileMetaData, schema: &Schema) -> Result<Option<Check>, String> {
    if !seal::is_ours(file.created_by()) {
        return Ok(None);
    }
    let pairs = file.key_value_metadata().into_iter().flatten();
    let mut seals = pairs.filter(|pair| pair.key == seal::KEY);
    let text = seals.next().and_then(|pair| pair.value.as_deref());
    let text = text.ok_or("its checksums are missing")?;
    Check::new(text, schema).map(Some)
}
