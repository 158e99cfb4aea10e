//! Weights of the entries of a lane-parallel group.
// Loops of constant length that must unroll.
#![allow(clippy::needless_range_loop)]

use super::super::lanes::{LANES, Lanes, Simd};

/// Weights and targets of the entries of a lane-parallel group.
#[derive(Clone, Copy)]
pub(crate) struct EntryWeights<'a> {
    /// `a_ut`, a line of lanes per t.
    pub(crate) a: &'a [f32],
    /// `b_it`, one per t for each row of the fixed side.
    pub(crate) b: &'a [f32],
    /// `c` of all slots, or one for all entries.
    pub(crate) c: &'a [f32],
    /// `r`, likewise.
    pub(crate) r: &'a [f32],
    /// Number of slots in which each lane has an entry; not above zero where it has none.
    pub(crate) held: &'a [f32; LANES],
}

impl EntryWeights<'_> {
    /// The lanes that have an entry in a slot.
    #[inline(always)]
    pub(super) fn held<L: Lanes>(&self, simd: Simd<L>, slot: usize) -> u16 {
        simd.load(self.held).lanes_above(simd.splat(slot as f32))
    }

    /// `a·b` of the entries of a slot.
    ///
    /// # Safety
    /// `b` must have the weights of all rows that are picked.
    #[inline(always)]
    pub(super) unsafe fn missing<L: Lanes>(&self, simd: Simd<L>, picks: &[u32; LANES]) -> L {
        let z = self.a.len() / LANES;
        let mut sum = simd.splat(0.0);
        let (sixteens, rest) = self.a.as_chunks::<{ LANES * LANES }>();
        for (t, a) in sixteens.iter().enumerate() {
            let mut rows = [simd.splat(0.0); LANES];
            for (row, &pick) in rows.iter_mut().zip(picks) {
                let start = pick as usize * z + t * LANES;
                // SAFETY: the caller promises the `z` weights of this row, sixteen of which start here.
                *row = simd.load(unsafe { self.b.get_unchecked(start..start + LANES) });
            }
            let columns = L::transpose(rows);
            // Four times four, because columns must stay in registers and longer loops are not unrolled.
            for (a, columns) in a.chunks_exact(4 * LANES).zip(columns.as_chunks::<4>().0) {
                for n in 0..4 {
                    sum = simd.load(&a[n * LANES..]).mul_add(columns[n], sum);
                }
            }
        }
        for (t, a) in (z / LANES * LANES..z).zip(rest.chunks_exact(LANES)) {
            let mut b = [0.0; LANES];
            for (slot, &pick) in b.iter_mut().zip(picks) {
                // SAFETY: the caller promises the `z` weights of this row, and `t` is below `z`.
                *slot = unsafe { *self.b.get_unchecked(pick as usize * z + t) };
            }
            sum = simd.load(a).mul_add(simd.load(&b), sum);
        }
        sum
    }
}

/// The lanes of a slot, or the one number that applies to all.
#[inline(always)]
pub(super) fn one_or_slot<L: Lanes>(simd: Simd<L>, values: &[f32], slot: usize) -> L {
    match *values {
        [value] => simd.splat(value),
        _ => simd.load(&values[slot * LANES..]),
    }
}
