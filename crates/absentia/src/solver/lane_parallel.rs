//! Lane-parallel element-wise ALS: up to sixteen rows of similar length at a time, in separate lanes.
//!
//! The steps are those of [`block`](super::block) with blocks of one coordinate, in the same order.
//! Only the layout of entries differs: the rows of a tile are sorted by length and partitioned into
//! *groups*. A group has sixteen lanes. A row has 1, 2, 4, 8 or 16 of them, which depends on its own
//! length only, so that its result does not depend on the other rows of the group. Sums over entries
//! run down the lanes and are added only across the lanes of one row, and coordinate steps are taken
//! for all rows of the group at once.
//! [`BlockSolver`] solves rows that are too long to be packed, and all rows on machines whose
//! registers are too narrow for this path.

mod group;
mod layout;

use super::block::{self, BlockSolver};
use super::tiles::{SORTED_ENTRIES, is_long, longest};
use super::{EntryLoss, NotConvex, RowSolver, Side, Tile};
use crate::linalg::LANES;
use group::GroupSolver;
pub(super) use layout::LaneLayout;

/// Maximum number of entries per lane, except for rows that have all sixteen lanes.
pub(super) const PER_LANE: usize = 32;

/// Estimated bytes of one worker's buffers for a side with `entries` entries, at most `row` in a row.
pub(crate) fn scratch_bytes(entries: usize, row: usize, stride: usize) -> u64 {
    let packed = (longest(stride).min(row) + LANES).max((PER_LANE + 1) * LANES);
    // The lanes of a group differ in length, which leaves some slots partly empty: a tenth or less in
    // a tile of many rows. For each number of lanes, one group may have a single row.
    let columns = SORTED_ENTRIES.min(entries);
    let slots = columns + columns / 10 + 5 * PER_LANE * LANES;
    let rows = 3 * LANES * stride;
    // Four numbers per entry while its group is solved, and one while its tile is. Targets and weights
    // that vary take two more, which is little compared with their storage.
    (4 * (packed * stride + rows) + 16 * packed + 4 * slots) as u64
}

/// One exact step per coordinate, lane-parallel.
pub(crate) struct ElementSolver;

/// Buffers of one worker.
#[derive(Default)]
pub(crate) struct LaneScratch {
    /// For tiles whose layout is not stored.
    layout: LaneLayout,
    solver: GroupSolver,
    /// For rows that are too long for a group.
    long: block::BlockScratch,
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
            kept.get_or_init(|| LaneLayout::new(tile, side))
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
