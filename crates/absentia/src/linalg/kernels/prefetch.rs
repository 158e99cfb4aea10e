//! Memory that is asked for before it is needed.

/// Bytes of a cache line, or a multiple of them.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Asks for all of a slice, where the machine can: what is not read in order, the machine does not see
/// coming by itself.
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
