//! The best items of many users, without storing a score matrix.
//!
//! Users are ranked in batches, items in blocks. A block is prepared once (factors are transposed into
//! panels of sixteen) and then scored for all tiles of users of the batch in parallel. A strip of
//! scores is only stored until excluded items are marked and the rest is compared with the user's
//! threshold. If scores have bounds, items are scored in order of falling bounds, and a user is done
//! when no further item can enter the list. No list depends on the number of threads or on the other
//! users of the batch.

use rayon::prelude::*;

use super::catalogue::Catalogue;
use super::error::{RankError, check_range, check_rising};
use super::factors::FactorScorer;
use super::index::ItemIndex;
use super::lists::ItemLists;
use super::scan::Scan;
use super::scorer::{ScoreBlock, ScoreTile, Scorer};
use super::screen;
use super::seen::SeenItems;
use super::small_batch::{SMALL_BATCH, scan_small_batch};
use super::state::prepare;
use super::target_ranks::TargetRanks;
use super::top::{Scored, Top};
use crate::error::Axis;

/// Users whose state is held at a time.
pub(crate) const BATCH: usize = 4096;

/// Which items to rank for which users.
#[derive(Clone, Copy, Default)]
pub struct RankRequest<'a> {
    /// Rows of the scorer, in any order.
    pub users: &'a [u32],
    /// Length N of the lists.
    pub top: usize,
    /// Items excluded for each user, usually those seen. The training matrix is one such source.
    pub exclude: Option<&'a dyn SeenItems>,
    /// The only items ranked, rising; all if not given.
    pub allow: Option<&'a [u32]>,
    /// Items never ranked, rising.
    pub deny: &'a [u32],
    /// Items whose exact ranks to compute, one row per user of the request.
    pub targets: Option<&'a ItemLists>,
}

/// The ranking of one user.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Ranking {
    /// The best items: largest score first, equal scores by item id.
    pub top: Vec<Scored>,
    /// 1-based rank of each target among the candidates; `None` if it was none of them.
    pub ranks: Vec<Option<u32>>,
    /// Number of items that were ranked.
    pub candidates: usize,
}

/// Yields the ranking of each user of the request, in the order of the request.
///
/// A user alone and among others gets the same list with the same bits.
///
/// # Errors
/// Users or items out of range, unsorted allow or deny lists, targets not one row per user.
pub fn rank(scorer: &dyn Scorer, request: &RankRequest<'_>) -> Result<Vec<Ranking>, RankError> {
    check(scorer, request)?;
    let is_small = request.users.len() <= SMALL_BATCH && request.targets.is_none();
    let factors = scorer.as_factors().filter(|_| is_small);
    let index = factors.and_then(|factors| usable_index(factors, request));
    let made;
    let (catalogue, ready) = if let Some(index) = index {
        (&index.catalogue, &index.blocks[..])
    } else {
        made = Catalogue::new(scorer, request);
        (&made, &[][..])
    };
    // A catalogue made for this request has none of them.
    let denied = catalogue.positions_of(request.deny);
    // Quantised items are stored for the batches after the first.
    let has_more = request.users.len() > BATCH;
    let mut scan = Scan::new(scorer, catalogue, request.top, ready, has_more);
    let mut rankings = Vec::with_capacity(request.users.len());
    for (batch, users) in request.users.chunks(BATCH).enumerate() {
        let items = (catalogue, &denied[..]);
        let mut states = prepare(scorer, request, items, batch * BATCH, users);
        match factors.filter(|_| index.is_none()) {
            Some(factors) => scan_small_batch(factors, catalogue, &mut states),
            None => scan.show(&mut states),
        }
        rankings.extend(states.into_iter().map(|state| state.finish(catalogue)));
    }
    Ok(rankings)
}

/// The index of the items, if it can be used for this request.
fn usable_index<'a>(
    factors: &FactorScorer<'a>,
    request: &RankRequest<'_>,
) -> Option<&'a ItemIndex> {
    let serves = request.allow.is_none() && screen::pays(factors, request.top, factors.n_items());
    factors.index().filter(|_| serves)
}

