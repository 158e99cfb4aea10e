//! Row-major matrices whose rows start on cache lines.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::kernels::pages::prefer_large;
use crate::row_sums::sum_rows;

/// Number of `f32` lanes the kernels work on at a time; also the factor block of the solvers.
pub(crate) const LANES: usize = 16;

/// One cache line of floats. Storing matrices in this unit is what aligns them.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([f32; LANES]);

/// A row-major `rows × cols` matrix of `f32`.
///
/// Rows are `stride` floats apart. A [padded](Dense::padded) matrix rounds the stride up to whole
/// cache lines and keeps the padding at zero, which lets kernels run over whole lanes; a
/// [compact](Dense::zeros) one has `stride == cols`.
#[derive(Clone)]
pub struct Dense {
    rows: usize,
    cols: usize,
    stride: usize,
    lines: Vec<Line>,
}

impl Dense {
    /// Yields a compact matrix of zeros.
    #[must_use]
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self::with_stride(rows, cols, cols)
    }

    /// Yields a matrix of zeros whose rows fill whole cache lines.
    #[must_use]
    pub fn padded(rows: usize, cols: usize) -> Self {
        Self::with_stride(rows, cols, cols.next_multiple_of(LANES))
    }

    fn with_stride(rows: usize, cols: usize, stride: usize) -> Self {
        // No slice that the sizes could come from is this long.
        let floats = rows
            .checked_mul(stride)
            .unwrap_or_else(|| panic!("a matrix of {rows} × {stride} floats cannot be addressed"));
        let mut lines = Vec::with_capacity(floats.div_ceil(LANES));
        prefer_large(lines.spare_capacity_mut());
        lines.resize(floats.div_ceil(LANES), Line::zeroed());
        Self {
            rows,
            cols,
            stride,
            lines,
        }
    }

    /// Yields a compact copy of `values`, row by row, or `None` if their number is not `rows × cols`.
    #[must_use]
    pub fn from_slice(rows: usize, cols: usize, values: &[f32]) -> Option<Self> {
        if rows.checked_mul(cols) != Some(values.len()) {
            return None;
        }
        let mut dense = Self::zeros(rows, cols);
        dense.as_mut_slice()[..values.len()].copy_from_slice(values);
        Some(dense)
    }

    /// Yields a compact matrix with `value(row, col)` at every place.
    #[must_use]
    pub fn from_fn(rows: usize, cols: usize, mut value: impl FnMut(usize, usize) -> f32) -> Self {
        let mut dense = Self::zeros(rows, cols);
        for row in 0..rows {
            for (col, slot) in dense.row_mut(row).iter_mut().enumerate() {
                *slot = value(row, col);
            }
        }
        dense
    }

    /// Adds a row at the end; the storage grows by an eighth, so that rows are seldom copied.
    ///
    /// # Panics
    /// If the row does not have as many numbers as the matrix has columns.
    pub fn push_row(&mut self, row: &[f32]) {
        assert_eq!(row.len(), self.cols, "numbers of a row");
        self.rows += 1;
        let lines = (self.rows * self.stride).div_ceil(LANES);
        if lines > self.lines.capacity() {
            self.lines
                .reserve_exact(lines - self.lines.len() + lines / 8);
        }
        self.lines.resize(lines, Line::zeroed());
        self.row_mut(self.rows - 1).copy_from_slice(row);
    }

    /// Yields a matrix of this many rows in the same memory, or in new memory where that is too small. Its rows have any
    /// numbers; padding is zero.
    #[must_use]
    pub fn with_rows(mut self, rows: usize) -> Self {
        if rows.saturating_mul(self.stride) <= self.lines.len() * LANES {
            self.rows = rows;
            return self;
        }
        let (cols, stride) = (self.cols, self.stride);
        // The old memory is given back first.
        drop(self);
        Self::with_stride(rows, cols, stride)
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns, padding not counted.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Distance between the starts of two rows, in floats.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The whole storage, `rows × stride` floats.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &bytemuck::cast_slice(&self.lines)[..self.rows * self.stride]
    }

    /// The whole storage, `rows × stride` floats; the padding must stay zero.
    #[must_use]
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.rows * self.stride]
    }

    /// Row `row` without its padding.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f32] {
        let start = row * self.stride;
        &self.as_slice()[start..start + self.cols]
    }

    /// Row `row` without its padding.
    #[must_use]
    pub fn row_mut(&mut self, row: usize) -> &mut [f32] {
        let (start, cols) = (row * self.stride, self.cols);
        &mut self.as_mut_slice()[start..start + cols]
    }

    /// Row `row` with its padding.
    #[must_use]
    pub fn padded_row(&self, row: usize) -> &[f32] {
        let start = row * self.stride;
        &self.as_slice()[start..start + self.stride]
    }

    /// Yields the sum of every column.
    pub(crate) fn column_sums(&self) -> Vec<f64> {
        let of_chunk = |rows: Range<usize>| {
            let mut sums = vec![0.0; self.cols()];
            for row in rows {
                for (sum, x) in sums.iter_mut().zip(self.row(row)) {
                    *sum += f64::from(*x);
                }
            }
            sums
        };
        sum_rows(self.rows(), of_chunk).unwrap_or_else(|| vec![0.0; self.cols()])
    }

    /// Yields the same matrix with rows that fill whole cache lines.
    #[must_use]
    pub fn into_padded(self) -> Self {
        if self.stride.is_multiple_of(LANES) {
            return self;
        }
        let mut padded = Self::padded(self.rows, self.cols);
        for row in 0..self.rows {
            padded.row_mut(row).copy_from_slice(self.row(row));
        }
        padded
    }

    /// Yields the same matrix without padding, in place.
    #[must_use]
    pub fn into_compact(mut self) -> Self {
        let (rows, cols, stride) = (self.rows, self.cols, self.stride);
        if stride != cols {
            let values: &mut [f32] = self.as_mut_slice();
            for row in 1..rows {
                values.copy_within(row * stride..row * stride + cols, row * cols);
            }
            self.stride = cols;
            self.lines.truncate((rows * cols).div_ceil(LANES));
            self.lines.shrink_to_fit();
        }
        self
    }
}

