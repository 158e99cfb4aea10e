//! Parts that are cut into smaller ones, so that fewer rows of the other side are needed at a time.

use std::ops::Range;

use super::share::{SideParts, picked, rows_of};
use super::{Axis, ShardParts};
use crate::sides::Sides;

impl SideParts {
    /// Cuts some of its chunks out of it; the side has `rows` rows in all.
    fn part(&self, chunks: Range<usize>, rows: usize) -> Self {
        let first = rows_of(&self.chunks, rows).start;
        let own = rows_of(&chunks, rows);
        let own = own.start - first..own.end - first;
        let (entries, places) = self.entries.part(own.clone());
        let needs = places.iter().map(|place| self.needs[*place as usize]);
        let needed = places.iter().map(|place| *place as usize);
        Self {
            needs: needs.collect(),
            own_weights: picked(&self.own_weights, own.clone()),
            fixed_weights: picked(&self.fixed_weights, needed),
            penalty: self.penalty.part(own),
            chunks,
            entries,
        }
    }

    /// Its chunks in runs whose entries name at most `most` rows of the other side each; a chunk that names more is
    /// alone.
    fn waves(&self, rows: usize, most: usize) -> Vec<Range<usize>> {
        let first = rows_of(&self.chunks, rows).start;
        // The wave that has last named each row, from 1.
        let mut named_in = vec![0_u32; self.needs.len()];
        let (mut waves, mut start, mut named) = (Vec::new(), self.chunks.start, 0);
        for chunk in self.chunks.clone() {
            let own = rows_of(&(chunk..chunk + 1), rows);
            let offsets = self.entries.offsets();
            let range = offsets[own.start - first] as usize..offsets[own.end - first] as usize;
            let indices = &self.entries.indices()[range];
            let mut count = |wave: u32| {
                let mut new = 0;
                for place in indices {
                    let last = &mut named_in[*place as usize];
                    new += usize::from(*last != wave);
                    *last = wave;
                }
                new
            };
            let wave = waves.len() as u32 + 1;
            let new = count(wave);
            if chunk > start && named + new > most {
                waves.push(start..chunk);
                start = chunk;
                named = count(wave + 1);
            } else {
                named += new;
            }
        }
        waves.push(start..self.chunks.end);
        waves
    }
}

impl ShardParts {
    /// Cuts it into parts whose half-sweeps need at most `most` rows of the other side each, as far as single chunks
    /// do, unless it needs no more itself.
    #[must_use]
    pub fn in_waves(self, most: usize) -> Vec<Self> {
        if self.needs_at_most(most) {
            return vec![self];
        }
        self.waves(most)
    }

    /// Whether its half-sweeps need at most `most` rows of the other side.
    #[must_use]
    pub fn needs_at_most(&self, most: usize) -> bool {
        let sides = [Axis::User, Axis::Item];
        sides
            .iter()
            .all(|axis| self.sides[*axis].needs.len() <= most)
    }

    /// Copies it into parts whose half-sweeps need at most `most` rows of the other side each, as far as single chunks
    /// do. The n-th run of chunks of each side is in the n-th part; the last parts may have no rows of a side.
    #[must_use]
    pub fn waves(&self, most: usize) -> Vec<Self> {
        let waves = Sides::from_fn(|axis| self.sides[axis].waves(self.shape[axis], most));
        let count = waves.users.len().max(waves.items.len());
        let part = |wave: usize| {
            let chunks = Sides::from_fn(|axis| {
                let end = self.sides[axis].chunks.end;
                waves[axis].get(wave).cloned().unwrap_or(end..end)
            });
            let first = rows_of(&self.sides.users.chunks, self.shape.users).start;
            let before = rows_of(&chunks.users, self.shape.users).start - first;
            let offsets = self.sides.users.entries.offsets();
            Self {
                sides: Sides::from_fn(|axis| {
                    self.sides[axis].part(chunks[axis].clone(), self.shape[axis])
                }),
                shape: self.shape,
                entries: (self.entries.0, self.entries.1 + offsets[before] as usize),
                may_be_negative: self.may_be_negative,
            }
        };
        (0..count).map(part).collect()
    }
}
