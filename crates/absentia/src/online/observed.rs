//! The observed entries of an online model: both sides, raw values, histories and counts.

use super::pair::{Histories, PairEntry, PairEvent};
use super::rows::{Column, GrowingRow, make_room};
use crate::data::{Interactions, MergedRows};
use crate::error::Axis;
use crate::sides::Sides;

/// The raw values of a user's entries, in the order of the entries.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RawRow {
    value: Column,
    weight: Column,
    boost: Column,
    /// Empty if there are no times.
    time: Vec<i64>,
    /// Items that were shown and not taken, rising.
    exposed: Vec<u32>,
}

impl Default for RawRow {
    fn default() -> Self {
        Self {
            value: Column::Constant(1.0),
            weight: Column::Constant(1.0),
            boost: Column::Constant(1.0),
            time: Vec::new(),
            exposed: Vec::new(),
        }
    }
}

impl RawRow {
    fn new(entries: &[UserEntry], has_times: bool) -> Self {
        let events: Vec<PairEvent> = entries.iter().map(|entry| entry.pair.event()).collect();
        let column =
            |number: fn(&PairEvent) -> f32| Column::new(events.iter().map(number).collect());
        let exposed = entries
            .iter()
            .filter(|entry| matches!(entry.pair, PairEntry::Exposed(_)));
        Self {
            value: column(|event| event.value),
            weight: column(|event| event.weight),
            boost: column(|event| event.boost),
            time: if has_times {
                events.iter().map(|event| event.time).collect()
            } else {
                Vec::new()
            },
            exposed: exposed.map(|entry| entry.item).collect(),
        }
    }

    /// What entry `at`, which is that of `item`, is.
    fn pair(&self, at: usize, item: u32) -> PairEntry {
        if self.exposed.binary_search(&item).is_ok() {
            return PairEntry::Exposed(self.weight.get(at));
        }
        PairEntry::Taken(PairEvent {
            value: self.value.get(at),
            weight: self.weight.get(at),
            time: self.time.get(at).copied().unwrap_or(0),
            boost: self.boost.get(at),
        })
    }

    fn bytes(&self) -> usize {
        let columns = [&self.value, &self.weight, &self.boost];
        let columns: usize = columns.into_iter().map(Column::bytes).sum();
        columns + 8 * self.time.capacity() + 4 * self.exposed.capacity()
    }
}

/// Everything that was observed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Observed {
    /// Targets and weights of each side.
    pub(super) rows: Sides<Vec<GrowingRow>>,
    raw: Vec<RawRow>,
    pub(super) histories: Histories,
    /// Interactions of each user and item.
    pub(super) counts: Sides<Vec<u32>>,
    /// Number of entries, exposed ones included.
    pub(super) len: u64,
    has_times: bool,
}

/// How the number of entries and the counts of both rows change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) entries: i32,
    pub(super) interactions: i32,
}

/// An entry of a user's row, with its target and weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct UserEntry {
    pub(super) item: u32,
    pub(super) pair: PairEntry,
    pub(super) rc: (f32, f32),
}

