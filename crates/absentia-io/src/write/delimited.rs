//! Text with one row a line.

use std::io::{self, Write};

use super::columns_of;
use super::sink::Sink;
use crate::column::Column;
use crate::dataset::Dataset;
use crate::error::Error;

/// What the first line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heading {
    /// Nothing: rows start at once.
    None,
    /// The columns' names.
    Names,
    /// The columns' names and types, as in `RecBole` files.
    Typed,
}

pub(super) fn write(
    data: &Dataset,
    sink: Sink,
    separator: u8,
    heading: Heading,
) -> Result<(), Error> {
    let columns = columns_of(data);
    sink.fill(|out| {
        if heading != Heading::None {
            let names: Vec<&str> = columns
                .iter()
                .map(|&column| name(column, heading))
                .collect();
            out.write_all(names.join(&char::from(separator).to_string()).as_bytes())?;
            out.write_all(b"\n")?;
        }
        let mut line = Vec::new();
        for row in 0..data.len() {
            line.clear();
            append_row(&mut line, data, row, separator)?;
            out.write_all(&line)?;
        }
        Ok(())
    })
}

fn name(column: Column, heading: Heading) -> &'static str {
    match (heading, column) {
        (Heading::Typed, Column::User) => "user_id:token",
        (Heading::Typed, Column::Item) => "item_id:token",
        (Heading::Typed, Column::Rating) => "rating:float",
        (Heading::Typed, Column::Time) => "timestamp:float",
        (Heading::Typed, Column::Weight) => "weight:float",
        (_, column) => column.name(),
    }
}

fn append_row(line: &mut Vec<u8>, data: &Dataset, row: usize, separator: u8) -> io::Result<()> {
    append_id(
        line,
        &data.users.name(data.user[row]).unwrap_or_default(),
        separator,
    );
    line.push(separator);
    append_id(
        line,
        &data.items.name(data.item[row]).unwrap_or_default(),
        separator,
    );
    let between = char::from(separator);
    if let Some(value) = &data.value {
        write!(line, "{between}{}", value[row])?;
    }
    if let Some(time) = &data.time {
        write!(line, "{between}{}", time[row])?;
    }
    if let Some(weight) = &data.weight {
        write!(line, "{between}{}", weight[row])?;
    }
    line.push(b'\n');
    Ok(())
}

/// Quotes an id that would otherwise be cut, trimmed, or taken for a quoted one or a byte-order mark.
fn append_id(line: &mut Vec<u8>, id: &str, separator: u8) {
    let bytes = id.as_bytes();
    let special = |b: &u8| matches!(*b, b'"' | b'\n' | b'\r' | 0xef) || *b == separator;
    if !bytes.iter().any(special) && bytes.trim_ascii().len() == bytes.len() {
        return line.extend_from_slice(bytes);
    }
    line.push(b'"');
    for &byte in bytes {
        line.push(byte);
        if byte == b'"' {
            line.push(b'"');
        }
    }
    line.push(b'"');
}
