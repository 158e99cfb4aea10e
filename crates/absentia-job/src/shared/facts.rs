//! What the workers of a run must agree on.

use std::ops::Range;

use absentia::error::Axis;
use absentia::fit::Outline;
use absentia::fit::backend::{Problem, RowSum};
use absentia::fit::shard::{ShardParts, SideParts};
use absentia::weights::SchemeSpec;
use absentia::{InstructionSet, Params, Sides};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::record::{Record, RowSums};
use crate::error::JobError;
use crate::job::Job;

/// What bits depend on beside the data and the settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    /// Version of this package.
    pub version: String,
    /// The instructions that the kernels use.
    pub instruction_set: String,
    /// Results of the mathematical functions of the system, as one number.
    pub mathematics: u64,
}

impl Platform {
    /// The one that this process runs on.
    #[must_use]
    pub fn here() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instruction_set: InstructionSet::in_use().to_string(),
            mathematics: mathematics(),
        }
    }
}

/// The functions that come from the system's library, at some arguments: libraries round differently.
fn mathematics() -> u64 {
    let mut hash = Xxh3::new();
    for n in 1..=4_000_u32 {
        let x = f64::from(n) / 4_001.0;
        let values = [
            x.ln(),
            (std::f64::consts::TAU * x).cos(),
            (std::f64::consts::TAU * x).sin(),
            f64::from(n).powf(-x),
            (-10.0 * x).exp2(),
            f64::from((n as f32 / 7.0).ln_1p()),
        ];
        for value in values {
            hash.update(&value.to_bits().to_le_bytes());
        }
    }
    hash.digest()
}

/// What a worker knows of its part and of the whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    worker: usize,
    workers: usize,
    rows: Sides<Range<usize>>,
    /// The most rows of each side that its entries of the other side name in a wave.
    needs: Sides<usize>,
    /// Those of them that others own, in all waves, and each once.
    foreign: Sides<usize>,
    least: Sides<usize>,
    /// Waves in which it improves each side.
    waves: Sides<usize>,
    shape: Sides<usize>,
    entries: usize,
    rank: usize,
    may_be_negative: bool,
    at_zero: RowSum<f64>,
    /// As JSON, which keeps the names of choices.
    params: String,
    /// The weights on missing entries, as they are written.
    weights: String,
    /// The files that factors start from.
    init: Vec<String>,
    /// The latest time, where confidence decays.
    now: i64,
    /// A number for all data, as far as this worker knows of it.
    data: String,
    /// What its own rows hold.
    row_sums: RowSums,
    platform: Platform,
    /// Bytes of its entries, weights and penalties.
    bytes: u64,
    /// Bytes that its machine has left, where the system says so.
    memory: Option<u64>,
    /// Bytes that it may take, where there is a limit.
    pub(super) limit: Option<u64>,
}

/// Bytes of a row of another worker: as it leaves the object store of one and reaches that of the other, and as it is
/// read.
pub(super) fn row_bytes(factors: usize) -> u64 {
    4 * (2 * factors + factors.next_multiple_of(16)) as u64
}

/// Bytes of entries, weights and penalties of a part.
fn bytes_of(parts: &ShardParts) -> u64 {
    let of_side = |side: &SideParts| {
        let dense = side.own_weights.as_slice().len() + side.fixed_weights.as_slice().len();
        let needs = side.needs.len();
        side.entries.bytes() + side.penalty.bytes() + 4 * (dense + needs) as u64
    };
    of_side(&parts.sides.users) + of_side(&parts.sides.items)
}

