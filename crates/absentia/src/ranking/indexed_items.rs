//! A copy of item factors with its index, for lists while the factors of some items change.
//!
//! The index is of the factors as they were. Items that have changed since are left out of it and scored
//! by copies of their present factors, so that every list is the one that scoring all items would give.

use super::error::RankError;
use super::factors::{FactorRows, FactorScorer};
use super::index::ItemIndex;
use super::lists::ItemLists;
use super::rank::{RankRequest, rank, score_list};
use super::scorer::ScoreTile;
use super::small_batch::SMALL_BATCH;
use super::target_ranks::{before_among, items_before};
use super::top::{Scored, Top};
use crate::error::Axis;
use crate::linalg::Dense;

/// Item factors at one moment, with their post-scaling and their index.
#[derive(Debug)]
pub struct IndexedItems {
    factors: Dense,
    scale: Option<Vec<f32>>,
    index: Option<ItemIndex>,
}

/// Copies of the items that differ from those of an index, as they are now. Whoever has them and the index
/// can rank while the model goes on learning.
#[derive(Clone, Debug)]
pub struct ChangedItems {
    /// Which items they are, rising.
    pub(super) items: Vec<u32>,
    /// How many of them the index has as well, as they were: the first ones.
    known: usize,
    factors: Dense,
    scale: Option<Vec<f32>>,
    /// Lengths of their scaled factors with their places, the longest first.
    lengths: Vec<(f64, u32)>,
}

impl ChangedItems {
    /// Copies `changed`, which rise, and all items behind the last one of an index.
    #[must_use]
    pub fn new(
        index: &IndexedItems,
        changed: &[u32],
        present: FactorRows<'_>,
        scale: Option<&dyn Fn(u32) -> f32>,
    ) -> Self {
        let last = index.n_items() as u32;
        let known = changed.partition_point(|&item| item < last);
        let behind = last..present.n_rows();
        let items: Vec<u32> = changed[..known].iter().copied().chain(behind).collect();
        let mut factors = Dense::zeros(items.len(), present.n_factors());
        for (place, &item) in items.iter().enumerate() {
            let row = present.row(item as usize);
            factors.row_mut(place).copy_from_slice(row);
        }
        let scale: Option<Vec<f32>> =
            scale.map(|scale| items.iter().map(|&item| scale(item)).collect());
        let mut lengths: Vec<(f64, u32)> = (0..items.len())
            .map(|place| {
                let scale = scale.as_ref().map_or(1.0, |scale| scale[place]);
                let length = FactorScorer::length(factors.row(place), scale);
                (length, place as u32)
            })
            .collect();
        lengths.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        Self {
            known,
            factors,
            scale,
            items,
            lengths,
        }
    }

    /// The best `top` items of a list without these items, best first, and of these items as they are now, without
    /// those that are left out.
    pub(super) fn merged(
        &self,
        mut list: Vec<Scored>,
        user: &[f32],
        top: usize,
        is_left_out: &dyn Fn(u32) -> bool,
    ) -> Vec<Scored> {
        let places = self.that_may_enter(&list, user, top);
        if places.is_empty() {
            list.truncate(top);
            return list;
        }
        let own = Dense::from_fn(1, user.len(), |_, f| user[f]);
        let mut tile = ScoreTile::default();
        let scores = score_list(&self.scorer((&own).into()), 0, &places, &mut tile);
        let mut best = Top::new(top);
        for Scored { item, score } in list {
            best.offer(&[item], &[score]);
        }
        for (&place, &score) in places.iter().zip(&*scores) {
            let item = self.items[place as usize];
            if !is_left_out(item) {
                best.offer(&[item], &[score]);
            }
        }
        best.finish()
    }

    /// Places of the items whose scores may be as large as the last one of a list: the product of two lengths bounds the
    /// inner product.
    fn that_may_enter(&self, list: &[Scored], user: &[f32], top: usize) -> Vec<u32> {
        let last = top.checked_sub(1).and_then(|last| list.get(last));
        let threshold = last.map_or(f64::NEG_INFINITY, |last| f64::from(last.score));
        let length = FactorScorer::length(user, 1.0);
        let may_enter = |(own, _): &&(f64, u32)| own * length >= threshold;
        let places = self.lengths.iter().take_while(may_enter);
        places.map(|&(_, place)| place).collect()
    }

    /// Scores of these items for some users.
    fn scorer<'a>(&'a self, users: FactorRows<'a>) -> FactorScorer<'a> {
        let present = FactorRows::from(&self.factors);
        FactorScorer::of_model(users, present, self.scale.as_deref())
    }
}

impl IndexedItems {
    /// Orders and quantises the items; where that does not pay, lists are made by scoring all of them.
    #[must_use]
    pub fn new(factors: Dense, scale: Option<Vec<f32>>) -> Self {
        let rows = FactorRows::from(&factors);
        let scorer = FactorScorer::of_model(rows, rows, scale.as_deref());
        let index = ItemIndex::new(&scorer);
        Self {
            factors,
            scale,
            index,
        }
    }

    /// Number of items.
    #[must_use]
    pub fn n_items(&self) -> usize {
        self.factors.rows()
    }

    /// Scores of the items, as they were, for some users.
    pub(super) fn scorer<'a>(&'a self, users: FactorRows<'a>) -> FactorScorer<'a> {
        let items = FactorRows::from(&self.factors);
        FactorScorer::of_model(users, items, self.scale.as_deref()).with_index(self.index.as_ref())
    }

