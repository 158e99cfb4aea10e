//! Matrices known only by what they do to a block of vectors.

use std::ops::Range;

use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};
use rayon::prelude::*;

use super::dense::Dense;
use super::tall::TallMatrix;
use crate::row_sums::sum_rows;

/// Rows of a matrix that are held at a time when it is given row by row.
const TILE: usize = 64;

/// A `rows × cols` matrix that can be multiplied with a block of vectors from either side.
pub trait LinearOperator: Sync {
    /// Number of rows.
    fn rows(&self) -> usize;

    /// Number of columns.
    fn cols(&self) -> usize;

    /// Yields `W x`, where `x` has `cols` rows.
    fn apply(&self, x: &TallMatrix) -> TallMatrix;

    /// Yields `Wᵀ y`, where `y` has `rows` rows.
    fn apply_transposed(&self, y: &TallMatrix) -> TallMatrix;

    /// Yields the sum of all squares `‖W‖²_F`.
    fn squared_norm(&self) -> f64;

    /// Yields `Wᵀ W x`; override it if one pass over the matrix is enough for both products.
    fn apply_gram(&self, x: &TallMatrix) -> TallMatrix {
        self.apply_transposed(&self.apply(x))
    }
}

/// The transpose of an operator.
pub(super) struct Transposed<'a>(pub(super) &'a dyn LinearOperator);

impl LinearOperator for Transposed<'_> {
    fn rows(&self) -> usize {
        self.0.cols()
    }

    fn cols(&self) -> usize {
        self.0.rows()
    }

    fn apply(&self, x: &TallMatrix) -> TallMatrix {
        self.0.apply_transposed(x)
    }

    fn apply_transposed(&self, y: &TallMatrix) -> TallMatrix {
        self.0.apply(y)
    }

    fn squared_norm(&self) -> f64 {
        self.0.squared_norm()
    }
}

/// A matrix that yields its rows on request: stored, or computed when needed.
pub trait RowBlocks: Sync {
    /// Number of rows.
    fn rows(&self) -> usize;

    /// Number of columns.
    fn cols(&self) -> usize;

    /// Writes the given rows, one after the other, into `out` (`rows.len() × cols` floats).
    fn fill(&self, rows: Range<usize>, out: &mut [f32]);
}

impl RowBlocks for Dense {
    fn rows(&self) -> usize {
        self.rows()
    }

    fn cols(&self) -> usize {
        self.cols()
    }

    fn fill(&self, rows: Range<usize>, out: &mut [f32]) {
        for (row, slot) in rows.zip(out.chunks_exact_mut(self.cols().max(1))) {
            slot.copy_from_slice(self.row(row));
        }
    }
}

/// The operator of a matrix given row by row; only a few rows per thread are stored at a time.
#[derive(Clone, Copy, Debug)]
pub struct RowOperator<'a, S: ?Sized>(pub &'a S);

/// A few rows in both precisions.
#[derive(Default)]
struct RowTile {
    single: Vec<f32>,
    double: Vec<f64>,
}

impl RowTile {
    fn load(&mut self, from: &(impl RowBlocks + ?Sized), rows: Range<usize>) {
        self.single.resize(rows.len() * from.cols(), 0.0);
        from.fill(rows, &mut self.single);
        self.double.clear();
        self.double
            .extend(self.single.iter().map(|&x| f64::from(x)));
    }
}

impl<S: RowBlocks + ?Sized> RowOperator<'_, S> {
    /// Adds up `each(rows, their values, sum)` over all tiles, the sum being `cols × width`.
    fn accumulate(
        &self,
        width: usize,
        each: impl Fn(Range<usize>, MatRef<'_, f64>, MatMut<'_, f64>) + Sync,
    ) -> TallMatrix {
        let n = self.0.cols();
        let of_chunk = |chunk: Range<usize>| {
            let (mut tile, mut sum) = (RowTile::default(), TallMatrix::zeros(n, width));
            for rows in tiles(chunk) {
                tile.load(self.0, rows.clone());
                let values = MatRef::from_row_major_slice(&tile.double, rows.len(), n);
                let into = MatMut::from_row_major_slice_mut(sum.values_mut(), n, width);
                each(rows, values, into);
            }
            sum
        };
        sum_rows(self.0.rows(), of_chunk).unwrap_or_else(|| TallMatrix::zeros(n, width))
    }
}

