//! Lane-parallel coordinate steps on one block.
// Indices into several triangles at once, and loops of constant length that must unroll.
#![allow(clippy::needless_range_loop)]

use super::super::body::Gathered;
use super::super::lanes::{LANES, Lanes, Simd};
use super::{across, lines_of, moved, steps_of};

/// One block of sixteen coordinates of a lane-parallel group.
#[derive(Clone, Copy)]
pub(crate) struct LaneBlock<'a> {
    /// Which block.
    pub(crate) block: usize,
    /// Lanes of a row.
    pub(crate) per_row: usize,
    /// The packed lines of all blocks.
    pub(crate) lines: &'a [f32],
    /// Factors before the sweep, a line of lanes per coordinate.
    pub(crate) p: &'a [f32],
    /// Rows to prefetch because they will be packed next.
    pub(crate) next: Gathered<'a>,
    /// The factor of each entry that its scale leaves; `None` if it is 1 for all.
    pub(crate) left: Option<&'a [f32]>,
    /// Penalties, a line of lanes; positive where there is no row.
    pub(crate) penalty: &'a [f32],
    /// Weights `a_ut`, a line of lanes per t.
    pub(crate) weights: &'a [f32],
    /// For each coordinate of the block, its row of the diagonal block of every `S_t`.
    pub(crate) diagonals: &'a [f32],
    /// `−Σ_t a_ut (S_t p_u)` on the block, sixteen for each row.
    pub(crate) g: &'a [f32],
}

/// The arrays that the steps of a block change.
pub(crate) struct LaneUpdates<'a> {
    /// Steps of all coordinates, a line of lanes each; those of earlier blocks are read.
    pub(crate) steps: &'a mut [f32],
    /// Errors of the entries.
    pub(crate) error: &'a mut [f32],
    /// Factors of the rows, row by row.
    pub(crate) factors: &'a mut [f32],
}

/// Rows to prefetch: of each slot, `W` picks from `from`, and of those the line at `at`.
#[derive(Clone, Copy)]
struct Next<'a> {
    picked: Gathered<'a>,
    from: usize,
    at: usize,
}

impl Next<'_> {
    #[inline(always)]
    fn prefetch<L: Lanes, const W: usize>(self, slot: usize) {
        let picks = self.picked.indices.get(slot * LANES + self.from..);
        if let Some(picks) = picks.and_then(|picks| picks.first_chunk::<W>()) {
            for &index in picks {
                let at = index as usize * self.picked.stride + self.at;
                L::prefetch_early(self.picked.matrix, at);
            }
        }
    }
}

/// Sums over entries for `W` coordinates, a lane per row.
struct LaneSums<L, const W: usize> {
    /// `Σ error q_f`.
    pull: [L; W],
    /// `Σ d q_f q_g` for `f ≤ g`.
    products: [[L; W]; W],
}

/// Coordinate steps on one block, in order, exact for each coordinate; yields the first row whose
/// curvature is below zero by more than rounding, and that curvature.
///
/// The steps of the last `W` coordinates are applied to the errors with the next block.
#[inline(always)]
pub(in super::super) fn descend<L: Lanes, const W: usize>(
    simd: Simd<L>,
    x: LaneBlock<'_>,
    floor: f32,
    updates: &mut LaneUpdates<'_>,
) -> Option<(usize, f32)> {
    // Rank one is by far the most common, and its sums over t have one term.
    if x.weights.len() == LANES {
        descend_rank::<L, W, true>(simd, x, floor, updates)
    } else {
        descend_rank::<L, W, false>(simd, x, floor, updates)
    }
}