    /// The best `top` items for each row of `users`, without those of its row of `exclude`: largest score
    /// first, equal scores by item.
    ///
    /// # Errors
    /// Items that there are not, lists that do not rise, not one list for each user.
    pub fn best(
        &self,
        users: &Dense,
        changed: &ChangedItems,
        top: usize,
        exclude: &ItemLists,
    ) -> Result<Vec<Vec<Scored>>, RankError> {
        if exclude.rows() != users.rows() {
            return Err(RankError::Length {
                what: "lists of excluded items",
                expected: users.rows(),
                got: exclude.rows(),
            });
        }
        let rows = FactorRows::from(users);
        let scorer = self.scorer(rows);
        let numbers: Vec<u32> = (0..users.rows() as u32).collect();
        let mut lists = Vec::with_capacity(users.rows());
        for numbers in numbers.chunks(SMALL_BATCH) {
            let request = RankRequest {
                users: numbers,
                top,
                exclude: Some(exclude),
                deny: &changed.items[..changed.known],
                ..RankRequest::default()
            };
            for (ranking, &user) in rank(&scorer, &request)?.into_iter().zip(numbers) {
                let (factors, exclude) = (users.row(user as usize), exclude.row(user as usize));
                let is_left_out = |item: u32| exclude.binary_search(&item).is_ok();
                lists.push(changed.merged(ranking.top, factors, top, &is_left_out));
            }
        }
        Ok(lists)
    }

    /// The rank of an item among all items for a user, from 1, with those that have `changed` as they are now; an item
    /// of equal score and smaller row comes before it.
    ///
    /// # Errors
    /// An item that there is not.
    pub fn rank_of(
        &self,
        user: &[f32],
        item: u32,
        changed: &ChangedItems,
    ) -> Result<u32, RankError> {
        let own = Dense::from_fn(1, user.len(), |_, f| user[f]);
        let (scorer, now) = (self.scorer((&own).into()), changed.scorer((&own).into()));
        let score = match changed.items.binary_search(&item) {
            Ok(place) => score_of(&now, place as u32),
            Err(_) if (item as usize) < self.n_items() => score_of(&scorer, item),
            Err(_) => {
                return Err(RankError::OutOfRange {
                    what: "the pair to be ranked",
                    axis: Axis::Item,
                    index: item,
                    count: self.n_items(),
                });
            }
        };
        let known = &changed.items[..changed.known];
        let mut before = items_before(&scorer, 0, (item, score), known);
        let mut tile = ScoreTile::default();
        let places: Vec<u32> = (0..changed.items.len() as u32).collect();
        let scores = score_list(&now, 0, &places, &mut tile);
        before += before_among(&changed.items, scores, (item, score));
        Ok(before + 1)
    }
}

/// The score of an item for the one user of a scorer.
fn score_of(scorer: &FactorScorer<'_>, item: u32) -> f32 {
    scorer.score_items(0, &[item], &mut Vec::new())[0]
}

#[cfg(test)]
mod tests {
    use super::super::target_ranks::rank_by_factors;
    use super::*;

    #[test]
    fn lists_while_items_change_are_those_of_scoring_all() {
        for is_scaled in [true, false] {
            compare(is_scaled);
        }
    }

    fn compare(is_scaled: bool) {
        let (users, items, k) = (11, 3000, 24);
        let value = |row: usize, col: usize| ((row * 37 + col * 101) as f32 * 0.7).sin();
        let p = Dense::from_fn(users, k, value);
        let item = |row: usize, col: usize| {
            value(row / 2 + 999, col) * 0.5_f32.powf((row / 2 * 7 % 23) as f32)
        };
        let mut q = Dense::from_fn(items, k, item);
        let scale: Vec<f32> = (0..items + 5).map(|item| 1.0 + (item % 3) as f32).collect();
        let kept = IndexedItems::new(q.clone(), is_scaled.then(|| scale[..items].to_vec()));
        let changed: Vec<u32> = (0..items as u32).step_by(97).collect();
        for &item in &changed {
            q.row_mut(item as usize).iter_mut().for_each(|x| *x *= -1.5);
        }
        for more in 0..5 {
            q.push_row(&vec![0.2 * more as f32; k]);
        }
        let exclude: ItemLists = (0..users as u32)
            .map(|user| (0..30).map(|n| (user * 13 + n * 97) % 3000).collect())
            .collect();
        let all: Vec<u32> = (0..users as u32).collect();
        for top in [0, 1, 20, 4000] {
            let request = RankRequest {
                users: &all,
                top,
                exclude: Some(&exclude),
                ..RankRequest::default()
            };
            let scorer = FactorScorer::new(&p, &q).unwrap();
            let plain = if is_scaled {
                rank(&scorer.scaled(&scale).unwrap(), &request)
            } else {
                rank(&scorer, &request)
            };
            let scale = |item: u32| scale[item as usize];
            let scale = is_scaled.then_some(&scale as &dyn Fn(u32) -> f32);
            let present = ChangedItems::new(&kept, &changed, (&q).into(), scale);
            let lists = kept.best(&p, &present, top, &exclude).unwrap();
            for (list, ranking) in lists.iter().zip(&plain.unwrap()) {
                assert_eq!(*list, ranking.top);
            }
        }
        let scale = |item: u32| scale[item as usize];
        let scale = is_scaled.then_some(&scale as &dyn Fn(u32) -> f32);
        let present = ChangedItems::new(&kept, &changed, (&q).into(), scale);
        let scales: Option<Vec<f32>> =
            scale.map(|scale| (0..items as u32 + 5).map(scale).collect());
        let scorer = FactorScorer::of_model((&p).into(), (&q).into(), scales.as_deref());
        for user in all {
            for item in [0, 1, 97, 98, 2999, 3000, 3004] {
                let rank = kept.rank_of(p.row(user as usize), item, &present);
                assert_eq!(rank.unwrap(), rank_by_factors(&scorer, user, item));
            }
        }
        assert!(kept.rank_of(p.row(0), 3005, &present).is_err());
    }
}
