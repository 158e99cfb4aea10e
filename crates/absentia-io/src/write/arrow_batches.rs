//! Parquet and Arrow IPC.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::columns_of;
use crate::atomic::AtomicFile;
use crate::column::Column;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::ids::{IdMap, RawIds};
use crate::seal::{self, Seal};

const BATCH: usize = 64 << 10;

pub(super) fn write_parquet(data: &Dataset, path: &Path) -> Result<(), Error> {
    let mut file = AtomicFile::create(path)?;
    let body = |file: &mut AtomicFile| -> Result<(), ParquetError> {
        let compression = Compression::ZSTD(ZstdLevel::try_new(3)?);
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_created_by(seal::WRITER.to_owned())
            .build();
        let mut writer = ArrowWriter::try_new(file, schema(data), Some(properties))?;
        let mut seal = Seal::default();
        for batch in batches(data) {
            let batch = batch?;
            seal.add(&batch);
            writer.write(&batch)?;
        }
        let seal = KeyValue::new(seal::KEY.to_owned(), seal.text());
        writer.append_key_value_metadata(seal);
        writer.close().map(|_| ())
    };
    body(&mut file).map_err(failed(path))?;
    file.commit()
}

pub(super) fn write_file(data: &Dataset, path: &Path) -> Result<(), Error> {
    let mut file = AtomicFile::create(path)?;
    let body = |file: &mut AtomicFile| -> Result<(), ArrowError> {
        let mut writer = FileWriter::try_new(file, &schema(data))?;
        let mut seal = Seal::default();
        for batch in batches(data) {
            let batch = batch?;
            seal.add(&batch);
            writer.write(&batch)?;
        }
        writer.write_metadata(seal::KEY, seal.text());
        writer.finish()
    };
    body(&mut file).map_err(failed(path))?;
    file.commit()
}

pub(super) fn write_stream(data: &Dataset, path: &Path) -> Result<(), Error> {
    let mut file = AtomicFile::create(path)?;
    let body = |file: &mut AtomicFile| -> Result<(), ArrowError> {
        let mut writer = StreamWriter::try_new(file, &schema(data))?;
        batches(data).try_for_each(|batch| writer.write(&batch?))?;
        writer.finish()
    };
    body(&mut file).map_err(failed(path))?;
    file.commit()
}

fn failed<E: std::error::Error + Send + Sync + 'static>(
    path: &Path,
) -> impl FnOnce(E) -> Error + '_ {
    move |error| Error::io(path)(std::io::Error::other(error))
}

fn schema(data: &Dataset) -> SchemaRef {
    let kind = |column| match column {
        Column::User => id_type(&data.users),
        Column::Item => id_type(&data.items),
        Column::Time => DataType::Int64,
        Column::Rating | Column::Weight => DataType::Float32,
    };
    let fields: Vec<Field> = columns_of(data)
        .into_iter()
        .map(|column| Field::new(column.name(), kind(column), false))
        .collect();
    Arc::new(Schema::new(fields))
}

fn id_type(ids: &IdMap) -> DataType {
    if ids.is_integers() {
        DataType::Int64
    } else {
        DataType::Utf8
    }
}

fn batches(data: &Dataset) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> + '_ {
    let schema = schema(data);
    (0..data.len())
        .step_by(BATCH)
        .map(move |start| batch(data, start..(start + BATCH).min(data.len()), &schema))
}

fn batch(
    data: &Dataset,
    rows: std::ops::Range<usize>,
    schema: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let mut columns = vec![
        id_array(&data.users, &data.user[rows.clone()]),
        id_array(&data.items, &data.item[rows.clone()]),
    ];
    let floats = |values: &[f32]| Arc::new(Float32Array::from(values.to_vec())) as ArrayRef;
    columns.extend(
        data.value
            .as_ref()
            .map(|value| floats(&value[rows.clone()])),
    );
    columns.extend(
        data.time
            .as_ref()
            .map(|time| Arc::new(Int64Array::from(time[rows.clone()].to_vec())) as ArrayRef),
    );
    columns.extend(
        data.weight
            .as_ref()
            .map(|weight| floats(&weight[rows.clone()])),
    );
    RecordBatch::try_new(Arc::clone(schema), columns)
}

fn id_array(ids: &IdMap, rows: &[u32]) -> ArrayRef {
    match ids.raw() {
        RawIds::Integers(ids) => Arc::new(Int64Array::from_iter_values(
            rows.iter().map(|&row| ids[row as usize]),
        )),
        RawIds::Dense(_) => Arc::new(Int64Array::from_iter_values(
            rows.iter().map(|&row| i64::from(row)),
        )),
        RawIds::Text { .. } => Arc::new(StringArray::from_iter_values(
            rows.iter().map(|&row| ids.name(row).unwrap_or_default()),
        )),
    }
}
