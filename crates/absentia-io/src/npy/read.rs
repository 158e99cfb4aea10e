//! Reads `.npy` arrays.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use super::header::{ElementType, NpyHeader};
use super::{Array, Data};
use crate::error::Error;

const FORMAT: &str = "npy array";
const STEP: usize = 256 << 10;

/// Reads the array in a file.
///
/// # Errors
/// The file cannot be read, is damaged, or holds something other than numbers or strings.
pub fn read_file(path: &Path) -> Result<Array, Error> {
    Error::refuse_folder(path)?;
    let file = File::open(path).map_err(Error::io(path))?;
    let length = file.metadata().map_err(Error::io(path))?.len();
    read(&mut BufReader::new(file), length, path)
}

/// Reads an array of `available` bytes in all, header included, and the end that must follow; `path`
/// serves error messages.
///
/// # Errors
/// There are too few or too many bytes, the header does not fit them, or the array holds something other than numbers or strings.
pub fn read(reader: &mut impl Read, available: u64, path: &Path) -> Result<Array, Error> {
    let header = NpyHeader::read(reader, path)?;
    let Some((count, bytes)) = header.size() else {
        return Err(Error::corrupt(
            path,
            FORMAT,
            format!("impossible shape {:?}", header.shape),
        ));
    };
    if header.length.checked_add(bytes) != Some(available) {
        let there = available.saturating_sub(header.length);
        return Err(Error::corrupt(
            path,
            FORMAT,
            format!("{bytes} bytes of elements declared, {there} there"),
        ));
    }
    let data =
        elements(reader, header.element, count).map_err(|e| Error::corrupt(path, FORMAT, e))?;
    expect_end(reader).map_err(|e| Error::corrupt(path, FORMAT, e))?;
    let data = if header.fortran {
        c_order(data, &header.shape, path)?
    } else {
        data
    };
    Ok(Array {
        shape: header.shape,
        data,
    })
}

/// Reads the end: a member of an archive is checked against its CRC only there.
fn expect_end(reader: &mut impl Read) -> std::io::Result<()> {
    let mut beyond = Vec::new();
    match reader.take(1).read_to_end(&mut beyond)? {
        0 => Ok(()),
        _ => Err(std::io::Error::other("there are bytes after its elements")),
    }
}

/// Reads a number of either byte order.
macro_rules! number {
    ($type:ty, $element:expr) => {
        if $element.big_endian {
            |b: &[u8]| <$type>::from_be_bytes(fixed(b))
        } else {
            |b: &[u8]| <$type>::from_le_bytes(fixed(b))
        }
    };
}

fn elements(reader: &mut impl Read, element: ElementType, count: usize) -> std::io::Result<Data> {
    let ElementType { kind, width, .. } = element;
    Ok(match (kind, width) {
        (b'f', 4) => Data::F32(decode(reader, count, 4, number!(f32, element))?),
        (b'f', _) => Data::F64(decode(reader, count, 8, number!(f64, element))?),
        (b'i', 1) => Data::I32(decode(reader, count, 1, |b| i32::from(b[0].cast_signed()))?),
        (b'i', 2) => Data::I32(widen(decode(reader, count, 2, number!(i16, element))?)),
        (b'i', 4) => Data::I32(decode(reader, count, 4, number!(i32, element))?),
        (b'i', _) => Data::I64(decode(reader, count, 8, number!(i64, element))?),
        (b'u', 1) => Data::U32(decode(reader, count, 1, |b| u32::from(b[0]))?),
        (b'u', 2) => Data::U32(widen(decode(reader, count, 2, number!(u16, element))?)),
        (b'u', 4) => Data::U32(decode(reader, count, 4, number!(u32, element))?),
        (b'u', _) => Data::U64(decode(reader, count, 8, number!(u64, element))?),
        (b'b', _) => Data::Bool(decode(reader, count, 1, |b| b[0] != 0)?),
        (b'S', width) => Data::Text(decode(reader, count, width, byte_string)?),
        (_, width) => Data::Text(decode(reader, count, width, unicode(element.big_endian))?),
    })
}

/// Decodes elements as their bytes arrive, so that memory follows the data and not the header.
fn decode<T>(
    reader: &mut impl Read,
    count: usize,
    width: usize,
    mut one: impl FnMut(&[u8]) -> T,
) -> std::io::Result<Vec<T>> {
    if width == 0 {
        // Empty strings take no bytes, so a header could ask for any number of them.
        return if count <= STEP {
            Ok((0..count).map(|_| one(&[])).collect())
        } else {
            Err(std::io::ErrorKind::InvalidData.into())
        };
    }
    let mut data = Vec::new();
    let mut buffer = vec![0; (STEP / width).clamp(1, count.max(1)) * width];
    let mut left = count;
    while left > 0 {
        let now = left.min(buffer.len() / width);
        let part = &mut buffer[..now * width];
        reader.read_exact(part)?;
        if data.len() == data.capacity() {
            // Doubling, but never past what is declared.
            data.reserve_exact(left.min(data.len().max(now)));
        }
        data.extend(part.chunks_exact(width).map(&mut one));
        left -= now;
    }
    Ok(data)
}

fn widen<A: Into<B>, B>(data: Vec<A>) -> Vec<B> {
    data.into_iter().map(Into::into).collect()
}

/// The first `N` bytes; callers pass exactly that many.
fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[..N]);
    array
}

fn byte_string(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .trim_end_matches('\0')
        .to_owned()
}

fn unicode(big_endian: bool) -> impl FnMut(&[u8]) -> String {
    move |bytes| {
        let code = |b: &[u8]| {
            if big_endian {
                u32::from_be_bytes(fixed(b))
            } else {
                u32::from_le_bytes(fixed(b))
            }
        };
        let text: String = bytes
            .chunks_exact(4)
            .map(|b| char::from_u32(code(b)).unwrap_or('\u{fffd}'))
            .collect();
        text.trim_end_matches('\0').to_owned()
    }
}

/// Turns Fortran order into C order; with one dimension or none they are the same.
fn c_order(data: Data, shape: &[usize], path: &Path) -> Result<Data, Error> {
    let (rows, columns) = match *shape {
        [] | [_] => return Ok(data),
        [rows, columns] => (rows, columns),
        _ => {
            let feature = format!("a Fortran-order npy array of {} dimensions", shape.len());
            return Err(Error::Unsupported {
                path: path.to_owned(),
                feature,
                remedy: "save it in C order",
            });
        }
    };
    Ok(match data {
        Data::F32(data) => Data::F32(transpose(&data, rows, columns)),
        Data::F64(data) => Data::F64(transpose(&data, rows, columns)),
        Data::I32(data) => Data::I32(transpose(&data, rows, columns)),
        Data::I64(data) => Data::I64(transpose(&data, rows, columns)),
        Data::U32(data) => Data::U32(transpose(&data, rows, columns)),
        Data::U64(data) => Data::U64(transpose(&data, rows, columns)),
        Data::Bool(data) => Data::Bool(transpose(&data, rows, columns)),
        Data::Text(data) => Data::Text(transpose(&data, rows, columns)),
    })
}

fn transpose<T: Clone>(data: &[T], rows: usize, columns: usize) -> Vec<T> {
    (0..rows)
        .flat_map(|r| (0..columns).map(move |c| data[c * rows + r].clone()))
        .collect()
}
