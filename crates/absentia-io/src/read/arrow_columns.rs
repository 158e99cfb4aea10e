//! Turns Arrow record batches into rows, for Parquet and Arrow IPC alike.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, Schema, TimeUnit};

use super::arrow_cells::{self, ArrowResult, Text, floats, integers, plain};
use super::arrow_ipc::guarded;
use super::chunk::{Chunk, IdRule, Key, Record, Shape};
use super::options::ReadOptions;
use super::roles::Roles;
use super::{cells, id_rules};
use crate::bad_row::RowFault;
use crate::column::Column;
use crate::error::Error;

/// Which columns of a batch to take and what they hold.
pub(super) struct ArrowLayout {
    roles: Roles,
    /// The roles of columns by name.
    pub(super) found: Vec<(Column, String)>,
    shape: Shape,
    format: &'static str,
}

/// A batch with its place in the file.
pub(super) struct ArrowBatch {
    pub(super) columns: RecordBatch,
    pub(super) first_row: u64,
    pub(super) bytes: u64,
}

impl ArrowLayout {
    pub(super) fn new(
        schema: &Schema,
        options: &ReadOptions,
        path: &Arc<Path>,
        format: &'static str,
    ) -> Result<Self, Error> {
        let names: Vec<String> = schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect();
        let roles = Roles::by_heading(&names, &options.columns, path)?;
        for column in Column::ALL {
            if let Some(place) = roles.get(column) {
                check_type(schema, place, column, path)?;
            }
        }
        let (users, items) = id_rules(options);
        let has = |column| roles.has(column);
        let (has_value, has_time, has_weight) =
            (has(Column::Rating), has(Column::Time), has(Column::Weight));
        let shape = Shape {
            path: Arc::clone(path),
            users,
            items,
            has_value,
            has_time,
            has_weight,
            time_unit: options.time_unit,
        };
        Ok(Self {
            found: roles.names_of_columns(&names),
            roles,
            shape,
            format,
        })
    }

    /// The places of the columns in use, each once, rising.
    pub(super) fn places(&self) -> Vec<usize> {
        let mut places: Vec<usize> = Column::ALL
            .iter()
            .filter_map(|&column| self.roles.get(column))
            .collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Parses a batch, whose arrays may be damaged in ways that decoding did not notice.
    pub(super) fn parse_guarded(&self, batch: &ArrowBatch) -> Result<Chunk, Error> {
        guarded(&self.shape.path, self.format, || {
            Ok::<_, Error>(self.parse(batch))
        })?
    }

    /// Parses a batch that holds only the columns in [`places`](Self::places).
    fn parse(&self, batch: &ArrowBatch) -> Result<Chunk, Error> {
        let places = self.places();
        let array = |column| {
            let place = places
                .iter()
                .position(|&p| Some(p) == self.roles.get(column))?;
            (place < batch.columns.num_columns()).then(|| batch.columns.column(place))
        };
        let failed = |e: ArrowError| Error::corrupt(&self.shape.path, self.format, e);
        let missing = || {
            Error::corrupt(
                &self.shape.path,
                self.format,
                "a batch lacks a column of the schema",
            )
        };
        let users = ArrowIds::new(array(Column::User).ok_or_else(missing)?).map_err(failed)?;
        let items = ArrowIds::new(array(Column::Item).ok_or_else(missing)?).map_err(failed)?;
        let values = array(Column::Rating)
            .map(numbers)
            .transpose()
            .map_err(failed)?;
        let times = array(Column::Time)
            .map(Times::new)
            .transpose()
            .map_err(failed)?;
        let weights = array(Column::Weight)
            .map(numbers)
            .transpose()
            .map_err(failed)?;
        let mut chunk = Chunk::new(&self.shape, batch.bytes);
        chunk.reserve(batch.columns.num_rows());
        for row in 0..batch.columns.num_rows() {
            let record = || -> Result<Record<'_>, RowFault> {
                Ok(Record {
                    user: users.key(row, self.shape.users, Column::User)?,
                    item: items.key(row, self.shape.items, Column::Item)?,
                    value: number(values.as_ref(), row, Column::Rating)?,
                    time: times
                        .as_ref()
                        .map_or(Ok(0), |times| times.get(row, self.shape.time_unit))?,
                    weight: number(weights.as_ref(), row, Column::Weight)?,
                })
            };
            match record() {
                Ok(record) => chunk.push(&record)?,
                Err(fault) => chunk.reject(batch.first_row + row as u64, b"", fault)?,
            }
        }
        Ok(chunk)
    }
}

