//! Threads that may take their time: requests go before them.

use rayon::ThreadPool;

/// What threads with requests have more of, in the steps of `nice`.
#[cfg(target_os = "linux")]
const STEPS: i32 = 10;

/// Makes the calling thread one of the background: it gets the time that requests leave, and its parallel
/// iterators run on it alone while the result exists.
pub(crate) fn begin() -> Option<ThreadPool> {
    yield_to_requests();
    let alone = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .use_current_thread();
    alone.build().ok()
}

/// Gives the calling thread less of the processor than others get.
pub(crate) fn yield_to_requests() {
    // On Linux, the priority without a process is that of the calling thread.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, STEPS);
}
