//! The header of a `.npy` file: a Python dictionary that is read without Python.

use std::io::Read;
use std::path::Path;

use crate::error::{Error, shorten};

const FORMAT: &str = "npy array";
const MAGIC: &[u8] = b"\x93NUMPY";
/// Real headers have about a hundred bytes.
const LONGEST: usize = 64 << 10;

/// The type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ElementType {
    pub(super) kind: u8,
    pub(super) width: usize,
    pub(super) big_endian: bool,
}

/// What precedes the elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NpyHeader {
    pub(super) element: ElementType,
    pub(super) fortran: bool,
    pub(super) shape: Vec<usize>,
    /// Bytes up to the first element.
    pub(super) length: u64,
}

impl NpyHeader {
    pub(super) fn read(reader: &mut impl Read, path: &Path) -> Result<Self, Error> {
        let start: [u8; 8] = bytes(reader, path)?;
        if !start.starts_with(MAGIC) {
            return Err(Error::corrupt(
                path,
                FORMAT,
                "it does not start with \\x93NUMPY",
            ));
        }
        let (length, before) = match start[6] {
            1 => (usize::from(u16::from_le_bytes(bytes(reader, path)?)), 10),
            2 | 3 => (u32::from_le_bytes(bytes(reader, path)?) as usize, 12),
            version => {
                return Err(Error::corrupt(
                    path,
                    FORMAT,
                    format!("unknown version {version}"),
                ));
            }
        };
        if length > LONGEST {
            return Err(Error::corrupt(
                path,
                FORMAT,
                format!("a header of {length} bytes"),
            ));
        }
        let mut text = vec![0; length];
        reader
            .read_exact(&mut text)
            .map_err(|e| Error::corrupt(path, FORMAT, e))?;
        Self::parse(&text, (before + length) as u64, path)
    }

    fn parse(text: &[u8], length: u64, path: &Path) -> Result<Self, Error> {
        let wrong = || {
            Error::corrupt(
                path,
                FORMAT,
                format!("unreadable header \"{}\"", shorten(text)),
            )
        };
        let text = std::str::from_utf8(text).map_err(|_| wrong())?;
        let descr = value_of(text, "descr").ok_or_else(wrong)?;
        let fortran = value_of(text, "fortran_order").ok_or_else(wrong)?;
        let shape = value_of(text, "shape").and_then(tuple).ok_or_else(wrong)?;
        let fortran = match word(fortran) {
            "True" => true,
            "False" => false,
            _ => return Err(wrong()),
        };
        Ok(Self {
            element: ElementType::parse(descr, path)?,
            fortran,
            shape,
            length,
        })
    }

    /// How many elements, and how many bytes they take; `None` if that overflows.
    pub(super) fn size(&self) -> Option<(usize, u64)> {
        let count = self
            .shape
            .iter()
            .try_fold(1_usize, |n, &d| n.checked_mul(d))?;
        Some((
            count,
            (count as u64).checked_mul(self.element.width as u64)?,
        ))
    }
}

impl ElementType {
    fn parse(descr: &str, path: &Path) -> Result<Self, Error> {
        let refuse = |feature: String| {
            let remedy = "save plain numbers, such as float32 or int32";
            Err(Error::Unsupported {
                path: path.to_owned(),
                feature,
                remedy,
            })
        };
        let Some(name) = quoted(descr) else {
            return refuse("a structured npy array".to_owned());
        };
        let (big_endian, name) = match name.as_bytes() {
            [b'>', ..] => (true, &name[1..]),
            [b'<' | b'|' | b'=', ..] => (false, &name[1..]),
            _ => (false, name),
        };
        if name.starts_with('O') {
            return refuse("an npy array of pickled Python objects".to_owned());
        }
        match (
            name.as_bytes().first(),
            name.get(1..).and_then(|n| n.parse::<usize>().ok()),
        ) {
            (Some(b'f'), Some(width @ (4 | 8)))
            | (Some(b'i' | b'u'), Some(width @ (1 | 2 | 4 | 8)))
            | (Some(b'b'), Some(width @ 1))
            | (Some(b'S'), Some(width @ 0..=4096)) => Ok(Self {
                kind: name.as_bytes()[0],
                width,
                big_endian,
            }),
            (Some(b'U'), Some(length @ 0..=1024)) => Ok(Self {
                kind: b'U',
                width: 4 * length,
                big_endian,
            }),
            _ => refuse(format!(
                "an npy array of type \"{}\"",
                shorten(name.as_bytes())
            )),
        }
    }
}

fn bytes<const N: usize>(reader: &mut impl Read, path: &Path) -> Result<[u8; N], Error> {
    let mut buffer = [0; N];
    reader
        .read_exact(&mut buffer)
        .map_err(|e| Error::corrupt(path, FORMAT, e))?;
    Ok(buffer)
}

/// The text that follows a key of the dictionary.
fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = text
        .split_once(&format!("'{key}'"))
        .or_else(|| text.split_once(&format!("\"{key}\"")))?;
    rest.trim_start().strip_prefix(':').map(str::trim_start)
}

fn word(text: &str) -> &str {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .next()
        .unwrap_or_default()
}

fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote).map(|(inside, _)| inside)
}

fn tuple(text: &str) -> Option<Vec<usize>> {
    let (inside, _) = text.strip_prefix('(')?.split_once(')')?;
    let inside = inside.trim();
    if inside.is_empty() {
        return Some(Vec::new());
    }
    inside
        .strip_suffix(',')
        .unwrap_or(inside)
        .split(',')
        .map(|n| n.trim().trim_end_matches('L').parse().ok())
        .collect()
}
