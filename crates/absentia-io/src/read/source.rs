//! Opens a text file, and decompresses gzip and zstd whatever its name is.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;

/// How much of the decoded text is inspected before reading starts.
const HEAD: usize = 64 << 10;

/// The decoded text of a file, whose start can be inspected.
pub(super) struct Source {
    path: Arc<Path>,
    reader: Box<dyn Read + Send>,
    head: Vec<u8>,
    head_taken: bool,
    compression: Option<&'static str>,
    consumed: Arc<AtomicU64>,
}

impl Source {
    pub(super) fn open(path: &Arc<Path>) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::io(path))?;
        Self::new(path, Box::new(file))
    }

    /// Takes the bytes of a file that is open.
    pub(super) fn new(path: &Arc<Path>, file: Box<dyn Read + Send>) -> Result<Self, Error> {
        let consumed = Arc::new(AtomicU64::new(0));
        let mut raw = Counted {
            inner: file,
            count: Arc::clone(&consumed),
        };
        let mut magic = Vec::with_capacity(4);
        raw.by_ref()
            .take(4)
            .read_to_end(&mut magic)
            .map_err(Error::io(path))?;
        let (compression, reader) = decoder(magic, raw).map_err(Error::io(path))?;
        let mut source = Self {
            path: Arc::clone(path),
            reader,
            head: Vec::new(),
            head_taken: false,
            compression,
            consumed,
        };
        let mut head = Vec::new();
        source.fill(&mut head, HEAD)?;
        source.head = head;
        Ok(source)
    }

    pub(super) fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// The first bytes of the text: all of it if it is short.
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Whether the head is the whole text.
    pub(super) fn is_short(&self) -> bool {
        self.head.len() < HEAD
    }

    /// Bytes of the file itself taken in so far.
    pub(super) fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }

    /// Adds text to `buffer` until it holds `target` bytes; returns whether the text has ended.
    pub(super) fn fill(&mut self, buffer: &mut Vec<u8>, target: usize) -> Result<bool, Error> {
        if !self.head_taken && !self.head.is_empty() {
            buffer.append(&mut self.head);
            self.head_taken = true;
        }
        let wanted = target.saturating_sub(buffer.len());
        buffer.reserve(wanted);
        let got = self
            .reader
            .by_ref()
            .take(wanted as u64)
            .read_to_end(buffer)
            .map_err(|e| self.broken(e))?;
        Ok(got < wanted)
    }

    fn broken(&self, error: io::Error) -> Error {
        match self.compression {
            Some(format) => Error::corrupt(&self.path, format, error),
            None => Error::Io {
                path: self.path.to_path_buf(),
                source: error,
            },
        }
    }
}

type Decoder = (Option<&'static str>, Box<dyn Read + Send>);

fn decoder(magic: Vec<u8>, rest: Counted) -> io::Result<Decoder> {
    let kind = compression(&magic);
    let raw = Cursor::new(magic).chain(rest);
    Ok(match kind {
        Some("gzip") => (kind, Box::new(flate2::read::MultiGzDecoder::new(raw))),
        Some(_) => (kind, Box::new(zstd::stream::read::Decoder::new(raw)?)),
        None => (None, Box::new(raw)),
    })
}

fn compression(magic: &[u8]) -> Option<&'static str> {
    match magic {
        [0x1f, 0x8b, ..] => Some("gzip"),
        [0x28, 0xb5, 0x2f, 0xfd] => Some("zstd"),
        _ => None,
    }
}

/// Counts the bytes that pass, for progress in terms of the file's size.
struct Counted {
    inner: Box<dyn Read + Send>,
    count: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.count.fetch_add(got as u64, Ordering::Relaxed);
        Ok(got)
    }
}
