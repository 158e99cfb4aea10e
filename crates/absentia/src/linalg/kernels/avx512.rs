//! The lanes as one 512-bit register.

use std::arch::x86_64::{
    __m256, __m512, _mm256_add_ps, _mm512_add_ps, _mm512_castps512_ps256, _mm512_cvtss_f32,
    _mm512_extractf32x8_ps, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_mul_ps, _mm512_permutexvar_ps,
    _mm512_set1_epi32, _mm512_set1_ps, _mm512_storeu_ps,
};

use super::avx2::{prefetch_line, store_sums};
use super::entry_points;
use super::lanes::{LANES, Lanes};

/// Sixteen floats in a register.
#[derive(Clone, Copy)]
pub(super) struct Zmm(__m512);

// SAFETY of every block below: the type is named only by the entry points, which enable AVX-512F,
// and they are called only where the machine has it; memory is touched through checked slices.
impl Lanes for Zmm {
    #[inline(always)]
    fn splat(value: f32) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_set1_ps(value) })
    }

    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        let from = &from[..LANES];
        // SAFETY: see above; the slice has sixteen floats.
        Self(unsafe { _mm512_loadu_ps(from.as_ptr()) })
    }

    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        let to = &mut to[..LANES];
        // SAFETY: see above; the slice has sixteen floats.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_fmadd_ps(self.0, b.0, c.0) })
    }

    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_mul_ps(self.0, b.0) })
    }

    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_add_ps(self.0, b.0) })
    }

    #[inline(always)]
    fn broadcast(self, lane: usize) -> Self {
        // SAFETY: see above.
        Self(unsafe { _mm512_permutexvar_ps(_mm512_set1_epi32(lane as i32), self.0) })
    }

    #[inline(always)]
    fn first(self) -> f32 {
        // SAFETY: see above.
        unsafe { _mm512_cvtss_f32(self.0) }
    }

    #[inline(always)]
    fn sum_four(four: [Self; 4], to: &mut [f32]) {
        let [a, b, c, d] = four;
        // SAFETY: see above; AVX-512DQ and AVX2 are enabled too.
        unsafe { store_sums([fold(a.0), fold(b.0), fold(c.0), fold(d.0)], to) }
    }

    #[inline(always)]
    fn prefetch(from: &[f32], at: usize) {
        prefetch_line(from, at);
    }
}

/// Adds the upper half to the lower one.
///
/// # Safety
/// The machine must have AVX-512F and AVX-512DQ.
#[inline(always)]
unsafe fn fold(lanes: __m512) -> __m256 {
    // SAFETY: the caller vouches for the instruction sets.
    unsafe {
        _mm256_add_ps(
            _mm512_castps512_ps256(lanes),
            _mm512_extractf32x8_ps::<1>(lanes),
        )
    }
}

entry_points!(
    Zmm,
    gram_rows = 16,
    panel_rows = 8,
    enable = "avx512f,avx512dq,avx2,fma"
);
