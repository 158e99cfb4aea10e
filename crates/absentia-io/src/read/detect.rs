//! Tells a file's format by its extension, then by its first bytes.

use super::source::Source;
use crate::error::Error;
use crate::format::Format;

/// The format of a file, which the caller's choice overrides.
pub(super) fn format_of(choice: Option<Format>, source: &Source) -> Format {
    let head = source.head();
    let format = choice
        .or_else(|| Format::from_path(source.name()))
        .or_else(|| by_content(head))
        .unwrap_or(Format::Delimited);
    match format {
        Format::ArrowFile | Format::ArrowStream if head.starts_with(b"ARROW1") => Format::ArrowFile,
        Format::ArrowFile => Format::ArrowStream,
        other => other,
    }
}

/// The format whose magic bytes are at the start.
pub(super) fn by_content(head: &[u8]) -> Option<Format> {
    let text = head
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(head)
        .trim_ascii_start();
    match head {
        [b'P', b'A', b'R', b'1', ..] => Some(Format::Parquet),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some(Format::ArrowFile),
        [0xff, 0xff, 0xff, 0xff, ..] => Some(Format::ArrowStream),
        [b'P', b'K', 3, 4, ..] => Some(Format::Npz),
        _ if text.starts_with(b"%%MatrixMarket") => Some(Format::MatrixMarket),
        _ if text.starts_with(b"{") => Some(Format::JsonLines),
        _ => None,
    }
}

/// Rejects binary data where text is expected.
pub(super) fn check_text(source: &Source) -> Result<(), Error> {
    let head = source.head();
    if head.is_empty() {
        return Err(Error::Empty {
            path: source.path().to_path_buf(),
        });
    }
    if let Some(encoding) = wide_encoding(head) {
        return Err(Error::Encoding {
            path: source.path().to_path_buf(),
            encoding,
        });
    }
    if let Some((feature, remedy)) = container(head).or_else(|| page(head)) {
        return Err(Error::Unsupported {
            path: source.path().to_path_buf(),
            feature: feature.to_owned(),
            remedy,
        });
    }
    if memchr::memchr(0, head).is_some() || is_mostly_invalid(head) {
        let hint = by_content(head).filter(|format| !format.is_text());
        return Err(Error::Binary {
            path: source.path().to_path_buf(),
            hint,
        });
    }
    Ok(())
}

/// Whether more than a tenth of the text is not UTF-8. A few stray bytes are reported with their row.
fn is_mostly_invalid(head: &[u8]) -> bool {
    let invalid: usize = head.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    invalid * 10 > head.len()
}

/// What to do with files that hold tables among other things.
const EXTRACT: &str = "extract the file of interactions and name that";
const SAVE_AS_CSV: &str = "save the table of interactions as CSV, or as parquet";

/// What a file is that holds tables but is none, by the bytes it starts with, and what to do about it.
fn container(head: &[u8]) -> Option<(&'static str, &'static str)> {
    const STARTS: [(&[u8], &str, &str); 8] = [
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive", EXTRACT),
        (b"Rar!\x1a\x07", "a RAR archive", EXTRACT),
        (b"PK\x05\x06", "a zip archive without files", EXTRACT),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
            "an Office document",
            SAVE_AS_CSV,
        ),
        (b"SQLite format 3\0", "an SQLite database", SAVE_AS_CSV),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file", SAVE_AS_CSV),
        (b"\x80\x04\x95", "a Python pickle", SAVE_AS_CSV),
        (b"\x93NUMPY", "an array of NumPy", SAVE_AS_CSV),
    ];
    if head.get(257..262) == Some(b"ustar") {
        return Some(("a tar archive", EXTRACT));
    }
    let found = STARTS.iter().find(|(start, ..)| head.starts_with(start));
    found.map(|&(_, name, remedy)| (name, remedy))
}

/// A page of the web, which a server sends instead of a file that it does not have.
fn page(head: &[u8]) -> Option<(&'static str, &'static str)> {
    const STARTS: [&[u8]; 2] = [b"<!doctype html", b"<html"];
    let text = head
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(head)
        .trim_ascii_start();
    let begins = |start: &[u8]| {
        let own = text.get(..start.len());
        own.is_some_and(|own| own.eq_ignore_ascii_case(start))
    };
    let is_page = STARTS.into_iter().any(begins);
    is_page.then_some(("an HTML page", "download the file itself"))
}

/// The encoding of a text that takes two or four bytes for each letter.
fn wide_encoding(head: &[u8]) -> Option<&'static str> {
    let marks_32: [&[u8]; 2] = [b"\xff\xfe\0\0", b"\0\0\xfe\xff"];
    if marks_32.iter().any(|mark| head.starts_with(mark)) {
        return Some("UTF-32");
    }
    is_utf16(head).then_some("UTF-16")
}

/// Whether a text is UTF-16: it has the mark of it, or every other byte of its start is zero.
fn is_utf16(head: &[u8]) -> bool {
    const LOOKED_AT: usize = 512;
    let start = &head[..head.len().min(LOOKED_AT) & !1];
    let zeros = |from: usize| {
        let bytes = start.iter().skip(from).step_by(2);
        bytes.filter(|byte| **byte == 0).count()
    };
    let (even, odd, pairs) = (zeros(0), zeros(1), start.len() / 2);
    let alternates = pairs > 1 && even.min(odd) == 0 && 10 * even.max(odd) > 8 * pairs;
    head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") || alternates
}
