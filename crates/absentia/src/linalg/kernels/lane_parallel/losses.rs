//! The part of the objective that the entries of a lane-parallel group contribute.
// Loops of constant length that must unroll.
#![allow(clippy::needless_range_loop)]

use super::super::lanes::{LANES, Lanes, Simd};
use super::entry_weights::{EntryWeights, one_or_slot};
use super::{lines_of, moved, steps_of};

/// Entries after all steps.
#[derive(Clone, Copy)]
pub(crate) struct SteppedEntries<'a> {
    /// Whether every entry is scaled by its weight.
    pub(crate) plain: bool,
    /// The packed lines.
    pub(crate) lines: &'a [f32],
    /// Factors before the sweep, and steps, a line of lanes per coordinate.
    pub(crate) p: &'a [f32],
    pub(crate) steps: &'a [f32],
    /// Errors without the steps of the last `W` coordinates.
    pub(crate) error: &'a [f32],
    pub(crate) missing: &'a [f32],
    pub(crate) inverse: &'a [f32],
}

/// `Σ c (r − p·q)²` and `Σ (a·b) (p·q)²` over the entries of a group.
#[inline(always)]
pub(in super::super) fn losses<L: Lanes, const W: usize>(
    simd: Simd<L>,
    weights: EntryWeights<'_>,
    x: SteppedEntries<'_>,
) -> [f64; 2] {
    let (slots, k) = (x.error.len() / LANES, x.steps.len() / LANES);
    let last = steps_of::<L, W>(simd, x.steps, k - W);
    let last_lines = lines_of::<W>(x.lines, slots, k - W).chunks_exact(W * LANES);
    let (mut observed, mut counted) = ([0.0_f64; LANES], [0.0_f64; LANES]);
    for (slot, lines) in last_lines.enumerate() {
        let at = slot * LANES;
        let held = weights.held::<L>(simd, slot);
        let c = one_or_slot::<L>(simd, weights.c, slot).masked(held);
        let r = one_or_slot::<L>(simd, weights.r, slot);
        let inverse = simd.load(&x.inverse[at..]);
        let scaled = if x.plain {
            let error = simd.load(&x.error[at..]).sub(moved::<L, W>(lines, &last));
            c.mul(r).mul(inverse).sub(error)
        } else {
            predicted::<L, W>(simd, x, slot)
        };
        let predicted = scaled.mul(inverse);
        add_squares(c, r.sub(predicted), &mut observed);
        add_squares(simd.load(&x.missing[at..]), predicted, &mut counted);
    }
    [observed.iter().sum(), counted.iter().sum()]
}

/// Adds `weight·x²` to sums.
#[inline(always)]
fn add_squares<L: Lanes>(weight: L, x: L, sums: &mut [f64; LANES]) {
    let (mut weights, mut numbers) = ([0.0; LANES], [0.0; LANES]);
    weight.store(&mut weights);
    x.store(&mut numbers);
    for lane in 0..LANES {
        let x = f64::from(numbers[lane]);
        sums[lane] += f64::from(weights[lane]) * x * x;
    }
}

/// `g p·q` of the entries of a slot, from the factors after all steps.
#[inline(always)]
fn predicted<L: Lanes, const W: usize>(simd: Simd<L>, x: SteppedEntries<'_>, slot: usize) -> L {
    let (slots, k) = (x.error.len() / LANES, x.steps.len() / LANES);
    let mut sum = simd.splat(0.0);
    for f in (0..k).step_by(W) {
        let mut p = steps_of::<L, W>(simd, x.steps, f);
        for (p, before) in p.iter_mut().zip(steps_of::<L, W>(simd, x.p, f)) {
            *p = p.add(before);
        }
        let lines = &lines_of::<W>(x.lines, slots, f)[slot * W * LANES..];
        sum = sum.add(moved::<L, W>(lines, &p));
    }
    sum
}
