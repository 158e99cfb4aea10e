//! The lanes as two 256-bit registers.

use std::arch::x86_64::{
    __m256, _CMP_GT_OQ, _MM_HINT_T0, _MM_HINT_T1, _mm_add_ps, _mm_prefetch, _mm_storeu_ps,
    _mm256_add_epi32, _mm256_add_ps, _mm256_and_ps, _mm256_andnot_ps, _mm256_castpd_ps,
    _mm256_castps_pd, _mm256_castps256_ps128, _mm256_cmp_ps, _mm256_cvtss_f32, _mm256_div_ps,
    _mm256_extractf128_ps, _mm256_fmadd_ps, _mm256_fnmadd_ps, _mm256_hadd_ps, _mm256_loadu_ps,
    _mm256_min_ps, _mm256_mul_ps, _mm256_permute_ps, _mm256_permute2f128_ps,
    _mm256_permutevar8x32_ps, _mm256_set1_epi32, _mm256_set1_ps, _mm256_setr_epi32,
    _mm256_storeu_ps, _mm256_unpackhi_pd, _mm256_unpackhi_ps, _mm256_unpacklo_pd,
    _mm256_unpacklo_ps,
};

use super::entry_points;
use super::lanes::{LANES, Lanes, Simd};

/// Sixteen floats in two registers; needs AVX2 and FMA.
#[derive(Clone, Copy)]
pub(super) struct YmmPair(__m256, __m256);

impl Lanes for YmmPair {
    type Upper = Ymm;

    #[inline(always)]
    fn upper(self) -> Ymm {
        Ymm(self.1)
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
        // SAFETY: the proof is given, so that the machine has AVX2 and FMA.
        let half = unsafe { _mm256_set1_ps(value) };
        Self(half, half)
    }

