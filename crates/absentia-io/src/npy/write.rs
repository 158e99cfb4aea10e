//! Writes `.npy` arrays in C order, little-endian.

use std::io::{self, Write};
use std::path::Path;

use crate::atomic::AtomicFile;
use crate::error::Error;

/// A number that `.npy` files can hold.
pub trait Element: Copy {
    /// The type's name in the header.
    const DESCR: &'static str;

    /// Appends the little-endian bytes.
    fn append(self, bytes: &mut Vec<u8>);
}

macro_rules! element {
    ($($type:ty => $descr:literal),+) => {
        $(impl Element for $type {
            const DESCR: &'static str = $descr;

            fn append(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        })+
    };
}

element!(f32 => "<f4", f64 => "<f8", i32 => "<i4", i64 => "<i8", u32 => "<u4", u64 => "<u8");

impl Element for bool {
    const DESCR: &'static str = "|b1";

    fn append(self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(self));
    }
}

/// Writes an array; the product of `shape` must be the number of elements.
///
/// # Errors
/// The writer refuses, or the shape does not fit the elements (`InvalidInput`).
pub fn write<T: Element>(writer: &mut impl Write, shape: &[usize], data: &[T]) -> io::Result<()> {
    if shape.iter().try_fold(1_usize, |n, &d| n.checked_mul(d)) != Some(data.len()) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    writer.write_all(&header(T::DESCR, shape))?;
    let mut bytes = Vec::new();
    for part in data.chunks(32 << 10) {
        bytes.clear();
        for x in part {
            x.append(&mut bytes);
        }
        writer.write_all(&bytes)?;
    }
    Ok(())
}

/// Writes one byte string, as scipy stores the form of a matrix.
pub(crate) fn write_bytes(writer: &mut impl Write, text: &[u8]) -> io::Result<()> {
    writer.write_all(&header(&format!("|S{}", text.len()), &[]))?;
    writer.write_all(text)
}

/// Writes an array to a file, which is replaced only once the array is complete.
///
/// # Errors
/// The file cannot be written, or the shape does not fit the elements.
pub fn write_file<T: Element>(path: &Path, shape: &[usize], data: &[T]) -> Result<(), Error> {
    let mut file = AtomicFile::create(path)?;
    write(&mut file, shape, data).map_err(Error::io(path))?;
    file.commit()
}

/// The magic, version 1.0, and the dictionary padded so that elements start at a multiple of 64.
pub(crate) fn header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let sizes: Vec<String> = shape.iter().map(|d| format!("{d},")).collect();
    let sizes = sizes.concat();
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let padding = 63 - (10 + text.len()) % 64;
    text.push_str(&" ".repeat(padding));
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}