#[inline(always)]
fn descend_rank<L: Lanes, const W: usize, const ONE: bool>(
    simd: Simd<L>,
    x: LaneBlock<'_>,
    floor: f32,
    updates: &mut LaneUpdates<'_>,
) -> Option<(usize, f32)> {
    let (rows, z, first) = (x.g.len() / LANES, x.weights.len() / LANES, x.block * LANES);
    let stride = updates.factors.len() / rows.max(1);
    assert!(x.diagonals.len() == LANES * z * LANES);
    assert!(stride.is_multiple_of(LANES) && first + LANES <= stride);
    assert!(updates.steps.len() >= stride * LANES && x.p.len() >= stride * LANES);
    let gradient = |row: usize| simd.load(&x.g[row * LANES..]);
    let mut g = across(simd, x.per_row, rows.saturating_sub(1), gradient);
    let penalty = simd.load(x.penalty);
    for (f, g) in g.iter_mut().enumerate() {
        *g = penalty.mul_sub(simd.load(&x.p[(first + f) * LANES..]), *g);
    }
    let mut negative = None;
    for at in (0..LANES).step_by(W) {
        let sums = gather_lanes(accumulate::<L, W>(simd, &x, first + at, updates), x.per_row);
        let (steps, found) = step_coordinates::<L, W, ONE>(simd, &x, at, floor, &g, &sums);
        negative = negative.or(found);
        for (n, step) in steps.iter().enumerate() {
            step.store(&mut updates.steps[(first + at + n) * LANES..]);
        }
        follow(simd, &x, at, &steps, &mut g);
    }
    let mut steps = [simd.splat(0.0); LANES];
    for (f, step) in steps.iter_mut().enumerate() {
        *step = simd.load(&updates.steps[(first + f) * LANES..]);
    }
    let steps = L::transpose(steps);
    let each = updates.factors.chunks_exact_mut(stride);
    for (row, step) in each.zip(steps.chunks_exact(x.per_row)) {
        let slot = &mut row[first..first + LANES];
        simd.load(slot).add(step[0]).store(slot);
    }
    negative.map(|(lane, curvature)| (lane / x.per_row, curvature))
}

/// Applies the steps of the `W` coordinates before `f` to the errors, and sums those from `f`.
#[inline(always)]
fn accumulate<L: Lanes, const W: usize>(
    simd: Simd<L>,
    x: &LaneBlock<'_>,
    f: usize,
    updates: &mut LaneUpdates<'_>,
) -> LaneSums<L, W> {
    let slots = updates.error.len() / LANES;
    let lines = lines_of::<W>(x.lines, slots, f);
    let next = Next {
        picked: x.next,
        from: f % LANES,
        at: x.block * LANES,
    };
    if f == 0 {
        let none = [simd.splat(0.0); W];
        return match x.left {
            None => pass::<L, W, false, true>(simd, next, &[], lines, lines, &none, updates.error),
            Some(left) => {
                pass::<L, W, false, false>(simd, next, left, lines, lines, &none, updates.error)
            }
        };
    }
    let before = lines_of::<W>(x.lines, slots, f - W);
    let step = steps_of(simd, updates.steps, f - W);
    match x.left {
        None => pass::<L, W, true, true>(simd, next, &[], lines, before, &step, updates.error),
        Some(left) => {
            pass::<L, W, true, false>(simd, next, left, lines, before, &step, updates.error)
        }
    }
}

#[inline(always)]
fn pass<L: Lanes, const W: usize, const STEPS: bool, const PLAIN: bool>(
    simd: Simd<L>,
    next: Next<'_>,
    left: &[f32],
    lines: &[f32],
    before: &[f32],
    step: &[L; W],
    error: &mut [f32],
) -> LaneSums<L, W> {
    let mut sums = LaneSums {
        pull: [simd.splat(0.0); W],
        products: [[simd.splat(0.0); W]; W],
    };
    let lines = lines
        .chunks_exact(W * LANES)
        .zip(before.chunks_exact(W * LANES));
    for (slot, (error, (q, before))) in error.chunks_exact_mut(LANES).zip(lines).enumerate() {
        next.prefetch::<L, W>(slot);
        let mut e = simd.load(error);
        let left = if PLAIN {
            e
        } else {
            simd.load(&left[slot * LANES..])
        };
        if STEPS {
            let mut change = moved::<L, W>(before, step);
            if !PLAIN {
                change = change.mul(left);
            }
            e = e.sub(change);
            e.store(error);
        }
        let mut line = [e; W];
        for (n, line) in line.iter_mut().enumerate() {
            *line = simd.load(&q[n * LANES..]);
        }
        for n in 0..W {
            sums.pull[n] = e.mul_add(line[n], sums.pull[n]);
            let scaled = if PLAIN { line[n] } else { left.mul(line[n]) };
            for m in n..W {
                sums.products[n][m] = scaled.mul_add(line[m], sums.products[n][m]);
            }
        }
    }
    sums
}

