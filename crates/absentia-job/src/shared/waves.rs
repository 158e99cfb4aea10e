//! Parts whose half-sweeps take the rows of others in waves, so that they fit into memory.

use absentia::error::Axis;
use absentia::fit::shard::{Shard, ShardParts};
use absentia::{Dense, Params, Sides, Solver};

use super::Part;
use super::facts::row_bytes;

/// How often parts are cut before it is said that they need more memory than there is.
const TRIES: usize = 5;

impl Part {
    /// Cuts the part so that it takes at most `memory` bytes with the rows of others, as far as single chunks of rows need
    /// no more; without a limit, half of what its machine has left counts.
    #[must_use]
    pub fn in_waves(mut self, memory: Option<u64>) -> Self {
        let factors = self.params.factors;
        self.facts.limit = memory;
        let budget = match memory {
            Some(memory) => Some(memory.saturating_sub(self.facts.part_bytes(factors))),
            None => absentia_io::limits::memory_available().map(|left| left / 2),
        };
        let mut most = budget.map_or(usize::MAX, |budget| {
            usize::try_from(budget / row_bytes(factors)).unwrap_or(usize::MAX)
        });
        if self.parts.iter().all(|part| part.needs_at_most(most)) {
            self.facts.count_rows(&self.parts);
            return self;
        }
        let whole = std::mem::take(&mut self.parts);
        for _ in 0..TRIES {
            // The memory of the last try is given back first.
            self.parts.clear();
            self.parts = whole.iter().flat_map(|part| part.waves(most)).collect();
            self.facts.count_rows(&self.parts);
            // Rows that several waves need are listed in each of them, which takes memory as well.
            let over = memory.map_or(0, |memory| {
                self.facts.bytes_in_all(factors).saturating_sub(memory)
            });
            if over == 0 {
                break;
            }
            let fewer = usize::try_from(over / row_bytes(factors)).unwrap_or(usize::MAX);
            most = most.saturating_sub(fewer.saturating_add(1));
        }
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
