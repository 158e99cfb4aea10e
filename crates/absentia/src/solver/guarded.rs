//! One row, improved in single precision where that holds and in double precision where it does not.
//!
//! A run sees from the objective that rounding has spoilt a sweep. A single row is too small a part of that: here
//! the change of the row's own part is summed in `f64`, in the order of a step's cost. It is looked at where
//! curvatures can vanish alone, which is where an observed entry weighs less than it would if it were missing, or
//! where nothing is added to the curvature.

use super::in_double::{DoubleCache, RowQuadratic, loss};
use super::{RowScratch, Side, improve_rows, missing_weight, observed_row};
use crate::linalg::Dense;

/// The share of the absolute values of all terms that may be rounding: caches that follow a million events are off
/// by about as much.
const NOISE: f64 = 1e-12;
/// Products of factors that are summed to see which of two rows is better where nothing else tells.
const MOST_PRODUCTS: usize = 1 << 22;

/// Yields the only row of a side improved by exact steps over blocks of `block` coordinates, so that its part of the
/// objective does not rise; as it was if nothing better is found, and `None` if it has no minimum.
pub(crate) fn improve_row(
    side: &Side<'_>,
    cache: &DoubleCache,
    (before, block): (&Dense, usize),
    scratch: &mut RowScratch,
) -> Option<Dense> {
    let is_finite = |row: &Dense| row.row(0).iter().all(|x| x.is_finite());
    let single = improve_rows(side, before, block, scratch).ok();
    let single = single.filter(is_finite);
    if !cancels(side) || (single.is_none() && side.may_be_negative) {
        return single;
    }
    let mut best = before.clone();
    if let Some(single) = single
        && is_better(side, cache, &single, &best)
    {
        best = single;
        if block == 1 {
            return Some(best);
        }
    }
    let start = before.row(0).iter().map(|x| f64::from(*x)).collect();
    let found = RowQuadratic::of_row(0, cache, side).in_blocks(start, block);
    let mut double = before.clone();
    for (slot, x) in double.row_mut(0).iter_mut().zip(&found) {
        *slot = *x as f32;
    }
    if is_finite(&double) && is_better(side, cache, &double, &best) {
        best = double;
    }
    Some(best)
}

/// Whether single precision may leave little of the row's curvature.
fn cancels(side: &Side<'_>) -> bool {
    if side.penalty.get(0) == 0.0 {
        return true;
    }
    let (row, a) = (observed_row(side, 0), side.own_weights.row(0));
    row.indices.iter().enumerate().any(|(at, &column)| {
        let missing = missing_weight(a, side.fixed_weights.row(column as usize));
        f64::from(row.c.get(at)) < missing
    })
}

/// Whether a row's part of the objective is surely lower than that of another.
fn is_better(side: &Side<'_>, cache: &DoubleCache, new: &Dense, old: &Dense) -> bool {
    let [new, old] = [new, old].map(|row| -> Vec<f64> {
        let row = row.row(0).iter();
        row.map(|x| f64::from(*x)).collect()
    });
    let (change, noise) = change(side, cache, &new, &old);
    if change.abs() > noise {
        return change < 0.0;
    }
    side.fixed.rows() * cache.k <= MOST_PRODUCTS && loss(0, &new, side) < loss(0, &old, side)
}

/// How much `pᵀ H p − 2 pᵀ y` changes from `old` to `new`, and how much of that may be rounding: with
/// `d = new − old` and `m = new + old` it is `dᵀ H m − 2 dᵀ y`.
fn change(side: &Side<'_>, cache: &DoubleCache, new: &[f64], old: &[f64]) -> (f64, f64) {
    let d: Vec<f64> = new.iter().zip(old).map(|(new, old)| new - old).collect();
    let m: Vec<f64> = new.iter().zip(old).map(|(new, old)| new + old).collect();
    let (row, a) = (observed_row(side, 0), side.own_weights.row(0));
    let mut sum = Terms::default();
    sum.add(f64::from(side.penalty.get(0)) * pairs(&d, &m));
    let h = cache.weighted(a);
    for (f, line) in h.chunks_exact(cache.k).enumerate() {
        for (g, s) in line[..f].iter().enumerate() {
            sum.add(s * (d[f] * m[g] + d[g] * m[f]));
        }
        sum.add(line[f] * d[f] * m[f]);
    }
    for (at, &column) in row.indices.iter().enumerate() {
        let q = side.fixed.row(column as usize);
        let missing = missing_weight(a, side.fixed_weights.row(column as usize));
        let (c, r) = (f64::from(row.c.get(at)), f64::from(row.r.get(at)));
        let (of_d, of_m) = (product(q, &d), product(q, &m));
        sum.add((c - missing) * of_d * of_m);
        sum.add(-2.0 * c * r * of_d);
    }
    (sum.total, NOISE * sum.size)
}

/// A sum, and the sum of the absolute values of its terms.
#[derive(Default)]
struct Terms {
    total: f64,
    size: f64,
}

impl Terms {
    fn add(&mut self, term: f64) {
        self.total += term;
        self.size += term.abs();
    }
}

fn pairs(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn product(q: &[f32], x: &[f64]) -> f64 {
    q.iter().zip(x).map(|(q, x)| f64::from(*q) * x).sum()
}