/// Sums over the lanes of each row, stored in all of its lanes.
#[inline(always)]
fn gather_lanes<L: Lanes, const W: usize>(
    mut sums: LaneSums<L, W>,
    per_row: usize,
) -> LaneSums<L, W> {
    let mut distance = 1;
    while distance < per_row {
        for n in 0..W {
            sums.pull[n] = sums.pull[n].add(sums.pull[n].swap(distance));
            for m in n..W {
                let sum = &mut sums.products[n][m];
                *sum = sum.add(sum.swap(distance));
            }
        }
        distance *= 2;
    }
    sums
}

/// Steps of `W` coordinates from position `at` of the block, one after the other.
#[inline(always)]
fn step_coordinates<L: Lanes, const W: usize, const ONE: bool>(
    simd: Simd<L>,
    x: &LaneBlock<'_>,
    at: usize,
    floor: f32,
    g: &[L; LANES],
    sums: &LaneSums<L, W>,
) -> ([L; W], Option<(usize, f32)>) {
    let zero = simd.splat(0.0);
    let (mut curvature, mut least, mut steps) = ([zero; W], [zero; W], [zero; W]);
    let mut lowest = zero;
    for n in 0..W {
        let base = missing::<L, ONE>(simd, x, at + n, at + n);
        curvature[n] = base.add(sums.products[n][n]).add(simd.load(x.penalty));
        least[n] = base.abs().mul(simd.splat(floor));
        lowest = lowest.min(curvature[n].add(least[n]));
        steps[n] = curvature[n].reciprocal_above(least[n]);
    }
    for n in 0..W {
        let mut gradient = g[at + n].add(sums.pull[n]);
        for m in 0..n {
            let coupling = missing::<L, ONE>(simd, x, at + n, at + m).add(sums.products[m][n]);
            gradient = coupling.mul_sub(steps[m], gradient);
        }
        steps[n] = gradient.mul(steps[n]);
    }
    if lowest.is_negative() {
        return (steps, first_negative(&curvature, &least));
    }
    (steps, None)
}

/// `Σ_t a_ut S_t[f, g]` of every lane, for coordinates of the block.
#[inline(always)]
fn missing<L: Lanes, const ONE: bool>(simd: Simd<L>, x: &LaneBlock<'_>, f: usize, g: usize) -> L {
    if ONE {
        return simd
            .splat(x.diagonals[f * LANES + g])
            .mul(simd.load(x.weights));
    }
    let z = x.weights.len() / LANES;
    let mut sum = simd.splat(0.0);
    for (t, weight) in x.weights.chunks_exact(LANES).enumerate() {
        sum = simd
            .splat(x.diagonals[(f * z + t) * LANES + g])
            .mul_add(simd.load(weight), sum);
    }
    sum
}

/// Corrects the gradients of later coordinates for the steps from position `at`, as far as missing
/// entries are concerned.
#[inline(always)]
fn follow<L: Lanes, const W: usize>(
    simd: Simd<L>,
    x: &LaneBlock<'_>,
    at: usize,
    steps: &[L; W],
    g: &mut [L; LANES],
) {
    let z = x.weights.len() / LANES;
    for (t, weight) in x.weights.chunks_exact(LANES).enumerate() {
        let weight = simd.load(weight);
        for (f, slot) in g.iter_mut().enumerate().skip(at + W) {
            let row = &x.diagonals[(f * z + t) * LANES + at..][..W];
            let mut sum = simd.splat(row[0]).mul(steps[0]);
            for n in 1..W {
                sum = simd.splat(row[n]).mul_add(steps[n], sum);
            }
            *slot = weight.mul_sub(sum, *slot);
        }
    }
}

/// The first lane with a curvature below minus its margin, and that curvature.
#[inline(always)]
fn first_negative<L: Lanes>(curvature: &[L], least: &[L]) -> Option<(usize, f32)> {
    let mut first = None;
    for (curvature, least) in curvature.iter().zip(least) {
        let (mut found, mut margin) = ([0.0; LANES], [0.0; LANES]);
        curvature.store(&mut found);
        least.store(&mut margin);
        for (lane, (curvature, margin)) in found.into_iter().zip(margin).enumerate() {
            if curvature < -margin && first.is_none_or(|(before, _)| lane < before) {
                first = Some((lane, curvature));
            }
        }
    }
    first
}
