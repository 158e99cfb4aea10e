//! Rows of a log gathered by user or by item.

use rayon::prelude::*;

/// For each id, the rows that have it, rising.
#[derive(Clone, Debug)]
pub(in crate::data) struct RowGroups {
    offsets: Vec<usize>,
    rows: Vec<u32>,
}

impl RowGroups {
    /// Gathers rows by their id in two passes.
    pub(in crate::data) fn new(ids: &[u32]) -> Self {
        let size = ids.iter().max().map_or(0, |&id| id as usize + 1);
        let mut offsets = vec![0_usize; size + 1];
        for &id in ids {
            offsets[id as usize + 1] += 1;
        }
        for at in 0..size {
            offsets[at + 1] += offsets[at];
        }
        let mut next = offsets[..size].to_vec();
        let mut rows = vec![0; ids.len()];
        for (row, &id) in ids.iter().enumerate() {
            rows[next[id as usize]] = row as u32;
            next[id as usize] += 1;
        }
        Self { offsets, rows }
    }

    /// Largest id that occurs, plus one.
    pub(in crate::data) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Rows of an id.
    pub(in crate::data) fn rows(&self, id: usize) -> &[u32] {
        &self.rows[self.offsets[id]..self.offsets[id + 1]]
    }

    /// All groups that are not empty, by rising id.
    pub(in crate::data) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let groups = (0..self.len()).map(|id| self.rows(id));
        groups.filter(|rows| !rows.is_empty())
    }

    /// Reorders each group, all groups in parallel.
    pub(in crate::data) fn sort_by_key<K: Ord>(mut self, key: impl Fn(u32) -> K + Sync) -> Self {
        let mut groups = Vec::with_capacity(self.len());
        let mut rest = &mut self.rows[..];
        for ends in self.offsets.windows(2) {
            let (group, tail) = rest.split_at_mut(ends[1] - ends[0]);
            groups.push(group);
            rest = tail;
        }
        groups
            .into_par_iter()
            .with_min_len(64)
            .for_each(|group| group.sort_by_cached_key(|&row| key(row)));
        self
    }
}
