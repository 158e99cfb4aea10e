//! Coordinate steps on small quadratics, several rows at a time.

use super::lanes::{LANES, Lanes};

/// One block of sixteen coordinates of some rows of a tile.
pub(crate) struct Quadratics<'a> {
    /// `16 × 16` each, of which the upper triangle is read; the penalty is not in it.
    pub(crate) h: &'a [f32],
    /// What missing entries contribute to the diagonal: its rounding is the least curvature that counts.
    pub(crate) base: &'a [f32],
    /// Penalty of each row.
    pub(crate) penalty: &'a [f32],
    /// Negative half-gradients.
    pub(crate) g: &'a [f32],
}

impl Quadratics<'_> {
    fn check(&self) -> usize {
        let rows = self.penalty.len();
        assert!(self.h.len() >= rows * LANES * LANES);
        assert!(self.g.len() >= rows * LANES && self.base.len() >= rows * LANES);
        rows
    }

    /// Diagonal of row `row` with its penalty, and the least curvature that counts.
    #[inline(always)]
    fn curvature<L: Lanes>(&self, row: usize, floor: f32) -> (L, L) {
        let mut diagonal = L::splat(0.0);
        for f in 0..LANES {
            let line = L::load(&self.h[(row * LANES + f) * LANES..]);
            diagonal = diagonal.with_lane(f, line);
        }
        let least = L::load(&self.base[row * LANES..]).abs();
        (
            diagonal.add(L::splat(self.penalty[row])),
            least.mul(L::splat(floor)),
        )
    }
}

/// Sixteen coordinate steps of every row, `delta` receiving them; `AT_ONCE` rows fit the registers.
///
/// Curvature that is not above `floor` times the base leaves its coordinate where it is. Yields the
/// first row and curvature below minus that, if there is one: its quadratic has no minimum.
#[inline(always)]
pub(super) fn descend<L: Lanes, const AT_ONCE: usize>(
    rows: &Quadratics<'_>,
    floor: f32,
    delta: &mut [f32],
) -> Option<(usize, f32)> {
    let len = rows.check();
    assert!(delta.len() >= len * LANES);
    let mut negative = None;
    let mut row = 0;
    while row + AT_ONCE <= len {
        let found = descend_rows::<L, AT_ONCE>(rows, row, floor, delta);
        negative = negative.or(found);
        row += AT_ONCE;
    }
    while row < len {
        let found = descend_rows::<L, 1>(rows, row, floor, delta);
        negative = negative.or(found);
        row += 1;
    }
    negative
}

/// Steps of a few rows, interleaved: each step waits for the one before it in its row.
///
/// Gradient and Hessian are divided by the curvatures first, so that a coordinate's step is its
/// gradient as it then stands, and a step changes only the coordinates after it.
#[inline(always)]
fn descend_rows<L: Lanes, const ROWS: usize>(
    rows: &Quadratics<'_>,
    first: usize,
    floor: f32,
    delta: &mut [f32],
) -> Option<(usize, f32)> {
    let mut steps = [L::splat(0.0); ROWS];
    let mut inverses = steps;
    let mut lowest = L::splat(0.0);
    for row in 0..ROWS {
        let (curvature, least) = rows.curvature::<L>(first + row, floor);
        inverses[row] = curvature.reciprocal_above(least);
        steps[row] = L::load(&rows.g[(first + row) * LANES..]).mul(inverses[row]);
        lowest = lowest.min(curvature.add(least));
    }
    for f in 0..LANES {
        for (row, step) in steps.iter_mut().enumerate() {
            let line = L::load(&rows.h[((first + row) * LANES + f) * LANES..]);
            let line = line.mul(inverses[row]).above(f);
            *step = step.broadcast(f).mul_sub(line, *step);
        }
    }
    for (row, step) in steps.into_iter().enumerate() {
        step.store(&mut delta[(first + row) * LANES..]);
    }
    if lowest.is_negative() {
        return first_negative::<L>(rows, first..first + ROWS, floor);
    }
    None
}

