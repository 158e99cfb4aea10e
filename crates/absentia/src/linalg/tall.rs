//! Tall, thin `f64` matrices and the products that factorisations need.
//!
//! Sums over rows are those of [`row_sums`](crate::row_sums), so that results do not depend on the number of threads.

use std::ops::Range;

use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};
use rand::Rng;
use rayon::prelude::*;

use super::dense::Dense;
use crate::row_sums::{Summand, sum_rows};

/// Rows of a product that are computed by one task.
const TASK_ROWS: usize = 512;

/// A row-major `rows × cols` matrix of `f64`, usually with many rows and few columns.
#[derive(Clone, Debug, PartialEq)]
pub struct TallMatrix {
    rows: usize,
    cols: usize,
    values: Vec<f64>,
}

impl TallMatrix {
    /// Yields a matrix of zeros.
    #[must_use]
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self {
            rows,
            cols,
            values: vec![0.0; rows * cols],
        }
    }

    /// Yields a matrix with `value(row, col)` at every place.
    #[must_use]
    pub fn from_fn(rows: usize, cols: usize, mut value: impl FnMut(usize, usize) -> f64) -> Self {
        let mut block = Self::zeros(rows, cols);
        for row in 0..rows {
            for (col, slot) in block.row_mut(row).iter_mut().enumerate() {
                *slot = value(row, col);
            }
        }
        block
    }

    /// Yields a matrix of independent numbers, uniform on [−1, 1).
    pub(crate) fn random(rows: usize, cols: usize, rng: &mut impl Rng) -> Self {
        Self::from_fn(rows, cols, |_, _| symmetric_unit(rng))
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// All values, row by row.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// All values, row by row.
    #[must_use]
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Row `row`.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.cols..(row + 1) * self.cols]
    }

    /// Row `row`.
    #[must_use]
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.cols..(row + 1) * self.cols]
    }

    /// The number at a place.
    #[must_use]
    pub fn get(&self, row: usize, col: usize) -> f64 {
        self.values[row * self.cols + col]
    }

    pub(crate) fn set(&mut self, row: usize, col: usize, value: f64) {
        self.values[row * self.cols + col] = value;
    }

    /// Yields some of the rows.
    pub(crate) fn rows_range(&self, range: std::ops::Range<usize>) -> Self {
        Self {
            rows: range.len(),
            cols: self.cols,
            values: self.values[range.start * self.cols..range.end * self.cols].to_vec(),
        }
    }

    /// Yields the first `cols` columns.
    #[must_use]
    pub fn first_cols(&self, cols: usize) -> Self {
        Self::from_fn(self.rows, cols, |row, col| self.get(row, col))
    }

    /// Yields the same numbers rounded to single precision.
    #[must_use]
    pub fn to_dense(&self) -> Dense {
        Dense::from_fn(self.rows, self.cols, |row, col| self.get(row, col) as f32)
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.values.iter().all(|value| value.is_finite())
    }

    pub(crate) fn view(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.values, self.rows, self.cols)
    }

    /// Yields the Euclidean norm of each column.
    pub(crate) fn column_norms(&self) -> Vec<f64> {
        let of_chunk = |rows: Range<usize>| {
            let mut sums = vec![0.0; self.cols];
            for row in rows {
                let pairs = sums.iter_mut().zip(self.row(row));
                pairs.for_each(|(sum, x)| *sum += x * x);
            }
            sums
        };
        let squares = sum_rows(self.rows, of_chunk).unwrap_or_else(|| vec![0.0; self.cols]);
        squares.into_iter().map(f64::sqrt).collect()
    }

    /// Multiplies column `j` by `factors[j]`.
    pub(crate) fn scale_columns(&mut self, factors: &[f64]) {
        for row in self.values.chunks_exact_mut(self.cols.max(1)) {
            row.iter_mut().zip(factors).for_each(|(x, f)| *x *= f);
        }
    }

    /// Yields `selfᵀ · other`.
    pub(crate) fn inner(&self, other: &Self) -> Self {
        assert_eq!(self.rows, other.rows);
        if self.cols == 0 || other.cols == 0 {
            return Self::zeros(self.cols, other.cols);
        }
        let of_chunk = |rows: Range<usize>| {
            let mut sum = Self::zeros(self.cols, other.cols);
            let left = self.view().subrows(rows.start, rows.len()).transpose();
            let right = other.view().subrows(rows.start, rows.len());
            let into = MatMut::from_row_major_slice_mut(&mut sum.values, self.cols, other.cols);
            matmul(into, Accum::Replace, left, right, 1.0, Par::Seq);
            sum
        };
        sum_rows(self.rows, of_chunk).unwrap_or_else(|| Self::zeros(self.cols, other.cols))
    }

    /// Adds `scale · left · right` to this matrix.
    pub(crate) fn add_product(&mut self, scale: f64, left: &Self, right: &Self) {
        assert_eq!((self.rows, left.cols), (left.rows, right.rows));
        assert_eq!(self.cols, right.cols);
        if self.values.is_empty() || left.cols == 0 {
            return;
        }
        let cols = self.cols;
        self.values
            .par_chunks_mut(TASK_ROWS * cols)
            .zip(left.values.par_chunks(TASK_ROWS * left.cols))
            .for_each(|(own, left_rows)| {
                let rows = own.len() / cols;
                let lhs = MatRef::from_row_major_slice(left_rows, rows, left.cols);
                let dst = MatMut::from_row_major_slice_mut(own, rows, cols);
                matmul(dst, Accum::Add, lhs, right.view(), scale, Par::Seq);
            });
    }

    /// Yields `self · right`.
    pub(crate) fn times(&self, right: &Self) -> Self {
        let mut product = Self::zeros(self.rows, right.cols);
        product.add_product(1.0, self, right);
        product
    }
}

/// Yields a number uniform on [−1, 1).
pub(crate) fn symmetric_unit(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (2.0 / (1_u64 << 53) as f64) - 1.0
}

impl Summand for TallMatrix {
    fn add(&mut self, other: Self) {
        self.values.add(other.values);
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn products_equal_their_definition_across_chunks() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let left = TallMatrix::random(5000, 3, &mut rng);
        let right = TallMatrix::random(5000, 2, &mut rng);
        let inner = left.inner(&right);
        for (i, j) in [(0, 0), (2, 1), (1, 0)] {
            let expected: f64 = (0..5000).map(|n| left.get(n, i) * right.get(n, j)).sum();
            assert!((inner.get(i, j) - expected).abs() < 1e-11);
        }
        let back = left.times(&inner);
        let expected: f64 = (0..3).map(|i| left.get(4400, i) * inner.get(i, 1)).sum();
        assert!((back.get(4400, 1) - expected).abs() < 1e-9);
        let norm = left.inner(&left).get(1, 1).sqrt();
        assert!((left.column_norms()[1] - norm).abs() < 1e-10);
    }
}
