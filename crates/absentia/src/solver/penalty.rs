//! The penalty (regularization) of each row, `λ_u = λ · m_u^ν`, `m_u` the row's total weight.

use rayon::prelude::*;

use crate::data::{Entries, Values};
use crate::linalg::Dense;

/// Rows whose penalties are computed together.
const CHUNK: usize = 1024;

/// A row whose total weight is negative or not finite, so that no power of it is a penalty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InvalidTotalWeight {
    /// The row.
    pub(crate) row: usize,
    /// Its total weight.
    pub(crate) total: f64,
}

/// Yields `λ_u` for every row; `ν = 0` is the paper's single λ.
///
/// `m_u = Σ_{i∈R_u} c_ui + Σ_{i∉R_u} a_u·b_i`, in `O((|R| + M + N) Z)` through `Σ_i b_i`. A row
/// without any weight at all (nothing observed, every weight on its missing entries 0) has no term
/// in the objective but its penalty, which is then λ itself.
pub(crate) fn penalties(
    observed: &Entries<'_>,
    own_weights: &Dense,
    fixed_weights: &Dense,
    lambda: f32,
    exponent: f32,
) -> Result<Values<'static>, InvalidTotalWeight> {
    if exponent == 0.0 || lambda == 0.0 {
        return Ok(Values::Constant(lambda));
    }
    let all = fixed_weights.column_sums();
    let penalty = |row: usize| {
        let total = total_weight(observed, row, own_weights, fixed_weights, &all);
        row_penalty(row, total, lambda, exponent)
    };
    let mut each = vec![0.0; observed.rows()];
    let bad = each
        .par_chunks_mut(CHUNK)
        .enumerate()
        .filter_map(|(chunk, part)| {
            let rows = part.iter_mut().zip(chunk * CHUNK..);
            let mut penalties = rows.map(|(slot, row)| penalty(row).map(|value| *slot = value));
            penalties.find_map(Result::err)
        });
    match bad.min_by_key(|bad| bad.row) {
        Some(bad) => Err(bad),
        None => Ok(Values::from_vec(each)),
    }
}

/// `λ m^ν` of one row with total weight m.
pub(crate) fn row_penalty(
    row: usize,
    total: f64,
    lambda: f32,
    exponent: f32,
) -> Result<f32, InvalidTotalWeight> {
    if total == 0.0 {
        return Ok(lambda);
    }
    if total < 0.0 || !total.is_finite() {
        return Err(InvalidTotalWeight { row, total });
    }
    Ok((f64::from(lambda) * total.powf(f64::from(exponent))) as f32)
}

/// The total weight `m_u` of a row, given the sums of the weights of the fixed side.
pub(crate) fn total_weight(
    observed: &Entries<'_>,
    row: usize,
    own: &Dense,
    fixed: &Dense,
    all: &[f64],
) -> f64 {
    let a = own.row(row);
    let entries = observed.row(row);
    let mut total: f64 = a.iter().zip(all).map(|(a, sum)| f64::from(*a) * sum).sum();
    for (n, &column) in entries.indices.iter().enumerate() {
        let pairs = a.iter().zip(fixed.row(column as usize));
        let missing: f64 = pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        total += f64::from(entries.c.get(n)) - missing;
    }
    // What rounding leaves of a row whose every item is observed with weight 0.
    let scale: f64 = a
        .iter()
        .zip(all)
        .map(|(a, sum)| f64::from(a.abs()) * sum.abs())
        .sum();
    if total.abs() < 1e-12 * scale {
        0.0
    } else {
        total
    }
}
