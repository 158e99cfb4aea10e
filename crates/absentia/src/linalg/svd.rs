//! Truncated singular value decomposition of anything that can be multiplied with vectors.
//!
//! Block Lanczos on `WᵀW` with full orthogonalisation and thick restarts: the basis grows by blocks
//! until it holds a few times the wanted vectors, is rotated to its best directions (the Ritz
//! vectors), and grows again. Blocks are wider than the requested rank, so that repeated singular
//! values cannot be missed, and the distance from the answer is known without another product:
//! `WᵀW V = V T + Q R`, so a Ritz vector `V s` is off by `‖R s_last‖`.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::operator::{LinearOperator, Transposed};
use super::orthogonal::orthonormal;
use super::small::{square_svd, symmetric_eigen};
use super::tall::TallMatrix;
use crate::error::Fault;

/// Blocks the basis may hold before it is restarted.
const BLOCKS: usize = 4;
/// Residual, relative to σ₁², that rounding alone can leave.
const ROUNDING: f64 = 1e-13;

/// Parameters of a truncated singular value decomposition.
///
/// | Name | Default | Range |
/// | --- | --- | --- |
/// | `rank` | – | 1 ..= min(rows, cols) |
/// | `tolerance` | 1e-7 | > 0 |
/// | `max_restarts` | 300 | ≥ 1 |
/// | `seed` | 0 | any |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SvdParams {
    /// Number of singular triplets.
    pub rank: usize,
    /// Largest residual `‖Wᵀu − σv‖ / σ₁` of a triplet that counts as converged. The error of a
    /// singular value is of the order of its square.
    pub tolerance: f64,
    /// Restarts after which the decomposition is handed out as it is.
    pub max_restarts: usize,
    /// Seed of the starting block.
    pub seed: u64,
}

impl SvdParams {
    /// Yields the defaults for a rank.
    #[must_use]
    pub fn new(rank: usize) -> Self {
        Self {
            rank,
            tolerance: 1e-7,
            max_restarts: 300,
            seed: 0,
        }
    }
}

/// `W ≈ U diag(σ) Vᵀ` with orthonormal columns in `U` and `V`, σ falling.
///
/// The sign of a pair of vectors is chosen so that the entries of the right one add up to a number
/// that is not negative.
#[derive(Clone, Debug, PartialEq)]
pub struct Svd {
    /// Left singular vectors, `rows × rank`.
    pub u: TallMatrix,
    /// Singular values.
    pub sigma: Vec<f64>,
    /// Right singular vectors, `cols × rank`.
    pub v: TallMatrix,
    /// Whether every triplet met the tolerance.
    pub converged: bool,
    /// Largest residual of a triplet, `‖Wᵀu − σv‖ / σ₁`.
    pub residual: f64,
    /// Blocks of vectors multiplied with `WᵀW`.
    pub products: usize,
}

/// Why a matrix could not be decomposed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecompositionError {
    /// The rank is 0 or above the smaller side.
    #[error("rank {rank} of a {rows} × {cols} matrix; it must be from 1 to {}", rows.min(cols))]
    Rank {
        /// The requested rank.
        rank: usize,
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        cols: usize,
    },
    /// The matrix holds NaN, infinity, or numbers whose squares overflow.
    #[error("the matrix holds numbers that are not finite")]
    NotFinite,
}

impl DecompositionError {
    /// Whose fault the error is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }
}

/// Yields the largest singular values of `w` with their vectors.
///
/// Each product costs one pass over `w` on a block of about 1.25 × rank vectors. The result does
/// not depend on the number of threads.
///
/// # Errors
/// A rank out of range, or a matrix with numbers that are not finite. A decomposition that did not
/// converge is not an error: see [`Svd::converged`].
pub fn truncated_svd(
    w: &dyn LinearOperator,
    params: &SvdParams,
) -> Result<Svd, DecompositionError> {
    check_rank(w, params.rank)?;
    if w.cols() <= w.rows() {
        return decompose(w, params);
    }
    // The basis lives on the smaller side, and the larger one is reached by one product at the end.
    let swapped = decompose(&Transposed(w), params)?;
    let mut svd = Svd {
        u: swapped.v,
        v: swapped.u,
        ..swapped
    };
    fix_signs(&mut svd);
    Ok(svd)
}

