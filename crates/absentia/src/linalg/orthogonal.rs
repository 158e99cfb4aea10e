//! Orthonormal columns for the same space, robust against columns that depend on each other.

use rand::Rng;

use super::small::symmetric_eigen;
use super::tall::{TallMatrix, symmetric_unit};

/// Passes after which the columns are as orthogonal as they will get.
const MAX_PASSES: usize = 8;
/// Part of a scaled direction's square below which it is rounding, not direction.
const NEGLIGIBLE: f64 = 1e-24;
/// Smallest eigenvalue of a scaled Gram matrix that leaves orthogonality to the basis as it was.
const BLOWN_UP: f64 = 1e-2;
/// Gram matrices this close to the identity are accepted.
const ACCEPTED: f64 = 1e-14;

/// Yields `width` orthonormal columns, orthogonal to all of `basis`, that span the part of `block`
/// outside the basis; random directions fill up what is missing.
///
/// Each pass projects the basis out and divides by the eigenvalues of the (scaled) Gram matrix,
/// which needs nothing but products of tall matrices (Stathopoulos and Wu 2002).
pub(super) fn orthonormal(
    mut block: TallMatrix,
    basis: &[TallMatrix],
    width: usize,
    rng: &mut impl Rng,
) -> TallMatrix {
    // Columns at rounding level of the largest one carry no direction of their own.
    let floor = block.column_norms().into_iter().fold(0.0, f64::max) * 1e-15;
    let mut floor = if floor.is_finite() { floor } else { 0.0 };
    // Whether something of the basis may be left in the block: at first, after new directions
    // were drawn, and after small remainders were blown up.
    let mut mixed = true;
    for _ in 0..MAX_PASSES {
        for other in basis.iter().filter(|_| mixed) {
            let own = other.inner(&block);
            block.add_product(-1.0, other, &own);
        }
        let filled = rescale(&mut block, floor, rng);
        floor = 1e-12;
        if filled {
            mixed = true;
            continue;
        }
        let gram = block.inner(&block);
        if block.cols() == width && is_identity(&gram) {
            break;
        }
        let Some((values, vectors)) = symmetric_eigen(&gram) else {
            break;
        };
        mixed = values.last().is_none_or(|&least| least < BLOWN_UP);
        let mut rotated = block.times(&vectors.first_cols(width.min(block.cols())));
        let scale: Vec<f64> = values.iter().map(|&value| inverse_root(value)).collect();
        rotated.scale_columns(&scale);
        block = rotated;
    }
    block
}

/// Scales columns to length 1 and replaces those that are only rounding errors. Yields whether any was.
fn rescale(block: &mut TallMatrix, floor: f64, rng: &mut impl Rng) -> bool {
    let norms = block.column_norms();
    let mut filled = false;
    for (col, norm) in norms.iter().enumerate() {
        if *norm <= floor {
            filled = true;
            for row in 0..block.rows() {
                block.set(row, col, symmetric_unit(rng));
            }
        }
    }
    let scale = |norm: &f64| if *norm <= floor { 1.0 } else { 1.0 / norm };
    let factors: Vec<f64> = norms.iter().map(scale).collect();
    block.scale_columns(&factors);
    filled
}

/// A direction at rounding level becomes zero here, and is replaced in the next pass.
fn inverse_root(value: f64) -> f64 {
    if value > NEGLIGIBLE {
        1.0 / value.sqrt()
    } else {
        0.0
    }
}

fn is_identity(gram: &TallMatrix) -> bool {
    (0..gram.rows()).all(|row| {
        let ideal = |col| if row == col { 1.0 } else { 0.0 };
        let values = gram.row(row).iter().enumerate();
        values
            .into_iter()
            .all(|(col, x)| (x - ideal(col)).abs() <= ACCEPTED * gram.rows() as f64)
    })
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn dependent_badly_scaled_columns_become_orthonormal_and_avoid_the_basis() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let start = TallMatrix::random(200, 3, &mut rng);
        let basis = [orthonormal(start, &[], 3, &mut rng)];
        let mut block = TallMatrix::random(200, 5, &mut rng);
        for row in 0..200 {
            block.set(row, 4, block.get(row, 0) * 1e-9);
            block.set(row, 3, 0.0);
        }
        let q = orthonormal(block.clone(), &basis, 5, &mut rng);
        assert!(is_identity(&q.inner(&q)));
        assert!(basis[0].inner(&q).values().iter().all(|x| x.abs() < 1e-13));
        // The space is kept: what is left of the block outside basis and columns is rounding.
        let mut rest = block.first_cols(3);
        for known in [&basis[0], &q] {
            let own = known.inner(&rest);
            rest.add_product(-1.0, known, &own);
        }
        assert!(rest.values().iter().all(|x| x.abs() < 1e-12));
    }
}
