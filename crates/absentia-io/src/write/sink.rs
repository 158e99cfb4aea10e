//! Where text goes: a file that appears at the end, compressed if its name says so.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;

use crate::atomic::AtomicFile;
use crate::error::Error;

/// A text file being written.
pub(super) struct Sink {
    path: PathBuf,
    encoder: Encoder,
}

enum Encoder {
    Plain(AtomicFile),
    Gzip(GzEncoder<AtomicFile>),
    Zstd(zstd::stream::write::Encoder<'static, AtomicFile>),
}

impl Sink {
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let file = AtomicFile::create(path)?;
        let encoder = match path.extension().and_then(|e| e.to_str()) {
            Some("gz") => Encoder::Gzip(GzEncoder::new(file, flate2::Compression::default())),
            Some("zst" | "zstd") => Encoder::Zstd(zstd_encoder(file).map_err(Error::io(path))?),
            _ => Encoder::Plain(file),
        };
        Ok(Self {
            path: path.to_owned(),
            encoder,
        })
    }

    /// Lets `body` write everything, then puts the file in its place.
    pub(super) fn fill(
        mut self,
        body: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> Result<(), Error> {
        body(&mut self).map_err(Error::io(&self.path))?;
        let file = match self.encoder {
            Encoder::Plain(file) => Ok(file),
            Encoder::Gzip(encoder) => encoder.finish(),
            Encoder::Zstd(encoder) => encoder.finish(),
        };
        file.map_err(Error::io(&self.path))?.commit()
    }
}

/// An encoder that adds a checksum, without which damage would be read as other text.
fn zstd_encoder(file: AtomicFile) -> io::Result<zstd::stream::write::Encoder<'static, AtomicFile>> {
    let mut encoder = zstd::stream::write::Encoder::new(file, 0)?;
    encoder.include_checksum(true)?;
    Ok(encoder)
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.encoder {
            Encoder::Plain(file) => file.write(bytes),
            Encoder::Gzip(encoder) => encoder.write(bytes),
            Encoder::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.encoder {
            Encoder::Plain(file) => file.flush(),
            Encoder::Gzip(encoder) => encoder.flush(),
            Encoder::Zstd(encoder) => encoder.flush(),
        }
    }
}
