//! An index of the items of a factor model, built once for many rankings.
//!
//! Ordering and quantising the items costs as much as scoring them for about twenty users, so the
//! index is only built for a model that answers many requests. Lists do not depend on it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::catalogue::Catalogue;
use super::factors::FactorScorer;
use super::scan::block_len;
use super::scorer::Scorer;
use super::screen::{self, QuantisedBlock};

/// Number of requests for small batches after which more are expected.
const PAYS_AFTER: u32 = 16;

/// All items, ordered by length and quantised.
#[derive(Debug)]
pub(crate) struct ItemIndex {
    pub(super) catalogue: Catalogue,
    pub(super) blocks: Vec<QuantisedBlock>,
}

impl ItemIndex {
    /// Builds the index; `None` if screening does not pay on this machine.
    pub(crate) fn new(factors: &FactorScorer<'_>) -> Option<Self> {
        if !screen::screening_pays(factors, 1) {
            return None;
        }
        let items = (0..factors.n_items() as u32).collect();
        let catalogue = Catalogue::ordered(items, &factors.item_bounds()?);
        let blocks = catalogue.items.chunks(block_len(factors));
        let blocks = blocks.map(|items| QuantisedBlock::new(factors, items));
        Some(Self {
            blocks: blocks.collect(),
            catalogue,
        })
    }
}

/// An index that is built after a number of requests.
#[derive(Debug, Default)]
pub(crate) struct LazyIndex {
    asked: AtomicU32,
    index: OnceLock<Option<ItemIndex>>,
}

impl LazyIndex {
    /// Yields the index if it exists, or if this call builds it.
    ///
    /// A call never waits while another one builds the index: the two may run on the same thread pool
    /// and block each other.
    pub(crate) fn get(&self, factors: &FactorScorer<'_>) -> Option<&ItemIndex> {
        if self.index.get().is_none() {
            if self.asked.fetch_add(1, Ordering::Relaxed) != PAYS_AFTER {
                return None;
            }
            // Only one call reaches this line.
            let _ = self.index.set(ItemIndex::new(factors));
        }
        self.index.get()?.as_ref()
    }
}
