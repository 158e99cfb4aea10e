//! Large pages for large matrices, and what becomes of freed memory.
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

/// Freed blocks of this many bytes or more go back to the system.
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
const RETURNED: std::ffi::c_int = 256 << 10;

/// Returns freed memory of large blocks to the system at once, for the whole process.
///
/// The allocator of the GNU system otherwise keeps freed blocks of up to 32 MiB for later use, and every
/// thread those of its own: a program that trains one model after another would hold up to a fifth more
/// than it uses. To be called by programs, before they start threads; a library leaves this to its caller.
pub fn return_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    // SAFETY: `mallopt` takes any number for this parameter, and changes where later blocks come from.
    let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, RETURNED) };
}
