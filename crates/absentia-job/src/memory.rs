//! The memory of a job: what it is expected to take, stage by stage, and what it may take.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use absentia::fit::{FitError, MemoryPlan, Sizes};
use absentia::memory::Stage;
use absentia::relations::Relations;
use absentia::weights::Scheme;
use absentia::{Interactions, Params};
use absentia_io::limits;
use absentia_search::Automatic;

use crate::listener::Listener;

/// A stage that takes less is not worth a word.
const WORTH_SAYING: u64 = 64 << 20;

/// The memory of a command: what it may take, what it keeps from stage to stage, and the largest of its
/// stages so far.
///
/// Stages are entered once their sizes are known and before anything of theirs is allocated.
#[derive(Debug)]
pub struct Ledger {
    limit: Option<u64>,
    /// Bytes that the process held before the command.
    base: u64,
    held: AtomicU64,
    /// Bytes that the allocator keeps of the blocks that files were read in.
    blocks: AtomicU64,
    entered: Mutex<Entered>,
}

#[derive(Debug)]
struct Entered {
    largest: Stage,
    /// Bytes of the stage that was reported last.
    reported: u64,
}

impl Ledger {
    /// A command that may take `limit` bytes, or else what the machine or the container has left.
    #[must_use]
    pub fn new(limit: Option<u64>) -> Self {
        Self {
            limit,
            base: limits::memory_held().unwrap_or(0),
            held: AtomicU64::new(0),
            blocks: AtomicU64::new(0),
            entered: Mutex::new(Entered {
                largest: Stage::new("start"),
                reported: 0,
            }),
        }
    }

    /// Bytes that the command may take.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        let left = || {
            let held = limits::memory_held()?.saturating_sub(self.base);
            Some(limits::memory_available()?.saturating_add(held))
        };
        self.limit.or_else(left)
    }

    /// Bytes that were given as the limit.
    #[must_use]
    pub fn given_limit(&self) -> Option<u64> {
        self.limit
    }

    /// Counts bytes in every stage from now on.
    pub fn keep(&self, bytes: u64) {
        self.held.fetch_add(bytes, Ordering::Relaxed);
    }

    /// No longer counts bytes that were [counted](Self::keep).
    pub fn release(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Counts what the allocator keeps of blocks that files were read in: about an eighth, and what is
    /// read later goes to the same place.
    pub fn keep_blocks(&self, bytes: u64) {
        self.blocks.fetch_max(bytes / 8, Ordering::Relaxed);
    }

    fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed) + self.blocks.load(Ordering::Relaxed)
    }

    /// Rejects a stage that does not fit.
    ///
    /// # Errors
    /// Says what is needed and what there is.
    pub fn check(&self, stage: &Stage) -> Result<(), FitError> {
        fits(stage.total().saturating_add(self.held()), self.limit())
    }

    /// Enters a stage; yields it if it is large, and larger than the one that was yielded last.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn enter(&self, stage: Stage) -> Result<Option<Stage>, FitError> {
        let stage = stage.with("kept from before", self.held());
        let bytes = stage.total();
        let mut entered = self.entered();
        if bytes > entered.largest.total() {
            entered.largest = stage.clone();
        }
        fits(bytes, self.limit())?;
        if bytes < WORTH_SAYING || bytes / 11 * 10 < entered.reported {
            return Ok(None);
        }
        entered.reported = bytes;
        Ok(Some(stage))
    }

    /// The largest stage so far: its bytes are the estimate of the peak.
    #[must_use]
    pub fn largest(&self) -> Stage {
        self.entered().largest.clone()
    }

    /// The most bytes that the process has held beyond those before the command, where the system tells.
    #[must_use]
    pub fn measured(&self) -> Option<u64> {
        Some(limits::most_memory_held()?.saturating_sub(self.base))
    }

    fn entered(&self) -> MutexGuard<'_, Entered> {
        self.entered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reports nothing, and rejects what does not fit.