pub(super) fn check_rank(w: &dyn LinearOperator, rank: usize) -> Result<(), DecompositionError> {
    if rank == 0 || rank > w.rows().min(w.cols()) {
        return Err(DecompositionError::Rank {
            rank,
            rows: w.rows(),
            cols: w.cols(),
        });
    }
    Ok(())
}

fn decompose(w: &dyn LinearOperator, params: &SvdParams) -> Result<Svd, DecompositionError> {
    let mut lanczos = Lanczos::new(w, params);
    let mut restarts = 0;
    let ritz = loop {
        lanczos.grow()?;
        let ritz = lanczos.ritz(params)?;
        restarts += 1;
        if ritz.converged || restarts >= params.max_restarts {
            break ritz;
        }
        lanczos.restart(&ritz);
    };
    let v = lanczos.combine(&ritz.vectors.first_cols(params.rank));
    finish(w, &v, &ritz, lanczos.products)
}

/// The growing basis and what `WᵀW` looks like in it.
struct Lanczos<'a> {
    w: &'a dyn LinearOperator,
    width: usize,
    limit: usize,
    rng: ChaCha8Rng,
    /// Blocks of orthonormal columns.
    basis: Vec<TallMatrix>,
    /// `T = Vᵀ WᵀW V`.
    projected: TallMatrix,
    /// The next block, orthogonal to the basis.
    next: TallMatrix,
    /// `R`: what of `WᵀW` times the last block is outside the basis, in terms of `next`.
    leak: TallMatrix,
    products: usize,
}

/// The best directions in the basis.
struct Ritz {
    values: Vec<f64>,
    vectors: TallMatrix,
    converged: bool,
    residual: f64,
}

impl<'a> Lanczos<'a> {
    fn new(w: &'a dyn LinearOperator, params: &SvdParams) -> Self {
        let n = w.cols();
        let width = (params.rank + (params.rank / 4).max(8)).min(n);
        let mut rng = ChaCha8Rng::seed_from_u64(params.seed);
        let start = TallMatrix::random(n, width, &mut rng);
        let next = orthonormal(start, &[], width, &mut rng);
        Self {
            w,
            width,
            limit: (BLOCKS * width).min(n),
            rng,
            basis: Vec::new(),
            projected: TallMatrix::zeros(0, 0),
            next,
            leak: TallMatrix::zeros(0, 0),
            products: 0,
        }
    }

    /// Extends the basis block by block up to its limit.
    fn grow(&mut self) -> Result<(), DecompositionError> {
        while self.projected.rows() < self.limit {
            let room = self.limit - self.projected.rows();
            if self.next.cols() > room {
                self.next = self.next.first_cols(room);
            }
            self.extend()?;
        }
        Ok(())
    }

    fn extend(&mut self) -> Result<(), DecompositionError> {
        let image = self.w.apply_gram(&self.next);
        self.products += 1;
        if !image.is_finite() {
            return Err(DecompositionError::NotFinite);
        }
        let block = std::mem::replace(&mut self.next, TallMatrix::zeros(0, 0));
        self.basis.push(block);
        let own: Vec<TallMatrix> = self.basis.iter().map(|b| b.inner(&image)).collect();
        self.project(&own);
        let mut outside = image;
        for (block, own) in self.basis.iter().zip(&own) {
            outside.add_product(-1.0, block, own);
        }
        let width = self.width.min(self.w.cols() - self.projected.rows());
        self.next = orthonormal(outside.clone(), &self.basis, width, &mut self.rng);
        self.leak = self.next.inner(&outside);
        Ok(())
    }

