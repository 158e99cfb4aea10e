//! A queue with a limit between requests and the threads that work on them.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A queue with a limit. What does not fit is handed back at once, so that overload is visible early.
#[derive(Debug)]
pub struct Queue<T> {
    contents: Mutex<Contents<T>>,
    arrived: Condvar,
    limit: usize,
}

#[derive(Debug)]
struct Contents<T> {
    elements: VecDeque<T>,
    is_closed: bool,
}

/// Why an element was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// As many elements wait as may.
    Limit,
    /// Nothing is taken any more: the server stops.
    Closed,
}

impl<T> Queue<T> {
    /// A queue in which at most `limit` elements wait.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            contents: Mutex::new(Contents {
                elements: VecDeque::new(),
                is_closed: false,
            }),
            arrived: Condvar::new(),
            limit,
        }
    }

    /// Appends an element.
    ///
    /// # Errors
    /// The queue is full or closed; the element is dropped.
    pub fn push(&self, element: T) -> Result<(), Full> {
        let mut waiting = self.lock();
        if waiting.is_closed {
            return Err(Full::Closed);
        }
        if waiting.elements.len() >= self.limit {
            return Err(Full::Limit);
        }
        waiting.elements.push_back(element);
        drop(waiting);
        self.arrived.notify_one();
        Ok(())
    }

    /// Takes one of `parts` equal parts of what waits, up to `most` elements; waits for the first one up to
    /// `patience`. `None` if the queue is closed and empty.
    pub fn take(&self, parts: usize, most: usize, patience: Duration) -> Option<Vec<T>> {
        let mut waiting = self.lock();
        if waiting.elements.is_empty() && !waiting.is_closed {
            let timed = self.arrived.wait_timeout(waiting, patience);
            waiting = timed.unwrap_or_else(PoisonError::into_inner).0;
        }
        if waiting.elements.is_empty() && waiting.is_closed {
            return None;
        }
        let count = most.min(waiting.elements.len().div_ceil(parts.max(1)));
        Some(waiting.elements.drain(..count).collect())
    }

    /// Takes nothing any more; what waits is still worked on.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.arrived.notify_all();
    }

    /// Number of elements that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().elements.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Contents<T>> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_or_closed_queue_takes_nothing() {
        let queue = Queue::new(2);
        assert_eq!(queue.push(1), Ok(()));
        assert_eq!(queue.push(2), Ok(()));
        assert_eq!(queue.push(3), Err(Full::Limit));
        assert_eq!(queue.take(2, 9, Duration::ZERO), Some(vec![1]));
        queue.close();
        assert_eq!(queue.push(4), Err(Full::Closed));
        assert_eq!(queue.take(1, 9, Duration::ZERO), Some(vec![2]));
        assert_eq!(queue.take(1, 9, Duration::ZERO), None);
    }
}
