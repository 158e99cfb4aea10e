//! The best items of a user, and the place of an item among all, as the factors are now.

use super::Online;
use crate::error::Axis;
use crate::linalg::Dense;
use crate::model::{ModelError, Similarity, similar_rows};
use crate::ranking::{
    ChangedItems, FactorScorer, IndexedItems, RankError, RankRequest, Ranking, Scored, rank,
    rank_by_factors,
};

impl Online {
    /// The best items of a user that the user has not interacted with: largest score first, equal scores
    /// by row. `deny` are items to leave out as well, rising.
    ///
    /// # Errors
    /// A user that there is not, items to leave out that do not rise.
    pub fn recommend(&self, user: u32, top: usize, deny: &[u32]) -> Result<Vec<Scored>, RankError> {
        let is_known = (user as usize) < self.n_rows(Axis::User);
        let mut seen: Vec<u32> = if is_known {
            self.seen(user).collect()
        } else {
            Vec::new()
        };
        if !deny.is_empty() {
            seen.extend_from_slice(deny);
            seen.sort_unstable();
            seen.dedup();
        }
        let request = RankRequest {
            users: &[user],
            top,
            deny: &seen,
            ..RankRequest::default()
        };
        let rankings = self.rank(&request)?;
        let first = rankings.into_iter().next();
        Ok(first.map(|ranking| ranking.top).unwrap_or_default())
    }

    /// The rank of an item among all items for a user, from 1; an item of equal score and smaller row
    /// comes before it.
    ///
    /// # Errors
    /// A user or item that there is not.
    pub fn rank_of(&self, user: u32, item: u32) -> Result<u32, RankError> {
        for (axis, index) in [(Axis::User, user), (Axis::Item, item)] {
            let count = self.n_rows(axis);
            if index as usize >= count {
                let what = "the pair to be ranked";
                return Err(RankError::OutOfRange {
                    what,
                    axis,
                    index,
                    count,
                });
            }
        }
        let (users, items) = (&self.factors.users, &self.factors.items);
        let scale = self.item_scales();
        let scorer = FactorScorer::of_model(users.into(), items.into(), scale.as_deref());
        Ok(rank_by_factors(&scorer, user, item))
    }

    /// A copy of the items with an index.
    #[must_use]
    pub fn index_items(&self) -> IndexedItems {
        IndexedItems::new(self.factors.items.clone(), self.item_scales())
    }

    /// Copies of the items whose factors have changed since an index was made, and of new ones. With them,
    /// [`IndexedItems::best`] gives the lists of this moment, however old the index is.
    #[must_use]
    pub fn changed_items(&self, index: &IndexedItems, changed: &[u32]) -> ChangedItems {
        let n_indexed = index.n_items() as u32;
        let known = changed.iter().copied().take_while(|&item| item < n_indexed);
        let items = known.chain(n_indexed..self.n_rows(Axis::Item) as u32);
        let present = |item: u32| {
            let row = item as usize;
            (self.factors.items.row(row), self.item_scale(row))
        };
        ChangedItems::new(index, items, present)
    }

    /// Copies an item as it is now to those that have changed since an index was made.
    pub fn copy_changed(&self, index: &IndexedItems, copies: &mut ChangedItems, item: u32) {
        let row = item as usize;
        copies.copy(
            index,
            item,
            self.factors.items.row(row),
            self.item_scale(row),
        );
    }

    /// The best `top` of some items, which rise, for one row of user factors.
    ///
    /// # Errors
    /// Items that there are not, or that do not rise.
    pub fn best_of(
        &self,
        user: &[f32],
        items: &[u32],
        top: usize,
    ) -> Result<Vec<Scored>, RankError> {
        let users = Dense::from_fn(1, user.len(), |_, f| user[f]);
        let request = RankRequest {
            users: &[0],
            top,
            allow: Some(items),
            ..RankRequest::default()
        };
        let rankings = self.rank_rows(&users, &request)?;
        let first = rankings.into_iter().next();
        Ok(first.map(|ranking| ranking.top).unwrap_or_default())
    }

    /// The `n` rows of the same side that are most similar to a row, itself excluded.
    ///
    /// # Errors
    /// A row that there is not.
    pub fn similar(
        &self,
        axis: Axis,
        row: u32,
        n: usize,
        by: Similarity,
    ) -> Result<Vec<Scored>, ModelError> {
        let count = self.n_rows(axis);
        if row as usize >= count {
            let index = row;
            return Err(ModelError::Unknown { axis, index, count });
        }
        let lists = similar_rows((&self.factors[axis]).into(), &[row], n, by)?;
        Ok(lists.into_iter().next().unwrap_or_default())
    }

    fn rank(&self, request: &RankRequest<'_>) -> Result<Vec<Ranking>, RankError> {
        self.rank_rows(&self.factors.users, request)
    }

    fn rank_rows(
        &self,
        users: &Dense,
        request: &RankRequest<'_>,
    ) -> Result<Vec<Ranking>, RankError> {
        let items = &self.factors.items;
        let scorer = FactorScorer::of_model(users.into(), items.into(), None);
        match self.item_scales() {
            None => rank(&scorer, request),
            Some(scale) => rank(&scorer.scaled(&scale)?, request),
        }
    }

    /// The post-scaling of all items, where there is one.
    #[must_use]
    pub fn item_scales(&self) -> Option<Vec<f32>> {
        let items = 0..self.factors.items.rows();
        (self.params.post_scale != 0.0).then(|| items.map(|item| self.item_scale(item)).collect())
    }
}
