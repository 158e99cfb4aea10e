//! Validates a Thrift structure (compact protocol) before it is decoded.
//!
//! Parquet's footer and page headers are such structures. The decoder walks lists for their
//! declared length, even past the end of the file if it only skips: a damaged count of two billion
//! would keep it busy for minutes. An element takes at least one byte, so the sum of all counts cannot
//! exceed the number of bytes.

use std::io::{Error, ErrorKind, Read};

/// Structures within structures; the format needs about ten.
const DEEPEST: usize = 64;

const BOOLEANS: [u8; 2] = [1, 2];

/// Walks over one structure at the start of what `reader` yields.
///
/// # Errors
/// When it does not end within `bytes` bytes, or promises more elements than that.
pub(super) fn check(reader: impl Read, bytes: u64) -> Result<(), Error> {
    Walk {
        rest: reader.take(bytes),
        promises: bytes,
    }
    .structure(0)
}

struct Walk<R> {
    rest: std::io::Take<R>,
    /// Elements that lists may still promise.
    promises: u64,
}

impl<R: Read> Walk<R> {
    fn structure(&mut self, depth: usize) -> Result<(), Error> {
        if depth > DEEPEST {
            return Err(damaged("structures nested too deeply".to_owned()));
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

    fn value(&mut self, kind: u8, depth: usize) -> Result<(), Error> {
        match kind {
            1..=3 => self.skip(1),
            4..=6 => self.varint().map(drop),
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            9 | 10 => self.list(depth + 1),
            11 => self.map(depth + 1),
            12 => self.structure(depth + 1),
            13 => self.skip(16),
            _ => Err(damaged(format!("a field of unknown kind {kind}"))),
        }
    }

    fn list(&mut self, depth: usize) -> Result<(), Error> {
        let header = self.byte()?;
        let (short, kind) = (u64::from(header >> 4), header & 0x0f);
        let count = if short == 15 { self.varint()? } else { short };
        self.elements(count, &[kind], depth)
    }

    fn map(&mut self, depth: usize) -> Result<(), Error> {
        let count = self.varint()?;
        if count == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        self.elements(count, &[kinds >> 4, kinds & 0x0f], depth)
    }

    fn elements(&mut self, count: u64, kinds: &[u8], depth: usize) -> Result<(), Error> {
        if depth > DEEPEST {
            return Err(damaged("lists nested too deeply".to_owned()));
        }
        let Some(left) = self.promises.checked_sub(count) else {
            let had = self.promises;
            return Err(damaged(format!(
                "a list of {count} elements where {had} would fit"
            )));
        };
        self.promises = left;
        for _ in 0..count {
            for &kind in kinds {
                self.value(kind, depth)?;
            }
        }
        Ok(())
    }

    fn byte(&mut self) -> Result<u8, Error> {
        let mut byte = [0];
        self.rest.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(damaged("an unterminated number".to_owned()))
    }

    fn skip(&mut self, count: u64) -> Result<(), Error> {
        let skipped = std::io::copy(&mut self.rest.by_ref().take(count), &mut std::io::sink())?;
        if skipped < count {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

fn damaged(what: String) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::check;

    #[test]
    fn a_structure_of_a_number_and_a_list_passes() {
        // Field 1: i32 5; field 2: list of two i32; end.
        let bytes = [0x15, 0x0a, 0x19, 0x25, 0x02, 0x04, 0x00];
        check(&bytes[..], 7).unwrap();
    }

    #[test]
    fn counts_beyond_the_bytes_are_refused_in_every_kind() {
        for kind in [1, 3, 5, 7, 8, 9, 12, 13] {
            // A list of 2^31 - 1 elements.
            let bytes = [0x19, 0xf0 | kind, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00];
            let error = check(&bytes[..], 8).unwrap_err().to_string();
            assert!(error.contains("2147483647"), "{kind}: {error}");
        }
    }

    /// Counts the calls that read from it.
    struct Counted<'a> {
        bytes: &'a [u8],
        calls: usize,
    }

    impl Read for Counted<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.calls += 1;
            self.bytes.read(into)
        }
    }

    #[test]
    fn a_list_beyond_the_bytes_is_refused_without_reading_on() {
        let bytes = [0x19, 0xf5, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00];
        let mut counted = Counted {
            bytes: &bytes,
            calls: 0,
        };
        assert!(check(&mut counted, 8).is_err());
        assert!(counted.calls <= bytes.len(), "{} calls", counted.calls);
    }

    #[test]
    fn many_lists_share_one_allowance() {
        // Ten lists of ninety booleans, which some decoders skip without reading a byte.
        let mut bytes = Vec::new();
        for _ in 0..10 {
            bytes.extend([0x19, 0xf1, 90]);
            bytes.extend([1; 90]);
        }
        bytes.push(0);
        let whole = bytes.len() as u64;
        check(&bytes[..], whole).unwrap();
        assert!(check(&bytes[..], whole - 1).is_err());
        bytes[2] = 127;
        assert!(check(&bytes[..], 300).is_err());
    }

    #[test]
    fn endless_nesting_is_refused() {
        assert!(check(&[0x1c; 1000][..], 1000).is_err());
        assert!(check(&[0x19; 1000][..], 1000).is_err());
    }
}
