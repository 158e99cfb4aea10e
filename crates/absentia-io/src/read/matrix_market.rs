//! MatrixMarket coordinate files; ids are row numbers, counted from 0 once read.

use std::path::Path;

use super::blocks::TextBlocks;
use super::builder::Builder;
use super::cells;
use super::chunk::{Chunk, IdRule, Record, Shape, Stop};
use super::fields::{Fields, Separator};
use super::lines::Records;
use super::options::ReadOptions;
use super::pipeline;
use super::source::Source;
use super::text::{Framing, parse_block};
use crate::bad_row::RowFault;
use crate::column::Column;
use crate::error::{Error, shorten};

const FORMAT: &str = "MatrixMarket file";

/// What the banner and the size line say.
#[derive(Debug)]
struct Banner {
    pattern: bool,
    rows: u32,
    columns: u32,
    entries: u64,
    first_line: u64,
}

/// Reads a file of coordinates, keeping empty rows and columns.
pub(super) fn read(
    source: Source,
    options: &ReadOptions,
    builder: &mut Builder<'_>,
) -> Result<(), Error> {
    let path = source.path().clone();
    let header = Banner::read(&source)?;
    let shape = Shape {
        path: path.clone(),
        users: IdRule::Rows {
            limit: Some(header.rows),
            base: 1,
        },
        items: IdRule::Rows {
            limit: Some(header.columns),
            base: 1,
        },
        has_value: !header.pattern,
        has_time: false,
        has_weight: false,
        time_unit: None,
    };
    let framing = Framing {
        quoted: None,
        max_line: options.max_line,
        first_line: header.first_line,
    };
    let before = builder.rows_seen();
    let parse = |block: &_| {
        let mut fields = Fields::default();
        parse_block(block, &shape, framing, |record, chunk| {
            parse_entry(record, &mut fields, &shape, chunk)
        })
    };
    pipeline::run(
        TextBlocks::new(source, None, options.max_line),
        parse,
        builder,
    )?;
    let found = builder.rows_seen() - before;
    if found == header.entries {
        return Ok(());
    }
    Err(Error::corrupt(
        &path,
        FORMAT,
        format!("{} entries declared, {found} found", header.entries),
    ))
}

fn parse_entry(
    record: &[u8],
    fields: &mut Fields,
    shape: &Shape,
    chunk: &mut Chunk,
) -> Result<(), Stop> {
    if record.starts_with(b"%") {
        return Ok(());
    }
    fields.cut(record, &Separator::Blanks, false)?;
    let expected = if shape.has_value { 3 } else { 2 };
    if fields.len() != expected {
        return Err(RowFault::Fields {
            expected,
            got: fields.len(),
        }
        .into());
    }
    let (user, item) = (fields.get(record, 0), fields.get(record, 1));
    let pair = Record::pair(
        shape.users.key(&user, Column::User)?,
        shape.items.key(&item, Column::Item)?,
    );
    let value = if shape.has_value {
        cells::number(&fields.get(record, 2), Column::Rating)?
    } else {
        0.0
    };
    chunk.push(&Record { value, ..pair })?;
    Ok(())
}

impl Banner {
    fn read(source: &Source) -> Result<Self, Error> {
        let path = source.path();
        let mut lines = Records::new(source.head(), 1, None);
        let banner = lines
            .next()
            .map(|(_, line)| String::from_utf8_lossy(line).to_ascii_lowercase())
            .unwrap_or_default();
        let pattern = is_pattern(&banner, path)?;
        let size = lines.find(|(_, line)| !line.starts_with(b"%"));
        let Some((line, size)) = size else {
            return Err(Error::corrupt(
                path,
                FORMAT,
                "no line with the matrix's size",
            ));
        };
        let wrong = || {
            Error::corrupt(
                path,
                FORMAT,
                format!("the size line \"{}\" is not three counts", shorten(size)),
            )
        };
        let counts: Vec<u64> = String::from_utf8_lossy(size)
            .split_ascii_whitespace()
            .map_while(|n| n.parse().ok())
            .collect();
        let [rows, columns, entries] = counts[..] else {
            return Err(wrong());
        };
        let small = |n: u64| {
            u32::try_from(n)
                .ok()
                .filter(|&n| n < u32::MAX)
                .ok_or_else(wrong)
        };
        Ok(Self {
            pattern,
            rows: small(rows)?,
            columns: small(columns)?,
            entries,
            first_line: line + 1,
        })
    }
}

/// Checks the banner; returns whether entries have no values.
fn is_pattern(banner: &str, path: &Path) -> Result<bool, Error> {
    let words: Vec<&str> = banner.split_ascii_whitespace().collect();
    let refuse = |feature: String, remedy| {
        Err(Error::Unsupported {
            path: path.to_owned(),
            feature,
            remedy,
        })
    };
    let ["%%matrixmarket", "matrix", layout, field, symmetry] = words[..] else {
        return Err(Error::corrupt(
            path,
            FORMAT,
            "the first line is not a %%MatrixMarket banner",
        ));
    };
    if layout != "coordinate" {
        return refuse(
            format!("a MatrixMarket {layout} matrix"),
            "write it as coordinates",
        );
    }
    if symmetry != "general" {
        return refuse(
            format!("a MatrixMarket {symmetry} matrix"),
            "write it as general, with every entry",
        );
    }
    match field {
        "real" | "double" | "integer" => Ok(false),
        "pattern" => Ok(true),
        _ => refuse(
            format!("a MatrixMarket matrix of {field} numbers"),
            "write it as real, integer or pattern",
        ),
    }
}
