//! Runs a parser of single records over a block of text.

use super::blocks::TextBlock;
use super::chunk::{Chunk, Shape, Stop};
use super::lines::Records;
use crate::bad_row::RowFault;
use crate::error::Error;

/// How the records of a text are found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Framing {
    /// The separator of a file whose fields may be quoted.
    pub(super) quoted: Option<u8>,
    /// The longest record accepted.
    pub(super) max_line: usize,
    /// Records that start before this line are not data.
    pub(super) first_line: u64,
}

/// Parses every record of a block; a bad one is noted and the next is tried.
pub(super) fn parse_block(
    block: &TextBlock,
    shape: &Shape,
    framing: Framing,
    mut parse: impl FnMut(&[u8], &mut Chunk) -> Result<(), Stop>,
) -> Result<Chunk, Error> {
    let mut chunk = Chunk::new(shape, block.bytes);
    let text = if block.first_line == 1 {
        without_mark(&block.text)
    } else {
        &block.text
    };
    for (line, record) in Records::new(text, block.first_line, framing.quoted) {
        if line < framing.first_line {
            continue;
        }
        let outcome = if record.len() > framing.max_line {
            Err(RowFault::LongLine {
                limit: framing.max_line,
            }
            .into())
        } else {
            parse(record, &mut chunk)
        };
        match outcome {
            Ok(()) => {}
            Err(Stop::Row(fault)) => chunk.reject(line, record, fault)?,
            Err(Stop::File(error)) => return Err(error),
        }
    }
    Ok(chunk)
}

/// Drops the byte-order mark some programs put before UTF-8.
fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}
