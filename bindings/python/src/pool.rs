//! Threads of a call, and calls that Ctrl-C can end.

use pyo3::prelude::*;

use crate::error::OrRaise;

/// Runs `work` without the GIL, on `threads` threads or on all there are.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let Some(threads) = threads else {
        return Ok(py.detach(work));
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|_| absentia::fit::FitError::Threads { threads })
        .or_raise()?;
    Ok(py.detach(|| pool.install(work)))
}

/// Lets Python handle its signals; Ctrl-C comes back as its exception.
pub(crate) fn signals() -> PyResult<()> {
    // The method alone is not general enough in its lifetime.
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "does not compile otherwise"
    )]
    Python::attach(|py| py.check_signals())
}
