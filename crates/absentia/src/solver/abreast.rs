//! Element-wise ALS on rows side by side: sixteen rows of like length at a time, a lane for each.
//!
//! The steps are those of [`block`](super::block) with blocks of one coordinate, in the same order.
//! What differs is how entries lie: rows of a tile are sorted by length and dealt out to *groups*.
//! A group has sixteen lanes; a row has 1, 2, 4, 8 or 16 of them, by its own length alone, so that
//! its result does not depend on the rows beside it. With a lane per row, sums over entries cross
//! no lanes, and the few numbers that coordinate steps need are at hand for all rows at once.
//! Rows too long to be packed are left to [`BlockSolver`], and so are all on machines whose registers
//! do not hold what a step needs.

use std::ops::Range;

use super::block::{self, BlockSolver, CURVATURE_FLOOR};
use super::tile::{SORTED_ENTRIES, is_long, longest};
use super::{EntryLoss, NotConvex, RowSolver, Side, Tile, observed_row};
use crate::data::ValuesRow;
use crate::linalg::kernels::{Abreast, Moving, Panel, Slots, Weighing, packed_floats};
use crate::linalg::{Buffer, LANES};

/// Entries of a lane at the most, while a row has fewer than sixteen lanes.
pub(super) const PER_LANE: usize = 32;

/// Lanes of a row with so many entries.
fn lanes_of(entries: usize) -> usize {
    entries.div_ceil(PER_LANE).next_power_of_two().min(LANES)
}

/// Bytes of one worker's buffers for a side with so many entries, at the most.
pub(crate) fn scratch_bytes(entries: usize, stride: usize) -> u64 {
    let packed = (longest(stride).min(entries) + LANES).max((PER_LANE + 1) * LANES);
    // Lanes of a group are not all equally long: at the worst half of a slot is empty, and a group
    // of each number of lanes may have a single row.
    let columns = SORTED_ENTRIES.min(entries);
    let slots = 2 * columns + 5 * PER_LANE * LANES;
    let rows = 3 * LANES * stride;
    (4 * (packed * stride + rows) + 24 * columns + 20 * slots) as u64
}

/// One exact step per coordinate, rows side by side.
pub(crate) struct ElementSolver;

/// Rows of a tile that are solved side by side.
struct Group {
    /// Which places of the order of rows.
    places: Range<usize>,
    /// Lanes of each row.
    per_row: usize,
    /// Which slots of the tile.
    slots: Range<usize>,
}

/// A number of every entry of a tile, where they stand in the slots.
#[derive(Default)]
struct Dealt {
    /// All slots, zeros where no entry is; or the one number that all entries have.
    values: Buffer,
    is_constant: bool,
}

impl Dealt {
    /// Makes room for the numbers of a tile whose first row has these.
    fn start(&mut self, first: ValuesRow<'_>, floats: usize) {
        match first {
            ValuesRow::Constant(value) => self.values.room(1)[0] = value,
            ValuesRow::Each(_) => self.values.room(floats).fill(0.0),
        }
        self.is_constant = matches!(first, ValuesRow::Constant(_));
    }

    fn deal(&mut self, row: ValuesRow<'_>, per_row: usize, first: usize, floats: usize) {
        if let ValuesRow::Each(values) = row {
            deal_out(values, per_row, &mut self.values.room(floats)[first..]);
        }
    }

    fn of(&self, entries: Range<usize>) -> &[f32] {
        let values = self.values.as_slice();
        if self.is_constant {
            &values[..1]
        } else {
            &values[entries]
        }
    }
}

