//! An index that `faiss.read_index` opens: all vectors, compared by inner product (`IndexFlatIP`).
//!
//! Its file is the name of the kind of index, a head, and the vectors: see `index_write.cpp` of faiss.

use std::io::{self, Write};
use std::path::Path;

use super::vectors::Vectors;
use crate::atomic::AtomicFile;
use crate::error::Error;
use crate::model::ModelFileError;

/// The name of a flat index of inner products.
const FLAT_INNER_PRODUCT: &[u8; 4] = b"IxFI";
/// The number of inner products among the metrics.
const INNER_PRODUCT: i32 = 0;
/// What faiss writes for two numbers that it no longer uses.
const UNUSED: i64 = 1 << 20;

/// Writes the vectors as an index; the number of a vector is its row.
pub(super) fn write(path: &Path, vectors: &Vectors<'_>) -> Result<(), Error> {
    let (rows, cols) = (vectors.factors.rows(), vectors.factors.cols());
    let width = i32::try_from(cols).map_err(|_| ModelFileError::LayoutTooSmall {
        path: path.to_owned(),
        rows,
        cols,
    })?;
    let mut file = AtomicFile::create(path)?;
    let written = head(&mut file, width, rows).and_then(|()| vectors.write_rows(&mut file));
    written.map_err(Error::io(path))?;
    file.commit()
}

fn head(out: &mut impl Write, width: i32, rows: usize) -> io::Result<()> {
    out.write_all(FLAT_INNER_PRODUCT)?;
    out.write_all(&width.to_le_bytes())?;
    out.write_all(&(rows as u64).to_le_bytes())?;
    out.write_all(&UNUSED.to_le_bytes())?;
    out.write_all(&UNUSED.to_le_bytes())?;
    let is_trained = 1_u8;
    out.write_all(&[is_trained])?;
    out.write_all(&INNER_PRODUCT.to_le_bytes())?;
    let numbers = rows as u64 * width as u64;
    out.write_all(&numbers.to_le_bytes())
}
