//! LightGCN lists: a user and all its items on each line.

use super::blocks::TextBlocks;
use super::builder::Builder;
use super::chunk::{Chunk, Record, Shape, Stop};
use super::fields::{Fields, Separator};
use super::options::ReadOptions;
use super::source::Source;
use super::text::{Framing, parse_block};
use super::{id_rules, pipeline};
use crate::column::Column;
use crate::error::Error;

/// Reads an adjacency list; a user without items is kept, without rows.
pub(super) fn read(
    source: Source,
    options: &ReadOptions,
    builder: &mut Builder<'_>,
) -> Result<(), Error> {
    let separator = options
        .separator
        .as_deref()
        .map_or(Ok(Separator::Blanks), Separator::from_option)?;
    let (users, items) = id_rules(options);
    let path = source.path().clone();
    let shape = Shape {
        path,
        users,
        items,
        has_value: false,
        has_time: false,
        has_weight: false,
        time_unit: None,
    };
    let framing = Framing {
        quoted: None,
        max_line: options.max_line,
        first_line: 1,
    };
    let parse = |block: &_| {
        let mut fields = Fields::default();
        parse_block(block, &shape, framing, |record, chunk| {
            fields.cut(record, &separator, false)?;
            parse_list(record, &fields, &shape, chunk)
        })
    };
    pipeline::run(
        TextBlocks::new(source, None, options.max_line),
        parse,
        builder,
    )
}

fn parse_list(
    record: &[u8],
    fields: &Fields,
    shape: &Shape,
    chunk: &mut Chunk,
) -> Result<(), Stop> {
    let user = fields.get(record, 0);
    let user = shape.users.key(&user, Column::User)?;
    // All items are checked first, so that a bad line leaves nothing behind.
    for place in 1..fields.len() {
        shape.items.key(&fields.get(record, place), Column::Item)?;
    }
    chunk.users.note(user)?;
    for place in 1..fields.len() {
        let item = fields.get(record, place);
        chunk.push(&Record::pair(user, shape.items.key(&item, Column::Item)?))?;
    }
    Ok(())
}