/// Buffers of one worker.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Rows of the tile, the longest first: entries, then row.
    order: Vec<(u32, u32)>,
    /// How many rows have so many entries; then where the next of them goes.
    counts: Vec<u32>,
    groups: Vec<Group>,
    /// Rows of the fixed side, `c` and `r` of all slots of the tile.
    picks: Vec<u32>,
    c: Dealt,
    r: Dealt,
    /// Slots before which each lane of a group has entries.
    held: [f32; LANES],
    /// `d`, weights as if missing, predictions and errors of a group.
    d: Buffer,
    missing: Buffer,
    predicted: Buffer,
    error: Buffer,
    lines: Buffer,
    /// Factors of a group: row by row as they change, and a line of lanes per coordinate as they
    /// were.
    factors: Buffer,
    p: Buffer,
    steps: Buffer,
    /// Weights of a group's rows: negative, one line of rows per component; and in lanes.
    scales: Vec<f32>,
    weights: Buffer,
    penalty: Vec<f32>,
    /// `−Σ_t a_ut (S_t p_u)` on a block, row by row.
    g: Buffer,
    /// For rows that are left to the other solver.
    long: block::Scratch,
}

impl RowSolver for ElementSolver {
    type Scratch = Scratch;

    fn solve(
        &self,
        tile: &mut Tile<'_>,
        side: &Side<'_>,
        scratch: &mut Scratch,
    ) -> Result<EntryLoss, NotConvex> {
        if tile.len() == 1 && is_long(tile.range(0).len(), tile.stride) {
            return BlockSolver { block: 1 }.solve(tile, side, &mut scratch.long);
        }
        scratch.deal(tile, side);
        let mut loss = EntryLoss::default();
        for at in 0..scratch.groups.len() {
            scratch.solve_group(at, tile, side)?;
            if side.wants_loss {
                loss.add_entries(scratch.losses(at, side));
            }
        }
        Ok(loss)
    }
}

impl Scratch {
    /// Sorts the rows into groups and lays out their entries.
    fn deal(&mut self, tile: &Tile<'_>, side: &Side<'_>) {
        self.sort(tile);
        self.groups.clear();
        let (mut place, mut slots) = (0, 0);
        while let Some(&(longest, _)) = self.order.get(place) {
            let longest = longest as usize;
            let per_row = lanes_of(longest);
            let like = self.order[place..].iter().take(LANES / per_row);
            let rows = like.take_while(|(entries, _)| lanes_of(*entries as usize) == per_row);
            let places = place..place + rows.count();
            let end = slots + longest.div_ceil(per_row);
            self.groups.push(Group {
                places: places.clone(),
                per_row,
                slots: slots..end,
            });
            (place, slots) = (places.end, end);
        }
        self.lay_out(slots * LANES, tile, side);
    }

    /// Orders the rows by their number of entries: by counting, for there are few numbers.
    fn sort(&mut self, tile: &Tile<'_>) {
        let lengths = || tile.starts().windows(2).map(|ends| ends[1] - ends[0]);
        let longest = lengths().max().unwrap_or(0);
        self.counts.clear();
        self.counts.resize(longest + 1, 0);
        lengths().for_each(|entries| self.counts[entries] += 1);
        let mut longer = 0;
        for count in self.counts.iter_mut().rev() {
            longer += std::mem::replace(count, longer);
        }
        self.order.resize(tile.len(), (0, 0));
        for (at, entries) in lengths().enumerate() {
            let place = &mut self.counts[entries];
            self.order[*place as usize] = (entries as u32, at as u32);
            *place += 1;
        }
    }

    fn lay_out(&mut self, floats: usize, tile: &Tile<'_>, side: &Side<'_>) {
        self.picks.clear();
        self.picks.resize(floats, 0);
        let first = observed_row(side, tile.row(0));
        self.c.start(first.c, floats);
        self.r.start(first.r, floats);
        let vary = !(self.c.is_constant && self.r.is_constant);
        let filled = self.groups.iter().filter(|group| !group.slots.is_empty());
        for group in filled {
            for (n, &(_, at)) in self.order[group.places.clone()].iter().enumerate() {
                let (first, at) = (group.slots.start * LANES + n * group.per_row, at as usize);
                let picks = tile.picks_of(at);
                deal_out(picks, group.per_row, &mut self.picks[first..]);
                if vary {
                    let row = observed_row(side, tile.row(at));
                    self.c.deal(row.c, group.per_row, first, floats);
                    self.r.deal(row.r, group.per_row, first, floats);
                }
            }
        }
    }

