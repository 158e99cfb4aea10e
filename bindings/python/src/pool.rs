//! Calls that Ctrl-C can end, and the threads they run on.
//!
//! Long work runs on a thread of its own while the caller's lets Python handle its signals. When a
//! handler raises, work that looks at its flag ends; what the engine cannot stop (building a matrix,
//! factorising W, reading a file) is left to end by itself and its result is dropped. Either way the
//! exception is out within a second.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use absentia::fit::{Cancel, FitError, default_threads};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::OrRaise;
use crate::gate;

/// Time between two looks at Python's signals.
const POLL: Duration = Duration::from_millis(50);
/// Time that work has to end by its flag.
const GRACE: Duration = Duration::from_millis(200);
/// Multiplications below which a thread is not worth starting: a few hundredths of a second.
const SMALL: u64 = 100_000_000;
/// Multiplications between two looks at the flag: about a second.
const STEP: u64 = 20_000_000_000;

/// A message of a worker thread to the caller's.
enum Message<E, T> {
    Event(E),
    Done(PyResult<T>),
}

/// Sends an event to the caller's thread; false when it no longer listens.
pub(crate) type SendEvent<E> = Box<dyn Fn(E) -> bool + Send>;

/// Runs `work` as the module says; `handle` is called with its events on the caller's thread.
///
/// An exception of `handle` ends the work like one of a signal handler.
pub(crate) fn interruptible_with_events<T: Send + 'static, E: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(Python<'_>, &Cancel, SendEvent<E>) -> PyResult<T> + Send + 'static,
    mut handle: impl FnMut(E) -> PyResult<()> + Send,
) -> PyResult<T> {
    let (cancel, (messages, received)) = (Cancel::new(), channel());
    let flag = cancel.clone();
    std::thread::Builder::new().spawn(move || {
        let events: Sender<Message<E, T>> = messages.clone();
        let send: SendEvent<E> = Box::new(move |event| events.send(Message::Event(event)).is_ok());
        if let Some(outcome) =
            gate::inside_on_own_thread(|| Python::attach(|py| work(py, &flag, send)))
        {
            // Nobody listens when the caller was interrupted.
            let _ = messages.send(Message::Done(outcome));
        }
    })?;
    py.detach(move || {
        let outcome = wait(&received, &mut handle);
        outcome.unwrap_or_else(|interruption| {
            cancel.cancel();
            if wait_for_end(&received).is_none() {
                // The next call must not wait for threads that are still at this one.
                *lock_shared() = None;
            }
            Err(interruption)
        })
    })
}

/// [`interruptible_with_events`] for work without events.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(Python<'_>, &Cancel) -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    let quiet = |py: Python<'_>, cancel: &Cancel, _: SendEvent<()>| work(py, cancel);
    interruptible_with_events(py, quiet, |()| Ok(()))
}

/// [`interruptible`], but on the caller's thread when there is little to do.
pub(crate) fn interruptible_if_long<T: Send + 'static>(
    py: Python<'_>,
    multiplications: u64,
    work: impl FnOnce(Python<'_>, &Cancel) -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    if multiplications < SMALL {
        return work(py, &Cancel::new());
    }
    interruptible(py, work)
}

/// Rows to answer between two looks at the flag, where one takes this many multiplications.
pub(crate) fn batch(multiplications: u64) -> usize {
    (STEP / multiplications.max(1)).clamp(256, 1 << 16) as usize
}

/// The outcome of the work, or the exception that ends the waiting for it.
fn wait<E, T>(
    received: &Receiver<Message<E, T>>,
    handle: &mut impl FnMut(E) -> PyResult<()>,
) -> Result<PyResult<T>, PyErr> {
    loop {
        match received.recv_timeout(POLL) {
            Ok(Message::Event(event)) => handle(event)?,
            Ok(Message::Done(outcome)) => return Ok(outcome),
            Err(RecvTimeoutError::Timeout) => signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                let message = "the call panicked, which is a defect, or the interpreter ends";
                return Ok(Err(PyRuntimeError::new_err(message)));
            }
        }
    }
}

fn wait_for_end<E, T>(received: &Receiver<Message<E, T>>) -> Option<PyResult<T>> {
    let end = std::time::Instant::now() + GRACE;
    loop {
        let left = end.saturating_duration_since(std::time::Instant::now());
        match received.recv_timeout(left) {
            Ok(Message::Event(_)) => {}
            Ok(Message::Done(outcome)) => return Some(outcome),
            Err(_) => return None,
        }
    }
}

/// Runs `work` without the GIL, on `threads` threads or on all there are.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let pool = pool_of(threads)?;
    Ok(released(py, || pool.install(work)))
}

/// A pool of `threads` threads, or the shared one.
pub(crate) fn pool_of(threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    match threads {
        Some(threads) => Ok(Arc::new(started(threads)?)),
        None => shared(),
    }
}

fn started(threads: usize) -> PyResult<ThreadPool> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|_| FitError::Threads { threads }).or_raise()
}

/// The shared threads with the process they belong to.
type Shared = Option<(u32, Arc<ThreadPool>)>;

fn lock_shared() -> MutexGuard<'static, Shared> {
    static POOL: Mutex<Shared> = Mutex::new(None);
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The threads of calls that ask for no number of them.
///
/// A process that was forked has none of its parent's threads and makes its own: rayon's global ones
/// would be waited for without end.
fn shared() -> PyResult<Arc<ThreadPool>> {
    let mut pool = lock_shared();
    let process = std::process::id();
    if let Some((_, pool)) = pool.as_ref().filter(|(owner, _)| *owner == process) {
        return Ok(Arc::clone(pool));
    }
    // Dropping the parent's would wake threads that are not here.
    std::mem::forget(pool.take());
    let made = Arc::new(started(default_threads())?);
    *pool = Some((process, Arc::clone(&made)));
    Ok(made)
}

/// Runs `work`, which has threads of its own or needs none, without the GIL.
pub(crate) fn released<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(|| gate::outside(work))
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
