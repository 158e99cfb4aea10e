//! Checksums of the columns of a Parquet or Arrow file that this program wrote.
//!
//! Neither format has checksums that its readers compare. A seal is an entry of the file's own metadata: the
//! xxh3-64 of every column, over its type and its values. Reading a column to its end and comparing finds
//! damage anywhere in the file that changes what is read.
//!
//! Other programs copy metadata along with a table that they changed. A seal counts only where they do not:
//! in the footer of an Arrow file, and in a Parquet file whose writer is this program.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use xxhash_rust::xxh3::Xxh3;

/// Key of the metadata.
pub(crate) const KEY: &str = "absentia.xxh3";

/// The writer that a Parquet file of this program names.
pub(crate) const WRITER: &str = concat!("absentia version ", env!("CARGO_PKG_VERSION"));

/// Whether a file with this writer must have a seal.
pub(crate) fn is_ours(writer: Option<&str>) -> bool {
    writer.is_some_and(|writer| writer.starts_with("absentia version "))
}

/// The checksums of some columns, of the batches so far.
#[derive(Default)]
pub(crate) struct Seal {
    columns: BTreeMap<String, Xxh3>,
}

impl Seal {
    /// Adds the rows of a batch; what its columns are divided into does not matter.
    pub(crate) fn add(&mut self, batch: &RecordBatch) {
        let schema = batch.schema();
        for (field, array) in schema.fields().iter().zip(batch.columns()) {
            let sum = self.columns.entry(field.name().clone()).or_insert_with(|| {
                let mut sum = Xxh3::new();
                sum.update(field.data_type().to_string().as_bytes());
                sum
            });
            add_values(sum, array);
        }
    }

    /// The text of the metadata, as in `item=0123456789abcdef user=...`.
    pub(crate) fn text(&self) -> String {
        let columns = self.columns.iter();
        let columns: Vec<String> = columns
            .map(|(name, sum)| format!("{name}={:016x}", sum.digest()))
            .collect();
        columns.join(" ")
    }
}

/// Adds values in the byte order of Arrow files.
fn add_values(sum: &mut Xxh3, array: &dyn Array) {
    if array.null_count() > 0 {
        // A sealed file has none.
        sum.update(b"null");
    }
    match array.data_type() {
        DataType::Int64 => sum.update(array.as_primitive::<Int64Type>().values().inner()),
        DataType::Float32 => sum.update(array.as_primitive::<Float32Type>().values().inner()),
        DataType::Utf8 => {
            for text in array.as_string::<i32>().iter().flatten() {
                sum.update(&(text.len() as u64).to_le_bytes());
                sum.update(text.as_bytes());
            }
        }
        // Of another type than was written, which the name of the type shows.
        _ => {}
    }
}

/// A seal that is compared with a file while the file is read.
pub(crate) struct Check {
    expected: BTreeMap<String, String>,
    found: Seal,
}

impl Check {
    /// Takes the text of a seal.
    ///
    /// # Errors
    /// A text that is no seal, or a column of it that the file lacks.
    pub(crate) fn new(text: &str, schema: &Schema) -> Result<Self, String> {
        let column = |part: &str| {
            let (name, sum) = part.split_once('=')?;
            Some((name.to_owned(), sum.to_owned()))
        };
        let expected: Option<BTreeMap<_, _>> = text.split_whitespace().map(column).collect();
        let expected = expected.ok_or("its checksums are damaged")?;
        if let Some(name) = expected.keys().find(|name| schema.index_of(name).is_err()) {
            return Err(format!("column {name:?}, which has a checksum, is missing"));
        }
        Ok(Self {
            expected,
            found: Seal::default(),
        })
    }

    pub(crate) fn add(&mut self, batch: &RecordBatch) {
        self.found.add(batch);
    }

    /// Compares the columns that were read, which may be some of those in the file.
    ///
    /// # Errors
    /// A column whose checksum differs.
    pub(crate) fn finish(&self) -> Result<(), String> {
        for (name, sum) in &self.found.columns {
            let found = format!("{:016x}", sum.digest());
            if self.expected.get(name) != Some(&found) {
                return Err(format!(
                    "the checksum of column {name:?} differs: the file was damaged after it was written"
                ));
            }
        }
        Ok(())
    }
}
