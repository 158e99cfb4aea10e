//! Coordinate steps on small quadratics, several rows at a time.

use super::lanes::{LANES, Lanes, Simd};

/// One block of sixteen coordinates of some rows of a tile.
pub(crate) struct Quadratics<'a> {
    /// Their matrices, square for coordinate steps and folded for exact solves ([`Form`](super::Form));
    /// the penalty is not in them.
    pub(crate) h: &'a [f32],
    /// What missing entries contribute to the diagonal; curvature below its rounding error is ignored.
    pub(crate) base: &'a [f32],
    /// Penalty of each row.
    pub(crate) penalty: &'a [f32],
    /// Negative half-gradients.
    pub(crate) g: &'a [f32],
}

impl Quadratics<'_> {
    /// Number of rows.
    ///
    /// # Panics
    /// If a row has no square matrix, gradient or base.
    fn check(&self) -> usize {
        let rows = self.penalty.len();
        assert!(self.h.len() >= rows * LANES * LANES);
        assert!(self.g.len() >= rows * LANES && self.base.len() >= rows * LANES);
        rows
    }

    /// Diagonal of row `row` with its penalty, and the least curvature that counts.
    #[inline(always)]
    fn curvature<L: Lanes>(&self, simd: Simd<L>, row: usize, floor: f32) -> (L, L) {
        let mut diagonal = simd.splat(0.0);
        for f in 0..LANES {
            let line = simd.load(&self.h[(row * LANES + f) * LANES..]);
            diagonal = diagonal.with_lane(f, line);
        }
        let least = simd.load(&self.base[row * LANES..]).abs();
        (
            diagonal.add(simd.splat(self.penalty[row])),
            least.mul(simd.splat(floor)),
        )
    }
}

/// Sixteen coordinate steps of every row, `delta` receiving them; `AT_ONCE` rows fit the registers.
///
/// Curvature that is not above `floor` times the base leaves its coordinate unchanged. Yields the
/// first row and curvature below minus that, if there is one: its quadratic has no minimum.
#[inline(always)]
pub(super) fn descend<L: Lanes, const AT_ONCE: usize>(
    simd: Simd<L>,
    rows: &Quadratics<'_>,
    floor: f32,
    delta: &mut [f32],
) -> Option<(usize, f32)> {
    let len = rows.check();
    assert!(delta.len() >= len * LANES);
    let mut negative = None;
    let mut row = 0;
    while row + AT_ONCE <= len {
        let found = descend_rows::<L, AT_ONCE>(simd, rows, row, floor, delta);
        negative = negative.or(found);
        row += AT_ONCE;
    }
    while row < len {
        let found = descend_rows::<L, 1>(simd, rows, row, floor, delta);
        negative = negative.or(found);
        row += 1;
    }
    negative
}

/// Steps of `ROWS` rows, interleaved, because each step waits for the previous one of its row.
///
/// Gradient and Hessian are divided by the curvatures first, so that a coordinate's step is its
/// current gradient, and a step changes only the coordinates after it.
#[inline(always)]
fn descend_rows<L: Lanes, const ROWS: usize>(
    simd: Simd<L>,
    rows: &Quadratics<'_>,
    first: usize,
    floor: f32,
    delta: &mut [f32],
) -> Option<(usize, f32)> {
    let mut steps = [simd.splat(0.0); ROWS];
    let mut inverses = steps;
    let mut lowest = simd.splat(0.0);
    for row in 0..ROWS {
        let (curvature, least) = rows.curvature::<L>(simd, first + row, floor);
        inverses[row] = curvature.reciprocal_above(least);
        steps[row] = simd
            .load(&rows.g[(first + row) * LANES..])
            .mul(inverses[row]);
        lowest = lowest.min(curvature.add(least));
    }
    for f in 0..LANES {
        for (row, step) in steps.iter_mut().enumerate() {
            let line = simd.load(&rows.h[((first + row) * LANES + f) * LANES..]);
            let line = line.mul(inverses[row]).above(f);
            *step = step.broadcast(f).mul_sub(line, *step);
        }
    }
    for (row, step) in steps.into_iter().enumerate() {
        step.store(&mut delta[(first + row) * LANES..]);
    }
    if lowest.is_negative() {
        return first_negative::<L>(simd, rows, first..first + ROWS, floor);
    }
    None
}

/// The first row with a negative curvature, and that curvature.
#[inline(always)]
fn first_negative<L: Lanes>(
    simd: Simd<L>,
    rows: &Quadratics<'_>,
    among: std::ops::Range<usize>,
    floor: f32,
) -> Option<(usize, f32)> {
    for row in among {
        let (curvature, least) = rows.curvature::<L>(simd, row, floor);
        let (mut found, mut margin) = ([0.0; LANES], [0.0; LANES]);
        curvature.store(&mut found);
        least.store(&mut margin);
        for (curvature, margin) in found.into_iter().zip(margin) {
            if curvature < -margin {
                return Some((row, curvature));
            }
        }
    }
    None
}