impl Observed {
    /// Takes the entries of every user, items rising; `lengths` are the numbers of entries of the items.
    pub(super) fn new<E>(
        lengths: &[usize],
        users: impl Iterator<Item = Result<Vec<UserEntry>, E>>,
        histories: Histories,
        has_times: bool,
    ) -> Result<Self, E> {
        let n_items = lengths.len();
        let room = |&length: &usize| {
            let numbers = || Vec::with_capacity(length);
            (Vec::with_capacity(length), numbers(), numbers())
        };
        let mut items: Vec<(Vec<u32>, Vec<f32>, Vec<f32>)> = lengths.iter().map(room).collect();
        let (mut rows, mut raw, mut len) = (Vec::new(), Vec::new(), 0);
        let mut counts = Sides {
            users: Vec::new(),
            items: vec![0; n_items],
        };
        for (user, entries) in users.enumerate() {
            let entries = entries?;
            let mut taken = 0;
            for entry in &entries {
                let (indices, r, c) = &mut items[entry.item as usize];
                indices.push(user as u32);
                r.push(entry.rc.0);
                c.push(entry.rc.1);
                if matches!(entry.pair, PairEntry::Taken(_)) {
                    taken += 1;
                    counts.items[entry.item as usize] += 1;
                }
            }
            counts.users.push(taken);
            len += entries.len() as u64;
            rows.push(GrowingRow::new(
                entries.iter().map(|entry| entry.item).collect(),
                entries.iter().map(|entry| entry.rc.0).collect(),
                entries.iter().map(|entry| entry.rc.1).collect(),
            ));
            raw.push(RawRow::new(&entries, has_times));
        }
        let items = items.into_iter();
        Ok(Self {
            rows: Sides {
                users: rows,
                items: items
                    .map(|(indices, r, c)| GrowingRow::new(indices, r, c))
                    .collect(),
            },
            raw,
            histories,
            counts,
            len,
            has_times,
        })
    }

    /// The entries of a user's row.
    pub(super) fn entries_of(&self, user: u32) -> Vec<UserEntry> {
        let row = &self.rows.users[user as usize];
        let entry = |(at, &item): (usize, &u32)| UserEntry {
            item,
            pair: self.raw[user as usize].pair(at, item),
            rc: row.get(at),
        };
        row.indices().iter().enumerate().map(entry).collect()
    }

    /// Adds a row without entries.
    pub(super) fn add(&mut self, axis: Axis) {
        make_room(&mut self.rows[axis]);
        self.rows[axis].push(GrowingRow::default());
        self.counts[axis].push(0);
        if axis == Axis::User {
            make_room(&mut self.raw);
            self.raw.push(RawRow::default());
        }
    }

    /// What a pair is, if it is an entry.
    pub(super) fn pair(&self, (user, item): (u32, u32)) -> Option<PairEntry> {
        let at = self.rows.users[user as usize].position(item).ok()?;
        Some(self.raw[user as usize].pair(at, item))
    }

    /// Makes a pair what it is from now on, with the target and weight of its entry.
    pub(super) fn put(
        &mut self,
        (user, item): (u32, u32),
        pair: Option<PairEntry>,
        rc: (f32, f32),
    ) -> Change {
        let before = self.pair((user, item));
        if let Some(pair) = pair {
            self.put_raw((user, item), pair);
            self.rows.users[user as usize].put(item, rc);
            self.rows.items[item as usize].put(user, rc);
        } else {
            self.remove_raw((user, item));
            self.rows.users[user as usize].remove(item);
            self.rows.items[item as usize].remove(user);
        }
        let taken = |pair: Option<PairEntry>| i32::from(matches!(pair, Some(PairEntry::Taken(_))));
        let change = Change {
            entries: i32::from(pair.is_some()) - i32::from(before.is_some()),
            interactions: taken(pair) - taken(before),
        };
        self.len = self.len.saturating_add_signed(change.entries.into());
        for (axis, row) in [(Axis::User, user), (Axis::Item, item)] {
            let count = &mut self.counts[axis][row as usize];
            *count = count.saturating_add_signed(change.interactions);
        }
        change
    }

    /// Removes all entries of a user. Costs what the rows of the user and of these items have.
    pub(super) fn erase(&mut self, user: u32) {
        let row = std::mem::take(&mut self.rows.users[user as usize]);
        let raw = std::mem::take(&mut self.raw[user as usize]);
        for &item in row.indices() {
            self.rows.items[item as usize].remove(user);
            if raw.exposed.binary_search(&item).is_err() {
                let count = &mut self.counts.items[item as usize];
                *count = count.saturating_sub(1);
            }
        }
        self.counts.users[user as usize] = 0;
        self.len = self.len.saturating_sub(row.len() as u64);
        self.histories.erase(user);
    }

