//! Tables of numbers by id in Parquet files.

use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::arrow_cells::{Text, numbers, plain};
use super::arrow_ipc::guarded;
use super::parquet_file::ParquetFile;
use crate::error::Error;

const FORMAT: &str = "Parquet file";

/// The id and the numbers of each row of a Parquet file.
///
/// The first column holds ids. The others hold numbers, or lists of numbers as exports have them.
///
/// # Errors
/// The file cannot be read, or a column holds something else.
pub(crate) fn parquet_rows(path: &Path) -> Result<Vec<(String, Vec<f32>)>, Error> {
    let file = File::open(path).map_err(Error::io(path))?;
    guarded(path, FORMAT, || {
        let file = ParquetFile::new(file)?;
        let mut rows = Vec::new();
        for batch in ParquetRecordBatchReaderBuilder::try_new(file)?.build()? {
            append_rows(&batch?, &mut rows)?;
        }
        Ok::<_, parquet::errors::ParquetError>(rows)
    })
}

fn append_rows(batch: &RecordBatch, rows: &mut Vec<(String, Vec<f32>)>) -> Result<(), ArrowError> {
    let Some((ids, columns)) = batch.columns().split_first() else {
        return Ok(());
    };
    let ids = Text::new(&plain(ids)?)?;
    for row in 0..batch.num_rows() {
        let mut cells = Vec::new();
        for column in columns {
            cells.extend_from_slice(numbers(&cells_of(column, row))?.values());
        }
        rows.push((ids.get(row).unwrap_or_default().to_owned(), cells));
    }
    Ok(())
}

/// The list in a row of a column, or the one cell of it.
fn cells_of(column: &ArrayRef, row: usize) -> ArrayRef {
    match column.data_type() {
        DataType::FixedSizeList(..) => column.as_fixed_size_list().value(row),
        DataType::List(_) => column.as_list::<i32>().value(row),
        _ => column.slice(row, 1),
    }
}