fn check(scorer: &dyn Scorer, request: &RankRequest<'_>) -> Result<(), RankError> {
    let n_items = scorer.n_items();
    check_range("users", Axis::User, request.users, scorer.n_users())?;
    for (what, items) in [
        ("allow list", request.allow.unwrap_or_default()),
        ("deny list", request.deny),
    ] {
        check_rising(what, items)?;
        check_range(what, Axis::Item, items, n_items)?;
    }
    let Some(targets) = request.targets else {
        return Ok(());
    };
    if targets.rows() != request.users.len() {
        return Err(RankError::Length {
            what: "targets",
            expected: request.users.len(),
            got: targets.rows(),
        });
    }
    check_range("targets", Axis::Item, targets.items(), n_items)
}

/// Scores any list of items for one user, with the bits that the blocked ranking gives them.
pub(super) fn score_list<'t>(
    scorer: &dyn Scorer,
    user: u32,
    items: &[u32],
    tile: &'t mut ScoreTile,
) -> &'t mut [f32] {
    tile.resize(1, items.len());
    match scorer.as_factors() {
        Some(factors) => factors.unpacked(items).score(&[user], 0..items.len(), tile),
        None => scorer.block(items).score(&[user], 0..items.len(), tile),
    }
    &mut tile.row_mut(0)[..items.len()]
}

/// Yields the ranking of each user among a list of candidates of that user.
///
/// `lists` and `targets` have one row per user; targets that are not in the user's list are not
/// ranked.
///
/// # Errors
/// As [`rank`].
pub(crate) fn rank_lists(
    scorer: &dyn Scorer,
    users: &[u32],
    lists: &ItemLists,
    top: usize,
    targets: &ItemLists,
) -> Result<Vec<Ranking>, RankError> {
    let request = RankRequest {
        users,
        targets: Some(targets),
        ..RankRequest::default()
    };
    check(scorer, &request)?;
    check_range("candidates", Axis::Item, lists.items(), scorer.n_items())?;
    if lists.rows() != users.len() {
        return Err(RankError::Length {
            what: "candidates",
            expected: users.len(),
            got: lists.rows(),
        });
    }
    let one = |tile: &mut ScoreTile, (at, &user): (usize, &u32)| {
        let (items, targets) = (lists.row(at), targets.row(at));
        let scores = score_list(scorer, user, items, tile);
        rank_list(items, scores, top, targets)
    };
    let users = users.par_iter().enumerate();
    Ok(users.map_init(ScoreTile::default, one).collect())
}

fn rank_list(items: &[u32], scores: &[f32], limit: usize, targets: &[u32]) -> Ranking {
    let mut top = Top::new(limit);
    top.offer(items, scores);
    let score_of = |target| {
        items
            .binary_search(target)
            .map_or(f32::NAN, |at| scores[at])
    };
    let mut ranks = TargetRanks::new(targets.iter().map(score_of));
    ranks.count(targets, items, scores);
    Ranking {
        top: top.finish(),
        ranks: ranks.finish(),
        candidates: items.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;
    use crate::ranking::FactorScorer;

    /// Items of very different lengths, some of them twice, so that bounds end most searches and
    /// equal scores occur.
    #[test]
    fn users_in_bulk_get_the_lists_they_get_alone() {
        let (users, items, k) = (150, 1500, 24);
        let value = |row: usize, col: usize| ((row * 37 + col * 101) as f32 * 0.7).sin();
        let p = Dense::from_fn(users, k, value);
        let q = Dense::from_fn(items, k, |row, col| {
            let row = row / 2;
            value(row + 999, col) * 0.5_f32.powf((row * 7 % 23) as f32)
        });
        let scale: Vec<f32> = (0..items).map(|item| 1.0 + (item / 2 % 5) as f32).collect();
        let scorer = FactorScorer::new(&p, &q).unwrap().scaled(&scale).unwrap();
        let seen: ItemLists = (0..users as u32)
            .map(|user| (0..40).map(|n| (user * 13 + n * 7) % 1500).collect())
            .collect();
        let all: Vec<u32> = (0..users as u32).rev().collect();
        for (top, deny) in [(0, &[][..]), (10, &[3, 4, 5, 700][..]), (2000, &[])] {
            let request = RankRequest {
                users: &all,
                top,
                exclude: Some(&seen),
                deny,
                ..RankRequest::default()
            };
            let bulk = rank(&scorer, &request).unwrap();
            for (at, ranking) in bulk.iter().enumerate() {
                let alone = RankRequest {
                    users: &all[at..=at],
                    ..request
                };
                assert_eq!(
                    *ranking,
                    rank(&scorer, &alone).unwrap()[0],
                    "user {}",
                    all[at]
                );
            }
        }
    }
}
