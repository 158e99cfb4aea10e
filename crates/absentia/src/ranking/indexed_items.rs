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
use super::top::{Scored, Top};
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
    items: Vec<u32>,
    /// How many of them the index has as well, as they were: the first ones.
    known: usize,
    factors: Dense,
    scale: Option<Vec<f32>>,
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
        Self {
            known,
            factors,
            scale: scale.map(|scale| items.iter().map(|&item| scale(item)).collect()),
            items,
        }
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
        let kept = FactorRows::from(&self.factors);
        let scorer = FactorScorer::of_model(rows, kept, self.scale.as_deref())
            .with_index(self.index.as_ref());
        let present = FactorRows::from(&changed.factors);
        let now = FactorScorer::of_model(rows, present, changed.scale.as_deref());
        let places: Vec<u32> = (0..changed.items.len() as u32).collect();
        let numbers: Vec<u32> = (0..users.rows() as u32).collect();
        let mut lists = Vec::with_capacity(users.rows());
        let mut tile = ScoreTile::default();
        for numbers in numbers.chunks(SMALL_BATCH) {
            let request = RankRequest {
                users: numbers,
                top,
                exclude: Some(exclude),
                deny: &changed.items[..changed.known],
                ..RankRequest::default()
            };
            for (ranking, &user) in rank(&scorer, &request)?.into_iter().zip(numbers) {
                let scores = score_list(&now, user, &places, &mut tile);
                for item in exclude.row(user as usize) {
                    if let Ok(place) = changed.items.binary_search(item) {
                        scores[place] = f32::NEG_INFINITY;
                    }
                }
                lists.push(merged(ranking.top, &changed.items, scores, top));
            }
        }
        Ok(lists)
    }
}

/// The best of a list and of items beside it.
fn merged(list: Vec<Scored>, items: &[u32], scores: &[f32], limit: usize) -> Vec<Scored> {
    let mut top = Top::new(limit);
    for Scored { item, score } in list {
        top.offer(&[item], &[score]);
    }
    top.offer(items, scores);
    top.finish()
}

#[cfg(test)]
mod tests {
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
    }
}
