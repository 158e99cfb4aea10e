//! The lanes as one 512-bit register.

use std::arch::x86_64::{
    __m256, __m512, _CMP_GT_OQ, _CMP_LT_OQ, _MM_HINT_T0, _MM_HINT_T1, _mm256_add_ps, _mm512_abs_ps,
    _mm512_add_ps, _mm512_castpd_ps, _mm512_castps_pd, _mm512_castps512_ps256, _mm512_cmp_ps_mask,
    _mm512_cvtss_f32, _mm512_extractf32x8_ps, _mm512_fmadd_ps, _mm512_fnmadd_ps, _mm512_loadu_ps,
    _mm512_loadu_si512, _mm512_mask_mov_ps, _mm512_maskz_div_ps, _mm512_maskz_mov_ps,
    _mm512_max_ps, _mm512_min_ps, _mm512_mul_ps, _mm512_permute_ps, _mm512_permutexvar_ps,
    _mm512_set1_epi32, _mm512_set1_ps, _mm512_shuffle_f32x4, _mm512_sqrt_ps, _mm512_storeu_ps,
    _mm512_sub_ps, _mm512_unpackhi_pd, _mm512_unpackhi_ps, _mm512_unpacklo_pd, _mm512_unpacklo_ps,
};

use super::avx2::{Ymm, prefetch_line, store_sums};
use super::entry_points;
use super::lanes::{LANES, Lanes, Simd};

/// Sixteen floats in a register; needs AVX-512F, AVX-512DQ, AVX-512VL, AVX2 and FMA.
#[derive(Clone, Copy)]
pub(super) struct Zmm(__m512);

impl Lanes for Zmm {
    type Upper = Ymm;

    #[inline(always)]
    fn upper(self) -> Ymm {
        // SAFETY: these lanes exist, so that the machine has AVX-512DQ, AVX2 and FMA.
        unsafe { Ymm::new(_mm512_extractf32x8_ps::<1>(self.0)) }
    }

    #[inline(always)]
    fn add_upper(value: f32, x: Ymm, sum: Ymm) -> Ymm {
        Ymm::add_scaled(value, x, sum)
    }

    #[inline(always)]
    fn store_upper(upper: Ymm, to: &mut [f32]) {
        upper.store(to);
    }

    #[inline(always)]
    fn splat(_: Simd<Self>, value: f32) -> Self {
        // SAFETY: the proof is given, so that the machine has AVX-512F.
        Self(unsafe { _mm512_set1_ps(value) })
    }

