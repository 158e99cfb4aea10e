//! Exposed entries: pairs that were shown and not taken.

use std::sync::Arc;

use super::entries::{Entries, Values};
use super::interactions::Interactions;

/// One bit per entry of the matrix by user, set for exposed entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Marks {
    words: Vec<u64>,
    count: usize,
}

impl FromIterator<bool> for Marks {
    fn from_iter<I: IntoIterator<Item = bool>>(each: I) -> Self {
        let mut marks = Self::default();
        for (at, marked) in each.into_iter().enumerate() {
            marks.push(at, marked);
        }
        marks
    }
}

impl Marks {
    fn push(&mut self, at: usize, marked: bool) {
        if at / 64 == self.words.len() {
            self.words.push(0);
        }
        self.words[at / 64] |= u64::from(marked) << (at % 64);
        self.count += usize::from(marked);
    }

    pub(super) fn is_marked(&self, at: usize) -> bool {
        self.words
            .get(at / 64)
            .is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn bytes(&self) -> u64 {
        8 * self.words.len() as u64
    }
}

/// Yields `data` with the entries of `shown` (whose weights are those of the exposed entries) added
/// wherever `data` has none.
pub(super) fn merge(data: &Interactions<'_>, shown: &Interactions<'_>) -> Interactions<'static> {
    let mut merged = MergedRows::new(data, shown.len());
    for user in 0..data.n_users() {
        let (own, other) = (data.by_user.range(user), shown.by_user.range(user));
        let (own_items, other_items) = (data.by_user.indices(), shown.by_user.indices());
        let (mut left, mut right) = (own.start, other.start);
        while left < own.end || right < other.end {
            let takes_own =
                right == other.end || (left < own.end && own_items[left] <= other_items[right]);
            if takes_own {
                let both = right < other.end && own_items[left] == other_items[right];
                let (own_c, marked) = (data.by_user.c.get(left), data.is_exposed(left));
                // Shown before and shown again: the larger weight. Taken: the interaction stays as it is.
                let c = if both && marked {
                    own_c.max(shown.by_user.c.get(right))
                } else {
                    own_c
                };
                merged.push(own_items[left], data.by_user.r.get(left), c, marked);
                right += usize::from(both);
                merged.push_time(data.times().map(|times| times[left]));
                left += 1;
            } else {
                merged.push(other_items[right], 0.0, shown.by_user.c.get(right), true);
                merged.push_time(data.times().map(|_| i64::MIN));
                right += 1;
            }
        }
        merged.end_row();
    }
    merged.finish(data.n_items())
}

/// Builds a matrix row by row from entries that were checked.
pub(crate) struct MergedRows {
    offsets: Vec<u64>,
    indices: Vec<u32>,
    r: Vec<f32>,
    c: Vec<f32>,
    times: Option<Vec<i64>>,
    marks: Marks,
}

impl MergedRows {
    /// Yields a matrix without rows, with room for the entries of `data` and some more.
    pub(super) fn new(data: &Interactions<'_>, more: usize) -> Self {
        Self::with_capacity(data.n_users(), data.len() + more, data.times().is_some())
    }

    /// Yields a matrix without rows, with room for this many rows and entries, with or without times.
    pub(crate) fn with_capacity(rows: usize, len: usize, with_times: bool) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Self {
            offsets,
            indices: Vec::with_capacity(len),
            r: Vec::with_capacity(len),
            c: Vec::with_capacity(len),
            times: with_times.then(|| Vec::with_capacity(len)),
            marks: Marks::default(),
        }
    }

    pub(crate) fn push(&mut self, item: u32, r: f32, c: f32, marked: bool) {
        self.marks.push(self.indices.len(), marked);
        self.indices.push(item);
        self.r.push(r);
        self.c.push(c);
    }

    pub(crate) fn push_time(&mut self, time: Option<i64>) {
        if let (Some(times), Some(time)) = (&mut self.times, time) {
            times.push(time);
        }
    }

    pub(crate) fn end_row(&mut self) {
        self.offsets.push(self.indices.len() as u64);
    }

    pub(crate) fn finish(self, n_items: usize) -> Interactions<'static> {
        let by_user = Entries {
            cols: n_items,
            offsets: self.offsets.into(),
            indices: self.indices.into(),
            r: Values::from_vec(self.r),
            c: Values::from_vec(self.c),
        };
        let mut merged = Interactions::from_rows(by_user, self.times);
        merged.exposed = (self.marks.count() > 0).then(|| Arc::new(self.marks));
        merged
    }
}
