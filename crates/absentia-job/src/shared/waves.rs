//! Parts whose half-sweeps take the rows of others in waves, so that they fit into memory.

use absentia::error::Axis;
use absentia::fit::shard::{Shard, ShardParts};
use absentia::{Dense, Params, Sides, Solver};

use super::Part;
use super::facts::row_bytes;

impl Part {
    /// Cuts the part so that it takes at most `memory` bytes with the rows of others, as far as single chunks of rows need
    /// no more; without a limit, half of what its machine has left counts.
    #[must_use]
    pub fn in_waves(mut self, memory: Option<u64>) -> Self {
        let budget = match memory {
            Some(memory) => Some(memory.saturating_sub(self.facts.part_bytes(self.params.factors))),
            None => absentia_io::limits::memory_available().map(|left| left / 2),
        };
        let rows = |budget: u64| budget / row_bytes(self.params.factors);
        let most = budget.map_or(usize::MAX, |budget| {
            usize::try_from(rows(budget)).unwrap_or(usize::MAX)
        });
        self.parts = self
            .parts
            .into_iter()
            .flat_map(|parts| parts.in_waves(most))
            .collect();
        self.facts.limit = memory;
        self.facts.count_rows(&self.parts);
        self
    }
}

/// The shards of some parts, one after the other, with the factors that all of their rows start from.
#[must_use]
pub fn shards(
    parts: Vec<ShardParts>,
    start: &Sides<Dense>,
    params: &Params,
    solver: Solver,
) -> Vec<Shard> {
    let first = Sides::from_fn(|axis: Axis| parts.first().map_or(0, |part| part.rows(axis).start));
    let shard = |part: ShardParts| {
        let own = Sides::from_fn(|axis| {
            let (before, all) = (part.rows(axis).start - first[axis], &start[axis]);
            let value = |row: usize, f: usize| all.row(before + row)[f];
            Dense::from_fn(part.rows(axis).len(), params.factors, value)
        });
        Shard::new(part, solver, own)
    };
    parts.into_iter().map(shard).collect()
}