    #[inline(always)]
    fn load(_: Simd<Self>, from: &[f32]) -> Self {
        let from = &from[..LANES];
        // SAFETY: the proof is given, so that the machine has AVX-512F; the slice has sixteen floats.
        Self(unsafe { _mm512_loadu_ps(from.as_ptr()) })
    }

    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        let to = &mut to[..LANES];
        // SAFETY: these lanes exist, so that the machine has AVX-512F; the slice has sixteen floats.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        Self(unsafe { _mm512_fmadd_ps(self.0, b.0, c.0) })
    }

    #[inline(always)]
    fn mul_sub(self, b: Self, c: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        Self(unsafe { _mm512_fnmadd_ps(self.0, b.0, c.0) })
    }

    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        Self(unsafe { _mm512_mul_ps(self.0, b.0) })
    }

    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        Self(unsafe { _mm512_add_ps(self.0, b.0) })
    }

    #[inline(always)]
    fn broadcast(self, lane: usize) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        Self(unsafe { _mm512_permutexvar_ps(_mm512_set1_epi32(lane as i32), self.0) })
    }

    #[inline(always)]
    fn first(self) -> f32 {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        unsafe { _mm512_cvtss_f32(self.0) }
    }

    #[inline(always)]
    fn sum_four(four: [Self; 4], to: &mut [f32]) {
        let [a, b, c, d] = four;
        // SAFETY: these lanes exist, so that the machine has AVX-512F, AVX-512DQ and AVX2.
        unsafe { store_sums([fold(a.0), fold(b.0), fold(c.0), fold(d.0)], to) }
    }

    #[inline(always)]
    fn sum_sixteen(all: [Self; LANES]) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        unsafe { Self(sum_sixteen(all)) }
    }

    #[inline(always)]
    fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        unsafe { transpose(rows) }
    }

    #[inline(always)]
    fn masked(self, bits: u16) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        Self(unsafe { _mm512_maskz_mov_ps(bits, self.0) })
    }

    #[inline(always)]
    fn swap(self, distance: usize) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        Self(unsafe {
            match distance {
                1 => _mm512_permute_ps::<0b10_11_00_01>(self.0),
                2 => _mm512_permute_ps::<0b01_00_11_10>(self.0),
                4 => _mm512_shuffle_f32x4::<0b10_11_00_01>(self.0, self.0),
                _ => _mm512_shuffle_f32x4::<0b01_00_11_10>(self.0, self.0),
            }
        })
    }

    #[inline(always)]
    fn rotated<const BY: usize>(self) -> Self {
        const HALF: usize = LANES / 2;
        let picked = const {
            let mut picked = [0_i32; LANES];
            let mut lane = 0;
            while lane < LANES {
                let half = lane / HALF * HALF;
                picked[lane] = (half + (lane + BY) % HALF) as i32;
                lane += 1;
            }
            picked
        };
        // SAFETY: these lanes exist, so that the machine has AVX-512F; there are sixteen lanes to pick.
        Self(unsafe {
            let picked = _mm512_loadu_si512(picked.as_ptr().cast());
            _mm512_permutexvar_ps(picked, self.0)
        })
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        Self(unsafe { _mm512_max_ps(other.0, self.0) })
    }

    #[inline(always)]
    fn above(self, lane: usize) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        Self(unsafe { _mm512_maskz_mov_ps(0xFFFE << lane, self.0) })
    }

    #[inline(always)]
    fn with_lane(self, lane: usize, other: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        Self(unsafe { _mm512_mask_mov_ps(self.0, 1 << lane, other.0) })
    }

    #[inline(always)]
    fn reciprocal_above(self, floor: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        unsafe {
            let above = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(self.0, floor.0);
            Self(_mm512_maskz_div_ps(above, _mm512_set1_ps(1.0), self.0))
        }
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        Self(unsafe { _mm512_sub_ps(self.0, other.0) })
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        Self(unsafe { _mm512_sqrt_ps(self.0) })
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        Self(unsafe { _mm512_min_ps(other.0, self.0) })
    }

    #[inline(always)]
    fn lanes_above(self, other: Self) -> u16 {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        unsafe { _mm512_cmp_ps_mask::<_CMP_GT_OQ>(self.0, other.0) }
    }

    #[inline(always)]
    fn is_negative(self) -> bool {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        unsafe { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, _mm512_set1_ps(0.0)) != 0 }
    }

    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX-512F.
        Self(unsafe { _mm512_abs_ps(self.0) })
    }

    #[inline(always)]
    fn prefetch(from: &[f32], at: usize) {
        prefetch_line::<_MM_HINT_T0>(from, at);
    }

    #[inline(always)]
    fn prefetch_early(from: &[f32], at: usize) {
        prefetch_line::<_MM_HINT_T1>(from, at);
    }
}

