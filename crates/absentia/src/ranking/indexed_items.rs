//! A copy of item factors with its index, for lists while the factors of some items change.
//!
//! The index is of the factors as they were. Items that have changed since are replaced in its lists by copies with their
//! present factors, so that every list is the one that scoring all items would give.

use super::changed_items::{ChangedItems, FirstItems};
use super::error::RankError;
use super::factors::{FactorRows, FactorScorer};
use super::index::ItemIndex;
use super::lists::ItemLists;
use super::rank::{RankRequest, rank};
use super::scorer::ScoreTile;
use super::small_batch::SMALL_BATCH;
use super::target_ranks::{before_among, items_before};
use super::top::Scored;
use crate::error::Axis;
use crate::linalg::Dense;

/// Items of the index that are ranked beyond those of a list, in case that some of the first ones have changed.
const SPARE: usize = 12;

/// Item factors at one moment, with their post-scaling and their index.
#[derive(Debug)]
pub struct IndexedItems {
    factors: Dense,
    scale: Option<Vec<f32>>,
    index: Option<ItemIndex>,
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

    /// Number of factors K.
    pub(super) fn n_factors(&self) -> usize {
        self.factors.cols()
    }

    /// Whether items have a post-scaling.
    pub(super) fn is_scaled(&self) -> bool {
        self.scale.is_some()
    }

    /// The factors of an item, as they were, and what they are multiplied by.
    pub(super) fn item(&self, item: u32) -> (&[f32], f32) {
        let scale = self.scale.as_ref();
        let scale = scale.map_or(1.0, |scale| scale[item as usize]);
        (self.factors.row(item as usize), scale)
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
        let scorer = self.scorer(FactorRows::from(users));
        let request = RankRequest {
            exclude: Some(exclude),
            ..RankRequest::default()
        };
        let depth = if changed.len() == 0 {
            top
        } else {
            top.saturating_add(SPARE)
        };
        let numbers: Vec<u32> = (0..users.rows() as u32).collect();
        let mut lists = Vec::with_capacity(users.rows());
        for numbers in numbers.chunks(SMALL_BATCH) {
            let first = RankRequest {
                users: numbers,
                top: depth,
                ..request
            };
            for (ranking, &user) in rank(&scorer, &first)?.into_iter().zip(numbers) {
                let (factors, exclude) = (users.row(user as usize), exclude.row(user as usize));
                let is_left_out = |item: u32| exclude.binary_search(&item).is_ok();
                let first = FirstItems {
                    items: &ranking.top,
                    has_no_others: ranking.top.len() < depth,
                };
                let merged = changed.merged(first, factors, top, &is_left_out);
                let list = if let Some(list) = merged {
                    list
                } else {
                    let without = RankRequest {
                        users: &[user],
                        top,
                        deny: changed.indexed(),
                        ..request
                    };
                    let ranked = rank(&scorer, &without)?.into_iter().next();
                    let list = ranked.map(|ranking| ranking.top).unwrap_or_default();
                    changed.merged_into(list, factors, top, &is_left_out)
                };
                lists.push(list);
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
        let rows = FactorRows::from(&own);
        let scorer = self.scorer(rows);
        let score = match changed.score_of(&rows, item) {
            Some(score) => score,
            None if (item as usize) < self.n_items() => score_of(&scorer, item),
            None => {
                return Err(RankError::OutOfRange {
                    what: "the pair to be ranked",
                    axis: Axis::Item,
                    index: item,
                    count: self.n_items(),
                });
            }
        };
        let mut before = items_before(&scorer, 0, (item, score), changed.indexed());
        let mut tile = ScoreTile::default();
        let (items, scores) = changed.scores(rows, &mut tile);
        before += before_among(items, scores, (item, score));
        Ok(before + 1)
    }
}

/// The score of an item for the one user of a scorer.
fn score_of(scorer: &FactorScorer<'_>, item: u32) -> f32 {
    scorer.score_items(0, &[item], &mut Vec::new())[0]
}

/// Copies of some items and of those behind the last one of an index, in an order that is not theirs.
#[cfg(test)]
pub(super) fn changed_items(
    index: &IndexedItems,
    changed: &[u32],
    present: &Dense,
    scale: &[f32],
) -> ChangedItems {
    let mut copies = ChangedItems::none(index);
    let behind = index.n_items() as u32..present.rows() as u32;
    let items: Vec<u32> = changed.iter().copied().chain(behind).collect();
    // First with other factors, so that they are copied again.
    for &item in items.iter().step_by(2) {
        copies.copy(index, item, &vec![3.0; present.cols()], 2.0);
    }
    for &item in items.iter().rev() {
        copies.copy(
            index,
            item,
            present.row(item as usize),
            scale[item as usize],
        );
    }
    copies
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
            let present = changed_items(&kept, &changed, &q, &scale);
            let lists = kept.best(&p, &present, top, &exclude).unwrap();
            for (list, ranking) in lists.iter().zip(&plain.unwrap()) {
                assert_eq!(*list, ranking.top);
            }
        }
        let present = changed_items(&kept, &changed, &q, &scale);
        let scales = is_scaled.then_some(&scale[..]);
        let scorer = FactorScorer::of_model((&p).into(), (&q).into(), scales);
        for user in all {
            for item in [0, 1, 97, 98, 2999, 3000, 3004] {
                let rank = kept.rank_of(p.row(user as usize), item, &present);
                assert_eq!(rank.unwrap(), rank_by_factors(&scorer, user, item));
            }
        }
        assert!(kept.rank_of(p.row(0), 3005, &present).is_err());
    }
}
