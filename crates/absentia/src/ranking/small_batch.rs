//! The best items of a few users: items are scored as they lie, and shared out between threads.
//!
//! Making panels of all items would cost more than scoring them. Which thread looks at which items
//! does not matter, for the best of the best of some are the best of all, whatever the order.

use rayon::prelude::*;

use super::catalogue::Catalogue;
use super::factors::FactorScorer;
use super::scan::{STRIP, TILE};
use super::scorer::{ScoreBlock, ScoreTile};
use super::state::UserState;
use super::top::Top;

/// Users up to which items are scored as they lie.
pub(crate) const SMALL_BATCH: usize = TILE;
/// Items that are worth a thread's while.
const SHARE: usize = 2048;

/// Shows the users all items; ranks of targets are not counted.
pub(super) fn scan_small_batch(
    factors: &FactorScorer<'_>,
    catalogue: &Catalogue,
    states: &mut [UserState<'_>],
) {
    let items = &catalogue.items[..];
    let share = items.len().div_ceil(2 * rayon::current_num_threads());
    let share = share.max(SHARE).next_multiple_of(STRIP);
    let shared: &[UserState<'_>] = states;
    let parts: Vec<Vec<Top>> = items
        .par_chunks(share)
        .enumerate()
        .map(|(at, items)| best_of(factors, at * share, items, shared))
        .collect();
    for part in parts {
        for (state, top) in states.iter_mut().zip(part) {
            state.top.take(top);
        }
    }
}

/// The best of some items for each user; they begin at `start` of the catalogue.
fn best_of(
    factors: &FactorScorer<'_>,
    start: usize,
    items: &[u32],
    states: &[UserState<'_>],
) -> Vec<Top> {
    let users: Vec<u32> = states.iter().map(|state| state.user).collect();
    let mut tops: Vec<Top> = states.iter().map(|s| Top::new(s.top.limit())).collect();
    let (block, mut tile) = (factors.unpacked(items), ScoreTile::default());
    for first in (0..items.len()).step_by(STRIP) {
        let end = items.len().min(first + STRIP);
        tile.resize(users.len(), end - first);
        block.score(&users, first..end, &mut tile);
        for (row, (state, top)) in states.iter().zip(&mut tops).enumerate() {
            let scores = &mut tile.row_mut(row)[..end - first];
            for &at in state.excluded_in(start + first..start + end) {
                scores[at as usize - start - first] = f32::NEG_INFINITY;
            }
            top.offer(&items[first..end], scores);
        }
    }
    tops
}
