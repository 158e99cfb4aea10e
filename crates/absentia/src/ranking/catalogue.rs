//! The items to be ranked, in the order in which they are scored.

use super::rank::RankRequest;
use super::scorer::Scorer;

/// Minimum number of users for which ordering the items by their bounds pays.
const ORDERED_FROM: usize = 64;

/// The items to be ranked, in the order in which they are scored.
#[derive(Clone, Debug)]
pub(super) struct Catalogue {
    pub(super) items: Vec<u32>,
    /// Bounds of the items, falling; none where scores have no bounds.
    bounds: Vec<f64>,
    /// Position of each item in the catalogue; `u32::MAX` if it is not in it.
    positions: Vec<u32>,
}

impl Catalogue {
    pub(super) fn new(scorer: &dyn Scorer, request: &RankRequest<'_>) -> Self {
        let items = candidates(scorer.n_items(), request);
        // Ranks of targets need every score.
        let pays = request.targets.is_none() && request.users.len() >= ORDERED_FROM;
        match pays.then(|| scorer.item_bounds()).flatten() {
            Some(bounds) => Self::ordered(items, &bounds),
            None => Self {
                positions: positions(&items, scorer.n_items()),
                items,
                bounds: Vec::new(),
            },
        }
    }

    /// Orders items by falling bounds; `bounds` has one number per item of the scorer.
    pub(super) fn ordered(mut items: Vec<u32>, bounds: &[f64]) -> Self {
        items.sort_by(|&a, &b| bounds[b as usize].total_cmp(&bounds[a as usize]));
        Self {
            bounds: items.iter().map(|&item| bounds[item as usize]).collect(),
            positions: positions(&items, bounds.len()),
            items,
        }
    }

    pub(super) fn has(&self, item: u32) -> bool {
        self.positions[item as usize] != u32::MAX
    }

    /// Rising positions of those of these items that are in the catalogue.
    pub(super) fn positions_of(&self, items: &[u32]) -> Vec<u32> {
        let positions = items
            .iter()
            .filter_map(|&item| self.positions.get(item as usize));
        let mut there: Vec<u32> = positions.copied().filter(|&at| at != u32::MAX).collect();
        there.sort_unstable();
        there
    }

    /// Bounds of a range of the items, if scores have any.
    pub(super) fn bounds(&self, range: std::ops::Range<usize>) -> &[f64] {
        self.bounds.get(range).unwrap_or_default()
    }

    /// Whether items are in the order of falling bounds, and all of those finite.
    pub(super) fn is_ordered_and_finite(&self) -> bool {
        self.bounds.first().is_some_and(|bound| bound.is_finite())
    }

    /// Number of items of the scorer, including those that are not to be ranked.
    pub(super) fn n_items(&self) -> usize {
        self.positions.len()
    }

    /// Whether items are in the order of falling bounds.
    pub(super) fn is_ordered(&self) -> bool {
        !self.bounds.is_empty()
    }
}

fn candidates(n_items: usize, request: &RankRequest<'_>) -> Vec<u32> {
    let allowed = |item: &u32| request.deny.binary_search(item).is_err();
    match request.allow {
        Some(allow) => allow.iter().copied().filter(allowed).collect(),
        // Without a search per item, because one user alone should not wait for it.
        None if request.deny.is_empty() => (0..n_items as u32).collect(),
        None => (0..n_items as u32).filter(allowed).collect(),
    }
}

fn positions(items: &[u32], n_items: usize) -> Vec<u32> {
    let mut positions = vec![u32::MAX; n_items];
    for (at, &item) in items.iter().enumerate() {
        positions[item as usize] = at as u32;
    }
    positions
}
