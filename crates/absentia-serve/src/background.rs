//! Threads that may take their time: requests go before them.

use rayon::ThreadPool;

/// How much of the processor a thread leaves to those with requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Most: the work is done some time under any load.
    Steady,
    /// All that they can use: the work can wait.
    Idle,
}

impl Pace {
    /// In the steps of `nice`. A step takes a fifth of what a thread gets beside others.
    #[cfg(target_os = "linux")]
    fn steps(self) -> i32 {
        match self {
            Pace::Steady => 10,
            Pace::Idle => 19,
        }
    }
}

/// Makes the calling thread one of the background: it gets the time that requests leave, and its parallel
/// iterators run on it alone while the result exists.
pub(crate) fn begin(pace: Pace) -> Option<ThreadPool> {
    yield_to_requests(pace);
    let alone = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .use_current_thread();
    alone.build().ok()
}

/// Gives the calling thread less of the processor than others get.
pub(crate) fn yield_to_requests(pace: Pace) {
    // On Linux, the priority without a process is that of the calling thread.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, pace.steps());
    #[cfg(not(target_os = "linux"))]
    let _ = pace;
}
