//! Beyond accuracy: how much of the catalogue is recommended, how evenly, and how popular it is.

use crate::data::gini;
use crate::ranking::Scored;

/// What the lists of all users look like from the side of the items.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct CatalogueResult {
    /// Length k of the lists.
    pub cutoff: usize,
    /// Share of items that are in at least one list.
    pub coverage: f64,
    /// Gini coefficient of how often items are recommended, over all items: 0 is even.
    pub gini: f64,
    /// Mean over users of the mean number `n_i` of training interactions of the items in the list.
    pub popularity: f64,
}

/// Counts how often each item is recommended within a cut-off.
#[derive(Clone, Debug)]
pub(super) struct CatalogueCounts {
    cutoff: usize,
    counts: Vec<u32>,
    popularity: f64,
    users: usize,
}

impl CatalogueCounts {
    /// Starts with no lists.
    #[must_use]
    pub(super) fn new(cutoff: usize, n_items: usize) -> Self {
        Self {
            cutoff,
            counts: vec![0; n_items],
            popularity: 0.0,
            users: 0,
        }
    }

    /// Adds the list of one user; an empty list counts nowhere.
    pub(super) fn add(&mut self, top: &[Scored], item_counts: &[u32]) {
        let list = &top[..top.len().min(self.cutoff)];
        if list.is_empty() {
            return;
        }
        let mut total = 0.0;
        for scored in list {
            self.counts[scored.item as usize] += 1;
            total += f64::from(item_counts[scored.item as usize]);
        }
        self.popularity += total / list.len() as f64;
        self.users += 1;
    }

    /// Yields the figures over all lists added.
    #[must_use]
    pub(super) fn finish(self) -> CatalogueResult {
        let covered = self.counts.iter().filter(|&&count| count > 0).count();
        CatalogueResult {
            cutoff: self.cutoff,
            coverage: covered as f64 / self.counts.len().max(1) as f64,
            popularity: self.popularity / self.users.max(1) as f64,
            gini: gini(self.counts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_counted_up_to_the_cut_off() {
        let list = |items: &[u32]| -> Vec<Scored> {
            let scored = |&item| Scored { item, score: 0.0 };
            items.iter().map(scored).collect()
        };
        let mut counts = CatalogueCounts::new(2, 4);
        let popularity = [10, 20, 30, 40];
        counts.add(&list(&[0, 1, 3]), &popularity);
        counts.add(&list(&[1]), &popularity);
        counts.add(&[], &popularity);
        let result = counts.finish();
        assert!((result.coverage - 0.5).abs() < 1e-15);
        assert!((result.popularity - 17.5).abs() < 1e-12);
    }
}
