//! The truncated singular value decomposition of R, missing entries counted as zeros.
//!
//! With weights of 1 everywhere, J is `‖R − PQᵀ‖² + λ_p‖P‖² + λ_q‖Q‖²` (every row's total weight is
//! the same, so each side has one penalty). Over all factorisations of a given product X the
//! penalties are at least `2τ‖X‖_*`, `τ = √(λ_p λ_q)`, so the minimum shrinks each singular
//! value by τ:
//!
//! ```text
//! R = U Σ Vᵀ,   s = max(σ − τ, 0),   P = U √s (λ_q/λ_p)^¼,   Q = V √s (λ_p/λ_q)^¼
//! ```
//!
//! Without penalties this is plain SVD (strategy 2 of the paper), and nothing of rank K is closer.

use super::{BaselineError, Pass, PassInput};
use crate::fit::Sizes;
use crate::linalg::{Dense, LinearOperator, Svd, SvdParams, TallMatrix, truncated_svd};

/// Residual of a triplet at which it has converged; the error of a singular value is its square.
const TOLERANCE: f64 = 1e-6;

pub(super) fn pass(
    input: &PassInput<'_>,
    p: &mut Dense,
    q: &mut Dense,
) -> Result<Pass, BaselineError> {
    let svd = decompose(input.data, p.cols(), input.params.seed)?;
    let penalty = |values: &crate::data::Values<'_>| f64::from(values.get(0));
    let (own, other) = (penalty(input.penalty.users), penalty(input.penalty.items));
    let shrink = (own * other).sqrt();
    let balance = if shrink > 0.0 {
        (other / own).powf(0.25)
    } else {
        1.0
    };
    let root = |sigma: &f64| (sigma - shrink).max(0.0).sqrt();
    let roots: Vec<f64> = svd.sigma.iter().map(root).collect();
    write(&svd.u, &roots, balance, p);
    write(&svd.v, &roots, 1.0 / balance, q);
    Ok(Pass::Objective)
}

/// Bytes of a decomposition of rank `k`. Blocks are a quarter wider than the rank. The basis has four of
/// them on the smaller side, and as many are in work; in the end there are three on the larger side.
pub(super) fn bytes(sizes: &Sizes, k: u64) -> u64 {
    let width = k + (k / 4).max(8);
    let (small, large) = (
        sizes.users.min(sizes.items) as u64,
        sizes.users.max(sizes.items) as u64,
    );
    let growing = 7 * small * width + large * width;
    let finishing = 6 * small * width + 2 * small * k + 3 * large * k;
    8 * growing.max(finishing)
}

/// Decomposes until every triplet has converged.
pub(super) fn decompose(
    matrix: &dyn LinearOperator,
    rank: usize,
    seed: u64,
) -> Result<Svd, BaselineError> {
    let params = SvdParams {
        tolerance: TOLERANCE,
        seed,
        ..SvdParams::new(rank)
    };
    let svd = truncated_svd(matrix, &params)?;
    if svd.converged {
        Ok(svd)
    } else {
        Err(BaselineError::NotConverged {
            residual: svd.residual,
        })
    }
}

/// Writes singular vectors times `scale` times `roots` into factors.
pub(super) fn write(vectors: &TallMatrix, roots: &[f64], scale: f64, factors: &mut Dense) {
    for row in 0..factors.rows() {
        let from = vectors.row(row).iter().zip(roots);
        for (slot, (x, root)) in factors.row_mut(row).iter_mut().zip(from) {
            *slot = (x * root * scale) as f32;
        }
    }
}
