//! Parquet tables of ids and factors.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, FixedSizeListArray, Float32Array, Int64Array, RecordBatch, StringArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::vectors::Vectors;
use crate::atomic::AtomicFile;
use crate::error::Error;
use crate::ids::{IdMap, RawIds};
use crate::model::ModelFileError;

const BATCH: usize = 8 << 10;

pub(super) fn write(
    path: &Path,
    ids: &IdMap,
    vectors: &Vectors<'_>,
    scale: Option<&[f32]>,
) -> Result<(), Error> {
    let (rows, cols) = (vectors.factors.rows(), vectors.factors.cols());
    let width = i32::try_from(cols).map_err(|_| ModelFileError::LayoutTooSmall {
        path: path.to_owned(),
        rows,
        cols,
    })?;
    let table = Table {
        ids,
        vectors,
        scale,
        width,
    };
    let mut file = AtomicFile::create(path)?;
    table
        .write(&mut file)
        .map_err(|e| Error::io(path)(std::io::Error::other(e)))?;
    file.commit()
}

struct Table<'a> {
    ids: &'a IdMap,
    vectors: &'a Vectors<'a>,
    scale: Option<&'a [f32]>,
    width: i32,
}

impl Table<'_> {
    fn write(&self, file: &mut AtomicFile) -> Result<(), ParquetError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .build();
        let schema = self.schema();
        let mut writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties))?;
        let rows = self.vectors.factors.rows();
        for start in (0..rows).step_by(BATCH) {
            let batch = self.batch(start..(start + BATCH).min(rows), &schema)?;
            writer.write(&batch)?;
        }
        writer.close().map(|_| ())
    }

    fn schema(&self) -> SchemaRef {
        let id = match self.ids.raw() {
            RawIds::Text { .. } => DataType::Utf8,
            _ => DataType::Int64,
        };
        let factors = DataType::FixedSizeList(item(), self.width);
        let mut fields = vec![
            Field::new("id", id, false),
            Field::new("factors", factors, false),
        ];
        if self.scale.is_some() {
            fields.push(Field::new("scale", DataType::Float32, false));
        }
        Arc::new(Schema::new(fields))
    }

    fn batch(
        &self,
        rows: std::ops::Range<usize>,
        schema: &SchemaRef,
    ) -> Result<RecordBatch, ParquetError> {
        let values: Float32Array = rows
            .clone()
            .flat_map(|row| self.vectors.row(row).into_owned())
            .collect::<Vec<_>>()
            .into();
        let factors = FixedSizeListArray::try_new_with_length(
            item(),
            self.width,
            Arc::new(values),
            None,
            rows.len(),
        )?;
        let mut columns: Vec<ArrayRef> = vec![self.id_column(rows.clone()), Arc::new(factors)];
        if let Some(scale) = self.scale {
            columns.push(Arc::new(Float32Array::from(scale[rows].to_vec())));
        }
        Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
    }

    fn id_column(&self, rows: std::ops::Range<usize>) -> ArrayRef {
        match self.ids.raw() {
            RawIds::Text { .. } => Arc::new(StringArray::from_iter_values(
                rows.filter_map(|row| self.ids.name(row as u32)),
            )),
            RawIds::Integers(ids) => Arc::new(Int64Array::from(ids[rows].to_vec())),
            RawIds::Dense(_) => Arc::new(Int64Array::from_iter_values(
                (rows.start as u32..rows.end as u32).map(i64::from),
            )),
        }
    }
}

fn item() -> Arc<Field> {
    Arc::new(Field::new("item", DataType::Float32, false))
}
