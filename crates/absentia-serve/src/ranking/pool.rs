//! The threads that rank, their queue, and requests that wait too long.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::lists::lists;
use super::request::{List, ListRequest};
use crate::core::Core;
use crate::error::ApiError;
use crate::queue::{Full, Queue};
use crate::settings::Limits;
use crate::store::{Store, StoreError, StoreReader};

/// Requests that are ranked together.
const TOGETHER: usize = 8;

/// Requests of one client, and where their lists go.
type ListsTask = (
    Vec<ListRequest>,
    oneshot::Sender<Vec<Result<List, ApiError>>>,
);
type Task = Box<dyn FnOnce(&Worker) + Send>;

enum Work {
    Lists(ListsTask),
    Task(Task),
}

struct Job {
    since: Instant,
    work: Work,
}

/// Threads that rank, with one bounded queue.
pub struct Pool {
    queue: Queue<Job>,
    patience: Duration,
    threads: usize,
    /// What a thread pauses for after a second of work.
    pause: f64,
}

/// One of the threads: what its tasks may use.
pub struct Worker {
    /// What all parts share.
    pub core: Arc<Core>,
    /// A connection of its own.
    pub store: Box<dyn StoreReader>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pool({} threads)", self.threads)
    }
}

impl Pool {
    /// A pool whose threads are not started yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let processors = || thread::available_parallelism().map_or(1, usize::from);
        Self {
            queue: Queue::new(limits.waiting_rankings),
            patience: Duration::from_millis(limits.ranking_wait_ms),
            threads: match limits.ranking_threads {
                0 => processors(),
                given => given,
            },
            pause: 100.0 / f64::from(limits.ranking_percent.max(1)) - 1.0,
        }
    }

    /// Starts the threads.
    ///
    /// # Errors
    /// The database cannot be opened.
    pub fn start(
        self: &Arc<Self>,
        core: &Arc<Core>,
        store: &dyn Store,
    ) -> Result<Vec<JoinHandle<()>>, StoreError> {
        let mut threads = Vec::with_capacity(self.threads);
        for _ in 0..self.threads {
            let (pool, core, store) = (self.clone(), core.clone(), store.reader()?);
            threads.push(thread::spawn(move || pool.work(&Worker { core, store })));
        }
        Ok(threads)
    }

    /// Takes nothing any more; what waits is still done.
    pub fn close(&self) {
        self.queue.close();
    }

    /// Number of requests that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// The lists of some requests.
    ///
    /// # Errors
    /// Too many requests wait, or this one waited too long.
    pub async fn lists(
        &self,
        requests: Vec<ListRequest>,
    ) -> Result<Vec<Result<List, ApiError>>, ApiError> {
        let (send, receive) = oneshot::channel();
        self.push(Work::Lists((requests, send)))?;
        receive.await.map_err(|_| ApiError::overloaded())
    }

    /// Runs a function on one of the threads.
    ///
    /// # Errors
    /// Too many requests wait, this one waited too long, or what the function yields.
    pub async fn run<T: Send + 'static>(
        &self,
        task: impl FnOnce(&Worker) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let (send, receive) = oneshot::channel();
        self.push(Work::Task(Box::new(move |worker| {
            let _ = send.send(task(worker));
        })))?;
        receive.await.map_err(|_| ApiError::overloaded())?
    }

    fn push(&self, work: Work) -> Result<(), ApiError> {
        let since = Instant::now();
        self.queue
            .push(Job { since, work })
            .map_err(|full| match full {
                Full::Limit => ApiError::overloaded(),
                Full::Closed => ApiError::stopping(),
            })
    }

    fn work(&self, worker: &Worker) {
        // Each thread ranks alone: it is a pool of its own, and parallel iterators run on it.
        let alone = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread();
        let _alone = alone.build();
        while let Some(jobs) = self
            .queue
            .take(self.threads, TOGETHER, Duration::from_secs(1))
        {
            let begun = Instant::now();
            let mut together = Vec::new();
            for job in jobs {
                // What waited too long is dropped: its sender ends, and the request is refused.
                if job.since.elapsed() > self.patience {
                    continue;
                }
                match job.work {
                    Work::Lists(task) if !task.1.is_closed() => {
                        together.push(task);
                    }
                    Work::Lists(..) => {}
                    Work::Task(task) => guarded(|| task(worker)),
                }
            }
            if !together.is_empty() {
                guarded(|| serve(worker, together));
            }
            if self.pause > 0.0 {
                thread::sleep(begun.elapsed().mul_f64(self.pause));
            }
        }
    }
}

fn serve(worker: &Worker, together: Vec<ListsTask>) {
    let requests: Vec<&ListRequest> = together.iter().flat_map(|(requests, _)| requests).collect();
    let mut made = Vec::with_capacity(requests.len());
    // A few at a time, so that the writer gets its turn.
    for requests in requests.chunks(4 * TOGETHER) {
        made.extend(lists(&worker.core, &*worker.store, requests));
    }
    let mut made = made.into_iter();
    for (requests, send) in together {
        let own: Vec<_> = made.by_ref().take(requests.len()).collect();
        let _ = send.send(own);
    }
}

/// Runs something whose panic ends the request and not the thread.
fn guarded(task: impl FnOnce()) {
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(task));
}
