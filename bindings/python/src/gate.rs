//! Keeps threads that were left alone out of an interpreter that ends.
//!
//! A thread that enters Python while the interpreter ends is torn down in the middle of its frames.
//! So threads of ours pass a gate each time they enter; when the interpreter is about to end, the
//! gate closes and those inside are waited for.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

struct Inside {
    closed: bool,
    threads: usize,
}

static GATE: (Mutex<Inside>, Condvar) = (
    Mutex::new(Inside {
        closed: false,
        threads: 0,
    }),
    Condvar::new(),
);

thread_local! {
    /// Whether this thread is one of ours; callers' threads are Python's own.
    static OURS: Cell<bool> = const { Cell::new(false) };
}

fn lock() -> MutexGuard<'static, Inside> {
    GATE.0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work`, which enters Python, unless the gate is closed.
pub(crate) fn inside<T>(work: impl FnOnce() -> T) -> Option<T> {
    enter().then(|| {
        let _pass = Pass;
        work()
    })
}

/// [`inside`] on a thread of ours.
pub(crate) fn inside_for_good<T>(work: impl FnOnce() -> T) -> Option<T> {
    OURS.set(true);
    inside(work)
}

/// Runs `work`, which stays out of Python, between being inside and being inside again; a thread of
/// ours that finds the gate closed by then stays out for ever.
pub(crate) fn outside<T>(work: impl FnOnce() -> T) -> T {
    if !OURS.get() {
        return work();
    }
    leave();
    let _way_back = WayBack;
    work()
}

/// Leaves when it is dropped, by a panic too.
struct Pass;

impl Drop for Pass {
    fn drop(&mut self) {
        leave();
    }
}

/// Enters when it is dropped, by a panic too.
struct WayBack;

impl Drop for WayBack {
    fn drop(&mut self) {
        while !enter() {
            std::thread::park();
        }
    }
}

fn enter() -> bool {
    let mut inside = lock();
    inside.threads += usize::from(!inside.closed);
    !inside.closed
}

fn leave() {
    lock().threads -= 1;
    GATE.1.notify_all();
}

/// Closes the gate; Python calls it when it is about to end.
#[pyfunction]
pub(crate) fn close(py: Python<'_>) {
    py.detach(|| {
        let mut inside = lock();
        inside.closed = true;
        while inside.threads > 0 {
            inside = GATE.1.wait(inside).unwrap_or_else(PoisonError::into_inner);
        }
    });
}
