//! Opens a text file, and decompresses it whatever its name is: gzip, zstd, bzip2, xz, and zip archives of
//! one file.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::archive;
use crate::error::Error;
use crate::standard::is_standard;

/// How much of the decoded text is inspected before reading starts.
const HEAD: usize = 64 << 10;

/// Bytes at the start that say how a file is compressed.
const MAGIC: usize = 6;

/// The decoded text of a file, whose start can be inspected.
pub(super) struct Source {
    path: Arc<Path>,
    reader: Box<dyn Read + Send>,
    head: Vec<u8>,
    head_taken: bool,
    compression: Option<&'static str>,
    consumed: Arc<AtomicU64>,
    /// The name of the file in an archive.
    member: Option<PathBuf>,
    /// Whether lines end in a carriage return alone, as old Macs and some spreadsheets write them.
    has_old_line_ends: bool,
}

impl Source {
    /// Opens a file, or standard input.
    pub(super) fn open(path: &Arc<Path>) -> Result<Self, Error> {
        if is_standard(path) {
            return Self::new(path, Box::new(io::stdin()));
        }
        let open = || File::open(path).map_err(Error::io(path));
        match archive::only_member(path, open()?)? {
            Some(member) => {
                let source = Self::new(path, member.reader)?;
                Ok(Self {
                    member: Some(member.name),
                    compression: source.compression.or(Some("zip archive")),
                    ..source
                })
            }
            None => Self::new(path, Box::new(open()?)),
        }
    }

    /// Takes the bytes of a file that is open.
    pub(super) fn new(path: &Arc<Path>, file: Box<dyn Read + Send>) -> Result<Self, Error> {
        let consumed = Arc::new(AtomicU64::new(0));
        let mut raw = CountingReader {
            inner: file,
            count: Arc::clone(&consumed),
        };
        let mut magic = Vec::with_capacity(MAGIC);
        raw.by_ref()
            .take(MAGIC as u64)
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
            member: None,
            has_old_line_ends: false,
        };
        let mut head = Vec::new();
        source.fill(&mut head, HEAD)?;
        source.has_old_line_ends = memchr::memchr2(0, b'\n', &head).is_none();
        source.end_lines(&mut head);
        source.head = head;
        Ok(source)
    }

    pub(super) fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// The name that says the format: that of the file, or of the one in the archive.
    pub(super) fn name(&self) -> &Path {
        self.member.as_deref().unwrap_or(&self.path)
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
        let before = buffer.len();
        let got = self
            .reader
            .by_ref()
            .take(wanted as u64)
            .read_to_end(buffer)
            .map_err(|e| self.broken(e))?;
        self.end_lines(&mut buffer[before..]);
        Ok(got < wanted)
    }

    /// Ends lines by line feeds, where carriage returns alone do.
    fn end_lines(&self, text: &mut [u8]) {
        if !self.has_old_line_ends {
            return;
        }
        for byte in text.iter_mut().filter(|byte| **byte == b'\r') {
            *byte = b'\n';
        }
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

fn decoder(magic: Vec<u8>, rest: CountingReader) -> io::Result<Decoder> {
    let kind = compression(&magic);
    let raw = Cursor::new(magic).chain(rest);
    Ok(match kind {
        Some("gzip") => (kind, Box::new(flate2::read::MultiGzDecoder::new(raw))),
        Some("bzip2") => (kind, Box::new(bzip2::read::MultiBzDecoder::new(raw))),
        Some("xz") => (kind, Box::new(lzma_rust2::XzReader::new(raw, true))),
        Some(_) => (kind, Box::new(zstd::stream::read::Decoder::new(raw)?)),
        None => (None, Box::new(raw)),
    })
}

fn compression(magic: &[u8]) -> Option<&'static str> {
    match magic {
        [0x1f, 0x8b, ..] => Some("gzip"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("zstd"),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, 0x41 | 0x72] => Some("bzip2"),
        [0xfd, b'7', b'z', b'X', b'Z', 0] => Some("xz"),
        _ => None,
    }
}

/// Counts the bytes that pass, for progress in terms of the file's size.
struct CountingReader {
    inner: Box<dyn Read + Send>,
    count: Arc<AtomicU64>,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.count.fetch_add(got as u64, Ordering::Relaxed);
        Ok(got)
    }
}