/// Sums of the lanes of each register, in a tree of four levels. On each level, half as many registers
/// hold twice as many sums each.
///
/// # Safety
/// The machine must have AVX-512F.
#[inline(always)]
unsafe fn sum_sixteen(all: [Zmm; LANES]) -> __m512 {
    // SAFETY: the caller promises AVX-512F.
    unsafe {
        let mut quads = [_mm512_set1_ps(0.0); 4];
        for (four, quad) in all.as_chunks::<4>().0.iter().zip(&mut quads) {
            // Each 128-bit quarter then holds a part of the four sums, in order.
            let first = _mm512_add_ps(
                _mm512_unpacklo_ps(four[0].0, four[1].0),
                _mm512_unpackhi_ps(four[0].0, four[1].0),
            );
            let second = _mm512_add_ps(
                _mm512_unpacklo_ps(four[2].0, four[3].0),
                _mm512_unpackhi_ps(four[2].0, four[3].0),
            );
            let (first, second) = (_mm512_castps_pd(first), _mm512_castps_pd(second));
            *quad = _mm512_add_ps(
                _mm512_castpd_ps(_mm512_unpacklo_pd(first, second)),
                _mm512_castpd_ps(_mm512_unpackhi_pd(first, second)),
            );
        }
        let [a, b, c, d] = quads;
        // Quarters (a0 a1 b0 b1) + (a2 a3 b2 b3), and the same for c and d.
        let low = _mm512_add_ps(
            _mm512_shuffle_f32x4::<0b0100_0100>(a, b),
            _mm512_shuffle_f32x4::<0b1110_1110>(a, b),
        );
        let high = _mm512_add_ps(
            _mm512_shuffle_f32x4::<0b0100_0100>(c, d),
            _mm512_shuffle_f32x4::<0b1110_1110>(c, d),
        );
        _mm512_add_ps(
            _mm512_shuffle_f32x4::<0b1000_1000>(low, high),
            _mm512_shuffle_f32x4::<0b1101_1101>(low, high),
        )
    }
}

/// Transposes a 16 × 16 matrix in four rounds.
///
/// # Safety
/// The machine must have AVX-512F.
#[inline(always)]
unsafe fn transpose(rows: [Zmm; LANES]) -> [Zmm; LANES] {
    // SAFETY: the caller promises AVX-512F.
    unsafe {
        let (mut pairs, mut fours) = (rows, rows);
        for two in 0..8 {
            let (a, b) = (rows[2 * two].0, rows[2 * two + 1].0);
            pairs[2 * two].0 = _mm512_unpacklo_ps(a, b);
            pairs[2 * two + 1].0 = _mm512_unpackhi_ps(a, b);
        }
        for four in 0..4 {
            for half in 0..2 {
                let a = _mm512_castps_pd(pairs[4 * four + half].0);
                let b = _mm512_castps_pd(pairs[4 * four + half + 2].0);
                fours[4 * four + 2 * half].0 = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
                fours[4 * four + 2 * half + 1].0 = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
            }
        }
        let mut columns = rows;
        for column in 0..4 {
            let (a, b) = (fours[column].0, fours[4 + column].0);
            let (c, d) = (fours[8 + column].0, fours[12 + column].0);
            let even = (
                _mm512_shuffle_f32x4::<0x88>(a, b),
                _mm512_shuffle_f32x4::<0x88>(c, d),
            );
            let odd = (
                _mm512_shuffle_f32x4::<0xDD>(a, b),
                _mm512_shuffle_f32x4::<0xDD>(c, d),
            );
            columns[column].0 = _mm512_shuffle_f32x4::<0x88>(even.0, even.1);
            columns[column + 8].0 = _mm512_shuffle_f32x4::<0xDD>(even.0, even.1);
            columns[column + 4].0 = _mm512_shuffle_f32x4::<0x88>(odd.0, odd.1);
            columns[column + 12].0 = _mm512_shuffle_f32x4::<0xDD>(odd.0, odd.1);
        }
        columns
    }
}

/// Adds the upper half to the lower one.
///
/// # Safety
/// The machine must have AVX-512F and AVX-512DQ.
#[inline(always)]
unsafe fn fold(lanes: __m512) -> __m256 {
    // SAFETY: the caller promises AVX-512F and AVX-512DQ.
    unsafe {
        _mm256_add_ps(
            _mm512_castps512_ps256(lanes),
            _mm512_extractf32x8_ps::<1>(lanes),
        )
    }
}

// AVX-512VL gives narrower vectors the other sixteen registers too.
entry_points!(
    Zmm,
    gram_rows = 16,
    panel_rows = 8,
    lane_parallel = 4,
    [target_feature(
        enable = "avx512f,avx512dq,avx512vl,avx2,fma"
    )]
);
