//! The memory of an online model, before it is made.

use super::Online;
use super::observed::RawRow;
use super::pair::PairEvent;
use super::rows::GrowingRow;
use super::snapshot::OnlineParts;
use crate::data::{Confidence, Interactions, Targets, Values};
use crate::error::Axis;
use crate::fit::{MemoryPlan, Sizes};
use crate::linalg::Dense;
use crate::model::Model;

/// Bytes that the allocator takes for a block of some bytes.
fn block(bytes: usize) -> u64 {
    match bytes {
        0 => 0,
        bytes => (bytes as u64 + 8).next_multiple_of(16).max(32),
    }
}

/// What the rows of an online model are, as far as memory goes.
struct Shape<U, I> {
    /// Numbers of entries of users and of items.
    users: U,
    items: I,
    /// Whether raw values and weights vary, and whether there are times.
    values: bool,
    weights: bool,
    times: bool,
}

impl<U: Iterator<Item = usize>, I: Iterator<Item = usize>> Shape<U, I> {
    fn bytes(self, model: &Model) -> u64 {
        let transform = &model.parts().transform;
        let target = match transform.targets {
            Targets::Binary => false,
            Targets::Raw | Targets::Log => self.values,
            Targets::Normalized { .. } => true,
        };
        let confidence = match transform.confidence {
            Confidence::Constant { .. } => false,
            Confidence::Linear { .. } | Confidence::Log { .. } => self.values,
            Confidence::Decay { .. } => true,
            Confidence::Column => self.weights,
        };
        let each = |varies: bool, len: usize| if varies { block(4 * len) } else { 0 };
        let learned = |len: usize| {
            let numbers = each(target, len) + each(confidence, len);
            block(4 * len) + numbers + size_of::<GrowingRow>() as u64
        };
        let raw = |len: usize| {
            let times = if self.times { block(8 * len) } else { 0 };
            let numbers = each(self.values, len) + each(self.weights, len);
            times + numbers + size_of::<RawRow>() as u64
        };
        let users: u64 = self.users.map(|len| learned(len) + raw(len)).sum();
        let items: u64 = self.items.map(learned).sum();
        let rows = model.n_users() + model.n_items();
        users + items + dense_bytes(rows, model.n_factors(), model.weights().rank())
    }
}

impl Online {
    /// Bytes that an online model takes, before it is made of a model and its rows, beside both.
    #[must_use]
    pub fn planned_bytes(model: &Model, rows: &Interactions<'_>) -> u64 {
        let (users, items) = (rows.by_user(), rows.by_item());
        let shape = Shape {
            users: (0..rows.n_users()).map(|user| users.row_len(user)),
            items: (0..rows.n_items()).map(|item| items.row_len(item)),
            values: matches!(users.targets(), Values::Each(_)),
            weights: matches!(users.weights(), Values::Each(_)),
            times: rows.times().is_some(),
        };
        shape.bytes(model)
    }

    /// Bytes that a state takes, before it is restored, beside the snapshot.
    #[must_use]
    pub fn restored_bytes(model: &Model, parts: &OnlineParts) -> u64 {
        let entries = &parts.entries;
        let mut items = vec![0; model.n_items()];
        for &item in &entries.items {
            if let Some(count) = items.get_mut(item as usize) {
                *count += 1;
            }
        }
        let varies = |number: fn(&PairEvent) -> f32| {
            let mut numbers = entries.events.iter().map(number);
            let first = numbers.next().unwrap_or(1.0).to_bits();
            numbers.any(|x| x.to_bits() != first)
        };
        let length = |ends: &[u64]| ends[1].saturating_sub(ends[0]) as usize;
        let shape = Shape {
            users: entries.offsets.windows(2).map(length),
            items: items.into_iter(),
            values: varies(|event| event.value),
            weights: varies(|event| event.weight),
            times: entries.has_times,
        };
        shape.bytes(model)
    }

    /// Bytes that [`parts`](Self::parts) and [`to_model`](Self::to_model) take beside the state, if it has
    /// `more` entries than it has now.
    #[must_use]
    pub fn snapshot_bytes(&self, more: u64) -> u64 {
        // An item, an event, whether it was exposed, a target and a weight.
        let entry = (4 + size_of::<PairEvent>() + 1 + 4 + 4) as u64;
        let rows = self.n_rows(Axis::User) + self.n_rows(Axis::Item);
        let rank = self.weights.v.users.cols();
        let copies = dense_bytes(rows, self.params.factors, rank);
        (self.n_entries() + more) * entry + copies + 8 * self.n_rows(Axis::User) as u64
    }

    /// Bytes that [`train`](Self::train) takes beside the state on a number of threads, or somewhat more: values and
    /// weights count as if they differed from entry to entry.
    #[must_use]
    pub fn training_bytes(&self, threads: usize) -> u64 {
        let rows = |axis| self.observed.rows[axis].iter();
        let longest = |axis| rows(axis).map(GrowingRow::len).max().unwrap_or(0);
        let (users, items) = (self.n_rows(Axis::User), self.n_rows(Axis::Item));
        let times = 8 * u64::from(self.observed.has_times());
        let sizes = Sizes {
            users,
            items,
            entries: self.n_entries() as usize,
            longest_row: longest(Axis::User).max(longest(Axis::Item)),
            data: self.n_entries() * (24 + times) + 8 * (users + items + 2) as u64,
            vary: (true, true),
            exposed: false,
            rank: self.weights.v.users.cols(),
            rank_to_estimate: self.scheme.rank_to_estimate(),
            orders_times: self.scheme.needs_times(),
            keeps_best: false,
            neighbours: 0,
            feature_rows: 0,
        };
        MemoryPlan::new(&sizes, &self.params.clone().threads(threads)).total()
    }

    /// Bytes that a number of new entries take, of which some are in rows that are new.
    #[must_use]
    pub fn growth_bytes(&self, entries: u64, rows: u64) -> u64 {
        let rank = self.weights.v.users.cols();
        // An index on both sides, a time, and room for an eighth more.
        let entry = 8 + 8 * u64::from(self.observed.has_times());
        let row = (size_of::<GrowingRow>() + size_of::<RawRow>()) as u64 + 3 * block(16);
        entries * entry * 9 / 8 + rows * row + dense_bytes(rows as usize, self.params.factors, rank)
    }
}

/// Bytes of the factors, weights, counts and caches of some rows.
fn dense_bytes(rows: usize, k: usize, rank: usize) -> u64 {
    let row = 4 * Dense::padded(0, k).stride() + 4 * rank + 4 + 4 + 1;
    let caches = 2 * rank * k * k * (8 + 4);
    (rows * row + caches) as u64
}
