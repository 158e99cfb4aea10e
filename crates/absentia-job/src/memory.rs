//! The memory that a run needs, before it is started.

use absentia::fit::{FitError, MemoryPlan, Sizes};
use absentia::weights::Scheme;
use absentia::{Interactions, Params};
use absentia_io::limits;
use absentia_search::Automatic;

/// The memory that a run needs, and the memory that it may use.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The sizes it depends on.
    pub sizes: Sizes,
    /// Bytes, part by part.
    pub memory: MemoryPlan,
    /// Bytes that it may take: the limit that was given, or what the machine or the container has left.
    pub limit: Option<u64>,
}

impl Plan {
    /// Plans a run; `keeps_best` says whether the best model so far is kept beside the current one.
    #[must_use]
    pub fn new(
        data: &Interactions<'_>,
        scheme: &Scheme,
        params: &Params,
        automatic: Automatic,
        keeps_best: bool,
    ) -> Self {
        let sizes = Sizes::of(data, scheme, keeps_best);
        // The matrix is in memory already; the memory that is left does not include it.
        let left = || limits::memory_available().map(|bytes| bytes.saturating_add(sizes.data));
        let mut memory = MemoryPlan::new(&sizes, params);
        if automatic.trains_models(sizes.entries, params.solver) {
            let choosing = automatic.memory(&sizes, params);
            memory.parts.push(("to choose settings", choosing));
        }
        Self {
            memory,
            limit: params.memory_limit.or_else(left),
            sizes,
        }
    }

    /// Rejects a run that does not fit.
    ///
    /// # Errors
    /// Says what is needed and what there is.
    pub fn check(&self) -> Result<(), FitError> {
        match self.limit {
            Some(limit) if self.memory.total() > limit => Err(FitError::Memory {
                needed: self.memory.total(),
                limit,
            }),
            _ => Ok(()),
        }
    }
}
