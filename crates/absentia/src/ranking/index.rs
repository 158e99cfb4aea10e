//! All items of a factor model, made ready once for one ranking after another.
//!
//! Ordering items by their lengths and rounding them to bytes costs as much as scoring them for some
//! twenty users, so it is done for a model that keeps being asked, and only then. Lists do not
//! depend on it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::catalogue::Catalogue;
use super::factors::FactorScorer;
use super::scan::block_len;
use super::scorer::Scorer;
use super::screen::{self, QuantisedBlock};

/// Rankings of a few users after which there will be more.
const PAYS_AFTER: u32 = 16;

/// All items, ordered by length and in bytes.
#[derive(Debug)]
pub(crate) struct ItemIndex {
    pub(super) catalogue: Catalogue,
    pub(super) blocks: Vec<QuantisedBlock>,
}

impl ItemIndex {
    /// Makes the items ready, or nothing where the machine would not profit.
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

/// An index that comes to be when it has been asked for often enough.
#[derive(Debug, Default)]
pub(crate) struct LazyIndex {
    asked: AtomicU32,
    index: OnceLock<Option<ItemIndex>>,
}

impl LazyIndex {
    /// Yields the index if it is there, or if this is the call that makes it.
    ///
    /// Nobody waits for another's making it: that might be a thread waiting for this one.
    pub(crate) fn get(&self, factors: &FactorScorer<'_>) -> Option<&ItemIndex> {
        if self.index.get().is_none() {
            if self.asked.fetch_add(1, Ordering::Relaxed) != PAYS_AFTER {
                return None;
            }
            // Only one call gets here.
            let _ = self.index.set(ItemIndex::new(factors));
        }
        self.index.get()?.as_ref()
    }
}
