//! Weights of entries side by side.

use super::super::lanes::{LANES, Lanes};

/// What the entries of rows side by side weigh.
#[derive(Clone, Copy)]
pub(crate) struct Weighing<'a> {
    /// `a_ut`, a line of lanes per t.
    pub(crate) a: &'a [f32],
    /// `b_it`, one per t for each row of the fixed side.
    pub(crate) b: &'a [f32],
    /// `c` of all slots, or one for all entries.
    pub(crate) c: &'a [f32],
    /// `r`, likewise.
    pub(crate) r: &'a [f32],
    /// Slots before which each lane has an entry; none where not above zero.
    pub(crate) held: &'a [f32; LANES],
}

impl Weighing<'_> {
    /// The lanes that have an entry in a slot.
    #[inline(always)]
    pub(super) fn held<L: Lanes>(&self, slot: usize) -> u16 {
        L::load(self.held).lanes_above(L::splat(slot as f32))
    }

    /// `a·b` of the entries of a slot.
    ///
    /// # Safety
    /// `b` must have the weights of all rows that are picked.
    #[inline(always)]
    pub(super) unsafe fn missing<L: Lanes>(&self, picks: &[u32; LANES]) -> L {
        let z = self.a.len() / LANES;
        let mut sum = L::splat(0.0);
        for (t, a) in self.a.chunks_exact(LANES).enumerate() {
            // SAFETY: the caller vouches for it.
            let b = picks.map(|pick| unsafe { *self.b.get_unchecked(pick as usize * z + t) });
            sum = L::load(a).mul_add(L::load(&b), sum);
        }
        sum
    }
}

/// The lanes of a slot, or the one number that stands for all.
#[inline(always)]
pub(super) fn one_or_slot<L: Lanes>(values: &[f32], slot: usize) -> L {
    match *values {
        [value] => L::splat(value),
        _ => L::load(&values[slot * LANES..]),
    }
}
