//! The k-core: the largest part of a log in which everyone has enough rows.

use super::groups::RowGroups;
use super::log::{EventLog, Report};
use crate::error::Axis;

/// How many rows each user and each item must have; 0 or 1 removes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Core {
    /// Rows a user needs.
    pub user: u32,
    /// Rows an item needs.
    pub item: u32,
}

impl EventLog {
    /// Drops users and items with too few rows, repeatedly, until none has too few.
    ///
    /// Rows are counted, not distinct pairs: drop duplicates first if they should count once. Each
    /// row is visited at most three times, however long the chain of removals.
    pub fn keep_core(&mut self, core: Core) -> Report {
        let dropped = Peeling::new(self, core).run();
        self.retain(|row| !dropped[row])
    }
}

/// One side of the bipartite graph that is being peeled.
struct CoreSide<'a> {
    ids: &'a [u32],
    groups: RowGroups,
    left: Vec<u32>,
    needed: u32,
}

impl<'a> CoreSide<'a> {
    fn new(log: &'a EventLog, axis: Axis, needed: u32) -> Self {
        Self {
            ids: log.ids(axis),
            groups: RowGroups::new(log.ids(axis)),
            left: log.counts(axis),
            needed,
        }
    }

    /// Ids that have rows but too few.
    fn poor(&self) -> impl Iterator<Item = u32> {
        let too_few = |id: &u32| (1..self.needed).contains(&self.left[*id as usize]);
        (0..self.left.len() as u32).filter(too_few)
    }

    /// Takes a row away from its id and tells whether the id fell below its need just now.
    fn lose(&mut self, row: u32) -> Option<u32> {
        let id = self.ids[row as usize];
        let left = &mut self.left[id as usize];
        *left -= 1;
        (*left + 1 == self.needed).then_some(id)
    }
}

struct Peeling<'a> {
    sides: [CoreSide<'a>; 2],
    dropped: Vec<bool>,
    queue: Vec<(usize, u32)>,
}

impl<'a> Peeling<'a> {
    fn new(log: &'a EventLog, core: Core) -> Self {
        let sides = [
            CoreSide::new(log, Axis::User, core.user),
            CoreSide::new(log, Axis::Item, core.item),
        ];
        let mut queue = Vec::new();
        for (side, members) in sides.iter().enumerate() {
            queue.extend(members.poor().map(|id| (side, id)));
        }
        Self {
            sides,
            dropped: vec![false; log.len()],
            queue,
        }
    }

    /// Yields which rows go.
    fn run(mut self) -> Vec<bool> {
        while let Some((side, id)) = self.queue.pop() {
            let rows = self.sides[side].groups.rows(id as usize).to_vec();
            for row in rows {
                if !std::mem::replace(&mut self.dropped[row as usize], true) {
                    self.sides[side].left[id as usize] -= 1;
                    let other = 1 - side;
                    let fallen = self.sides[other].lose(row);
                    self.queue.extend(fallen.map(|id| (other, id)));
                }
            }
        }
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_unravels_from_its_end() {
        // User u has items u and u + 1: every user has two rows, item 0 and the last only one.
        let users: Vec<u32> = (0..1000).flat_map(|u| [u, u]).collect();
        let items: Vec<u32> = (0..1000).flat_map(|u| [u, u + 1]).collect();
        let mut log = EventLog::new(users, items).unwrap();
        let report = log.keep_core(Core { user: 2, item: 2 });
        assert_eq!((report.before, report.after), (2000, 0));
    }

    #[test]
    fn a_need_of_one_keeps_everything() {
        let mut log = EventLog::new(vec![0, 5], vec![3, 0]).unwrap();
        assert_eq!(log.keep_core(Core { user: 1, item: 0 }).after, 2);
    }
}