/// Scratch floats that start on a cache line and are reused.
#[derive(Default)]
pub(crate) struct Buffer(Vec<Line>);

impl Buffer {
    /// Yields room for this many floats: old contents, or zeros where it had to grow.
    pub(crate) fn room(&mut self, floats: usize) -> &mut [f32] {
        let lines = floats.div_ceil(LANES);
        if self.0.len() < lines {
            if self.0.capacity() < lines {
                // Contents are not kept between uses, so there is nothing to copy.
                self.0 = Vec::with_capacity(lines);
                prefer_large(self.0.spare_capacity_mut());
            }
            self.0.resize(lines, Line::zeroed());
        }
        &mut bytemuck::cast_slice_mut(&mut self.0)[..floats]
    }

    /// All floats that were made room for so far.
    pub(crate) fn as_slice(&self) -> &[f32] {
        bytemuck::cast_slice(&self.0)
    }
}

/// The storage, so that a matrix can be shared as a plain slice without a copy.
impl AsRef<[f32]> for Dense {
    fn as_ref(&self) -> &[f32] {
        self.as_slice()
    }
}

/// Equal shapes and values; padding and alignment do not matter.
impl PartialEq for Dense {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows
            && self.cols == other.cols
            && (0..self.rows).all(|row| self.row(row) == other.row(row))
    }
}

impl std::fmt::Debug for Dense {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dense({} × {})", self.rows, self.cols)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_and_compacting_keep_the_values() {
        let dense = Dense::from_fn(7, 5, |row, col| (row * 5 + col) as f32);
        let padded = dense.clone().into_padded();
        assert_eq!(padded.stride(), LANES);
        assert!(padded.padded_row(3)[5..].iter().all(|&x| x == 0.0));
        assert_eq!(padded.clone().into_compact(), dense);
        assert_eq!(padded, dense);
    }

    #[test]
    fn rows_of_padded_matrices_start_on_cache_lines() {
        let dense = Dense::padded(3, 17);
        for row in 0..3 {
            assert_eq!(dense.row(row).as_ptr() as usize % 64, 0);
        }
    }

    #[test]
    fn memory_is_used_again_for_other_numbers_of_rows() {
        let filled = |rows| Dense::from_fn(rows, 17, |row, col| (row + col) as f32).into_padded();
        let smaller = filled(9).with_rows(4);
        assert_eq!(smaller, filled(4));
        let larger = smaller.with_rows(9);
        assert_eq!((larger.rows(), larger.as_slice().len()), (9, 9 * 32));
        assert!(larger.padded_row(8)[17..].iter().all(|&x| x == 0.0));
        assert_eq!(larger.with_rows(200), Dense::padded(200, 17));
    }

    #[test]
    fn rows_are_added_at_the_end_of_padded_and_of_compact_matrices() {
        for cols in [1, 5, 16, 17] {
            let all = Dense::from_fn(40, cols, |row, col| (row * cols + col) as f32);
            let (mut compact, mut padded) = (Dense::zeros(0, cols), Dense::padded(0, cols));
            for row in 0..40 {
                compact.push_row(all.row(row));
                padded.push_row(all.row(row));
            }
            assert_eq!(compact, all);
            assert_eq!(padded, all);
            assert_eq!(compact.as_slice(), all.as_slice());
            assert!(padded.padded_row(39)[cols..].iter().all(|&x| x == 0.0));
        }
    }

    #[test]
    fn adding_rows_seldom_copies_those_that_are_there() {
        let (mut dense, mut copies) = (Dense::padded(0, 20), 0);
        for _ in 0..20_000 {
            let before = dense.lines.capacity();
            dense.push_row(&[1.0; 20]);
            copies += usize::from(dense.lines.capacity() != before);
        }
        assert!(copies < 120, "{copies}");
        assert!(dense.lines.capacity() <= dense.lines.len() * 9 / 8 + 2);
    }

    #[test]
    fn a_slice_of_the_wrong_length_is_refused() {
        assert!(Dense::from_slice(2, 3, &[0.0; 5]).is_none());
        assert!(Dense::from_slice(usize::MAX, 3, &[0.0; 5]).is_none());
    }
}
