//! Text with one row a line: CSV, TSV, `::`, `.rating` and `.inter` files.

use super::blocks::TextBlocks;
use super::builder::Builder;
use super::cells::{self, CellKind};
use super::chunk::{Chunk, Record, Shape, Stop};
use super::fields::{Fields, Separator};
use super::options::{FirstLine, ReadOptions};
use super::pipeline;
use super::roles::Roles;
use super::sniff::{Sample, TextContent, heading, sniff};
use super::source::Source;
use super::text::{Framing, parse_block};
use super::{adjacency, id_rules};
use crate::bad_row::RowFault;
use crate::column::Column;
use crate::error::{Error, shorten};
use crate::format::Format;

/// Everything needed to understand a record.
struct RecordLayout {
    separator: Separator,
    quotes: bool,
    width: usize,
    roles: Roles,
    /// The roles of columns by heading or place.
    found: Vec<(Column, String)>,
    /// The first line, if what it looks like decided whether it names the columns.
    first: Option<FirstLine>,
    decimal_comma: bool,
    first_line: u64,
}

/// Reads a delimited file, or an adjacency list if the text turns out to be one.
pub(super) fn read(
    source: Source,
    format: Format,
    options: &ReadOptions,
    builder: &mut Builder<'_>,
) -> Result<(), Error> {
    let separator = options
        .separator
        .as_deref()
        .map(Separator::from_option)
        .transpose()?;
    let separator = separator.or(
        matches!(format, Format::Tsv | Format::Rating | Format::Inter)
            .then_some(Separator::Byte(b'\t')),
    );
    match sniff(&source, format, separator, options) {
        TextContent::Adjacency => adjacency::read(source, options, builder),
        TextContent::Rows(sample) => {
            let layout = layout(&source, &sample, format, options)?;
            read_rows(source, &layout, options, builder)
        }
    }
}

fn read_rows(
    source: Source,
    layout: &RecordLayout,
    options: &ReadOptions,
    builder: &mut Builder<'_>,
) -> Result<(), Error> {
    builder.report_columns(&layout.found);
    if let Some(first) = &layout.first {
        builder.first_line(first.clone());
    }
    let (users, items) = id_rules(options);
    let shape = Shape {
        path: source.path().clone(),
        users,
        items,
        has_value: layout.roles.has(Column::Rating),
        has_time: layout.roles.has(Column::Time),
        has_weight: layout.roles.has(Column::Weight),
        time_unit: options.time_unit,
    };
    let quoted = layout.separator.quoted(layout.quotes);
    let framing = Framing {
        quoted,
        max_line: options.max_line,
        first_line: layout.first_line,
    };
    let blocks = TextBlocks::new(source, quoted, options.max_line);
    let parse = |block: &_| {
        let mut fields = Fields::default();
        parse_block(block, &shape, framing, |record, chunk| {
            layout.parse(record, &mut fields, &shape, chunk)
        })
    };
    pipeline::run(blocks, parse, builder)
}

fn layout(
    source: &Source,
    sample: &Sample,
    format: Format,
    options: &ReadOptions,
) -> Result<RecordLayout, Error> {
    let Some((line, first)) = sample.rows.first() else {
        return Err(unreadable_start(source));
    };
    let said = options.header.or(match format {
        Format::Rating => Some(false),
        Format::Inter => Some(true),
        _ => options.columns.any_by_name().then_some(true),
    });
    let header = said.unwrap_or_else(|| sample.has_header());
    let text = |cell: &Vec<u8>| String::from_utf8_lossy(cell).into_owned();
    let first_line = FirstLine {
        path: source.path().to_path_buf(),
        line: *line,
        cells: first.iter().map(text).collect(),
        is_header: header,
        differs: sample.first_differs(),
    };
    let width = if header { first.len() } else { sample.width() };
    if width < 2 {
        let text = shorten(&first.join(&b' '));
        return Err(Error::OneColumn {
            path: source.path().to_path_buf(),
            line: *line,
            text,
        });
    }
    let kinds: Vec<CellKind> = (0..width)
        .map(|place| sample.kind(place, usize::from(header)))
        .collect();
    let (roles, found) = if header {
        let names = headings(first, format);
        let columns = &options.columns;
        let roles = Roles::by_heading_or_place(&names, &kinds, columns, source.path())?;
        (roles, roles.names_of_columns(&names))
    } else {
        let places: Vec<String> = (1..=width).map(|place| place.to_string()).collect();
        let roles = Roles::by_place(&places, &kinds, &options.columns, source.path())?;
        let names: Vec<String> = places
            .iter()
            .map(|place| format!("column {place}"))
            .collect();
        (roles, roles.names_of_columns(&names))
    };
    Ok(RecordLayout {
        separator: sample.separator.clone(),
        quotes: options.quotes,
        width,
        roles,
        found,
        first: said.is_none().then_some(first_line),
        decimal_comma: options.decimal_comma,
        first_line: if header { line + 1 } else { *line },
    })
}

/// Why no record could be cut out of a text that is not empty.
fn unreadable_start(source: &Source) -> Error {
    let path = source.path();
    if source.head().trim_ascii().is_empty() && source.is_short() {
        return Error::Empty {
            path: path.to_path_buf(),
        };
    }
    let row = crate::bad_row::BadRow::new(path, 1, source.head(), RowFault::Quote);
    Error::Row { row: Box::new(row) }
}

fn headings(first: &[Vec<u8>], format: Format) -> Vec<String> {
    let name = |cell: &Vec<u8>| String::from_utf8_lossy(cell).into_owned();
    let plain = |name: String| {
        if format == Format::Inter {
            heading(&name).to_owned()
        } else {
            name
        }
    };
    first.iter().map(name).map(plain).collect()
}

impl RecordLayout {
    fn parse(
        &self,
        record: &[u8],
        fields: &mut Fields,
        shape: &Shape,
        chunk: &mut Chunk,
    ) -> Result<(), Stop> {
        fields.cut(record, &self.separator, self.quotes)?;
        if fields.len() != self.width {
            return Err(RowFault::Fields {
                expected: self.width,
                got: fields.len(),
            }
            .into());
        }
        let cell = |column| {
            self.roles
                .get(column)
                .map(|place| fields.get(record, place))
        };
        let user = cell(Column::User).unwrap_or_default();
        let item = cell(Column::Item).unwrap_or_default();
        let number = |column| match cell(column) {
            None => Ok(0.0),
            Some(text) if self.decimal_comma => cells::number_with_comma(&text, column),
            Some(text) => cells::number(&text, column),
        };
        chunk.push(&Record {
            user: shape.users.key(&user, Column::User)?,
            item: shape.items.key(&item, Column::Item)?,
            value: number(Column::Rating)?,
            time: cell(Column::Time).map_or(Ok(0), |text| cells::time(&text, shape.time_unit))?,
            weight: number(Column::Weight)?,
        })?;
        Ok(())
    }
}