/// The first row with a negative curvature, and that curvature.
#[inline(always)]
fn first_negative<L: Lanes>(
    rows: &Quadratics<'_>,
    among: std::ops::Range<usize>,
    floor: f32,
) -> Option<(usize, f32)> {
    for row in among {
        let (curvature, least) = rows.curvature::<L>(row, floor);
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

/// What solving sixteen quadratics came to, one lane each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Solved {
    /// Lanes whose step may not improve its row: one bit each.
    pub(crate) unsure: u16,
    /// The first row with a pivot below zero by more than rounding, and the pivot.
    pub(crate) negative: Option<(usize, f32)>,
}

/// Exact minima of up to sixteen quadratics from row `first`, one per lane: the factorisation
/// L D Lᵀ of all of them at once, step by step, so that no step waits for another.
///
/// A pivot that is not above what rounding leaves of its diagonal counts as zero, and its
/// coordinate stays where it is.
#[inline(always)]
pub(super) fn solve<L: Lanes>(
    rows: &Quadratics<'_>,
    first: usize,
    floor: f32,
    delta: &mut [f32],
) -> Solved {
    let len = rows.check().saturating_sub(first).min(LANES);
    assert!(delta.len() >= (first + len) * LANES);
    let lanes = first..first + len;
    let original = load_upper::<L>(rows, lanes.clone());
    let g = across::<L>(rows.g, lanes.clone(), LANES, 0);
    let base = across::<L>(rows.base, lanes.clone(), LANES, 0);
    let mut floors = base;
    for (f, slot) in floors.iter_mut().enumerate() {
        let rounding = original[f][f].abs().mul(L::splat(16.0 * f32::EPSILON));
        *slot = slot.abs().mul(L::splat(floor)).max(rounding);
    }
    let (x, lowest) = factor_and_solve(original, &floors, g);
    let mut solved = Solved {
        unsure: unsure(&original, &g, &x),
        negative: None,
    };
    let mut found = [0.0; LANES];
    lowest.store(&mut found);
    for (lane, pivot) in found.into_iter().enumerate().take(len) {
        if pivot < 0.0 && solved.negative.is_none() {
            solved.negative = Some((first + lane, pivot));
        }
    }
    let steps = L::transpose(x);
    for (row, step) in lanes.zip(steps) {
        step.store(&mut delta[row * LANES..]);
    }
    solved
}

/// Line `at` of each of these rows, coordinate by coordinate; a lane per row.
#[inline(always)]
fn across<L: Lanes>(
    from: &[f32],
    rows: std::ops::Range<usize>,
    pitch: usize,
    at: usize,
) -> [L; LANES] {
    let mut lines = [L::splat(0.0); LANES];
    for (line, row) in lines.iter_mut().zip(rows) {
        *line = L::load(&from[row * pitch + at..]);
    }
    L::transpose(lines)
}

/// Upper triangles of these rows' matrices with their penalties, a lane per row.
#[inline(always)]
fn load_upper<L: Lanes>(
    rows: &Quadratics<'_>,
    among: std::ops::Range<usize>,
) -> [[L; LANES]; LANES] {
    let mut penalty = [0.0; LANES];
    penalty[..among.len()].copy_from_slice(&rows.penalty[among.clone()]);
    let mut upper = [[L::splat(0.0); LANES]; LANES];
    for (f, line) in upper.iter_mut().enumerate() {
        *line = across(rows.h, among.clone(), LANES * LANES, f * LANES);
        line[f] = line[f].add(L::load(&penalty));
    }
    upper
}

/// The solutions, and the lowest of each lane's pivots that are negative by more than its floor.
#[inline(always)]
fn factor_and_solve<L: Lanes>(
    mut v: [[L; LANES]; LANES],
    floors: &[L; LANES],
    mut x: [L; LANES],
) -> ([L; LANES], L) {
    let mut lowest = L::splat(0.0);
    for j in 0..LANES {
        let (before, rest) = v.split_at_mut(j + 1);
        let pivots = &mut before[j];
        let inverse = pivots[j].reciprocal_above(floors[j]);
        lowest = lowest.min(pivots[j].add(floors[j]));
        for (n, row) in rest.iter_mut().enumerate() {
            let i = j + 1 + n;
            let factor = pivots[i].mul(inverse);
            for (slot, pivot) in row[i..].iter_mut().zip(&pivots[i..]) {
                *slot = factor.mul_sub(*pivot, *slot);
            }
            x[i] = factor.mul_sub(x[j], x[i]);
        }
        for factor in &mut pivots[j + 1..] {
            *factor = factor.mul(inverse);
        }
        pivots[j] = inverse;
    }
    for j in (0..LANES).rev() {
        let mut sum = x[j].mul(v[j][j]);
        for i in j + 1..LANES {
            sum = v[j][i].mul_sub(x[i], sum);
        }
        x[j] = sum;
    }
    (x, lowest)
}

/// Lanes where `2 δᵀ g − δᵀ h δ`, what the step takes off the objective, is not clearly positive
/// against the rounding of its terms; a step of zero is fine.
#[inline(always)]
fn unsure<L: Lanes>(h: &[[L; LANES]; LANES], g: &[L; LANES], step: &[L; LANES]) -> u16 {
    let (mut gain, mut size) = (L::splat(0.0), L::splat(0.0));
    for f in 0..LANES {
        // Half of what coordinate f has to do with itself, all of it with those after it.
        let mut along = h[f][f].mul(step[f]).mul(L::splat(0.5));
        let mut sizes = along.abs();
        for i in f + 1..LANES {
            let term = h[f][i].mul(step[i]);
            along = along.add(term);
            sizes = sizes.add(term.abs());
        }
        let pull = g[f].add(along.mul(L::splat(-1.0)));
        gain = step[f].mul_add(pull, gain);
        size = step[f].abs().mul_add(sizes.add(g[f].abs()), size);
    }
    let (mut gains, mut sizes) = ([0.0; LANES], [0.0; LANES]);
    gain.store(&mut gains);
    size.store(&mut sizes);
    let mut unsure = 0;
    for lane in 0..LANES {
        let sure = gains[lane] > 1e-5 * sizes[lane] || sizes[lane] == 0.0;
        unsure |= u16::from(!sure) << lane;
    }
    unsure
}