    /// Adds the row and column of the newest block to `T`.
    fn project(&mut self, own: &[TallMatrix]) {
        let old = self.projected.rows();
        let new = own.last().map_or(0, TallMatrix::cols);
        let mut projected = TallMatrix::zeros(old + new, old + new);
        for row in 0..old {
            projected.row_mut(row)[..old].copy_from_slice(self.projected.row(row));
        }
        let rows = own
            .iter()
            .flat_map(|block| (0..block.rows()).map(move |row| block.row(row)));
        for (row, values) in rows.enumerate() {
            for (col, &value) in values.iter().enumerate() {
                projected.set(row, old + col, value);
                projected.set(old + col, row, value);
            }
        }
        self.projected = projected;
    }

    fn ritz(&self, params: &SvdParams) -> Result<Ritz, DecompositionError> {
        let (values, vectors) =
            symmetric_eigen(&self.projected).ok_or(DecompositionError::NotFinite)?;
        let last = self.basis.last().map_or(0, TallMatrix::cols);
        let tail = vectors.rows_range(vectors.rows() - last..vectors.rows());
        let off = self
            .leak
            .times(&tail.first_cols(params.rank))
            .column_norms();
        let largest = values[0].max(0.0);
        let (mut converged, mut residual) = (true, 0.0_f64);
        for (off, value) in off.iter().zip(&values) {
            if *off > ROUNDING * largest {
                let relative = off / (value.max(0.0).sqrt() * largest.sqrt());
                residual = residual.max(relative);
                converged &= relative <= params.tolerance;
            }
        }
        Ok(Ritz {
            values,
            vectors,
            converged,
            residual,
        })
    }

    /// Yields the basis times `coefficients`.
    fn combine(&self, coefficients: &TallMatrix) -> TallMatrix {
        let mut combined = TallMatrix::zeros(self.w.cols(), coefficients.cols());
        let mut start = 0;
        for block in &self.basis {
            let rows = coefficients.rows_range(start..start + block.cols());
            combined.add_product(1.0, block, &rows);
            start += block.cols();
        }
        combined
    }

    /// Keeps the best directions, as wide as one block.
    fn restart(&mut self, ritz: &Ritz) {
        let kept = self.combine(&ritz.vectors.first_cols(self.width));
        self.projected = TallMatrix::from_fn(self.width, self.width, |row, col| {
            if row == col { ritz.values[row] } else { 0.0 }
        });
        self.basis = vec![kept];
    }
}

/// Yields the triplets of right vectors `v`, with orthonormal left ones even where σ = 0.
fn finish(
    w: &dyn LinearOperator,
    v: &TallMatrix,
    ritz: &Ritz,
    products: usize,
) -> Result<Svd, DecompositionError> {
    let image = w.apply(v);
    let mut rng = ChaCha8Rng::seed_from_u64(u64::MAX);
    let q = orthonormal(image.clone(), &[], v.cols(), &mut rng);
    let (left, sigma, right) = square_svd(&q.inner(&image)).ok_or(DecompositionError::NotFinite)?;
    let mut svd = Svd {
        u: q.times(&left),
        sigma,
        v: v.times(&right),
        converged: ritz.converged,
        residual: ritz.residual,
        products,
    };
    fix_signs(&mut svd);
    Ok(svd)
}

fn fix_signs(svd: &mut Svd) {
    let mut sums = vec![0.0; svd.sigma.len()];
    for row in 0..svd.v.rows() {
        sums.iter_mut()
            .zip(svd.v.row(row))
            .for_each(|(sum, x)| *sum += x);
    }
    let signs: Vec<f64> = sums
        .iter()
        .map(|sum| if *sum < 0.0 { -1.0 } else { 1.0 })
        .collect();
    svd.u.scale_columns(&signs);
    svd.v.scale_columns(&signs);
}
