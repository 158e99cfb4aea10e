//! The sample of entries that tells how large predictions are, where its rows are with several shards.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Shard;
use crate::error::Axis;
use crate::fit::sums::SAMPLE;
use crate::solver::objective::{prediction_size, sampled};

/// An entry of the sample, with the factors of its user.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SampledEntry {
    /// Its number among all entries.
    pub at: usize,
    /// Its item.
    pub item: u32,
    /// Its weight.
    pub weight: f32,
    /// The factors of its user.
    pub user: Vec<f32>,
}

impl Shard {
    /// The entries of the sample that belong to its users.
    #[must_use]
    pub fn sampled_entries(&self) -> Vec<SampledEntry> {
        let (users, p) = (&self.sides.users.parts, &self.sides.users.factors);
        let (entries, (all, before)) = (&users.entries, self.entries);
        let own = sampled(all, SAMPLE).filter(|at| at.wrapping_sub(before) < entries.len());
        own.map(|at| {
            let place = at - before;
            SampledEntry {
                at,
                item: users.needs[entries.indices()[place] as usize],
                weight: entries.weights().get(place),
                user: p.row(entries.row_of(place)).to_vec(),
            }
        })
        .collect()
    }

    /// The factors of those of its rows that are among `rows`.
    #[must_use]
    pub fn rows_among(&self, side: Axis, rows: &[u32]) -> Vec<(u32, Vec<f32>)> {
        let own: Range<usize> = self.rows(side);
        let factors = self.factors(side);
        let own_rows = rows.iter().filter(|row| own.contains(&(**row as usize)));
        own_rows
            .map(|&row| (row, factors.row(row as usize - own.start).to_vec()))
            .collect()
    }
}

/// The sizes of the predictions of all sampled entries, in their order; `None` if an item is missing.
#[must_use]
pub fn sizes_of_sample(
    mut entries: Vec<&SampledEntry>,
    items: &BTreeMap<u32, Vec<f32>>,
) -> Option<Vec<f64>> {
    entries.sort_by_key(|entry| entry.at);
    let size = |entry: &SampledEntry| {
        let item = items.get(&entry.item)?;
        Some(prediction_size(entry.weight, &entry.user, item))
    };
    entries.into_iter().map(size).collect()
}
