//! Operations on sixteen floats at a time, on any instruction set.

use std::marker::PhantomData;

/// Number of lanes.
pub(super) const LANES: usize = crate::linalg::LANES;

/// Proof that the machine has the instructions that `L` uses.
///
/// Lanes are made from this proof or from other lanes and in no other way. Code that holds lanes may
/// therefore use their instructions.
#[derive(Clone, Copy)]
pub(super) struct Simd<L>(PhantomData<L>);

impl<L: Lanes> Simd<L> {
    /// Yields the proof without checking anything.
    ///
    /// # Safety
    /// The machine must have every instruction set that the documentation of `L` names.
    #[inline(always)]
    pub(super) unsafe fn new() -> Self {
        Self(PhantomData)
    }

    /// The same number in every lane.
    #[inline(always)]
    pub(super) fn splat(self, value: f32) -> L {
        L::splat(self, value)
    }

    /// The first sixteen floats of `from`.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline(always)]
    pub(super) fn load(self, from: &[f32]) -> L {
        L::load(self, from)
    }
}

/// Sixteen `f32` lanes.
///
/// A lane type keeps its fields private, so that a value of it proves that its instructions exist
/// ([`Simd`]). It must be inlined into a function that enables them, or every operation is a call.
pub(super) trait Lanes: Copy {
    /// Eight lanes.
    type Upper: Copy;

    /// The proof that these lanes were made from.
    #[inline(always)]
    fn simd(self) -> Simd<Self> {
        Simd(PhantomData)
    }

    /// The upper eight lanes.
    fn upper(self) -> Self::Upper;

    /// `value · x + sum`, rounded once where the machine can.
    fn add_upper(value: f32, x: Self::Upper, sum: Self::Upper) -> Self::Upper;

    /// Writes eight lanes to the first eight floats of `to`.
    ///
    /// # Panics
    /// If there are fewer.
    fn store_upper(upper: Self::Upper, to: &mut [f32]);

    /// The same number in every lane.
    fn splat(simd: Simd<Self>, value: f32) -> Self;

    /// The first sixteen floats of `from`.
    ///
    /// # Panics
    /// If there are fewer.
    fn load(simd: Simd<Self>, from: &[f32]) -> Self;

    /// Writes the lanes to the first sixteen floats of `to`.
    ///
    /// # Panics
    /// If there are fewer.
    fn store(self, to: &mut [f32]);

    /// `self · b + c`, rounded once where the machine can.
    fn mul_add(self, b: Self, c: Self) -> Self;

    /// `c − self · b`, rounded once where the machine can.
    fn mul_sub(self, b: Self, c: Self) -> Self;

    /// Lane-wise product.
    fn mul(self, b: Self) -> Self;

    /// Lane-wise sum.
    fn add(self, b: Self) -> Self;

    /// Lane `lane` in every lane.
    fn broadcast(self, lane: usize) -> Self;

    /// The first lane.
    fn first(self) -> f32;

    /// Sums of the lanes of four, each in the same order, into the first four floats of `to`.
    fn sum_four(four: [Self; 4], to: &mut [f32]);

    /// Sums of the lanes of sixteen, each in the same order, as the lanes of one.
    #[inline(always)]
    fn sum_sixteen(all: [Self; LANES]) -> Self {
        let mut sums = [0.0; LANES];
        for (four, to) in all.as_chunks::<4>().0.iter().zip(sums.chunks_exact_mut(4)) {
            Self::sum_four(*four, to);
        }
        all[0].simd().load(&sums)
    }

