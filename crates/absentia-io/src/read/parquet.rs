//! Apache Parquet files; only the columns in use are decoded.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::arrow_columns::ArrowLayout;
use super::arrow_ipc::{Batches, guarded};
use super::builder::Builder;
use super::options::ReadOptions;
use super::parquet_file::ParquetFile;
use super::pipeline;
use crate::error::Error;

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
    let layout = ArrowLayout::new(reader.schema(), options, path, FORMAT)?;
    let rows = reader.metadata().file_metadata().num_rows().max(1);
    let mask = ProjectionMask::roots(reader.parquet_schema(), layout.places());
    let reader = guarded(path, FORMAT, || {
        reader.with_projection(mask).with_batch_size(BATCH).build()
    })?;
    builder.found(&layout.found);
    let batches = Batches {
        reader,
        path: Arc::clone(path),
        format: FORMAT,
        next_row: 1,
        first_bytes: 0,
        per_row: length as f64 / rows as f64,
    };
    pipeline::run(batches, |batch| layout.parse_guarded(batch), builder)
}
