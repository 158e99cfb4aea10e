//! Arrays on their way into a file.

use std::borrow::Cow;
use std::io::{self, Write};

use absentia::Dense;
use absentia::model::Factors;
use bytemuck::Pod;
use safetensors::Dtype;

// Tensors are little-endian by definition, and numbers are written and mapped as they are in memory.
const _: () = assert!(cfg!(target_endian = "little"));

/// A number type that tensors are made of.
pub(super) trait Stored: Pod + Send + Sync {
    const DTYPE: Dtype;
}

impl Stored for f32 {
    const DTYPE: Dtype = Dtype::F32;
}
impl Stored for f64 {
    const DTYPE: Dtype = Dtype::F64;
}
impl Stored for u8 {
    const DTYPE: Dtype = Dtype::U8;
}
impl Stored for u32 {
    const DTYPE: Dtype = Dtype::U32;
}
impl Stored for u64 {
    const DTYPE: Dtype = Dtype::U64;
}
impl Stored for i64 {
    const DTYPE: Dtype = Dtype::I64;
}

/// Rows of floats that need not be contiguous in memory.
#[derive(Clone, Copy)]
pub(super) struct TensorRows<'a> {
    values: &'a [f32],
    count: usize,
    cols: usize,
    stride: usize,
}

impl<'a> From<&'a Factors> for TensorRows<'a> {
    fn from(factors: &'a Factors) -> Self {
        Self {
            values: factors.as_slice(),
            count: factors.rows(),
            cols: factors.cols(),
            stride: factors.stride(),
        }
    }
}

impl<'a> From<&'a Dense> for TensorRows<'a> {
    fn from(dense: &'a Dense) -> Self {
        Self {
            values: dense.as_slice(),
            count: dense.rows(),
            cols: dense.cols(),
            stride: dense.stride(),
        }
    }
}

impl TensorRows<'_> {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        if self.stride == self.cols {
            return out.write_all(bytemuck::cast_slice(self.values));
        }
        for row in 0..self.count {
            let start = row * self.stride;
            let row = &self.values[start..start + self.cols];
            out.write_all(bytemuck::cast_slice(row))?;
        }
        Ok(())
    }
}

enum TensorSource<'a> {
    Bytes(Cow<'a, [u8]>),
    TensorRows(TensorRows<'a>),
}

/// A named array to be written.
pub(super) struct Tensor<'a> {
    pub(super) name: Cow<'static, str>,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    source: TensorSource<'a>,
}

impl<'a> Tensor<'a> {
    pub(super) fn rows(
        name: impl Into<Cow<'static, str>>,
        rows: impl Into<TensorRows<'a>>,
    ) -> Self {
        let rows = rows.into();
        Self {
            name: name.into(),
            dtype: Dtype::F32,
            shape: vec![rows.count, rows.cols],
            source: TensorSource::TensorRows(rows),
        }
    }

    pub(super) fn list<T: Stored>(
        name: impl Into<Cow<'static, str>>,
        values: impl Into<Cow<'a, [T]>>,
    ) -> Self {
        let values = values.into();
        let shape = vec![values.len()];
        let bytes = match values {
            Cow::Borrowed(values) => Cow::Borrowed(bytemuck::cast_slice(values)),
            Cow::Owned(values) => Cow::Owned(bytemuck::cast_slice(&values).to_vec()),
        };
        Self {
            name: name.into(),
            dtype: T::DTYPE,
            shape,
            source: TensorSource::Bytes(bytes),
        }
    }

    /// A small table, `cols` numbers a row.
    pub(super) fn table<T: Stored>(name: &'static str, cols: usize, values: &[T]) -> Self {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        Self {
            name: name.into(),
            dtype: T::DTYPE,
            shape: vec![values.len() / cols, cols],
            source: TensorSource::Bytes(Cow::Owned(bytes.to_vec())),
        }
    }

    /// Length in bytes.
    pub(super) fn len(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype.bitsize() / 8
    }

    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        match &self.source {
            TensorSource::Bytes(bytes) => out.write_all(bytes),
            TensorSource::TensorRows(rows) => rows.write(out),
        }
    }
}
