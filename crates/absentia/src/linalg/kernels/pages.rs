//! Large pages for large matrices.
//!
//! Rows gathered from anywhere in a matrix of many megabytes spend more time on address translation
//! than on the data. Where the system gives large pages only to those who ask, this asks.

/// Bytes below which a matrix is not worth it.
#[cfg(target_os = "linux")]
const WORTH_IT: usize = 4 << 20;

/// Asks that memory not yet touched be backed by large pages, where the system can; a refusal
/// changes nothing.
#[cfg(target_os = "linux")]
pub(crate) fn prefer_large<T>(memory: &[std::mem::MaybeUninit<T>]) {
    const PAGE: usize = 4096;
    const HUGE_PAGES: i32 = 14;

    unsafe extern "C" {
        fn madvise(address: *mut u8, bytes: usize, advice: i32) -> i32;
    }

    let bytes = std::mem::size_of_val(memory);
    if bytes < WORTH_IT {
        return;
    }
    let start = memory.as_ptr() as usize;
    let (first, end) = (start.next_multiple_of(PAGE), start + bytes);
    // SAFETY: the advice concerns whole pages of memory that the slice borrows and does not change
    // what they hold.
    let _ = unsafe { madvise(first as *mut u8, end - first, HUGE_PAGES) };
}

/// Other systems decide for themselves.
#[cfg(not(target_os = "linux"))]
pub(crate) fn prefer_large<T>(_: &[std::mem::MaybeUninit<T>]) {}
