//! Large pages for large matrices.
//!
//! Rows gathered from anywhere in a matrix of many megabytes spend more time on address translation
//! than on the data. Where the system gives large pages only on request, this requests them.

use std::mem::MaybeUninit;

/// Bytes below which large pages do not pay.
#[cfg(all(target_os = "linux", not(miri)))]
const WORTH_IT: usize = 4 << 20;

/// Requests large pages for memory that was not written yet, where the system has them. A refusal
/// changes nothing.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn prefer_large<T>(memory: &[MaybeUninit<T>]) {
    let bytes = size_of_val(memory);
    let Some(page) = page_size().filter(|_| bytes >= WORTH_IT) else {
        return;
    };
    let start = memory.as_ptr().addr();
    let before = start.next_multiple_of(page) - start;
    let whole = bytes.saturating_sub(before) / page * page;
    let first = memory.as_ptr().cast::<u8>().wrapping_add(before);
    // SAFETY: `whole` bytes from `first` are whole pages inside the borrowed slice, and the advice
    // does not change what they hold.
    let _ = unsafe { libc::madvise(first.cast_mut().cast(), whole, libc::MADV_HUGEPAGE) };
}

/// Bytes of a page, where the system reports a power of two.
#[cfg(all(target_os = "linux", not(miri)))]
fn page_size() -> Option<usize> {
    // SAFETY: `sysconf` takes any name and only yields a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size)
        .ok()
        .filter(|size| size.is_power_of_two())
}

/// Other systems decide for themselves.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) fn prefer_large<T>(_: &[MaybeUninit<T>]) {}
