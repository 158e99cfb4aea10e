//! Feeds text to the parsers in blocks of whole records.

use std::path::Path;
use std::sync::Arc;

use super::lines::{count_lines, last_record_end};
use super::pipeline::Blocks;
use super::source::Source;
use crate::bad_row::{BadRow, RowFault};
use crate::error::Error;

/// Large enough to keep a core busy, small enough for several to be in flight.
const BLOCK: usize = 2 << 20;

/// A run of whole records.
pub(super) struct TextBlock {
    pub(super) text: Vec<u8>,
    /// The line number of the first record.
    pub(super) first_line: u64,
    /// Bytes of the file that were taken in for it.
    pub(super) bytes: u64,
}

/// Cuts a source into blocks.
pub(super) struct TextBlocks {
    source: Source,
    quoted: Option<u8>,
    max_line: usize,
    carry: Vec<u8>,
    line: u64,
    consumed: u64,
    ended: bool,
}

impl TextBlocks {
    pub(super) fn new(source: Source, quoted: Option<u8>, max_line: usize) -> Self {
        Self {
            source,
            quoted,
            max_line,
            carry: Vec::new(),
            line: 1,
            consumed: 0,
            ended: false,
        }
    }

    pub(super) fn path(&self) -> &Arc<Path> {
        self.source.path()
    }

    /// Grows the block until it holds a whole record, and keeps the rest for the next block.
    fn whole_records(&mut self) -> Result<Vec<u8>, Error> {
        let mut text = std::mem::take(&mut self.carry);
        let mut target = BLOCK;
        loop {
            self.ended = self.source.fill(&mut text, target)?;
            let end = if self.ended {
                text.len()
            } else {
                last_record_end(&text, self.quoted)
            };
            if text.len() - end > self.max_line {
                return Err(self.too_long(&text, end));
            }
            if end > 0 || self.ended {
                self.carry.extend_from_slice(&text[end..]);
                text.truncate(end);
                return Ok(text);
            }
            target += BLOCK;
        }
    }

    fn too_long(&self, text: &[u8], start: usize) -> Error {
        let line = self.line + count_lines(&text[..start]);
        let fault = match text.get(start) {
            Some(b'"') if self.quoted.is_some() => RowFault::Quote,
            _ => RowFault::LongLine {
                limit: self.max_line,
            },
        };
        Error::Row {
            row: Box::new(BadRow::new(self.path(), line, &text[start..], fault)),
        }
    }
}

impl Blocks for TextBlocks {
    type Block = TextBlock;

    fn next_block(&mut self) -> Result<Option<TextBlock>, Error> {
        if self.ended {
            return Ok(None);
        }
        let text = self.whole_records()?;
        let first_line = self.line;
        self.line += count_lines(&text);
        let bytes = self.source.consumed() - self.consumed;
        self.consumed += bytes;
        Ok(Some(TextBlock {
            text,
            first_line,
            bytes,
        }))
    }
}
