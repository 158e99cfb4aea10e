//! Ids that several processes number together, each of which knows some of them.
//!
//! The order of ids is that of one process: integers by number, then text by bytes. Processes divide it at a few
//! ids that they choose from [samples](IdMap::sample). Each takes the ids of one range from all others
//! ([`IdMap::ranges`], [`IdMap::union`]), so that a range has its numbers when the sizes of those before it are known.

use super::store::canonical_integer;
use super::{IdMap, IdRef};
use crate::error::Error;

/// The place of an id in the order of ids.
fn place(id: &str) -> (bool, Option<i64>, &str) {
    let number = canonical_integer(id.as_bytes());
    // Text is after every number, which `None` would not be.
    (number.is_none(), number, id)
}

/// Chooses ids that divide all into `parts` ranges of about the same size, from samples of ids that several
/// processes made: fewer if there are too few ids.
#[must_use]
pub fn borders(samples: &[Vec<String>], parts: usize) -> Vec<String> {
    let mut all: Vec<&String> = samples.iter().flatten().collect();
    all.sort_by(|a, b| place(a).cmp(&place(b)));
    all.dedup();
    let border = |part: usize| all.get(part * all.len() / parts.max(1));
    let mut borders: Vec<String> = (1..parts)
        .filter_map(border)
        .map(|id| (*id).clone())
        .collect();
    borders.dedup();
    borders
}

impl IdMap {
    /// Some of the ids, at equal distances.
    #[must_use]
    pub fn sample(&self, most: usize) -> Vec<String> {
        let step = self.len().div_ceil(most.max(1)).max(1);
        let rows = (0..self.len()).step_by(step);
        rows.map(|row| self.store.name(row).into_owned()).collect()
    }

    /// The rows of each range of ids that `borders` divide, of a map whose rows are in the order of their ids.
    #[must_use]
    pub fn ranges(&self, borders: &[String]) -> Vec<std::ops::Range<usize>> {
        let below = |border: &String| {
            let (mut low, mut high) = (0, self.len());
            while low < high {
                let middle = usize::midpoint(low, high);
                if place(&self.store.name(middle)) < place(border) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            low
        };
        let mut ends: Vec<usize> = borders.iter().map(below).collect();
        ends.push(self.len());
        let mut first = 0;
        let range = |end: usize| {
            let range = first..end;
            first = end;
            range
        };
        ends.into_iter().map(range).collect()
    }

    /// A map of some rows of this one.
    ///
    /// # Errors
    /// The map would be full.
    pub fn part(&self, rows: std::ops::Range<usize>) -> Result<Self, Error> {
        let mut part = Self::new();
        for row in rows {
            match &self.store {
                super::Store::Integers(ids) => part.intern_ref(IdRef::Integer(ids[row]))?,
                store => part.intern_ref(IdRef::Text(&store.name(row)))?,
            };
        }
        Ok(part)
    }

    /// The ids of all maps in the order of ids, and the row that each row of each map has among them.
    ///
    /// # Errors
    /// The map would be full.
    pub fn union(maps: &[Self]) -> Result<(Self, Vec<Vec<u32>>), Error> {
        let mut all = Self::new();
        let mut rows = Vec::with_capacity(maps.len());
        for map in maps {
            rows.push(map.iter_keys(|id| all.intern_ref(id))?);
        }
        if let Some(new_of_old) = all.sort_from(0) {
            for row in rows.iter_mut().flatten() {
                *row = new_of_old[*row as usize];
            }
        }
        Ok((all, rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids of three processes, with common ones, integers and text.
    fn maps() -> Vec<IdMap> {
        let map = |names: &[&str]| {
            let mut map: IdMap = names.iter().collect();
            map.sort_from(0);
            map
        };
        vec![
            map(&["10", "9", "b", "a"]),
            map(&["9", "-3", "c", "é", "10"]),
            map(&["010", "a", "11", "7"]),
        ]
    }

    #[test]
    fn several_processes_number_ids_as_one_does() {
        let maps = maps();
        let mut one: IdMap = maps.iter().flat_map(IdMap::iter).collect();
        one.sort_from(0);
        for parts in 1..6 {
            let samples: Vec<Vec<String>> = maps.iter().map(|map| map.sample(3)).collect();
            let borders = borders(&samples, parts);
            let mut names = Vec::new();
            for range in 0..=borders.len() {
                let own = maps
                    .iter()
                    .map(|map| map.part(map.ranges(&borders)[range].clone()).unwrap());
                let own: Vec<IdMap> = own.collect();
                let (union, rows) = IdMap::union(&own).unwrap();
                for (map, rows) in own.iter().zip(&rows) {
                    for (id, row) in map.iter().zip(rows) {
                        assert_eq!(one.get(&id), Some(names.len() as u32 + row), "{id}");
                    }
                }
                names.extend(union.iter().map(std::borrow::Cow::into_owned));
            }
            assert!(
                names.iter().eq(one.iter().collect::<Vec<_>>().iter()),
                "{parts} parts"
            );
        }
    }
}
