//! The best items of many users, ranked together beforehand.
//!
//! Ranking thousands of users at once costs a small part of ranking each of them alone. A shortlist is longer than the
//! lists that are requested, so that it still has enough items when some of them have changed or are left out.

use std::collections::HashMap;

use super::changed_items::{ChangedItems, FirstItems};
use super::error::RankError;
use super::factors::FactorRows;
use super::indexed_items::IndexedItems;
use super::lists::ItemLists;
use super::rank::{RankRequest, rank};
use super::top::Scored;
use crate::linalg::Dense;

/// The best items of some users, by the factors of an index.
#[derive(Clone, Debug)]
pub struct Shortlists {
    /// Items of a list; one with fewer has all items that the user can get.
    depth: usize,
    /// Places of the users' lists.
    places: HashMap<u32, u32>,
    /// Lengths of the lists, by place.
    lengths: Vec<u32>,
    /// `depth` items for each place, of which the first ones are the list.
    items: Vec<Scored>,
}

impl Shortlists {
    /// Bytes of a user's place and of the length of the list: an entry of a hash table that may be half empty, and a number.
    const ENTRY: usize = 32;

    /// Makes room for a number of lists; there are none yet.
    #[must_use]
    pub fn new(depth: usize, users: usize) -> Self {
        Self {
            depth,
            places: HashMap::with_capacity(users),
            lengths: Vec::with_capacity(users),
            items: Vec::with_capacity(users * depth),
        }
    }

    /// Bytes that a list takes.
    #[must_use]
    pub fn bytes_of_one(depth: usize) -> u64 {
        (Self::ENTRY + depth * size_of::<Scored>()) as u64
    }

    /// Number of users with a list.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether a user has a list.
    #[must_use]
    pub fn has(&self, user: u32) -> bool {
        self.places.contains_key(&user)
    }

    /// Whether no user has a list.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Ranks the items of an index for some users, each with a row of factors and a row of items that are left out. A list
    /// that a user has already is replaced.
    ///
    /// # Errors
    /// Not one row for each user, items that there are not.
    pub fn add(
        &mut self,
        index: &IndexedItems,
        users: &[u32],
        factors: &Dense,
        exclude: &ItemLists,
    ) -> Result<(), RankError> {
        let rows = FactorRows::from(factors);
        if exclude.rows() != users.len() || factors.rows() != users.len() {
            return Err(RankError::Length {
                what: "rows of users",
                expected: users.len(),
                got: exclude.rows().min(factors.rows()),
            });
        }
        let numbers: Vec<u32> = (0..users.len() as u32).collect();
        let request = RankRequest {
            users: &numbers,
            top: self.depth,
            exclude: Some(exclude),
            ..RankRequest::default()
        };
        let rankings = rank(&index.scorer(rows), &request)?;
        for (&user, ranking) in users.iter().zip(rankings) {
            self.set(user, &ranking.top);
        }
        Ok(())
    }

    /// Takes lists of the same index, which replace those of their users.
    ///
    /// # Errors
    /// Lists of another depth.
    pub fn take(&mut self, newer: &Self) -> Result<(), RankError> {
        if newer.depth != self.depth {
            return Err(RankError::Length {
                what: "items of a shortlist",
                expected: self.depth,
                got: newer.depth,
            });
        }
        for &user in newer.places.keys() {
            self.set(user, newer.of(user).unwrap_or_default());
        }
        Ok(())
    }

    fn set(&mut self, user: u32, list: &[Scored]) {
        let place = *self.places.entry(user).or_insert(self.lengths.len() as u32) as usize;
        let start = place * self.depth;
        if place == self.lengths.len() {
            self.lengths.push(0);
            let blank = Scored {
                item: 0,
                score: 0.0,
            };
            self.items.resize(start + self.depth, blank);
        }
        self.lengths[place] = list.len() as u32;
        self.items[start..start + list.len()].copy_from_slice(list);
    }

    /// The best `top` items of a user whose factors are still those of the list, without items that are left out, such
    /// as those that the user has seen: what ranking all items would give, those that have `changed` as they are now.
    /// Nothing if the list is missing or too short.
    #[must_use]
    pub fn best(
        &self,
        (user, factors): (u32, &[f32]),
        changed: &ChangedItems,
        top: usize,
        is_left_out: &dyn Fn(u32) -> bool,
    ) -> Option<Vec<Scored>> {
        let items = self.of(user)?;
        let first = FirstItems {
            items,
            has_no_others: items.len() < self.depth,
        };
        changed.merged(first, factors, top, is_left_out)
    }

