//! The lanes as four 128-bit registers.

use std::arch::aarch64::{
    float32x4_t, vaddq_f32, vaddvq_f32, vdupq_n_f32, vextq_f32, vfmaq_f32, vfmsq_f32,
    vgetq_lane_f32, vld1q_f32, vmulq_f32, vst1q_f32,
};

use super::entry_points;
use super::lanes::{LANES, Lanes, Simd};

/// Sixteen floats in four registers; needs NEON.
#[derive(Clone, Copy)]
pub(super) struct Quads([float32x4_t; 4]);

impl Lanes for Quads {
    type Upper = [float32x4_t; 2];

    #[inline(always)]
    fn upper(self) -> [float32x4_t; 2] {
        [self.0[2], self.0[3]]
    }

    #[inline(always)]
    fn add_upper(value: f32, x: [float32x4_t; 2], sum: [float32x4_t; 2]) -> [float32x4_t; 2] {
        // SAFETY: every `aarch64` machine has NEON.
        unsafe {
            let value = vdupq_n_f32(value);
            [
                vfmaq_f32(sum[0], value, x[0]),
                vfmaq_f32(sum[1], value, x[1]),
            ]
        }
    }

    #[inline(always)]
    fn store_upper(upper: [float32x4_t; 2], to: &mut [f32]) {
        let to = &mut to[..8];
        // SAFETY: every `aarch64` machine has NEON; the slice has eight floats.
        unsafe {
            vst1q_f32(to.as_mut_ptr(), upper[0]);
            vst1q_f32(to[4..].as_mut_ptr(), upper[1]);
        }
    }

    #[inline(always)]
    fn rotated<const BY: usize>(self) -> Self {
        const { assert!(BY <= 4, "halves are turned by half of them at the most") }
        let [a, b, c, d] = self.0;
        // SAFETY: these lanes exist, so that the machine has NEON.
        Self(unsafe {
            match BY {
                1 => [
                    vextq_f32::<1>(a, b),
                    vextq_f32::<1>(b, a),
                    vextq_f32::<1>(c, d),
                    vextq_f32::<1>(d, c),
                ],
                2 => [
                    vextq_f32::<2>(a, b),
                    vextq_f32::<2>(b, a),
                    vextq_f32::<2>(c, d),
                    vextq_f32::<2>(d, c),
                ],
                3 => [
                    vextq_f32::<3>(a, b),
                    vextq_f32::<3>(b, a),
                    vextq_f32::<3>(c, d),
                    vextq_f32::<3>(d, c),
                ],
                4 => [b, a, d, c],
                _ => self.0,
            }
        })
    }

    #[inline(always)]
    fn splat(_: Simd<Self>, value: f32) -> Self {
        // SAFETY: the proof is given, so that the machine has NEON.
        Self([unsafe { vdupq_n_f32(value) }; 4])
    }

    #[inline(always)]
    fn load(_: Simd<Self>, from: &[f32]) -> Self {
        let from = &from[..LANES];
        // SAFETY: the proof is given, so that the machine has NEON; the slice has sixteen floats.
        Self(std::array::from_fn(|quad| unsafe {
            vld1q_f32(from[4 * quad..].as_ptr())
        }))
    }

    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        let to = &mut to[..LANES];
        for quad in 0..4 {
            // SAFETY: these lanes exist, so that the machine has NEON; the slice has sixteen floats.
            unsafe { vst1q_f32(to[4 * quad..].as_mut_ptr(), self.0[quad]) }
        }
    }

    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has NEON.
        Self(std::array::from_fn(|quad| unsafe {
            vfmaq_f32(c.0[quad], self.0[quad], b.0[quad])
        }))
    }

    #[inline(always)]
    fn mul_sub(self, b: Self, c: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has NEON.
        Self(std::array::from_fn(|quad| unsafe {
            vfmsq_f32(c.0[quad], self.0[quad], b.0[quad])
        }))
    }

    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has NEON.
        Self(std::array::from_fn(|quad| unsafe {
            vmulq_f32(self.0[quad], b.0[quad])
        }))
    }

    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has NEON.
        Self(std::array::from_fn(|quad| unsafe {
            vaddq_f32(self.0[quad], b.0[quad])
        }))
    }

    #[inline(always)]
    fn broadcast(self, lane: usize) -> Self {
        let mut lanes = [0.0; LANES];
        self.store(&mut lanes);
        self.simd().splat(lanes[lane])
    }

    #[inline(always)]
    fn first(self) -> f32 {
        // SAFETY: these lanes exist, so that the machine has NEON.
        unsafe { vgetq_lane_f32::<0>(self.0[0]) }
    }

    #[inline(always)]
    fn sum_four(four: [Self; 4], to: &mut [f32]) {
        for (slot, one) in to[..4].iter_mut().zip(four) {
            let [a, b, c, d] = one.0;
            // SAFETY: these lanes exist, so that the machine has NEON.
            *slot = unsafe { vaddvq_f32(vaddq_f32(vaddq_f32(a, b), vaddq_f32(c, d))) };
        }
    }

    // The stable compiler offers no prefetch here.
    #[inline(always)]
    fn prefetch(_: &[f32], _: usize) {}

    #[inline(always)]
    fn prefetch_early(_: &[f32], _: usize) {}
}

entry_points!(
    Quads,
    gram_rows = 4,
    panel_rows = 4,
    lane_parallel = 2,
    [target_feature(enable = "neon")]
);