impl Listener for Ledger {
    fn memory(&self) -> Option<&Ledger> {
        Some(self)
    }
}

fn fits(needed: u64, limit: Option<u64>) -> Result<(), FitError> {
    match limit {
        Some(limit) if needed > limit => Err(FitError::Memory { needed, limit }),
        _ => Ok(()),
    }
}

/// Does something while some bytes are [counted](Ledger::keep).
pub fn while_held<T>(listener: &dyn Listener, bytes: u64, work: impl FnOnce() -> T) -> T {
    if let Some(memory) = listener.memory() {
        memory.keep(bytes);
    }
    let done = work();
    if let Some(memory) = listener.memory() {
        memory.release(bytes);
    }
    done
}

/// The memory that a run needs, and the memory that it may use.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The sizes it depends on.
    pub sizes: Sizes,
    /// The stages of the run, from the matrix on.
    pub stages: Vec<Stage>,
    /// Bytes that it may take: the limit that was given, or what the machine or the container has left.
    pub limit: Option<u64>,
}

impl Plan {
    /// Plans a run; `keeps_best` says whether the best model so far is kept beside the current one, and
    /// `beside` is what stays in memory beside the run.
    #[must_use]
    pub fn new(
        (data, relations): (&Interactions<'_>, Option<&Relations<'_>>),
        scheme: &Scheme,
        params: &Params,
        automatic: Automatic,
        keeps_best: bool,
        beside: u64,
    ) -> Self {
        let sizes = Sizes::of(data, scheme, params, keeps_best);
        // The matrix is in memory already; the memory that is left does not include it.
        let held = sizes.data.saturating_add(beside);
        let sizes = sizes.stacked(relations);
        let left = || limits::memory_available().map(|bytes| bytes.saturating_add(held));
        let mut stages = automatic.stages(data, scheme, params);
        stages.push(Stage::new("training").with_all(MemoryPlan::new(&sizes, params).parts));
        let stages = stages
            .into_iter()
            .map(|stage| stage.with("ids and held-out rows", beside));
        Self {
            stages: stages.collect(),
            limit: params.memory_limit.or_else(left),
            sizes,
        }
    }

    /// The largest stage.
    #[must_use]
    pub fn largest(&self) -> Stage {
        let largest = self.stages.iter().max_by_key(|stage| stage.total());
        largest.cloned().unwrap_or_else(|| Stage::new("nothing"))
    }

    /// Rejects a run that does not fit.
    ///
    /// # Errors
    /// Says what is needed and what there is.
    pub fn check(&self) -> Result<(), FitError> {
        fits(self.largest().total(), self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_stage_counts_and_what_is_kept_counts_in_each() -> Result<(), FitError> {
        let ledger = Ledger::new(Some(200));
        ledger.enter(Stage::new("reading").with("rows", 120))?;
        ledger.keep(50);
        ledger.enter(Stage::new("writing").with("rows", 60))?;
        assert_eq!(ledger.largest().total(), 120);
        assert!(
            ledger
                .check(&Stage::new("ranking").with("lists", 150))
                .is_ok()
        );
        let error = ledger.enter(Stage::new("ranking").with("lists", 151));
        assert_eq!(
            error,
            Err(FitError::Memory {
                needed: 201,
                limit: 200
            })
        );
        Ok(())
    }

    #[test]
    fn what_is_large_is_said_once() -> Result<(), FitError> {
        let ledger = Ledger::new(Some(u64::MAX));
        let stage = |bytes| Stage::new("reading").with("rows", bytes);
        assert_eq!(ledger.enter(stage(1 << 20))?, None);
        assert!(ledger.enter(stage(100 << 20))?.is_some());
        assert_eq!(ledger.enter(stage(105 << 20))?, None);
        assert!(ledger.enter(stage(120 << 20))?.is_some());
        Ok(())
    }
}