    fn solve_group(
        &mut self,
        at: usize,
        tile: &mut Tile<'_>,
        side: &Side<'_>,
    ) -> Result<(), NotConvex> {
        self.load_rows(at, tile, side);
        self.pack(at, side);
        for block in 0..tile.stride / LANES {
            self.start_gradients(at, block, tile.stride, side);
            let negative = self.step(at, block, side);
            if let Some((n, curvature)) = negative.filter(|_| side.may_be_negative) {
                let (_, at) = self.order[self.groups[at].places.start + n];
                let row = tile.row(at as usize);
                return Err(NotConvex { row, curvature });
            }
        }
        let order = &self.order[self.groups[at].places.clone()];
        let factors = self.factors.as_slice().chunks_exact(tile.stride);
        for (from, &(_, at)) in factors.zip(order) {
            tile.factors_of(at as usize).copy_from_slice(from);
        }
        Ok(())
    }

    /// Factors, weights and penalties of a group, and how many entries its lanes have.
    fn load_rows(&mut self, at: usize, tile: &Tile<'_>, side: &Side<'_>) {
        let (group, stride) = (&self.groups[at], tile.stride);
        let (rows, per_row) = (group.places.len(), group.per_row);
        let order = &self.order[group.places.clone()];
        let mut picked = [0; LANES];
        for (place, &(_, at)) in picked.iter_mut().zip(order) {
            *place = at as usize;
        }
        let (factors, p) = (
            self.factors.room(rows * stride),
            self.p.room(stride * LANES),
        );
        side.kernels
            .spread(tile.before, stride, &picked[..rows], factors, per_row, p);
        self.held = [0.0; LANES];
        self.penalty.clear();
        // Where there is no row, nothing may look like one without a minimum.
        self.penalty.resize(LANES, 1.0);
        let z = side.cache.rank();
        self.scales.clear();
        self.scales.resize(z * rows, 0.0);
        let weights = self.weights.room(z * LANES);
        weights.fill(0.0);
        for (n, &(entries, at)) in order.iter().enumerate() {
            let (lanes, row) = (n * per_row..(n + 1) * per_row, tile.row(at as usize));
            for (lane, held) in self.held[lanes.clone()].iter_mut().enumerate() {
                *held = (entries as f32 - lane as f32) / per_row as f32;
            }
            self.penalty[lanes.clone()].fill(side.penalty.get(row));
            for (t, &a) in side.own_weights.row(row).iter().enumerate() {
                self.scales[t * rows + n] = -a;
                weights[t * LANES..][lanes.clone()].fill(a);
            }
        }
    }

    /// Entries of a group among those of the tile, in lanes.
    fn entries(&self, at: usize) -> Range<usize> {
        let slots = &self.groups[at].slots;
        slots.start * LANES..slots.end * LANES
    }

    /// Turns the rows of the fixed side that a group's entries name into lines, weighs and predicts.
    fn pack(&mut self, at: usize, side: &Side<'_>) {
        let (entries, stride) = (self.entries(at), side.fixed.stride());
        let lines = packed_floats(self.groups[at].slots.len(), stride);
        let picked = side.gathered(&self.picks[entries.start..]);
        let floats = entries.len();
        let weighing = Weighing {
            a: &self.weights.as_slice()[..side.cache.rank() * LANES],
            b: side.fixed_weights.as_slice(),
            c: self.c.of(entries.clone()),
            r: self.r.of(entries),
            held: &self.held,
        };
        let mut slots = Slots {
            d: self.d.room(floats),
            missing: side.wants_loss.then(|| self.missing.room(floats)),
            predicted: self.predicted.room(floats),
            error: self.error.room(floats),
        };
        let (p, lines) = (self.p.as_slice(), self.lines.room(lines));
        side.kernels
            .pack_abreast(picked, p, weighing, lines, &mut slots);
    }