fn check_type(schema: &Schema, place: usize, column: Column, path: &Path) -> Result<(), Error> {
    let field = schema.field(place);
    let plain = match field.data_type() {
        DataType::Dictionary(_, value) => value.as_ref(),
        other => other,
    };
    let text = matches!(
        plain,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Binary
    );
    let (fits, expected) = match column {
        Column::User | Column::Item => (plain.is_integer() || text, "an id (text or integers)"),
        Column::Time => {
            let is_time = plain.is_temporal() && !matches!(plain, DataType::Interval(_));
            (plain.is_numeric() || text || is_time, "a time")
        }
        Column::Rating | Column::Weight => (
            plain.is_numeric() || plain == &DataType::Boolean,
            "a number",
        ),
    };
    if fits {
        return Ok(());
    }
    Err(Error::ColumnType {
        path: path.to_owned(),
        name: field.name().clone(),
        column,
        expected,
        found: field.data_type().to_string(),
    })
}

/// Ids as integers where they are, as text otherwise.
enum ArrowIds {
    Integers(Int64Array),
    Text(Text),
}

impl ArrowIds {
    fn new(array: &ArrayRef) -> ArrowResult<Self> {
        let array = plain(array)?;
        match array.data_type() {
            // Ids above the signed range keep their digits as text.
            kind if kind.is_integer() && *kind != DataType::UInt64 => {
                Ok(Self::Integers(integers(&array)?))
            }
            _ => Ok(Self::Text(Text::new(&array)?)),
        }
    }

    fn key(&self, row: usize, rule: IdRule, column: Column) -> Result<Key<'_>, RowFault> {
        match self {
            Self::Integers(ids) if ids.is_null(row) => Err(RowFault::Blank { column }),
            Self::Integers(ids) => rule.integer_key(ids.value(row), column),
            Self::Text(ids) => {
                let id = ids.get(row).ok_or(RowFault::Blank { column })?;
                rule.key(id.as_bytes(), column)
            }
        }
    }
}

fn numbers(array: &ArrayRef) -> ArrowResult<Float32Array> {
    arrow_cells::numbers(&plain(array)?)
}

fn number(numbers: Option<&Float32Array>, row: usize, column: Column) -> Result<f32, RowFault> {
    let Some(numbers) = numbers else {
        return Ok(0.0);
    };
    if numbers.is_null(row) {
        return Err(RowFault::Blank { column });
    }
    let value = numbers.value(row);
    if value.is_finite() {
        Ok(value)
    } else {
        Err(RowFault::NotFinite {
            column,
            text: value.to_string(),
        })
    }
}

/// Times as integers with the number of their units in a second, as floats, or as text.
enum Times {
    Integers {
        array: Int64Array,
        /// `None` for plain numbers.
        per_second: Option<i64>,
        seconds_each: i64,
    },
    Floats(Float64Array),
    Text(Text),
}

impl Times {
    fn new(array: &ArrayRef) -> ArrowResult<Self> {
        let array = plain(array)?;
        let stored = |per_second, seconds_each| {
            Ok(Self::Integers {
                array: integers(&array)?,
                per_second,
                seconds_each,
            })
        };
        match array.data_type() {
            DataType::Timestamp(unit, _) => stored(Some(per_second(*unit)), 1),
            DataType::Date32 => stored(Some(1), 86_400),
            DataType::Date64 => stored(Some(1000), 1),
            kind if kind.is_integer() || kind.is_temporal() => stored(None, 1),
            kind if kind.is_numeric() => Ok(Self::Floats(floats(&array)?)),
            _ => Ok(Self::Text(Text::new(&array)?)),
        }
    }

    fn get(&self, row: usize, unit: Option<crate::time::TimeUnit>) -> Result<i64, RowFault> {
        let column = Column::Time;
        match self {
            Self::Integers { array, .. } if array.is_null(row) => Err(RowFault::Blank { column }),
            Self::Floats(array) if array.is_null(row) => Err(RowFault::Blank { column }),
            Self::Integers {
                array,
                per_second,
                seconds_each,
            } => {
                let time = array.value(row);
                match per_second {
                    None => cells::in_seconds(time, unit),
                    Some(count) => Ok(time.div_euclid(*count).saturating_mul(*seconds_each)),
                }
            }
            Self::Floats(array) => cells::float_time(array.value(row), unit),
            Self::Text(array) => {
                let text = array.get(row).ok_or(RowFault::Blank { column })?;
                cells::time(text.as_bytes(), unit)
            }
        }
    }
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}
