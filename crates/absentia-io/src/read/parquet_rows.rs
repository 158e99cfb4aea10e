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

/// Numbers by id.
#[derive(Default)]
pub(crate) struct ParquetRows {
    /// The name of each number of a row: the heading of its column and, in a list, its place there. The numbers of a
    /// list that is the only column are numbered as the columns of an array are.
    pub(crate) names: Vec<String>,
    /// The id and the numbers of each row; a cell without a value is not a number.
    pub(crate) rows: Vec<(String, Vec<f32>)>,
}

/// Reads a table: the first column holds ids, the others numbers, or lists of numbers as exports have them.
///
/// # Errors
/// The file cannot be read, or a column holds something else.
pub(crate) fn parquet_rows(path: &Path) -> Result<ParquetRows, Error> {
    let file = File::open(path).map_err(Error::io(path))?;
    guarded(path, FORMAT, || {
        let file = ParquetFile::new(file)?;
        let mut table = ParquetRows::default();
        for batch in ParquetRecordBatchReaderBuilder::try_new(file)?.build()? {
            table.append(&batch?)?;
        }
        Ok::<_, parquet::errors::ParquetError>(table)
    })
}

impl ParquetRows {
    fn append(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let Some((ids, columns)) = batch.columns().split_first() else {
            return Ok(());
        };
        if self.rows.is_empty() && batch.num_rows() > 0 {
            self.names = names(batch);
        }
        let ids = Text::new(&plain(ids)?)?;
        for row in 0..batch.num_rows() {
            let mut cells = Vec::new();
            for column in columns {
                // A cell without a value has some number all the same, which nobody gave.
                let given = numbers(&cells_of(column, row))?;
                cells.extend(given.iter().map(|cell| cell.unwrap_or(f32::NAN)));
            }
            let id = ids.get(row).unwrap_or_default();
            self.rows.push((id.to_owned(), cells));
        }
        Ok(())
    }
}

/// Names of the numbers in the first row.
fn names(batch: &RecordBatch) -> Vec<String> {
    let (schema, columns) = (batch.schema(), batch.columns());
    let is_list = |at: usize| {
        let kind = columns[at].data_type();
        matches!(kind, DataType::List(_) | DataType::FixedSizeList(..))
    };
    let is_only = columns.len() == 2;
    let of_column = |at: usize| -> Vec<String> {
        let name = schema.field(at).name();
        let places = 0..cells_of(&columns[at], 0).len();
        match (is_list(at), is_only) {
            (false, _) => vec![name.clone()],
            (true, true) => places.map(|place| place.to_string()).collect(),
            (true, false) => places.map(|place| format!("{name}.{place}")).collect(),
        }
    };
    (1..columns.len()).flat_map(of_column).collect()
}

/// The list in a row of a column, or the one cell of it.
fn cells_of(column: &ArrayRef, row: usize) -> ArrayRef {
    match column.data_type() {
        DataType::FixedSizeList(..) => column.as_fixed_size_list().value(row),
        DataType::List(_) => column.as_list::<i32>().value(row),
        _ => column.slice(row, 1),
    }
}