impl Facts {
    /// The facts of worker `.0` of `.1` of a job with these weights, with a number for all data as far as it is known
    /// and what its rows hold.
    ///
    /// # Errors
    /// Parameters without a text, which is a defect.
    pub(super) fn of(
        (worker, workers): (usize, usize),
        (job, weights): (&Job, &SchemeSpec),
        (problem, parts): (&Problem<'_>, &ShardParts),
        (data, row_sums): (String, RowSums),
    ) -> Result<Self, JobError> {
        let params = serde_json::to_string(problem.params());
        Ok(Self {
            worker,
            workers,
            rows: Sides::from_fn(|axis| parts.rows(axis)),
            needs: Sides::from_fn(|axis: Axis| parts.sides[axis.other()].needs.len()),
            foreign: Sides::from_fn(|axis: Axis| foreign(parts, axis, &parts.rows(axis))),
            least: Sides::from_fn(|axis: Axis| foreign(parts, axis, &parts.rows(axis))),
            waves: Sides { users: 1, items: 1 },
            shape: parts.shape,
            entries: parts.entries.0,
            rank: problem.weights(Axis::User).cols(),
            may_be_negative: parts.may_be_negative,
            at_zero: parts.at_zero(),
            params: params.map_err(|error| JobError::Syntax(error.to_string()))?,
            weights: weights.to_string(),
            init: job.settings.init_files().map(str::to_owned).collect(),
            now: problem.transform().now,
            data,
            row_sums,
            platform: Platform::here(),
            bytes: bytes_of(parts),
            memory: absentia_io::limits::memory_available(),
            limit: None,
        })
    }

    /// Takes note of the parts that a worker's part was cut into.
    pub(super) fn count_rows(&mut self, parts: &[ShardParts]) {
        let needs = |axis: Axis| {
            parts
                .iter()
                .map(move |part| &part.sides[axis.other()].needs)
        };
        self.needs = Sides::from_fn(|axis| needs(axis).map(Vec::len).max().unwrap_or(0));
        let of_part = |part: &ShardParts, axis: Axis| foreign(part, axis, &self.rows[axis]);
        self.foreign =
            Sides::from_fn(|axis| parts.iter().map(|part| of_part(part, axis)).sum::<usize>());
        let has_rows = |part: &&ShardParts, axis: Axis| !part.rows(axis).is_empty();
        let waves = |axis: Axis| parts.iter().filter(|part| has_rows(part, axis)).count();
        self.waves = Sides::from_fn(|axis| waves(axis).max(1));
        self.bytes = parts.iter().map(bytes_of).sum();
    }

    /// Bytes of its entries and weights, and of its factors before and after a half-sweep.
    pub(super) fn part_bytes(&self, factors: usize) -> u64 {
        let own = self.rows.users.len() + self.rows.items.len();
        self.bytes + 8 * (own * factors.next_multiple_of(16)) as u64
    }

    /// Bytes of its part and of the rows of others at a time.
    pub(super) fn bytes_in_all(&self, factors: usize) -> u64 {
        let need = Need::of(self, factors);
        need.part + need.gathered
    }
}

/// Number of rows of a side that a part needs and a worker with these rows has not.
fn foreign(part: &ShardParts, axis: Axis, own: &Range<usize>) -> usize {
    let needs = part.sides[axis.other()].needs.iter();
    needs.filter(|row| !own.contains(&(**row as usize))).count()
}

/// A number for data by the counts of its rows, which workers that read parts of it know of each other.
pub(super) fn of_counts(counts: &Sides<Vec<u32>>) -> String {
    let mut hash = Xxh3::new();
    for side in [&counts.users, &counts.items] {
        hash.update(&(side.len() as u64).to_le_bytes());
        for count in side {
            hash.update(&count.to_le_bytes());
        }
    }
    format!("{:016x}", hash.digest())
}

/// What all workers of a run agree on.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreed {
    /// The problem.
    pub outline: Outline,
    /// The parameters.
    pub params: Params,
    /// The rows of each worker.
    pub rows: Vec<Sides<Range<usize>>>,
    /// What a checkpoint keeps.
    pub record: Record,
    /// What each worker needs.
    pub needs: Vec<Need>,
    /// Waves in which workers improve each side.
    pub waves: Sides<usize>,
}

/// What a worker needs while it trains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Bytes of its part: entries, weights, and factors before and after a half-sweep.
    pub part: u64,
    /// Bytes of the rows of others, as they arrive and as they are read.
    pub gathered: u64,
    /// Bytes that it gets of others in a sweep.
    pub received: u64,
    /// Bytes that it would get if it got every row once.
    pub least: u64,
    /// Bytes that its machine has left when its entries are in memory, where the system says so.
    pub memory: Option<u64>,
}

