//! The best items of a user, and the place of an item among all, as the factors are now.

use super::Online;
use crate::error::Axis;
use crate::ranking::{FactorScorer, ItemLists, RankError, RankRequest, Scored, rank};

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
        let targets: ItemLists = [vec![item]].into_iter().collect();
        let request = RankRequest {
            users: &[user],
            targets: Some(&targets),
            ..RankRequest::default()
        };
        let rankings = self.rank(&request)?;
        let rank = rankings.first().and_then(|ranking| *ranking.ranks.first()?);
        Ok(rank.unwrap_or(u32::MAX))
    }

    fn rank(&self, request: &RankRequest<'_>) -> Result<Vec<crate::ranking::Ranking>, RankError> {
        let (users, items) = (&self.factors.users, &self.factors.items);
        let scorer = FactorScorer::of_model(users.into(), items.into(), None);
        if self.params.post_scale == 0.0 {
            return rank(&scorer, request);
        }
        let scale: Vec<f32> = (0..items.rows())
            .map(|item| self.item_scale(item))
            .collect();
        rank(&scorer.scaled(&scale)?, request)
    }
}
