//! A Parquet file whose structures are validated before they are decoded.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use super::thrift;

/// Length of the footer, and the magic word, at the end of a file.
const TAIL: u64 = 8;

/// A Parquet file, to be given to the `parquet` crate's readers in place of a [`File`]. A
/// hostile footer or page header cannot make them loop, or allocate memory for bytes that do not exist.
#[derive(Debug)]
pub struct ParquetFile {
    file: File,
    length: u64,
}

impl ParquetFile {
    /// Takes a file and validates its footer.
    ///
    /// # Errors
    /// When it cannot be read, or the footer is damaged; one too short to have a footer is left to
    /// the decoder.
    pub fn new(mut file: File) -> Result<Self> {
        let length = file.metadata()?.len();
        if let Some(end) = length.checked_sub(TAIL) {
            let mut tail = [0; 4];
            file.seek(SeekFrom::Start(end))?;
            file.read_exact(&mut tail)?;
            let footer = u64::from(u32::from_le_bytes(tail));
            let start = end.checked_sub(footer).ok_or_else(|| {
                ParquetError::General(format!("a footer of {footer} bytes in {length}"))
            })?;
            file.seek(SeekFrom::Start(start))?;
            thrift::check(BufReader::new(&file), footer)?;
        }
        Ok(Self { file, length })
    }
}

impl Length for ParquetFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for ParquetFile {
    type T = PageHeader;

    fn get_read(&self, start: u64) -> Result<PageHeader> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        let left = self.length.saturating_sub(start);
        Ok(PageHeader {
            reader: BufReader::new(file),
            unchecked: (left > TAIL).then_some(left),
            start,
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // The length comes from the file, and memory is taken for it before anything is read.
        if start.saturating_add(length as u64) > self.length {
            let all = self.length;
            return Err(ParquetError::EOF(format!(
                "{length} bytes at {start} of a file of {all}"
            )));
        }
        self.file.get_bytes(start, length)
    }
}

/// What the decoder reads page headers from.
#[derive(Debug)]
pub struct PageHeader {
    reader: BufReader<File>,
    start: u64,
    /// Bytes up to the end of the file, until the header has been validated.
    unchecked: Option<u64>,
}

impl Read for PageHeader {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        // Only now: the decoder also asks for readers that it never reads from.
        if let Some(left) = self.unchecked.take() {
            thrift::check(&mut self.reader, left)?;
            self.reader.seek(SeekFrom::Start(self.start))?;
        }
        match self.reader.read(into)? {
            // The decoder takes the end of the file for data when it skips.
            0 if !into.is_empty() => Err(ErrorKind::UnexpectedEof.into()),
            read => Ok(read),
        }
    }
}
