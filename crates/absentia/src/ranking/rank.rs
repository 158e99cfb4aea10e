//! The best items of many users without ever holding a score matrix.
//!
//! Users go in batches, items in blocks: a block is made ready once (factors: transposed into
//! panels of sixteen) and then scored for every tile of users of the batch in parallel. A strip of
//! scores lives only as long as it takes to mark excluded items and compare the rest with the
//! user's threshold. Nothing depends on the number of threads or on who else is in the batch.

use rayon::prelude::*;

use super::error::{RankError, check_range, check_rising};
use super::lists::ItemLists;
use super::scorer::{ScoreBlock, Scorer, Tile};
use super::seen::SeenItems;
use super::targets::Targets;
use super::top::{Scored, Top};
use crate::error::Axis;

/// Users whose state is held at a time.
pub(crate) const BATCH: usize = 4096;
/// Users scored together: with sixteen items, their factors fit the first-level cache.
const TILE: usize = 32;
/// Items scored before a strip is looked at; a multiple of the lanes.
const STRIP: usize = 256;

/// What to rank for whom.
#[derive(Clone, Copy, Default)]
pub struct RankRequest<'a> {
    /// Rows of the scorer, in any order.
    pub users: &'a [u32],
    /// Length N of the lists.
    pub top: usize,
    /// Items left out for each user; those seen, as a rule.
    pub exclude: Option<&'a dyn SeenItems>,
    /// The only items ranked, rising; all if not given.
    pub allow: Option<&'a [u32]>,
    /// Items never ranked, rising.
    pub deny: &'a [u32],
    /// Items whose exact rank is wanted, one row per user of the request.
    pub targets: Option<&'a ItemLists>,
}

/// The ranking of one user.
#[derive(Clone, Debug, Default, PartialEq)]
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
    let catalogue = catalogue(scorer.n_items(), request);
    let mut rankings = Vec::with_capacity(request.users.len());
    for (batch, users) in request.users.chunks(BATCH).enumerate() {
        let mut states = prepare(scorer, request, &catalogue, batch * BATCH, users);
        for items in catalogue.chunks(block_len(scorer)) {
            scan_block(&*scorer.block(items), items, &mut states);
        }
        rankings.extend(states.into_iter().map(|state| state.finish(&catalogue)));
    }
    Ok(rankings)
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

fn catalogue(n_items: usize, request: &RankRequest<'_>) -> Vec<u32> {
    let allowed = |item: &u32| request.deny.binary_search(item).is_err();
    match request.allow {
        Some(allow) => allow.iter().copied().filter(allowed).collect(),
        None => (0..n_items as u32).filter(allowed).collect(),
    }
}

fn block_len(scorer: &dyn Scorer) -> usize {
    scorer.block_items().max(1).next_multiple_of(STRIP)
}

/// What is known about one user so far.
struct State<'a> {
    user: u32,
    excluded: Vec<u32>,
    /// Excluded items before this one have been passed.
    passed: usize,
    /// Excluded items that were in the catalogue.
    dropped: usize,
    top: Top,
    targets: &'a [u32],
    ranks: Targets,
}

impl State<'_> {
    /// Looks at a strip of scores once.
    fn see(&mut self, items: &[u32], scores: &mut [f32]) {
        let Some(&last) = items.last() else { return };
        while let Some(item) = self.excluded.get(self.passed).filter(|&&item| item <= last) {
            self.passed += 1;
            if let Ok(at) = items.binary_search(item) {
                scores[at] = f32::NEG_INFINITY;
                self.dropped += 1;
            }
        }
        self.top.offer(items, scores);
        self.ranks.count(self.targets, items, scores);
    }

    fn finish(self, catalogue: &[u32]) -> Ranking {
        Ranking {
            top: self.top.finish(),
            ranks: self.ranks.finish(),
            candidates: catalogue.len() - self.dropped,
        }
    }
}

fn prepare<'a>(
    scorer: &dyn Scorer,
    request: &RankRequest<'a>,
    catalogue: &[u32],
    first: usize,
    users: &[u32],
) -> Vec<State<'a>> {
    let state = |tile: &mut Tile, (at, &user): (usize, &u32)| {
        let mut excluded = Vec::new();
        if let Some(exclude) = request.exclude {
            exclude.append_seen(user, &mut excluded);
            excluded.sort_unstable();
            excluded.dedup();
        }
        let targets = request.targets.map_or(&[][..], |rows| rows.row(first + at));
        let mut ranks = Targets::default();
        if !targets.is_empty() {
            let scores = score_list(scorer, user, targets, tile);
            ranks = Targets::new(scores.iter().copied());
            for (score, target) in ranks.scores.iter_mut().zip(targets) {
                let excluded = excluded.binary_search(target).is_ok();
                *score = score.filter(|_| !excluded && catalogue.binary_search(target).is_ok());
            }
        }
        State {
            user,
            excluded,
            passed: 0,
            dropped: 0,
            top: Top::new(request.top),
            targets,
            ranks,
        }
    };
    let users = users.par_iter().enumerate();
    users.map_init(Tile::default, state).collect()
}

/// Scores any list of items for one user, with the bits that the blocked ranking gives them.
fn score_list<'t>(
    scorer: &dyn Scorer,
    user: u32,
    items: &[u32],
    tile: &'t mut Tile,
) -> &'t mut [f32] {
    tile.resize(1, items.len());
    let block = scorer.block(items);
    block.score(&[user], 0..items.len(), tile);
    &mut tile.row_mut(0)[..items.len()]
}

fn scan_block(block: &dyn ScoreBlock, items: &[u32], states: &mut [State<'_>]) {
    states
        .par_chunks_mut(TILE)
        .for_each_init(Tile::default, |tile, states| {
            let mut users = [0; TILE];
            for (slot, state) in users.iter_mut().zip(&*states) {
                *slot = state.user;
            }
            for first in (0..items.len()).step_by(STRIP) {
                let strip = &items[first..items.len().min(first + STRIP)];
                tile.resize(states.len(), strip.len());
                block.score(&users[..states.len()], first..first + strip.len(), tile);
                for (row, state) in states.iter_mut().enumerate() {
                    state.see(strip, &mut tile.row_mut(row)[..strip.len()]);
                }
            }
        });
}

/// Yields the ranking of each user among a list of items of its own.
///
/// `lists` and `targets` have one row per user; targets that are not in the user's list are not
/// ranked.
///
/// # Errors
/// As [`rank`].
pub fn rank_lists(
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
    let one = |tile: &mut Tile, (at, &user): (usize, &u32)| {
        let (items, targets) = (lists.row(at), targets.row(at));
        let scores = score_list(scorer, user, items, tile);
        rank_list(items, scores, top, targets)
    };
    let users = users.par_iter().enumerate();
    Ok(users.map_init(Tile::default, one).collect())
}

fn rank_list(items: &[u32], scores: &[f32], limit: usize, targets: &[u32]) -> Ranking {
    let mut top = Top::new(limit);
    top.offer(items, scores);
    let score_of = |target| {
        items
            .binary_search(target)
            .map_or(f32::NAN, |at| scores[at])
    };
    let mut ranks = Targets::new(targets.iter().map(score_of));
    ranks.count(targets, items, scores);
    Ranking {
        top: top.finish(),
        ranks: ranks.finish(),
        candidates: items.len(),
    }
}