    #[inline(always)]
    fn load(_: Simd<Self>, from: &[f32]) -> Self {
        let from = &from[..LANES];
        // SAFETY: the proof is given, so that the machine has AVX2 and FMA; the slice has sixteen floats.
        unsafe {
            Self(
                _mm256_loadu_ps(from.as_ptr()),
                _mm256_loadu_ps(from[8..].as_ptr()),
            )
        }
    }

    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        let to = &mut to[..LANES];
        // SAFETY: these lanes exist, so that the machine has AVX2 and FMA; the slice has sixteen floats.
        unsafe {
            _mm256_storeu_ps(to.as_mut_ptr(), self.0);
            _mm256_storeu_ps(to[8..].as_mut_ptr(), self.1);
        }
    }

    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX2 and FMA.
        unsafe {
            Self(
                _mm256_fmadd_ps(self.0, b.0, c.0),
                _mm256_fmadd_ps(self.1, b.1, c.1),
            )
        }
    }

    #[inline(always)]
    fn mul_sub(self, b: Self, c: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX2 and FMA.
        unsafe {
            Self(
                _mm256_fnmadd_ps(self.0, b.0, c.0),
                _mm256_fnmadd_ps(self.1, b.1, c.1),
            )
        }
    }

    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX2 and FMA.
        unsafe { Self(_mm256_mul_ps(self.0, b.0), _mm256_mul_ps(self.1, b.1)) }
    }

    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX2 and FMA.
        unsafe { Self(_mm256_add_ps(self.0, b.0), _mm256_add_ps(self.1, b.1)) }
    }

    #[inline(always)]
    fn broadcast(self, lane: usize) -> Self {
        let half = if lane < 8 { self.0 } else { self.1 };
        // SAFETY: these lanes exist, so that the machine has AVX2 and FMA.
        let all = unsafe { _mm256_permutevar8x32_ps(half, _mm256_set1_epi32((lane % 8) as i32)) };
        Self(all, all)
    }

    #[inline(always)]
    fn rotated<const BY: usize>(self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX2 and FMA.
        unsafe {
            let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            let by = _mm256_set1_epi32(BY as i32);
            // The instruction uses only the last three bits of each index.
            let picked = _mm256_add_epi32(lanes, by);
            Self(
                _mm256_permutevar8x32_ps(self.0, picked),
                _mm256_permutevar8x32_ps(self.1, picked),
            )
        }
    }

    #[inline(always)]
    fn first(self) -> f32 {
        // SAFETY: these lanes exist, so that the machine has AVX2 and FMA.
        unsafe { _mm256_cvtss_f32(self.0) }
    }

    #[inline(always)]
    fn sum_four(four: [Self; 4], to: &mut [f32]) {
        let [a, b, c, d] = four;
        // SAFETY: these lanes exist, so that the machine has AVX2 and FMA.
        unsafe {
            store_sums(
                [
                    _mm256_add_ps(a.0, a.1),
                    _mm256_add_ps(b.0, b.1),
                    _mm256_add_ps(c.0, c.1),
                    _mm256_add_ps(d.0, d.1),
                ],
                to,
            );
        }
    }

    #[inline(always)]
    fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
        let mut columns = rows;
        for half in 0..2 {
            let (mut low, mut high) = ([rows[0].0; 8], [rows[0].0; 8]);
            for (n, row) in rows[8 * half..8 * half + 8].iter().enumerate() {
                (low[n], high[n]) = (row.0, row.1);
            }
            // SAFETY: these lanes exist, so that the machine has AVX2 and FMA.
            let (low, high) = unsafe { (transpose_eight(low), transpose_eight(high)) };
            for n in 0..8 {
                if half == 0 {
                    (columns[n].0, columns[8 + n].0) = (low[n], high[n]);
                } else {
                    (columns[n].1, columns[8 + n].1) = (low[n], high[n]);
                }
            }
        }
        columns
    }

    #[inline(always)]
    fn swap(self, distance: usize) -> Self {
        let halves = |half: __m256| {
            // SAFETY: these lanes exist, so that the machine has AVX2 and FMA.
            unsafe {
                match distance {
                    1 => _mm256_permute_ps::<0b10_11_00_01>(half),
                    2 => _mm256_permute_ps::<0b01_00_11_10>(half),
                    _ => _mm256_permute2f128_ps::<1>(half, half),
                }
            }
        };
        if distance == 8 {
            return Self(self.1, self.0);
        }
        Self(halves(self.0), halves(self.1))
    }

    #[inline(always)]
    fn above(self, lane: usize) -> Self {
        let masks = &UPPER_MASKS[LANES - 1 - lane..];
        // SAFETY: these lanes exist, so that the machine has AVX2 and FMA; slicing has
        // checked that the lane is below sixteen, so that sixteen masks are left.
        unsafe {
            let (low, high) = (masks.as_ptr().cast(), masks[8..].as_ptr().cast());
            Self(
                _mm256_and_ps(self.0, _mm256_loadu_ps(low)),
                _mm256_and_ps(self.1, _mm256_loadu_ps(high)),
            )
        }
    }

    #[inline(always)]
    fn reciprocal_above(self, floor: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX2 and FMA.
        unsafe {
            let one = _mm256_set1_ps(1.0);
            Self(
                _mm256_and_ps(
                    _mm256_cmp_ps::<_CMP_GT_OQ>(self.0, floor.0),
                    _mm256_div_ps(one, self.0),
                ),
                _mm256_and_ps(
                    _mm256_cmp_ps::<_CMP_GT_OQ>(self.1, floor.1),
                    _mm256_div_ps(one, self.1),
                ),
            )
        }
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX2 and FMA.
        unsafe {
            Self(
                _mm256_min_ps(other.0, self.0),
                _mm256_min_ps(other.1, self.1),
            )
        }
    }

    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: these lanes exist, so that the machine has AVX2 and FMA.
        unsafe {
            let sign = _mm256_set1_ps(-0.0);
            Self(
                _mm256_andnot_ps(sign, self.0),
                _mm256_andnot_ps(sign, self.1),
            )
        }
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

