//! The lanes as a plain array: the oracle, and the fallback of every machine.

use super::entry_points;
use super::lanes::{LANES, Lanes, Simd};

/// Sixteen floats in an array; needs no instructions beyond those that every machine has.
#[derive(Clone, Copy)]
pub(super) struct Array([f32; LANES]);

impl Array {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        Self(std::array::from_fn(|lane| f(self.0[lane], other.0[lane])))
    }
}

impl Lanes for Array {
    type Upper = [f32; 8];

    #[inline(always)]
    fn upper(self) -> [f32; 8] {
        std::array::from_fn(|lane| self.0[8 + lane])
    }

    #[inline(always)]
    fn add_upper(value: f32, x: [f32; 8], sum: [f32; 8]) -> [f32; 8] {
        std::array::from_fn(|lane| value * x[lane] + sum[lane])
    }

    #[inline(always)]
    fn store_upper(upper: [f32; 8], to: &mut [f32]) {
        to[..8].copy_from_slice(&upper);
    }

    #[inline(always)]
    fn splat(_: Simd<Self>, value: f32) -> Self {
        Self([value; LANES])
    }

    #[inline(always)]
    fn load(_: Simd<Self>, from: &[f32]) -> Self {
        let mut lanes = [0.0; LANES];
        lanes.copy_from_slice(&from[..LANES]);
        Self(lanes)
    }

    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        to[..LANES].copy_from_slice(&self.0);
    }

    // Without the instruction, a fused operation is a slow library call: two roundings are fine here.
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        self.mul(b).add(c)
    }

    #[inline(always)]
    fn mul_sub(self, b: Self, c: Self) -> Self {
        self.mul(b).zip(c, |product, c| c - product)
    }

    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        self.zip(b, |x, y| x * y)
    }

    #[inline(always)]
    fn add(self, b: Self) -> Self {
        self.zip(b, |x, y| x + y)
    }

    #[inline(always)]
    fn broadcast(self, lane: usize) -> Self {
        Self([self.0[lane]; LANES])
    }

    #[inline(always)]
    fn first(self) -> f32 {
        self.0[0]
    }

    #[inline(always)]
    fn sum_four(four: [Self; 4], to: &mut [f32]) {
        for (slot, one) in to[..4].iter_mut().zip(four) {
            let mut lanes = one.0;
            for half in [8, 4, 2, 1] {
                for lane in 0..half {
                    lanes[lane] += lanes[lane + half];
                }
            }
            *slot = lanes[0];
        }
    }

    #[inline(always)]
    fn prefetch(_: &[f32], _: usize) {}

    #[inline(always)]
    fn prefetch_early(_: &[f32], _: usize) {}
}

entry_points!(
    Array,
    gram_rows = 4,
    panel_rows = 4,
    lane_parallel = 2,
    [doc = "Needs no feature."]
);
