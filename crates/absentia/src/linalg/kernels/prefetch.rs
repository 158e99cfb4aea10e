//! Prefetching of memory that will be needed soon.

/// Bytes of a cache line, or a multiple of them.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Prefetches a whole slice, where the machine can. Processors do so themselves only for memory that
/// is read in order.
#[inline]
pub(crate) fn prefetch<T>(slice: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..size_of_val(slice)).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a prefetch reads nothing and may point anywhere.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(slice.as_ptr().cast::<i8>().wrapping_add(at)) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slice;
}
