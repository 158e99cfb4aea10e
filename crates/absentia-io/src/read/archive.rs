//! Zip archives of one file, as many data sets are published.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use zip::{CompressionMethod, ZipArchive};

use crate::error::Error;

const FORMAT: &str = "zip archive";
const MAGIC: [u8; 4] = *b"PK\x03\x04";

/// The only file of an archive, decompressed as it is read.
pub(super) struct Member {
    /// Its name in the archive, whose extension says the format.
    pub(super) name: PathBuf,
    pub(super) reader: Box<dyn Read + Send>,
}

/// Where the bytes of a member are in the archive, and what they must become.
struct Place {
    method: CompressionMethod,
    start: u64,
    stored: u64,
    length: u64,
    crc: u32,
}

/// The file in an archive that has only one; nothing for files that are no archives, and for archives
/// of arrays, which are matrices.
pub(super) fn only_member(path: &Path, mut file: File) -> Result<Option<Member>, Error> {
    let is_matrix = has_extension(path, "npz");
    if is_matrix || !is_archive(&mut file).map_err(Error::io(path))? {
        return Ok(None);
    }
    let damaged = |error| Error::corrupt(path, FORMAT, error);
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(damaged)?;
    let names = file_names(&archive);
    let is_array = |(_, name): &(usize, String)| has_extension(Path::new(name), "npy");
    if names.iter().all(is_array) && !names.is_empty() {
        return Ok(None);
    }
    if names.iter().any(|(_, name)| name == "xl/workbook.xml") {
        return Err(Error::Unsupported {
            path: path.to_owned(),
            feature: "an Excel workbook".to_owned(),
            remedy: "save the sheet of interactions as CSV",
        });
    }
    let [(at, name)] = &names[..] else {
        return Err(Error::SeveralFiles {
            path: path.to_owned(),
            names: names.into_iter().map(|(_, name)| name).collect(),
        });
    };
    let place = place(&mut archive, *at, path)?;
    let mut file = archive.into_inner().into_inner();
    file.seek(SeekFrom::Start(place.start))
        .map_err(Error::io(path))?;
    let stored = file.take(place.stored);
    let inner: Box<dyn Read + Send> = if place.method == CompressionMethod::Stored {
        Box::new(stored)
    } else {
        Box::new(flate2::read::DeflateDecoder::new(stored))
    };
    let reader = Checked {
        inner,
        crc: flate2::Crc::new(),
        length: place.length,
        expected: place.crc,
    };
    Ok(Some(Member {
        name: PathBuf::from(name),
        reader: Box::new(reader),
    }))
}

/// Whether the first member of an archive, of which these are the first bytes, is an array.
pub(super) fn starts_with_array(head: &[u8]) -> bool {
    // In front of a member are the length of its name, and 30 bytes in all.
    let name = head.get(26..28).and_then(|length| {
        let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
        head.get(30..30 + length)
    });
    name.is_some_and(|name| name.ends_with(b".npy"))
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    let found = path.extension();
    found.is_some_and(|found| found.eq_ignore_ascii_case(wanted))
}

/// Whether a regular file starts as archives do; it is then at its start again.
fn is_archive(file: &mut File) -> io::Result<bool> {
    if !file.metadata()?.is_file() {
        return Ok(false);
    }
    let mut start = Vec::with_capacity(MAGIC.len());
    file.by_ref()
        .take(MAGIC.len() as u64)
        .read_to_end(&mut start)?;
    file.rewind()?;
    Ok(start == MAGIC)
}

/// The files of an archive with their places in its index, without folders and what Macs add.
fn file_names<R>(archive: &ZipArchive<R>) -> Vec<(usize, String)>
where
    R: Read + Seek,
{
    let names = archive
        .file_names_raw()
        .map(|name| String::from_utf8_lossy(name).into_owned());
    names
        .enumerate()
        .filter(|(_, name)| !name.ends_with('/') && !name.starts_with("__MACOSX/"))
        .collect()
}

fn place(
    archive: &mut ZipArchive<BufReader<File>>,
    at: usize,
    path: &Path,
) -> Result<Place, Error> {
    let damaged = |error: zip::result::ZipError| Error::corrupt(path, FORMAT, error);
    let unsupported = |feature: String| Error::Unsupported {
        path: path.to_owned(),
        feature,
        remedy: "extract the file and read that",
    };
    let entry = archive.by_index_raw(at).map_err(damaged)?;
    if entry.encrypted() {
        return Err(unsupported("an encrypted archive".to_owned()));
    }
    let method = entry.compression();
    if !matches!(
        method,
        CompressionMethod::Stored | CompressionMethod::Deflated
    ) {
        return Err(unsupported(format!(
            "compression by {method} in a zip archive"
        )));
    }
    let start = entry
        .data_start()
        .ok_or_else(|| Error::corrupt(path, FORMAT, "the start of its file is not known"))?;
    Ok(Place {
        method,
        start,
        stored: entry.compressed_size(),
        length: entry.size(),
        crc: entry.crc32(),
    })
}

/// Compares length and checksum with those of the archive once everything has been read.
struct Checked {
    inner: Box<dyn Read + Send>,
    crc: flate2::Crc,
    length: u64,
    expected: u32,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.crc.update(&buffer[..got]);
        let is_end = got == 0 && !buffer.is_empty();
        // The checksum counts the length modulo 2³².
        let fits = self.crc.amount() == self.length as u32 && self.crc.sum() == self.expected;
        if is_end && !fits {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "length or checksum differ from those of the archive",
            ));
        }
        Ok(got)
    }
}
