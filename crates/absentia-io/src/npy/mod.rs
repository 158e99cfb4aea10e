//! `NumPy` `.npy` arrays: the only binary array format the readers and exporters need.
//!
//! Headers are checked against the bytes that are really there before anything is allocated, and arrays of
//! Python objects are rejected, never unpickled.

mod header;
mod read;
mod write;

pub use read::{read, read_file};
pub use write::{Element, write, write_file};
pub(crate) use write::{header, write_bytes};

/// The numbers of an array, in C order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Data {
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
    /// Signed integers of up to 32 bits.
    I32(Vec<i32>),
    /// Signed integers of 64 bits.
    I64(Vec<i64>),
    /// Unsigned integers of up to 32 bits.
    U32(Vec<u32>),
    /// Unsigned integers of 64 bits.
    U64(Vec<u64>),
    /// Truth values.
    Bool(Vec<bool>),
    /// Byte or Unicode strings, without the padding.
    Text(Vec<String>),
}

impl Data {
    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::F32(data) => data.len(),
            Self::F64(data) => data.len(),
            Self::I32(data) => data.len(),
            Self::I64(data) => data.len(),
            Self::U32(data) => data.len(),
            Self::U64(data) => data.len(),
            Self::Bool(data) => data.len(),
            Self::Text(data) => data.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements rounded to single precision; `None` for strings.
    #[must_use]
    pub fn into_f32(self) -> Option<Vec<f32>> {
        Some(match self {
            Self::F32(data) => data,
            Self::F64(data) => data.into_iter().map(|x| x as f32).collect(),
            Self::I32(data) => data.into_iter().map(|x| x as f32).collect(),
            Self::I64(data) => data.into_iter().map(|x| x as f32).collect(),
            Self::U32(data) => data.into_iter().map(|x| x as f32).collect(),
            Self::U64(data) => data.into_iter().map(|x| x as f32).collect(),
            Self::Bool(data) => data.into_iter().map(|x| f32::from(u8::from(x))).collect(),
            Self::Text(_) => return None,
        })
    }

    /// The elements as 64-bit integers; `None` unless they are integers that fit.
    #[must_use]
    pub fn into_i64(self) -> Option<Vec<i64>> {
        match self {
            Self::I32(data) => Some(data.into_iter().map(i64::from).collect()),
            Self::I64(data) => Some(data),
            Self::U32(data) => Some(data.into_iter().map(i64::from).collect()),
            Self::U64(data) => data.into_iter().map(|x| i64::try_from(x).ok()).collect(),
            _ => None,
        }
    }
}

/// An array of any number of dimensions.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The length of each dimension.
    pub shape: Vec<usize>,
    /// The elements in C order, whatever the order in the file.
    pub data: Data,
}

#[cfg(test)]
mod tests;
