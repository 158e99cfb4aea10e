//! Looks over the footer of a Parquet file before the decoder believes it.
//!
//! The footer is a Thrift structure in the compact protocol. The decoder walks lists for as long as
//! they say they are: a damaged count of two thousand million would keep it busy for minutes. Every
//! element takes a byte at least, so a count beyond the bytes that are left is a lie.

use std::io::{Read, Seek, SeekFrom};

const MAGIC: &[u8] = b"PAR1";
/// Structures within structures; the format needs about ten.
const DEEPEST: usize = 64;

const BOOLEANS: [u8; 2] = [1, 2];
const STRUCTURE: u8 = 12;

type Checked<T> = Result<T, String>;

/// Checks the footer of a file; encrypted ones are left to the decoder, which refuses them.
pub(super) fn check(mut reader: impl Read + Seek) -> Checked<()> {
    let length = reader.seek(SeekFrom::End(0)).map_err(|e| e.to_string())?;
    let end = length.checked_sub(8).ok_or("too short")?;
    let mut tail = [0; 8];
    read_at(&mut reader, end, &mut tail)?;
    if &tail[4..] != MAGIC {
        return Ok(());
    }
    let footer_length = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
    let start = end
        .checked_sub(footer_length.into())
        .ok_or("a footer longer than the file")?;
    let mut footer = vec![0; footer_length as usize];
    read_at(&mut reader, start, &mut footer)?;
    Walk { rest: &footer }.structure(0)
}

fn read_at(reader: &mut (impl Read + Seek), at: u64, into: &mut [u8]) -> Checked<()> {
    reader
        .seek(SeekFrom::Start(at))
        .and_then(|_| reader.read_exact(into))
        .map_err(|e| e.to_string())
}

/// What is left of the footer.
struct Walk<'f> {
    rest: &'f [u8],
}

impl Walk<'_> {
    fn structure(&mut self, depth: usize) -> Checked<()> {
        if depth > DEEPEST {
            return Err("structures nested too deeply".to_owned());
        }
        loop {
            let header = self.byte()?;
            let kind = header & 0x0f;
            if kind == 0 {
                return Ok(());
            }
            // A field number that is not a small step from the last one follows in full.
            if header >> 4 == 0 {
                self.varint()?;
            }
            // The value of a boolean field is in its header.
            if !BOOLEANS.contains(&kind) {
                self.value(kind, depth)?;
            }
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Checked<()> {
        match kind {
            1..=3 => self.skip(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            9 | 10 => self.list(depth),
            11 => self.map(depth),
            STRUCTURE => self.structure(depth + 1),
            13 => self.skip(16),
            _ => Err(format!("a field of unknown kind {kind}")),
        }
    }

    fn list(&mut self, depth: usize) -> Checked<()> {
        let header = self.byte()?;
        let (short, kind) = (u64::from(header >> 4), header & 0x0f);
        let count = if short == 15 { self.varint()? } else { short };
        self.elements(count, &[kind], depth)
    }

    fn map(&mut self, depth: usize) -> Checked<()> {
        let count = self.varint()?;
        if count == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        self.elements(count, &[kinds >> 4, kinds & 0x0f], depth)
    }

    fn elements(&mut self, count: u64, kinds: &[u8], depth: usize) -> Checked<()> {
        if count > self.rest.len() as u64 {
            return Err(format!(
                "a list of {count} elements in {} bytes",
                self.rest.len()
            ));
        }
        // No list of the footer holds booleans, and decoders disagree about how they are written.
        if count > 0 && kinds.iter().any(|kind| BOOLEANS.contains(kind)) {
            return Err("a list of booleans where there is none".to_owned());
        }
        for _ in 0..count {
            for &kind in kinds {
                self.value(kind, depth + 1)?;
            }
        }
        Ok(())
    }

    fn byte(&mut self) -> Checked<u8> {
        let (&first, rest) = self.rest.split_first().ok_or("the footer ends too early")?;
        self.rest = rest;
        Ok(first)
    }

    fn varint(&mut self) -> Checked<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number without an end".to_owned())
    }

    fn skip(&mut self, count: u64) -> Checked<()> {
        let count = usize::try_from(count).map_err(|e| e.to_string())?;
        self.rest = self.rest.get(count..).ok_or("the footer ends too early")?;
        Ok(())
    }
}