/// The tiles of a chunk of rows.
fn tiles(chunk: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let Range { start, end } = chunk;
    (start..end)
        .step_by(TILE)
        .map(move |first| first..end.min(first + TILE))
}

impl<S: RowBlocks + ?Sized> LinearOperator for RowOperator<'_, S> {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn cols(&self) -> usize {
        self.0.cols()
    }

    fn apply(&self, x: &TallMatrix) -> TallMatrix {
        let (n, k) = (self.0.cols(), x.cols());
        let mut y = TallMatrix::zeros(self.0.rows(), k);
        y.values_mut()
            .par_chunks_mut(TILE * k.max(1))
            .enumerate()
            .for_each_init(RowTile::default, |tile, (at, out)| {
                let rows = out.len() / k;
                tile.load(self.0, at * TILE..at * TILE + rows);
                let values = MatRef::from_row_major_slice(&tile.double, rows, n);
                let out = MatMut::from_row_major_slice_mut(out, rows, k);
                matmul(out, Accum::Replace, values, x.view(), 1.0, Par::Seq);
            });
        y
    }

    fn apply_transposed(&self, y: &TallMatrix) -> TallMatrix {
        let k = y.cols();
        self.accumulate(k, |rows, values, sum| {
            let own = &y.values()[rows.start * k..rows.end * k];
            let own = MatRef::from_row_major_slice(own, rows.len(), k);
            matmul(sum, Accum::Add, values.transpose(), own, 1.0, Par::Seq);
        })
    }

    fn apply_gram(&self, x: &TallMatrix) -> TallMatrix {
        let k = x.cols();
        self.accumulate(k, |rows, values, sum| {
            let mut product = TallMatrix::zeros(rows.len(), k);
            let own = MatMut::from_row_major_slice_mut(product.values_mut(), rows.len(), k);
            matmul(own, Accum::Replace, values, x.view(), 1.0, Par::Seq);
            matmul(
                sum,
                Accum::Add,
                values.transpose(),
                product.view(),
                1.0,
                Par::Seq,
            );
        })
    }

    fn squared_norm(&self) -> f64 {
        let of_chunk = |chunk: Range<usize>| {
            let mut tile = RowTile::default();
            let of_tile = |rows: Range<usize>| -> f64 {
                tile.load(self.0, rows);
                tile.double.iter().map(|x| x * x).sum()
            };
            tiles(chunk).map(of_tile).sum()
        };
        sum_rows(self.0.rows(), of_chunk).unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn the_products_of_a_dense_matrix_equal_their_definition() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let w = Dense::from_fn(1201, 7, |row, col| {
            ((row * 31 + col * 17) % 23) as f32 - 9.0
        });
        let (x, y) = (
            TallMatrix::random(7, 2, &mut rng),
            TallMatrix::random(1201, 2, &mut rng),
        );
        let operator = RowOperator(&w);
        let (forth, back) = (operator.apply(&x), operator.apply_transposed(&y));
        let expected: f64 = (0..7)
            .map(|i| f64::from(w.row(1200)[i]) * x.get(i, 1))
            .sum();
        assert!((forth.get(1200, 1) - expected).abs() < 1e-10);
        let expected: f64 = (0..1201)
            .map(|u| f64::from(w.row(u)[3]) * y.get(u, 0))
            .sum();
        assert!((back.get(3, 0) - expected).abs() < 1e-8);
        let (gram, both) = (operator.apply_gram(&x), operator.apply_transposed(&forth));
        assert!((gram.get(6, 1) - both.get(6, 1)).abs() < 1e-7);
        let norm: f64 = w
            .as_slice()
            .iter()
            .map(|&x| f64::from(x) * f64::from(x))
            .sum();
        assert!((operator.squared_norm() - norm).abs() < 1e-6);
    }
}
