//! Keeps abandoned threads out of an interpreter that ends.
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
        let _leave = LeaveOnDrop;
        work()
    })
}

/// [`inside`] on a thread that is marked as one of ours.
pub(crate) fn inside_on_own_thread<T>(work: impl FnOnce() -> T) -> Option<T> {
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
    let _enter = EnterOnDrop;
    work()
}

/// Leaves Python when it is dropped, by a panic too.
struct LeaveOnDrop;

impl Drop for LeaveOnDrop {
    fn drop(&mut self) {
        leave();
    }
}

/// Enters Python when it is dropped, by a panic too.
struct EnterOnDrop;

impl Drop for EnterOnDrop {
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
