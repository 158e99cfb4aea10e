//! Factors as a model holds them: read-only rows, owned or mapped from a file.

use std::ops::Range;
use std::sync::Arc;

use crate::data::Storage;
use crate::linalg::Dense;

/// A read-only matrix of factors, one row per user or item.
#[derive(Clone)]
pub struct Factors {
    rows: usize,
    cols: usize,
    stride: usize,
    values: Storage<'static, f32>,
}

impl Factors {
    /// Takes rows that are stored one after the other without gaps, or yields `None` if their number of
    /// floats is not `rows × cols`.
    #[must_use]
    pub fn new(rows: usize, cols: usize, values: Storage<'static, f32>) -> Option<Self> {
        (rows.checked_mul(cols) == Some(values.len())).then_some(Self {
            rows,
            cols,
            stride: cols,
            values,
        })
    }

    /// Shares a matrix without copying it.
    pub(crate) fn share(dense: Arc<Dense>) -> Self {
        let (rows, cols, stride) = (dense.rows(), dense.cols(), dense.stride());
        Self {
            rows,
            cols,
            stride,
            values: Storage::Shared(Arc::new(Shared(dense))),
        }
    }

    /// Some of the rows, which are shared and not copied.
    pub(crate) fn part(&self, rows: Range<usize>) -> Self {
        let range = rows.start * self.stride..rows.end * self.stride;
        Self {
            rows: rows.len(),
            cols: self.cols,
            stride: self.stride,
            values: Storage::shared(SharedPart {
                all: self.values.clone(),
                range,
            }),
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of factors K.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Distance between the starts of two rows in [`as_slice`](Self::as_slice), in floats.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// All rows, `stride` floats apart.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.values
    }

    /// Row `row`.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.stride..row * self.stride + self.cols]
    }

    /// Yields a copy whose rows fill whole cache lines, as training needs them.
    #[must_use]
    pub fn to_padded(&self) -> Dense {
        let mut dense = Dense::padded(self.rows, self.cols);
        for row in 0..self.rows {
            dense.row_mut(row).copy_from_slice(self.row(row));
        }
        dense
    }
}

impl From<Dense> for Factors {
    fn from(dense: Dense) -> Self {
        Self::share(Arc::new(dense))
    }
}

/// Some of the numbers of a matrix that others share.
struct SharedPart {
    all: Storage<'static, f32>,
    range: Range<usize>,
}

impl AsRef<[f32]> for SharedPart {
    fn as_ref(&self) -> &[f32] {
        &self.all[self.range.clone()]
    }
}

struct Shared(Arc<Dense>);

impl AsRef<[f32]> for Shared {
    fn as_ref(&self) -> &[f32] {
        self.0.as_slice()
    }
}

/// Equal shapes and values; padding does not matter.
impl PartialEq for Factors {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows
            && self.cols == other.cols
            && (0..self.rows).all(|row| self.row(row) == other.row(row))
    }
}

impl std::fmt::Debug for Factors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Factors({} × {})", self.rows, self.cols)
    }
}
