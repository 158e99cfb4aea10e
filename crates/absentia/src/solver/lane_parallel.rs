//! Element-wise ALS on rows side by side: sixteen rows of like length at a time, a lane for each.
//!
//! The steps are those of [`block`](super::block) with blocks of one coordinate, in the same order.
//! What differs is how entries lie: rows of a tile are sorted by length and in_slots out to *groups*.
//! A group has sixteen lanes; a row has 1, 2, 4, 8 or 16 of them, by its own length alone, so that
//! its result does not depend on the rows beside it. With a lane per row, sums over entries cross
//! no lanes, and the few numbers that coordinate steps need are at hand for all rows at once.
//! Rows too long to be packed are left to [`BlockSolver`], and so are all on machines whose registers
//! do not hold what a step needs.

mod group;
mod layout;

use super::block::{self, BlockSolver};
use super::tiles::{SORTED_ENTRIES, is_long, longest};
use super::{EntryLoss, NotConvex, RowSolver, Side, Tile};
use crate::linalg::LANES;
use group::GroupSolver;
pub(super) use layout::Layout;

/// Entries of a lane at the most, while a row has fewer than sixteen lanes.
pub(super) const PER_LANE: usize = 32;

/// Bytes of one worker's buffers for a side with so many entries, about.
pub(crate) fn scratch_bytes(entries: usize, stride: usize) -> u64 {
    let packed = (longest(stride).min(entries) + LANES).max((PER_LANE + 1) * LANES);
    // Lanes of a group are not all equally long, which leaves some places of slots empty: a tenth or
    // less where a tile has many rows. A group of each number of lanes may have a single row.
    let columns = SORTED_ENTRIES.min(entries);
    let slots = columns + columns / 10 + 5 * PER_LANE * LANES;
    let rows = 3 * LANES * stride;
    // Four numbers of an entry while its group is solved, and one while its tile is. Targets and
    // weights that vary take two more there, which is little beside what is stored of them.
    (4 * (packed * stride + rows) + 16 * packed + 4 * slots) as u64
}

/// One exact step per coordinate, rows side by side.
pub(crate) struct ElementSolver;

/// Buffers of one worker.
#[derive(Default)]
pub(crate) struct LaneScratch {
    /// For tiles whose layout is not kept.
    layout: Layout,
    solver: GroupSolver,
    /// For rows that are left to the other solver.
    long: block::Scratch,
}

impl RowSolver for ElementSolver {
    type Scratch = LaneScratch;

    fn solve(
        &self,
        tile: &mut Tile<'_>,
        side: &Side<'_>,
        scratch: &mut LaneScratch,
    ) -> Result<EntryLoss, NotConvex> {
        if tile.len() == 1 && is_long(tile.range(0).len(), tile.stride) {
            return BlockSolver { block: 1 }.solve(tile, side, &mut scratch.long);
        }
        let LaneScratch { layout, solver, .. } = scratch;
        let layout = if let Some(kept) = tile.layout {
            kept.get_or_init(|| Layout::new(tile, side))
        } else {
            layout.arrange(tile, side);
            layout
        };
        let mut loss = EntryLoss::default();
        for group in &layout.groups {
            solver.solve(group, layout, tile, side)?;
            if side.wants_loss {
                loss.add_entries(solver.losses(group, layout, side));
            }
        }
        Ok(loss)
    }
}