    /// What the entries of a group add to the objective after all steps.
    fn losses(&mut self, at: usize, side: &Side<'_>) -> [f64; 2] {
        let (entries, stride) = (self.entries(at), side.fixed.stride());
        if entries.is_empty() {
            return [0.0; 2];
        }
        let predicted = self.predicted.room(entries.len());
        let (lines, steps) = (self.lines.as_slice(), self.steps.as_slice());
        side.kernels.settle(lines, stride, steps, predicted);
        let missing = &self.missing.as_slice()[..entries.len()];
        let weighing = Weighing {
            a: &[],
            b: &[],
            c: self.c.of(entries.clone()),
            r: self.r.of(entries),
            held: &self.held,
        };
        side.kernels.losses_abreast(weighing, predicted, missing)
    }

    /// `−Σ_t a_ut (S_t p_u)` of a group's rows on one block.
    fn start_gradients(&mut self, at: usize, block: usize, stride: usize, side: &Side<'_>) {
        let rows = self.groups[at].places.len();
        let g = self.g.room(rows * LANES);
        g.fill(0.0);
        let x = Panel {
            values: self.factors.as_slice(),
            stride,
            rows,
            k: stride,
        };
        for (t, scale) in self.scales.chunks_exact(rows).enumerate() {
            // Group weights are mostly zero.
            if scale.iter().any(|&a| a != 0.0) {
                let panel = side.cache.panel(block, t);
                side.kernels.panel_product(x, panel, Some(scale), g, LANES);
            }
        }
    }

    fn step(&mut self, at: usize, block: usize, side: &Side<'_>) -> Option<(usize, f32)> {
        let (entries, group) = (self.entries(at), &self.groups[at]);
        let (rows, stride, z) = (group.places.len(), side.fixed.stride(), side.cache.rank());
        let floats = entries.len();
        let x = Abreast {
            block,
            per_row: group.per_row,
            lines: self.lines.as_slice(),
            p: self.p.as_slice(),
            next: side.gathered(&self.picks[entries.end..]),
            d: &self.d.as_slice()[..floats],
            penalty: &self.penalty,
            weights: &self.weights.as_slice()[..z * LANES],
            diagonals: side.cache.diagonal_block(block),
            g: &self.g.as_slice()[..rows * LANES],
        };
        let mut moving = Moving {
            steps: self.steps.room(stride * LANES),
            error: self.error.room(floats),
            predicted: side.wants_loss.then(|| self.predicted.room(floats)),
            factors: self.factors.room(rows * stride),
        };
        side.kernels
            .descend_abreast(x, CURVATURE_FLOOR, &mut moving)
    }
}

/// Deals the values of a row out to its lanes.
fn deal_out<T: Copy>(values: &[T], per_row: usize, slots: &mut [T]) {
    match per_row {
        1 => deal_lanes::<T, 1>(values, slots),
        2 => deal_lanes::<T, 2>(values, slots),
        4 => deal_lanes::<T, 4>(values, slots),
        8 => deal_lanes::<T, 8>(values, slots),
        _ => deal_lanes::<T, LANES>(values, slots),
    }
}

/// Copies of a known length need no call.
fn deal_lanes<T: Copy, const N: usize>(values: &[T], slots: &mut [T]) {
    let (whole, rest) = values.as_chunks::<N>();
    let mut slots = slots.chunks_mut(LANES);
    for (values, slot) in whole.iter().zip(&mut slots) {
        slot[..N].copy_from_slice(values);
    }
    if let Some(slot) = slots.next() {
        for (value, slot) in rest.iter().zip(slot) {
            *slot = *value;
        }
    }
}