/// Transposes an 8 × 8 matrix in three rounds.
///
/// # Safety
/// The machine must have AVX2.
#[inline(always)]
unsafe fn transpose_eight(rows: [__m256; 8]) -> [__m256; 8] {
    let (mut fours, mut columns) = (rows, rows);
    // SAFETY: the caller promises AVX2.
    unsafe {
        for half in [0, 4] {
            let pair = |a: usize| {
                let (a, b) = (rows[half + a], rows[half + a + 1]);
                (
                    _mm256_castps_pd(_mm256_unpacklo_ps(a, b)),
                    _mm256_castps_pd(_mm256_unpackhi_ps(a, b)),
                )
            };
            let ((low, high), (next_low, next_high)) = (pair(0), pair(2));
            fours[half] = _mm256_castpd_ps(_mm256_unpacklo_pd(low, next_low));
            fours[half + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(low, next_low));
            fours[half + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(high, next_high));
            fours[half + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(high, next_high));
        }
        for n in 0..4 {
            columns[n] = _mm256_permute2f128_ps::<0x20>(fours[n], fours[4 + n]);
            columns[4 + n] = _mm256_permute2f128_ps::<0x31>(fours[n], fours[4 + n]);
        }
    }
    columns
}

/// From position `15 − lane`, masks that keep the lanes above `lane`.
static UPPER_MASKS: [u32; 2 * LANES] = {
    let mut masks = [0; 2 * LANES];
    let mut at = LANES;
    while at < 2 * LANES {
        masks[at] = u32::MAX;
        at += 1;
    }
    masks
};

/// Eight floats in a register; needs AVX2 and FMA.
#[derive(Clone, Copy)]
pub(super) struct Ymm(__m256);

impl Ymm {
    /// Takes half of sixteen lanes.
    ///
    /// # Safety
    /// The machine must have AVX2 and FMA.
    #[inline(always)]
    pub(super) unsafe fn new(half: __m256) -> Self {
        Self(half)
    }

    /// `value · x + sum`.
    #[inline(always)]
    pub(super) fn add_scaled(value: f32, x: Self, sum: Self) -> Self {
        // SAFETY: a `Ymm` exists, so that the machine has AVX2 and FMA.
        Self(unsafe { _mm256_fmadd_ps(_mm256_set1_ps(value), x.0, sum.0) })
    }

    /// Writes the lanes to the first eight floats of `to`.
    #[inline(always)]
    pub(super) fn store(self, to: &mut [f32]) {
        let to = &mut to[..8];
        // SAFETY: a `Ymm` exists, so that the machine has AVX2; the slice has eight floats.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), self.0) }
    }
}

/// Writes the sums of four registers to the first four floats of `to`.
///
/// # Safety
/// The machine must have AVX2.
#[inline(always)]
pub(super) unsafe fn store_sums([a, b, c, d]: [__m256; 4], to: &mut [f32]) {
    let to = &mut to[..4];
    // SAFETY: the caller promises AVX2; the slice has four floats.
    unsafe {
        // Sums of neighbours twice: each half then holds a part of all four.
        let halves = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
        let sums = _mm_add_ps(
            _mm256_castps256_ps128(halves),
            _mm256_extractf128_ps::<1>(halves),
        );
        _mm_storeu_ps(to.as_mut_ptr(), sums);
    }
}

/// Prefetches the cache line at `from[at]`.
#[inline(always)]
pub(super) fn prefetch_line<const HINT: i32>(from: &[f32], at: usize) {
    // SAFETY: a prefetch reads nothing and may point anywhere.
    unsafe { _mm_prefetch::<HINT>(from.as_ptr().wrapping_add(at).cast()) }
}

entry_points!(
    YmmPair,
    gram_rows = 4,
    panel_rows = 4,
    lane_parallel = 2,
    [target_feature(enable = "avx2,fma")]
);