    /// Rows and columns of sixteen times sixteen exchanged.
    #[inline(always)]
    fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
        let mut square = [[0.0; LANES]; LANES];
        for (row, line) in rows.iter().zip(&mut square) {
            row.store(line);
        }
        let mut columns = rows;
        for (at, column) in columns.iter_mut().enumerate() {
            let mut line = [0.0; LANES];
            for (slot, row) in line.iter_mut().zip(&square) {
                *slot = row[at];
            }
            *column = rows[0].simd().load(&line);
        }
        columns
    }

    /// The lanes whose bits are set, zeros elsewhere.
    #[inline(always)]
    fn masked(self, bits: u16) -> Self {
        changed(self, |lanes| {
            for (lane, slot) in lanes.iter_mut().enumerate() {
                if bits >> lane & 1 == 0 {
                    *slot = 0.0;
                }
            }
        })
    }

    /// Each lane exchanged with the one `distance` away: 1, 2, 4 or 8.
    #[inline(always)]
    fn swap(self, distance: usize) -> Self {
        changed(self, |lanes| {
            let before = *lanes;
            for (lane, slot) in lanes.iter_mut().enumerate() {
                *slot = before[(lane ^ distance) % LANES];
            }
        })
    }

    /// The lanes of each half rotated down by `BY`, which is at most four.
    #[inline(always)]
    fn rotated<const BY: usize>(self) -> Self {
        const HALF: usize = LANES / 2;
        changed(self, |lanes| {
            for half in lanes.as_chunks_mut::<HALF>().0 {
                half.rotate_left(BY % HALF);
            }
        })
    }

    /// The lanes above `lane`, zeros elsewhere.
    #[inline(always)]
    fn above(self, lane: usize) -> Self {
        changed(self, |lanes| lanes[..=lane].fill(0.0))
    }

    /// The same lanes except `lane`, which is that of `other`.
    #[inline(always)]
    fn with_lane(self, lane: usize, other: Self) -> Self {
        let mut from = [0.0; LANES];
        other.store(&mut from);
        changed(self, |lanes| lanes[lane] = from[lane])
    }

    /// Reciprocals of the lanes that are above those of `floor`, zeros elsewhere.
    #[inline(always)]
    fn reciprocal_above(self, floor: Self) -> Self {
        let mut floors = [0.0; LANES];
        floor.store(&mut floors);
        changed(self, |lanes| {
            for (lane, floor) in lanes.iter_mut().zip(floors) {
                *lane = if *lane > floor { 1.0 / *lane } else { 0.0 };
            }
        })
    }

    /// The greater of both, lane by lane.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        let (zero, minus) = (self.simd().splat(0.0), self.simd().splat(-1.0));
        let negative = |lanes: Self| lanes.mul(minus).add(zero);
        negative(negative(self).min(negative(other)))
    }

    /// The lesser of both, lane by lane.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        let mut others = [0.0; LANES];
        other.store(&mut others);
        changed(self, |lanes| {
            for (lane, other) in lanes.iter_mut().zip(others) {
                *lane = if other < *lane { other } else { *lane };
            }
        })
    }

    /// The lanes that are above those of `other`, one bit each.
    #[inline(always)]
    fn lanes_above(self, other: Self) -> u16 {
        let (mut lanes, mut others) = ([0.0; LANES], [0.0; LANES]);
        self.store(&mut lanes);
        other.store(&mut others);
        let above = lanes.iter().zip(others).enumerate();
        above.fold(0, |bits, (lane, (x, other))| {
            bits | u16::from(*x > other) << lane
        })
    }

    /// Whether a lane is below zero.
    #[inline(always)]
    fn is_negative(self) -> bool {
        let mut lanes = [0.0; LANES];
        self.store(&mut lanes);
        lanes.iter().any(|&lane| lane < 0.0)
    }

    /// `self − other`.
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        other.mul_sub(self.simd().splat(1.0), self)
    }

    /// Square roots.
    #[inline(always)]
    fn sqrt(self) -> Self {
        changed(self, |lanes| {
            for lane in lanes {
                *lane = lane.sqrt();
            }
        })
    }

    /// The same numbers without their signs.
    #[inline(always)]
    fn abs(self) -> Self {
        changed(self, |lanes| {
            for lane in lanes {
                *lane = lane.abs();
            }
        })
    }

    /// Prefetches the cache line at `from[at]`, where the machine can; never faults.
    fn prefetch(from: &[f32], at: usize);

    /// Prefetches into the second-level cache, for data that is needed later.
    fn prefetch_early(from: &[f32], at: usize);
}

/// The lanes after a change to them as an array.
#[inline(always)]
fn changed<L: Lanes>(lanes: L, change: impl FnOnce(&mut [f32; LANES])) -> L {
    let mut array = [0.0; LANES];
    lanes.store(&mut array);
    change(&mut array);
    lanes.simd().load(&array)
}