    /// Raw values go with the entries of the user's row, which do not have the pair yet if it is new.
    fn put_raw(&mut self, (user, item): (u32, u32), pair: PairEntry) {
        let row = &self.rows.users[user as usize];
        let (raw, len) = (&mut self.raw[user as usize], row.len());
        let (event, is_exposed) = (pair.event(), matches!(pair, PairEntry::Exposed(_)));
        match (raw.exposed.binary_search(&item), is_exposed) {
            (Err(at), true) => {
                make_room(&mut raw.exposed);
                raw.exposed.insert(at, item);
            }
            (Ok(at), false) => {
                raw.exposed.remove(at);
            }
            _ => {}
        }
        let columns = [
            (&mut raw.value, event.value),
            (&mut raw.weight, event.weight),
            (&mut raw.boost, event.boost),
        ];
        match row.position(item) {
            Ok(at) => {
                for (column, x) in columns {
                    column.set(at, len, x);
                }
                if self.has_times {
                    raw.time[at] = event.time;
                }
            }
            Err(at) => {
                for (column, x) in columns {
                    column.insert(at, len, x);
                }
                if self.has_times {
                    make_room(&mut raw.time);
                    raw.time.insert(at, event.time);
                }
            }
        }
    }

    fn remove_raw(&mut self, (user, item): (u32, u32)) {
        let raw = &mut self.raw[user as usize];
        if let Ok(at) = raw.exposed.binary_search(&item) {
            raw.exposed.remove(at);
        }
        if let Ok(at) = self.rows.users[user as usize].position(item) {
            for column in [&mut raw.value, &mut raw.weight, &mut raw.boost] {
                column.remove(at);
            }
            if self.has_times {
                raw.time.remove(at);
            }
        }
    }

    /// Whether an item was shown to a user and not taken.
    pub(super) fn is_exposed(&self, user: u32, item: u32) -> bool {
        self.raw[user as usize].exposed.binary_search(&item).is_ok()
    }

    /// The rows with raw values, as training takes them.
    pub(super) fn raw(&self) -> Interactions<'static> {
        self.interactions(|raw, at, _| (raw.value.get(at), raw.weight.get(at)))
    }

    /// The rows with the targets and weights that are learned.
    pub(super) fn trained(&self) -> Interactions<'static> {
        self.interactions(|_, at, row| row.get(at))
    }

    fn interactions(
        &self,
        rc: impl Fn(&RawRow, usize, &GrowingRow) -> (f32, f32),
    ) -> Interactions<'static> {
        let (users, len) = (self.raw.len(), self.len as usize);
        let mut merged = MergedRows::with_capacity(users, len, self.has_times);
        for (row, raw) in self.rows.users.iter().zip(&self.raw) {
            for (at, &item) in row.indices().iter().enumerate() {
                let (r, c) = rc(raw, at, row);
                let is_exposed = raw.exposed.binary_search(&item).is_ok();
                merged.push(item, r, c, is_exposed);
                merged.push_time(raw.time.get(at).copied());
            }
            merged.end_row();
        }
        merged.finish(self.rows.items.len())
    }

    /// Whether entries have times.
    pub(super) fn has_times(&self) -> bool {
        self.has_times
    }

    /// Bytes of all entries, of their histories and of the rows that hold them.
    pub(super) fn bytes(&self) -> u64 {
        let rows = |rows: &Vec<GrowingRow>| {
            let held: usize = rows.iter().map(GrowingRow::bytes).sum();
            held + rows.capacity() * size_of::<GrowingRow>()
        };
        let raw: usize = self.raw.iter().map(RawRow::bytes).sum();
        let raw = raw + self.raw.capacity() * size_of::<RawRow>();
        let events = self.histories.pairs.values();
        let events: usize = events
            .map(|history| 48 + history.events.capacity() * size_of::<PairEvent>())
            .sum();
        let counts = 4 * (self.counts.users.capacity() + self.counts.items.capacity());
        (rows(&self.rows.users) + rows(&self.rows.items) + raw + events + counts) as u64
    }
}
