//! Gathered rows transposed into lines, with the errors of their entries.
// Loops of constant length that must unroll.
#![allow(clippy::needless_range_loop)]

use super::super::body::Gathered;
use super::super::lanes::{LANES, Lanes, Simd};
use super::entry_weights::{EntryWeights, one_or_slot};
use super::{packed_floats, pitch};

/// The entries of a lane-parallel group, scaled by their weights.
///
/// With `d = c − a·b` and `g = √d`, lines have `g q` instead of `q`, so that `Σ d q q'` is a sum of
/// products of two lines. Where `d` is negative or small beside `c` (dividing by `g` would
/// amplify rounding errors), `g` is 1 and `left` is `d`. Where a lane has no entry, lines and errors
/// are zero.
pub(crate) struct Slots<'a> {
    /// `d / g²`: mostly one.
    pub(crate) left: &'a mut [f32],
    /// `c·r / g − left·(g p·q)`.
    pub(crate) error: &'a mut [f32],
    /// What the objective needs, if it is requested.
    pub(crate) loss: Option<LossSlots<'a>>,
}

/// What the objective needs of entries.
pub(crate) struct LossSlots<'a> {
    /// `a·b`.
    pub(crate) missing: &'a mut [f32],
    /// `1 / g`.
    pub(crate) inverse: &'a mut [f32],
}

/// Ratio of `d` to `c` above which an entry is scaled by the root of its weight.
const SCALED_FROM: f32 = 1.0 / 16.0;

/// Transposes the rows of the first picks, sixteen per slot, into lines, weighs and predicts. Yields
/// whether every entry is scaled by its weight.
///
/// `p` has a line of sixteen lanes per coordinate.
#[inline(always)]
pub(in super::super) fn pack<L: Lanes, const W: usize>(
    simd: Simd<L>,
    picked: Gathered<'_>,
    p: &[f32],
    weights: EntryWeights<'_>,
    lines: &mut [f32],
    slots: &mut Slots<'_>,
) -> bool {
    let mut plain = true;
    let (k, len) = (picked.stride, slots.left.len() / LANES);
    let (blocks, wide) = (k / LANES, pitch(len) * W * LANES);
    assert!(k.is_multiple_of(LANES) && p.len() >= k * LANES);
    assert!(picked.indices.len() >= len * LANES && lines.len() >= packed_floats(len, k));
    let (matrix, _) = picked.matrix.as_chunks::<LANES>();
    let rows = u32::try_from(matrix.len() / blocks.max(1)).unwrap_or(u32::MAX);
    assert!(weights.b.len() >= rows as usize * (weights.a.len() / LANES));
    let (picks, _) = picked.indices.as_chunks::<LANES>();
    for (slot, picks) in picks[..len].iter().enumerate() {
        assert!(all_below(picks, rows));
        // No closure: it would not be inlined into a function that enables more instructions.
        let mut starts = [0; LANES];
        for (start, &index) in starts.iter_mut().zip(picks) {
            *start = index as usize * blocks;
        }
        let held = weights.held::<L>(simd, slot);
        // SAFETY: the assertions above found weights of all rows, and all picks below the number of rows.
        let missing = unsafe { weights.missing::<L>(simd, picks) }.masked(held);
        let c = one_or_slot::<L>(simd, weights.c, slot).masked(held);
        let d = missing.mul_sub(simd.splat(1.0), c);
        let scaled = d.lanes_above(c.mul(simd.splat(SCALED_FROM)));
        let one = simd.splat(1.0);
        plain &= held & !scaled == 0;
        let scale = d.masked(scaled).sqrt().add(one.masked(held & !scaled));
        let mut sums = [simd.splat(0.0); 4];
        for block in 0..blocks {
            let mut rows = [simd.splat(0.0); LANES];
            for (row, start) in rows.iter_mut().zip(starts) {
                // SAFETY: the assertion above found all picks below the number of rows of the matrix.
                *row = simd.load(unsafe { matrix.get_unchecked(start + block) });
            }
            let p = &p[block * LANES * LANES..(block + 1) * LANES * LANES];
            let first = block * LANES / W * wide + slot * W * LANES;
            let lines = &mut lines[first..first + (LANES / W - 1) * wide + W * LANES];
            put::<L, W>(&L::transpose(rows), scale, p, wide, lines, &mut sums);
        }
        let at = slot * LANES;
        let inverse = scale.reciprocal_above(simd.splat(0.0));
        if let Some(to) = &mut slots.loss {
            missing.store(&mut to.missing[at..]);
            inverse.store(&mut to.inverse[at..]);
        }
        let left = d.masked(held & !scaled).add(one.masked(!held | scaled));
        left.store(&mut slots.left[at..]);
        let predicted = sums[0].add(sums[1]).add(sums[2].add(sums[3]));
        let pull = c.mul(one_or_slot(simd, weights.r, slot)).mul(inverse);
        left.mul_sub(predicted, pull).store(&mut slots.error[at..]);
    }
    plain
}

/// Whether all picks are below `rows`.
#[inline(always)]
fn all_below(picks: &[u32; LANES], rows: u32) -> bool {
    picks.iter().fold(0, |most, &pick| pick.max(most)) < rows
}

/// Stores the coordinates of one slot on a block, `W` lines together, and predicts.
#[inline(always)]
fn put<L: Lanes, const W: usize>(
    columns: &[L; LANES],
    scale: L,
    p: &[f32],
    wide: usize,
    lines: &mut [f32],
    sums: &mut [L; 4],
) {
    // Four times four, because columns must stay in registers and longer loops are not unrolled.
    let ([one, two, three, four], _) = columns.as_chunks::<4>() else {
        return;
    };
    put_four::<L, W>(0, one, scale, p, wide, lines, sums);
    put_four::<L, W>(4, two, scale, p, wide, lines, sums);
    put_four::<L, W>(8, three, scale, p, wide, lines, sums);
    put_four::<L, W>(12, four, scale, p, wide, lines, sums);
}

#[inline(always)]
fn put_four<L: Lanes, const W: usize>(
    first: usize,
    columns: &[L; 4],
    scale: L,
    p: &[f32],
    wide: usize,
    lines: &mut [f32],
    sums: &mut [L; 4],
) {
    let simd = scale.simd();
    for n in 0..4 {
        let (f, column) = (first + n, columns[n].mul(scale));
        sums[n] = simd.load(&p[f * LANES..]).mul_add(column, sums[n]);
        column.store(&mut lines[f / W * wide + f % W * LANES..]);
    }
}
