//! Decompositions of small dense matrices; the only file that calls faer's.
//!
//! Everything runs on the calling thread, whatever faer's global setting, so that results do not
//! depend on the number of threads.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::{evd, svd};
use faer::{Mat, Par, Spec};

use super::svd::DecompositionError;
use super::tall::TallMatrix;

/// Part of the largest eigenvalue below which a direction is left alone.
const NEGLIGIBLE: f64 = 1e-12;

/// Eigenvalues in falling order with the eigenvectors as columns, or `None` if there is no answer
/// (a number was not finite).
pub(crate) fn symmetric_eigen(matrix: &TallMatrix) -> Option<(Vec<f64>, TallMatrix)> {
    let n = matrix.rows();
    if !matrix.is_finite() {
        return None;
    }
    let (mut values, mut vectors) = (Diag::<f64>::zeros(n), Mat::<f64>::zeros(n, n));
    let scratch = evd::self_adjoint_evd_scratch::<f64>(
        n,
        evd::ComputeEigenvectors::Yes,
        Par::Seq,
        Spec::default(),
    );
    evd::self_adjoint_evd(
        matrix.view(),
        values.as_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Spec::default(),
    )
    .ok()?;
    // faer sorts them rising.
    let sorted = (0..n).rev().map(|at| values[at]).collect();
    let columns = TallMatrix::from_fn(n, n, |row, col| vectors[(row, n - 1 - col)]);
    Some((sorted, columns))
}

/// Left singular vectors, singular values in falling order, right singular vectors of a square
/// matrix; `None` if a number was not finite.
pub(super) fn square_svd(matrix: &TallMatrix) -> Option<(TallMatrix, Vec<f64>, TallMatrix)> {
    let n = matrix.rows();
    if !matrix.is_finite() {
        return None;
    }
    let mut values = Diag::<f64>::zeros(n);
    let (mut left, mut right) = (Mat::<f64>::zeros(n, n), Mat::<f64>::zeros(n, n));
    let wanted = svd::ComputeSvdVectors::Thin;
    let scratch = svd::svd_scratch::<f64>(n, n, wanted, wanted, Par::Seq, Spec::default());
    svd::svd(
        matrix.view(),
        values.as_mut(),
        Some(left.as_mut()),
        Some(right.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Spec::default(),
    )
    .ok()?;
    let columns = |of: &Mat<f64>| TallMatrix::from_fn(n, n, |row, col| of[(row, col)]);
    let sorted = (0..n).map(|at| values[at]).collect();
    Some((columns(&left), sorted, columns(&right)))
}

/// Yields the row x of each row y of `products` that solves `x SᵀS = y` with least length: the
/// coefficients of least squares against the columns of `s`, given its products with the targets.
pub(crate) fn least_squares_rows(
    products: &TallMatrix,
    s: &TallMatrix,
) -> Result<TallMatrix, DecompositionError> {
    let (values, vectors) = symmetric_eigen(&s.inner(s)).ok_or(DecompositionError::NotFinite)?;
    let least = values.first().map_or(0.0, |largest| largest * NEGLIGIBLE);
    let inverse: Vec<f64> = values
        .iter()
        .map(|&value| if value > least { 1.0 / value } else { 0.0 })
        .collect();
    let mut rotated = products.times(&vectors);
    rotated.scale_columns(&inverse);
    let back = TallMatrix::from_fn(vectors.cols(), vectors.rows(), |row, col| {
        vectors.get(col, row)
    });
    Ok(rotated.times(&back))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decompositions_of_a_two_by_two_matrix_are_known() {
        let matrix = TallMatrix::from_fn(2, 2, |row, col| if row == col { 2.0 } else { 1.0 });
        let (values, vectors) = symmetric_eigen(&matrix).expect("finite");
        assert!((values[0] - 3.0).abs() < 1e-14 && (values[1] - 1.0).abs() < 1e-14);
        assert!((vectors.get(0, 0) - vectors.get(1, 0)).abs() < 1e-14);
        let (_, values, _) = square_svd(&matrix).expect("finite");
        assert!((values[0] - 3.0).abs() < 1e-14 && (values[1] - 1.0).abs() < 1e-14);
    }

    #[test]
    fn numbers_that_are_not_finite_have_no_decomposition() {
        let matrix = TallMatrix::from_fn(3, 3, |_, _| f64::NAN);
        assert!(symmetric_eigen(&matrix).is_none());
        assert!(square_svd(&matrix).is_none());
    }
}
