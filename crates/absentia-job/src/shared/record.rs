//! What the checkpoint of a shared run keeps, to know its run again.

use std::path::Path;

use absentia::error::Axis;
use absentia::fit::backend::Problem;
use absentia::fit::shard::ShardParts;
use absentia::weights::SchemeSpec;
use absentia::{Params, Sides};
use absentia_io::IdMap;
use absentia_io::time::TimeUnit;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::JobError;
use crate::fingerprint::{Difference, changed_setting};
use crate::resume::{check_data, check_params, check_weights};

/// What some rows of the data hold, as sums of hashes. Those of all workers are added: the result depends neither on how
/// rows are divided nor on who reads which files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RowSums {
    ids: u64,
    pairs: u64,
    values: u64,
    times: Option<u64>,
    weights: u64,
    /// Weights on missing entries.
    missing: u64,
}

impl RowSums {
    /// The sums of the rows of a worker, with the ids of its share of all ids.
    pub(super) fn of(
        problem: &Problem<'_>,
        parts: &ShardParts,
        ids: &Sides<impl Iterator<Item = String> + Clone>,
    ) -> Self {
        let mut sums = Self {
            times: problem.data().times().map(|_| 0),
            ..Self::default()
        };
        for axis in [Axis::User, Axis::Item] {
            for id in ids[axis].clone() {
                add(&mut sums.ids, &[&[axis as u8], id.as_bytes()].concat());
            }
            sums.add_missing(parts, axis);
        }
        sums.add_entries(problem, parts);
        sums
    }

    fn add_entries(&mut self, problem: &Problem<'_>, parts: &ShardParts) {
        let data = problem.data();
        let entries = data.by_user();
        let (items, targets, weights) = (entries.indices(), entries.targets(), entries.weights());
        for user in parts.rows(Axis::User) {
            for at in entries.range(user) {
                let of = |number: u64| {
                    let mut bytes = [0; 16];
                    bytes[..4].copy_from_slice(&(user as u32).to_le_bytes());
                    bytes[4..8].copy_from_slice(&items[at].to_le_bytes());
                    bytes[8..].copy_from_slice(&number.to_le_bytes());
                    bytes
                };
                add(&mut self.pairs, &of(u64::from(data.is_exposed(at))));
                add(&mut self.values, &of(u64::from(targets.get(at).to_bits())));
                add(&mut self.weights, &of(u64::from(weights.get(at).to_bits())));
                if let Some((sum, times)) = self.times.as_mut().zip(data.times()) {
                    add(sum, &of(times[at] as u64));
                }
            }
        }
    }

    fn add_missing(&mut self, parts: &ShardParts, axis: Axis) {
        let weights = &parts.sides[axis].own_weights;
        for (at, row) in parts.rows(axis).enumerate() {
            let mut bytes = vec![axis as u8];
            bytes.extend_from_slice(&(row as u64).to_le_bytes());
            for weight in weights.row(at) {
                bytes.extend_from_slice(&weight.to_bits().to_le_bytes());
            }
            add(&mut self.missing, &bytes);
        }
    }

    /// The sums of these rows and of others.
    pub(super) fn merge(self, other: Self) -> Self {
        Self {
            ids: self.ids.wrapping_add(other.ids),
            pairs: self.pairs.wrapping_add(other.pairs),
            values: self.values.wrapping_add(other.values),
            // Whoever has no rows does not know whether there are times.
            times: match (self.times, other.times) {
                (Some(own), Some(other)) => Some(own.wrapping_add(other)),
                (own, other) => own.or(other),
            },
            weights: self.weights.wrapping_add(other.weights),
            missing: self.missing.wrapping_add(other.missing),
        }
    }

    /// What the data of two runs first differs in.
    fn difference(&self, then: &Self) -> Option<Difference> {
        let parts = [
            (self.ids != then.ids, "users and items"),
            (self.pairs != then.pairs, "pairs of user and item"),
            (self.values != then.values, "values"),
            (self.times != then.times, "times"),
            (self.weights != then.weights, "weights of entries"),
        ];
        let differs = parts.into_iter().find(|(differs, _)| *differs);
        differs.map(|(_, part)| Difference::Data(part))
    }
}

fn add(sum: &mut u64, bytes: &[u8]) {
    *sum = sum.wrapping_add(xxh3_64(bytes));
}

/// The ids of some rows, as they are written.
pub(super) fn ids_of(
    ids: &IdMap,
    rows: std::ops::Range<usize>,
) -> impl Iterator<Item = String> + Clone + '_ {
    let name = |row: usize| ids.name(row as u32).unwrap_or_default().into_owned();
    rows.map(name)
}

/// What a run of several workers is made on, and the settings that decide its bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub(super) rows: RowSums,
    /// The weights on missing entries, as they are written.
    pub(super) weights: String,
    /// The files that factors start from.
    pub(super) init: Vec<String>,
    pub(super) params: Params,
    /// The latest time, by which half-lives are written.
    pub(super) now: i64,
}

impl Record {
    /// The record as text.
    ///
    /// # Errors
    /// Parameters without a text, which is a defect.
    pub fn text(&self) -> Result<String, JobError> {
        serde_json::to_string(self).map_err(|error| JobError::Syntax(error.to_string()))
    }

    /// Refuses a checkpoint of other data or other settings, by the rules of [`Training::resume`](crate::Training::resume).
    ///
    /// # Errors
    /// What is not as it was then.
    pub fn check(&self, path: &Path, stored: &str) -> Result<(), JobError> {
        let Ok(then) = serde_json::from_str::<Self>(stored) else {
            return Err(JobError::UnknownData {
                path: path.to_owned(),
            });
        };
        let data = self.rows.difference(&then.rows);
        check_data(
            path,
            data.or_else(|| changed_setting("init", &then.init.join(","), &self.init.join(","))),
        )?;
        let unit = TimeUnit::of_latest(then.now);
        check_params(path, &then.params, &self.params, unit)?;
        let spec = |text: &str| text.parse::<SchemeSpec>().ok();
        check_weights(
            path,
            spec(&then.weights).as_ref(),
            spec(&self.weights).as_ref(),
        )?;
        // Files of weights can change under the same name.
        let changed = self.rows.missing != then.rows.missing;
        check_data(
            path,
            changed.then_some(Difference::Data("weights on missing entries")),
        )
    }
}