    /// The list of a user.
    fn of(&self, user: u32) -> Option<&[Scored]> {
        let place = *self.places.get(&user)? as usize;
        let start = place * self.depth;
        Some(&self.items[start..start + self.lengths[place] as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::super::factors::FactorScorer;
    use super::super::indexed_items::changed_items;
    use super::*;

    const USERS: usize = 70;
    const ITEMS: usize = 3000;
    const K: usize = 24;

    /// A model, its index, items that each user has seen, and the same items after some have changed.
    struct Case {
        p: Dense,
        scales: Vec<f32>,
        index: IndexedItems,
        seen: ItemLists,
        /// As they were; many changed by a little and a few by much; some changed by much, with new ones.
        present: [Present; 3],
    }

    struct Present {
        q: Dense,
        changed: ChangedItems,
    }

    fn case() -> Case {
        let value = |row: usize, col: usize| ((row * 37 + col * 101) as f32 * 0.7).sin();
        let p = Dense::from_fn(USERS, K, value);
        // Neighbours have equal factors, so that scores are equal.
        let q = Dense::from_fn(ITEMS, K, |row, col| value(row / 2 + 999, col));
        let scales: Vec<f32> = (0..ITEMS + 5).map(|item| 1.0 + (item % 3) as f32).collect();
        let index = IndexedItems::new(q.clone(), Some(scales[..ITEMS].to_vec()));
        let present = |step: usize, new: usize, factor: &dyn Fn(usize) -> f32| {
            let mut now = q.clone();
            let changed: Vec<u32> = (0..ITEMS as u32).step_by(step).collect();
            for &item in &changed {
                let row = now.row_mut(item as usize);
                for x in row.iter_mut() {
                    *x *= factor(item as usize);
                }
            }
            for more in 0..new {
                now.push_row(&[0.2 * more as f32; K]);
            }
            Present {
                changed: changed_items(&index, &changed, &now, &scales),
                q: now,
            }
        };
        let little = |item: usize| match item % 500 {
            0 => 40.0,
            _ => [1.001, 0.999, 1.0, 1.01][item % 4],
        };
        let present = [
            present(ITEMS, 0, &|_| 1.0),
            present(3, 0, &little),
            present(17, 5, &|_| -1.5),
        ];
        let seen = |user: u32| {
            let mut items: Vec<u32> = (0..30).map(|n| (user * 13 + n * 97) % 3000).collect();
            items.sort_unstable();
            items
        };
        Case {
            seen: (0..USERS as u32).map(seen).collect(),
            p,
            scales,
            index,
            present,
        }
    }

    impl Case {
        fn shortlists(&self, depth: usize) -> Shortlists {
            let users: Vec<u32> = (0..USERS as u32).collect();
            let mut lists = Shortlists::new(depth, users.len());
            lists.add(&self.index, &users, &self.p, &self.seen).unwrap();
            lists
        }

        /// What scoring every item gives.
        fn scored(&self, user: u32, present: &Present, top: usize, out: &[u32]) -> Vec<Scored> {
            let scorer = FactorScorer::new(&self.p, &present.q).unwrap();
            let scorer = scorer.scaled(&self.scales[..present.q.rows()]).unwrap();
            let request = RankRequest {
                users: &[user],
                top,
                deny: out,
                ..RankRequest::default()
            };
            rank(&scorer, &request).unwrap().remove(0).top
        }

        /// How many of the lists come from shortlists, after a look at whether each is that of ranking.
        fn served(&self, lists: &Shortlists) -> (usize, usize) {
            let (mut served, mut all) = (0, 0);
            let users = (0..USERS as u32).flat_map(|user| [1, 20, 23].map(|top| (user, top)));
            for (user, top) in users {
                let factors = self.p.row(user as usize);
                for present in &self.present {
                    let mut out = self.seen.row(user as usize).to_vec();
                    for _ in 0..2 {
                        let expected = self.scored(user, present, top, &out);
                        let own = Dense::from_fn(1, K, |_, f| factors[f]);
                        let left_out: ItemLists = [out.clone()].into_iter().collect();
                        let ranked = self.index.best(&own, &present.changed, top, &left_out);
                        assert_eq!(ranked.unwrap()[0], expected);
                        all += 1;
                        if let Some(list) =
                            lists.best((user, factors), &present.changed, top, &|item| {
                                out.contains(&item)
                            })
                        {
                            assert_eq!(list, expected);
                            served += 1;
                        }
                        // Then without the best of them as well.
                        out.extend(expected.iter().take(2).map(|scored| scored.item));
                        out.sort_unstable();
                    }
                }
            }
            (served, all)
        }
    }

    #[test]
    fn shortlists_give_the_lists_of_ranking() {
        let case = case();
        let (served, all) = case.served(&case.shortlists(24));
        assert!(served > all / 4 && served < all, "{served} of {all}");
    }

    #[test]
    fn a_shortlist_with_all_items_is_never_too_short() {
        let case = case();
        let (served, all) = case.served(&case.shortlists(4000));
        assert_eq!(served, all);
    }

    #[test]
    fn newer_lists_replace_those_of_their_users() {
        let mut case = case();
        let (old, mut newer) = (case.shortlists(24), Shortlists::new(24, 9));
        let before = case.p.clone();
        for user in 0..9 {
            case.p.row_mut(user).reverse();
        }
        let users: Vec<u32> = (0..9).rev().collect();
        let factors = Dense::from_fn(9, K, |row, f| case.p.row(8 - row)[f]);
        let seen: ItemLists = users
            .iter()
            .map(|&user| case.seen.row(user as usize).to_vec())
            .collect();
        newer.add(&case.index, &users, &factors, &seen).unwrap();
        let mut lists = old.clone();
        lists.take(&newer).unwrap();
        assert_eq!(lists.len(), USERS);
        let (served, all) = case.served(&lists);
        assert!(served > all / 4 && served < all, "{served} of {all}");
        // The old ones again, and a user who had none.
        case.p = before;
        newer.take(&old).unwrap();
        assert_eq!(newer.len(), USERS);
        assert!(case.served(&newer).0 > 0);
        assert!(lists.take(&Shortlists::new(25, 0)).is_err());
    }

    #[test]
    fn users_without_a_list_get_none() {
        let (case, none) = (case(), Shortlists::new(24, 0));
        let (lists, factors) = (case.shortlists(24), case.p.row(0));
        assert_eq!(lists.len(), USERS);
        let changed = &case.present[0].changed;
        assert_eq!(lists.best((70, factors), changed, 1, &|_| false), None);
        assert_eq!(none.best((0, factors), changed, 1, &|_| false), None);
    }
}
