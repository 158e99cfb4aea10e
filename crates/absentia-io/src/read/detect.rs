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
    if is_utf16(head) {
        return Err(Error::Encoding {
            path: source.path().to_path_buf(),
            encoding: "UTF-16",
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
