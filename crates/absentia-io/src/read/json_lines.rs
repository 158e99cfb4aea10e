//! One JSON object a line; keys are found like headings.

use super::blocks::TextBlocks;
use super::builder::Builder;
use super::cells;
use super::chunk::{Chunk, IdRule, Key, Record, Shape, Stop};
use super::json_cells::{Cell, object};
use super::lines::Records;
use super::options::ReadOptions;
use super::roles::Roles;
use super::source::Source;
use super::text::{Framing, parse_block};
use super::{id_rules, pipeline};
use crate::bad_row::RowFault;
use crate::column::{Column, ColumnRef};
use crate::error::Error;
use crate::time::TimeUnit;

/// The key of each role, in the order of [`Column::ALL`].
type Keys = [Option<String>; 5];

/// Reads a file of JSON objects.
pub(super) fn read(
    source: Source,
    options: &ReadOptions,
    builder: &mut Builder<'_>,
) -> Result<(), Error> {
    let keys = find_keys(&source, options)?;
    let found = Column::ALL.into_iter().zip(&keys);
    let found: Vec<(Column, String)> = found
        .filter_map(|(column, key)| Some((column, key.clone()?)))
        .collect();
    builder.report_columns(&found);
    let (users, items) = id_rules(options);
    let has = |column: Column| keys[column as usize].is_some();
    let shape = Shape {
        path: source.path().clone(),
        users,
        items,
        has_value: has(Column::Rating),
        has_time: has(Column::Time),
        has_weight: has(Column::Weight),
        time_unit: options.time_unit,
    };
    let framing = Framing {
        quoted: None,
        max_line: options.max_line,
        first_line: 1,
    };
    let blocks = TextBlocks::new(source, None, options.max_line);
    let parse = |block: &_| {
        parse_block(block, &shape, framing, |record, chunk| {
            parse_object(record, &keys, &shape, chunk)
        })
    };
    pipeline::run(blocks, parse, builder)
}

/// Looks at the first objects for the keys they use.
fn find_keys(source: &Source, options: &ReadOptions) -> Result<Keys, Error> {
    const SAMPLE: usize = 64;
    let path = source.path();
    refuse_positions(options)?;
    if source.head().trim_ascii_start().starts_with(b"[") {
        let feature = "a JSON array".to_owned();
        return Err(Error::Unsupported {
            path: path.to_path_buf(),
            feature,
            remedy: "write one JSON object a line, as `jq -c '.[]' FILE > NEW_FILE` does",
        });
    }
    let mut names: Vec<String> = Vec::new();
    for (_, line) in Records::new(source.head(), 1, None).take(SAMPLE) {
        for key in object_keys(line) {
            if !names.contains(&key) {
                names.push(key);
            }
        }
    }
    if names.is_empty() && source.head().trim_ascii().is_empty() {
        return Err(Error::Empty {
            path: path.to_path_buf(),
        });
    }
    let roles = Roles::by_heading(&names, &options.columns, path)?;
    Ok(Column::ALL.map(|column| roles.get(column).map(|place| names[place].clone())))
}

fn refuse_positions(options: &ReadOptions) -> Result<(), Error> {
    for column in Column::ALL {
        if let Some(ColumnRef::Position(place)) = options.columns.get(column) {
            let expected = "a key, because JSON objects have no column positions";
            return Err(Error::BadOption {
                option: "a column of JSON lines",
                got: place.to_string(),
                expected,
            });
        }
    }
    Ok(())
}

/// The keys of the object on a line; none if the line is cut off or not an object.
fn object_keys(line: &[u8]) -> Vec<String> {
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line)
        .map(|map| map.into_iter().map(|(key, _)| key).collect())
        .unwrap_or_default()
}

fn parse_object(record: &[u8], keys: &Keys, shape: &Shape, chunk: &mut Chunk) -> Result<(), Stop> {
    let cells = object(record, keys)?;
    let [user, item, value, time, weight] = &cells;
    let number = |cell: &Cell<'_>, column| as_number(cell, column, keys);
    chunk.push(&Record {
        user: id_key(user, shape.users, Column::User, keys)?,
        item: id_key(item, shape.items, Column::Item, keys)?,
        value: if shape.has_value {
            number(value, Column::Rating)?
        } else {
            0.0
        },
        time: if shape.has_time {
            as_time(time, shape.time_unit, keys)?
        } else {
            0
        },
        weight: if shape.has_weight {
            number(weight, Column::Weight)?
        } else {
            0.0
        },
    })?;
    Ok(())
}

fn unusable(column: Column, keys: &Keys) -> RowFault {
    RowFault::Key {
        column,
        key: keys[column as usize].clone().unwrap_or_default(),
    }
}

fn id_key<'a>(
    cell: &'a Cell<'_>,
    rule: IdRule,
    column: Column,
    keys: &Keys,
) -> Result<Key<'a>, RowFault> {
    match cell {
        Cell::Integer(id) => rule.integer_key(*id, column),
        Cell::Text(text) => rule.key(text.as_bytes(), column),
        _ => Err(unusable(column, keys)),
    }
}

fn as_number(cell: &Cell<'_>, column: Column, keys: &Keys) -> Result<f32, RowFault> {
    let value = match cell {
        Cell::Integer(value) => *value as f32,
        Cell::Float(value) => *value as f32,
        Cell::Text(text) => return cells::number(text.as_bytes(), column),
        Cell::Missing | Cell::Other => return Err(unusable(column, keys)),
    };
    if value.is_finite() {
        return Ok(value);
    }
    let text = match cell {
        Cell::Float(value) => format!("{value:e}"),
        _ => value.to_string(),
    };
    Err(RowFault::unstorable(column, text))
}

fn as_time(cell: &Cell<'_>, unit: Option<TimeUnit>, keys: &Keys) -> Result<i64, RowFault> {
    match cell {
        Cell::Integer(time) => cells::in_seconds(*time, unit),
        Cell::Float(time) => cells::float_time(*time, unit),
        Cell::Text(text) => cells::time(text.as_bytes(), unit),
        Cell::Missing | Cell::Other => Err(unusable(Column::Time, keys)),
    }
}