impl Need {
    fn of(facts: &Facts, factors: usize) -> Self {
        // Rows that it has itself do not travel, but are copied.
        let largest = facts.needs.users.max(facts.needs.items);
        let bytes = |rows: Sides<usize>| 4 * ((rows.users + rows.items) * factors) as u64;
        Self {
            part: facts.part_bytes(factors),
            gathered: largest as u64 * row_bytes(factors),
            received: bytes(facts.foreign),
            least: bytes(facts.least),
            memory: facts.memory,
        }
    }

    /// Refuses what does not fit.
    fn check(&self, facts: &Facts) -> Result<(), JobError> {
        // Its entries are in memory.
        let more = self.part - facts.bytes + self.gathered;
        let (worker, needed) = (facts.worker, self.part + self.gathered);
        if let Some(limit) = facts.limit.filter(|limit| *limit < needed) {
            return Err(JobError::WorkerLimit {
                worker,
                needed,
                limit,
            });
        }
        match self.memory.filter(|memory| *memory < more) {
            Some(memory) => Err(JobError::WorkerMemory {
                worker,
                needed: more,
                memory,
            }),
            None => Ok(()),
        }
    }
}

impl Agreed {
    /// Compares what workers know, in their order.
    ///
    /// # Errors
    /// The first thing that they do not agree on.
    pub fn of(facts: Vec<Facts>) -> Result<Self, JobError> {
        let [first, ..] = &facts[..] else {
            return Err(JobError::WorkersDiffer {
                what: "number of workers",
                first: "none".to_owned(),
                worker: 0,
                other: "none".to_owned(),
            });
        };
        let first = first.clone();
        let (mut at_zero, mut row_sums) = (RowSum::default(), RowSums::default());
        let mut rows = Vec::new();
        let params: Params = serde_json::from_str(&first.params)
            .map_err(|error| JobError::Syntax(error.to_string()))?;
        let (mut needs, mut waves) = (Vec::new(), Sides { users: 1, items: 1 });
        for (worker, own) in facts.into_iter().enumerate() {
            own.check(&first, worker)?;
            let need = Need::of(&own, params.factors);
            need.check(&own)?;
            needs.push(need);
            waves = Sides::from_fn(|axis| waves[axis].max(own.waves[axis]));
            at_zero = at_zero.merge(own.at_zero);
            row_sums = row_sums.merge(own.row_sums);
            rows.push(own.rows);
        }
        let at_zero = at_zero.total().unwrap_or(0.0);
        Ok(Self {
            outline: Outline {
                shape: first.shape,
                entries: first.entries,
                rank: first.rank,
                may_be_negative: first.may_be_negative,
                at_zero,
            },
            rows,
            record: Record {
                rows: row_sums,
                weights: first.weights,
                init: first.init,
                params: params.clone(),
                now: first.now,
            },
            params,
            needs,
            waves,
        })
    }
}

impl Facts {
    fn check(&self, first: &Self, worker: usize) -> Result<(), JobError> {
        let text = |number: usize| number.to_string();
        let shape = |facts: &Self| format!("{} x {}", facts.shape.users, facts.shape.items);
        let math = |facts: &Self| format!("{:016x}", facts.platform.mathematics);
        let compared = [
            ("place among the workers", text(worker), text(self.worker)),
            ("number of workers", text(first.workers), text(self.workers)),
            (
                "version",
                first.platform.version.clone(),
                self.platform.version.clone(),
            ),
            (
                "instruction set (ABSENTIA_SIMD chooses one)",
                first.platform.instruction_set.clone(),
                self.platform.instruction_set.clone(),
            ),
            (
                "mathematical library of the system",
                math(first),
                math(self),
            ),
            ("number of users and items", shape(first), shape(self)),
            ("number of entries", text(first.entries), text(self.entries)),
            ("rank of the weights", text(first.rank), text(self.rank)),
            ("data", first.data.clone(), self.data.clone()),
            ("settings", first.params.clone(), self.params.clone()),
            ("weights", first.weights.clone(), self.weights.clone()),
        ];
        match compared
            .into_iter()
            .find(|(_, first, other)| first != other)
        {
            Some((what, first, other)) => Err(JobError::WorkersDiffer {
                what,
                first,
                worker,
                other,
            }),
            None => Ok(()),
        }
    }
}
