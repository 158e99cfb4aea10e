//! Files that are vectors and little else.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use absentia::model::Factors;

use super::Layout;
use crate::atomic::AtomicFile;
use crate::error::Error;
use crate::model::ModelFileError;
use crate::npy;

/// Factors, with a number to multiply each row by.
pub(super) struct Vectors<'a> {
    pub(super) factors: &'a Factors,
    pub(super) scale: Option<&'a [f32]>,
}

impl Vectors<'_> {
    pub(super) fn row(&self, row: usize) -> Cow<'_, [f32]> {
        let factors = self.factors.row(row);
        match self.scale {
            Some(scale) => Cow::Owned(factors.iter().map(|x| x * scale[row]).collect()),
            None => Cow::Borrowed(factors),
        }
    }

    pub(super) fn write(&self, path: &Path, layout: Layout) -> Result<(), Error> {
        let (head, before_each) = self.frame(layout, path)?;
        let mut file = AtomicFile::create(path)?;
        self.write_to(&mut file, &head, &before_each)
            .map_err(Error::io(path))?;
        file.commit()
    }

    fn write_to(&self, out: &mut impl Write, head: &[u8], before_each: &[u8]) -> io::Result<()> {
        out.write_all(head)?;
        for row in 0..self.factors.rows() {
            out.write_all(before_each)?;
            self.write_row(out, row)?;
        }
        Ok(())
    }

    /// Writes all vectors, one after the other.
    pub(super) fn write_rows(&self, out: &mut impl Write) -> io::Result<()> {
        (0..self.factors.rows()).try_for_each(|row| self.write_row(out, row))
    }

    fn write_row(&self, out: &mut impl Write, row: usize) -> io::Result<()> {
        // The file formats are little-endian; so are the targets this crate builds for.
        out.write_all(bytemuck::cast_slice(&self.row(row)))
    }

    /// What a layout puts before all vectors, and before each.
    fn frame(&self, layout: Layout, path: &Path) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let (rows, cols) = (self.factors.rows(), self.factors.cols());
        let too_large = || ModelFileError::LayoutTooSmall {
            path: path.to_owned(),
            rows,
            cols,
        };
        // Readers take both numbers as signed.
        let short = |n: usize| i32::try_from(n).map_err(|_| too_large());
        Ok(match layout {
            Layout::Npy => (npy::header("<f4", &[rows, cols]), Vec::new()),
            Layout::Faiss => (Vec::new(), short(cols)?.to_le_bytes().to_vec()),
            Layout::Usearch => {
                let numbers = [short(rows)?.to_le_bytes(), short(cols)?.to_le_bytes()];
                (numbers.concat(), Vec::new())
            }
            Layout::Hnswlib | Layout::Parquet | Layout::Onnx => (Vec::new(), Vec::new()),
        })
    }
}
