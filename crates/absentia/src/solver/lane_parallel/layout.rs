//! The layout of a tile's entries for lane-parallel steps.

use std::ops::Range;

use super::PER_LANE;
use crate::data::ValuesRow;
use crate::linalg::{Buffer, LANES};
use crate::solver::{Side, Tile, observed_row};

/// Number of lanes of a row with `entries` entries.
fn lanes_of(entries: usize) -> usize {
    entries.div_ceil(PER_LANE).next_power_of_two().min(LANES)
}

/// Rows of a tile that are solved together.
pub(super) struct Group {
    /// Their range in the order of rows.
    pub(super) places: Range<usize>,
    /// Lanes of each row.
    pub(super) per_row: usize,
    /// Their range of slots.
    pub(super) slots: Range<usize>,
}

impl Group {
    /// The range of their entries among those of the tile.
    pub(super) fn entries(&self) -> Range<usize> {
        self.slots.start * LANES..self.slots.end * LANES
    }
}

/// One number per entry of a tile, in the order of the slots.
#[derive(Default)]
pub(super) struct SlotValues {
    /// The numbers of all slots, zero where there is no entry; or the one number of all entries.
    values: Buffer,
    is_constant: bool,
}

impl SlotValues {
    /// Makes room for the numbers of a tile whose first row has the numbers `first`.
    fn start(&mut self, first: ValuesRow<'_>, floats: usize) {
        match first {
            ValuesRow::Constant(value) => self.values.room(1)[0] = value,
            ValuesRow::Each(_) => self.values.room(floats).fill(0.0),
        }
        self.is_constant = matches!(first, ValuesRow::Constant(_));
    }

    /// Distributes the numbers of a row over its lanes, starting at `lane`.
    fn put_row(&mut self, row: ValuesRow<'_>, group: &Group, lane: usize, floats: usize) {
        if let ValuesRow::Each(values) = row {
            let slots = &mut self.values.room(floats)[group.entries()];
            distribute(values, group.per_row, lane, slots);
        }
    }

    pub(super) fn of(&self, entries: Range<usize>) -> &[f32] {
        let values = self.values.as_slice();
        if self.is_constant {
            &values[..1]
        } else {
            &values[entries]
        }
    }
}

/// The rows of a tile in groups, and their entries in slots.
#[derive(Default)]
pub(in crate::solver) struct LaneLayout {
    /// Rows of the tile, the longest first: entries, then row.
    order: Vec<(u32, u32)>,
    /// First the number of rows with each number of entries, then the place of the next such row.
    counts: Vec<u32>,
    pub(super) groups: Vec<Group>,
    /// Rows of the fixed side, `c` and `r` of all slots.
    pub(super) picks: Vec<u32>,
    pub(super) c: SlotValues,
    pub(super) r: SlotValues,
}

impl LaneLayout {
    /// The layout of a tile, to be stored.
    pub(super) fn new(tile: &Tile<'_>, side: &Side<'_>) -> Self {
        let mut layout = Self::default();
        layout.arrange(tile, side);
        layout.counts = Vec::new();
        layout.groups.shrink_to_fit();
        layout
    }

    /// The rows of a group: entries, then row of the tile.
    pub(super) fn rows(&self, group: &Group) -> &[(u32, u32)] {
        &self.order[group.places.clone()]
    }

    /// Up to sixteen rows that will be solved next.
    pub(super) fn rows_after(&self, group: &Group) -> &[(u32, u32)] {
        let after = &self.order[group.places.end..];
        &after[..after.len().min(LANES)]
    }

    /// Sorts the rows into groups and lays out their entries.
    pub(super) fn arrange(&mut self, tile: &Tile<'_>, side: &Side<'_>) {
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

    /// Orders the rows by their number of entries, with a counting sort.
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
                let (lane, at) = (n * group.per_row, at as usize);
                let slots = &mut self.picks[group.entries()];
                distribute(tile.picks_of(at), group.per_row, lane, slots);
                if vary {
                    let row = observed_row(side, tile.row(at));
                    self.c.put_row(row.c, group, lane, floats);
                    self.r.put_row(row.r, group, lane, floats);
                }
            }
        }
    }
}

/// Distributes the values of a row over its lanes, starting at lane `first`.
fn distribute<T: Copy>(values: &[T], per_row: usize, first: usize, slots: &mut [T]) {
    let (slots, _) = slots.as_chunks_mut();
    match per_row {
        1 => distribute_lanes::<T, 1>(values, first, slots),
        2 => distribute_lanes::<T, 2>(values, first, slots),
        4 => distribute_lanes::<T, 4>(values, first, slots),
        8 => distribute_lanes::<T, 8>(values, first, slots),
        _ => distribute_lanes::<T, LANES>(values, first, slots),
    }
}

/// Copies of a constant length are inlined.
fn distribute_lanes<T: Copy, const N: usize>(values: &[T], first: usize, slots: &mut [[T; LANES]]) {
    assert!(first + N <= LANES);
    let (whole, rest) = values.as_chunks::<N>();
    let mut slots = slots.iter_mut();
    for (values, slot) in whole.iter().zip(&mut slots) {
        slot[first..first + N].copy_from_slice(values);
    }
    if let Some(slot) = slots.next() {
        slot[first..first + rest.len()].copy_from_slice(rest);
    }
}
