//! Lane-parallel coordinate steps: up to sixteen rows at once, each in a lane of its own.
//!
//! Entries are stored in *slots* of sixteen, one entry per lane. The entries of a long row are
//! distributed over several neighbouring lanes. Packing transposes the gathered rows of the fixed
//! side: one line holds one coordinate of the sixteen entries of a slot. Sums over a row's entries
//! then run over the slots without crossing lanes, and the work per row is done for all rows at once.
//! `W` coordinates are handled at a time, so that errors are read and written once for all `W`.

mod descend;
mod entry_weights;
mod losses;
mod pack;

use super::lanes::{LANES, Lanes, Simd};
pub(super) use descend::descend;
pub(crate) use descend::{LaneBlock, LaneUpdates};
pub(crate) use entry_weights::EntryWeights;
pub(crate) use losses::SteppedEntries;
pub(super) use losses::losses;
pub(super) use pack::pack;
pub(crate) use pack::{LossSlots, Slots};

/// Distance between the slots of `W` coordinates and those of the next `W`: odd, so that they do not
/// all map to the same cache set.
fn pitch(slots: usize) -> usize {
    slots | 1
}

/// Floats of the packed lines of `slots` slots.
pub(crate) fn packed_floats(slots: usize, k: usize) -> usize {
    pitch(slots) * k * LANES
}

/// The lines of `W` coordinates from `f`.
#[inline(always)]
fn lines_of<const W: usize>(lines: &[f32], slots: usize, f: usize) -> &[f32] {
    &lines[f / W * pitch(slots) * W * LANES..][..slots * W * LANES]
}

/// The steps of `W` coordinates from `f`.
#[inline(always)]
fn steps_of<L: Lanes, const W: usize>(simd: Simd<L>, steps: &[f32], f: usize) -> [L; W] {
    let mut few = [simd.splat(0.0); W];
    for (n, step) in few.iter_mut().enumerate() {
        *step = simd.load(&steps[(f + n) * LANES..]);
    }
    few
}

/// `Σ q_f δ_f` over `W` coordinates.
#[inline(always)]
fn moved<L: Lanes, const W: usize>(lines: &[f32], steps: &[L; W]) -> L {
    let simd = steps[0].simd();
    let mut change = steps[0].mul(simd.load(lines));
    for n in 1..W {
        change = steps[n].mul_add(simd.load(&lines[n * LANES..]), change);
    }
    change
}

/// Sixteen coordinates of some rows, transposed so that each row has `per_row` lanes. Lanes after the
/// last row repeat it.
#[inline(always)]
fn across<L: Lanes>(
    simd: Simd<L>,
    per_row: usize,
    last: usize,
    load: impl Fn(usize) -> L,
) -> [L; LANES] {
    let mut lines = [simd.splat(0.0); LANES];
    // A power of two: a shift instead of a division.
    let shift = per_row.trailing_zeros();
    for (lane, line) in lines.iter_mut().enumerate() {
        *line = load((lane >> shift).min(last));
    }
    L::transpose(lines)
}

/// Copies some rows of a matrix, and transposes them: one line of lanes per coordinate.
#[inline(always)]
pub(super) fn spread<L: Lanes>(
    simd: Simd<L>,
    matrix: &[f32],
    stride: usize,
    picked: &[usize],
    copies: &mut [f32],
    per_row: usize,
    out: &mut [f32],
) {
    assert!(out.len() == stride * LANES && picked.len() * per_row <= LANES);
    assert!(copies.len() == picked.len() * stride);
    for (&row, copy) in picked.iter().zip(copies.chunks_exact_mut(stride)) {
        let from = &matrix[row * stride..(row + 1) * stride];
        for (from, copy) in from.chunks_exact(LANES).zip(copy.chunks_exact_mut(LANES)) {
            simd.load(from).store(copy);
        }
    }
    let Some(last) = picked.len().checked_sub(1) else {
        return;
    };
    for (block, out) in out.chunks_exact_mut(LANES * LANES).enumerate() {
        let load = |row: usize| simd.load(&copies[row * stride + block * LANES..]);
        let lines = across(simd, per_row, last, load);
        for (line, out) in lines.into_iter().zip(out.chunks_exact_mut(LANES)) {
            line.store(out);
        }
    }
}
