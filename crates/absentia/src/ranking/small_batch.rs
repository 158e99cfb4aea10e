//! The best items of a small batch of users: items are scored without panels, partitioned between
//! threads.
//!
//! Transposing all items into panels would cost more than scoring them. The partition does not change
//! the lists: the best items of each part are merged, in an order that depends on score and item only.

use rayon::prelude::*;

use super::catalogue::Catalogue;
use super::factors::FactorScorer;
use super::scan::{STRIP, TILE};
use super::scorer::{ScoreBlock, ScoreTile};
use super::state::UserState;
use super::top::Top;

/// Maximum number of users of a small batch.
pub(crate) const SMALL_BATCH: usize = TILE;
/// Minimum number of items per thread.
const SHARE: usize = 2048;

/// Scores all items for the users; ranks of targets are not computed.
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

/// The best of some items for each user; the items start at position `start` of the catalogue.
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
            for at in state.excluded_in(start + first..start + end) {
                scores[at as usize - start - first] = f32::NEG_INFINITY;
            }
            top.offer(&items[first..end], scores);
        }
    }
    tops
}
