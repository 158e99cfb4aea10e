//! The best items of many users without ever holding a score matrix.
//!
//! Users go in batches, items in blocks: a block is made ready once (factors: transposed into
//! panels of sixteen) and then scored for every tile of users of the batch in parallel. A strip of
//! scores lives only as long as it takes to mark excluded items and compare the rest with the
//! user's threshold. Where scores have bounds, items come with falling bounds and a user leaves the
//! batch when no further item can enter its list. No list depends on the number of threads or on who
//! else is in the batch.

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

/// Users from which ordering the items by their bounds pays.
const ORDERED_FROM: usize = 64;

/// Yields the ranking of each user of the request, in the order of the request.
///
/// A user alone and among others gets the same list with the same bits.
///
/// # Errors
/// Users or items out of range, unsorted allow or deny lists, targets not one row per user.
pub fn rank(scorer: &dyn Scorer, request: &RankRequest<'_>) -> Result<Vec<Ranking>, RankError> {
    check(scorer, request)?;
    let catalogue = Catalogue::new(scorer, request);
    let mut rankings = Vec::with_capacity(request.users.len());
    for (batch, users) in request.users.chunks(BATCH).enumerate() {
        let mut states = prepare(scorer, request, &catalogue, batch * BATCH, users);
        let len = block_len(scorer);
        for (at, items) in catalogue.items.chunks(len).enumerate() {
            let bounds = catalogue.bounds(at * len..at * len + items.len());
            let mut open: Vec<&mut State<'_>> = states
                .iter_mut()
                .filter(|state| state.is_open(bounds.first()))
                .collect();
            // Bounds fall: whom this block cannot serve, no later one can.
            if open.is_empty() {
                break;
            }
            scan_block(&*scorer.block(items), at * len, (items, bounds), &mut open);
        }
        rankings.extend(states.into_iter().map(|state| state.finish(&catalogue)));
    }
    Ok(rankings)
}

/// The items to be ranked, in the order they are looked at.
struct Catalogue {
    items: Vec<u32>,
    /// Bounds of the items, falling; none where scores have no bounds.
    bounds: Vec<f64>,
    /// Where each item stands in the catalogue; beyond its end if it is not there.
    positions: Vec<u32>,
}

impl Catalogue {
    fn new(scorer: &dyn Scorer, request: &RankRequest<'_>) -> Self {
        let mut items = candidates(scorer.n_items(), request);
        let mut bounds = Vec::new();
        // Ranks of targets need every score.
        let pays = request.targets.is_none() && request.users.len() >= ORDERED_FROM;
        if let Some(all) = pays.then(|| scorer.item_bounds()).flatten() {
            items.sort_by(|&a, &b| all[b as usize].total_cmp(&all[a as usize]));
            bounds = items.iter().map(|&item| all[item as usize]).collect();
        }
        let mut positions = vec![u32::MAX; scorer.n_items()];
        for (at, &item) in items.iter().enumerate() {
            positions[item as usize] = at as u32;
        }
        Self {
            items,
            bounds,
            positions,
        }
    }

    fn has(&self, item: u32) -> bool {
        self.positions[item as usize] != u32::MAX
    }

    /// Where these items stand, those that are there.
    fn positions_of(&self, items: &[u32]) -> Vec<u32> {
        let positions = items
            .iter()
            .filter_map(|&item| self.positions.get(item as usize));
        let mut there: Vec<u32> = positions.copied().filter(|&at| at != u32::MAX).collect();
        there.sort_unstable();
        there
    }

    fn bounds(&self, range: std::ops::Range<usize>) -> &[f64] {
        self.bounds.get(range).unwrap_or_default()
    }
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

fn candidates(n_items: usize, request: &RankRequest<'_>) -> Vec<u32> {
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
    /// Its part of the bounds on its scores.
    bound: f64,
    /// Positions in the catalogue of the items left out, rising.
    excluded: Vec<u32>,
    /// Excluded items before this one have been passed.
    passed: usize,
    top: Top,
    targets: &'a [u32],
    ranks: Targets,
}

impl State<'_> {
    /// Whether an item whose bound is this, or unknown, may still enter the list.
    fn is_open(&self, bound: Option<&f64>) -> bool {
        let out = bound.is_some_and(|bound| self.bound * bound < f64::from(self.top.threshold()));
        !out
    }

    /// Looks once at a strip of scores that begins at a position of the catalogue.
    fn see(&mut self, first: usize, items: &[u32], scores: &mut [f32]) {
        let end = first + items.len();
        while let Some(&at) = self
            .excluded
            .get(self.passed)
            .filter(|&&at| (at as usize) < end)
        {
            self.passed += 1;
            scores[at as usize - first] = f32::NEG_INFINITY;
        }
        self.top.offer(items, scores);
        self.ranks.count(self.targets, items, scores);
    }

    fn finish(self, catalogue: &Catalogue) -> Ranking {
        Ranking {
            top: self.top.finish(),
            ranks: self.ranks.finish(),
            candidates: catalogue.items.len() - self.excluded.len(),
        }
    }
}

fn prepare<'a>(
    scorer: &dyn Scorer,
    request: &RankRequest<'a>,
    catalogue: &Catalogue,
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
                *score = score.filter(|_| !excluded && catalogue.has(*target));
            }
        }
        State {
            user,
            bound: if catalogue.bounds.is_empty() {
                f64::INFINITY
            } else {
                scorer.user_bound(user)
            },
            excluded: catalogue.positions_of(&excluded),
            passed: 0,
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

/// Scores a block that begins at a position of the catalogue for the users it may serve.
fn scan_block(
    block: &dyn ScoreBlock,
    start: usize,
    (items, bounds): (&[u32], &[f64]),
    states: &mut [&mut State<'_>],
) {
    states
        .par_chunks_mut(TILE)
        .for_each_init(Tile::default, |tile, states| {
            for first in (0..items.len()).step_by(STRIP) {
                let strip = &items[first..items.len().min(first + STRIP)];
                let (mut users, mut open) = ([0; TILE], [0; TILE]);
                let mut len = 0;
                for (at, state) in states.iter().enumerate() {
                    if state.is_open(bounds.get(first)) {
                        (users[len], open[len]) = (state.user, at);
                        len += 1;
                    }
                }
                if len == 0 {
                    break;
                }
                tile.resize(len, strip.len());
                block.score(&users[..len], first..first + strip.len(), tile);
                for (row, &at) in open[..len].iter().enumerate() {
                    let scores = &mut tile.row_mut(row)[..strip.len()];
                    states[at].see(start + first, strip, scores);
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
