//! The state of one user while items are scored.

use std::ops::Range;

use rayon::prelude::*;

use super::catalogue::Catalogue;
use super::factors::FactorScorer;
use super::rank::{RankRequest, Ranking, score_list};
use super::scan::TILE;
use super::scorer::{ScoreTile, Scorer};
use super::target_ranks::TargetRanks;
use super::top::Top;
use crate::linalg::LANES;
use crate::linalg::kernels::QuantisedRow;

/// Items that passed a screen and are scored together.
const TOGETHER: usize = 32;

/// The state of one user.
pub(super) struct UserState<'a> {
    pub(super) user: u32,
    /// The user's part of the bound on its scores.
    bound: f64,
    excluded: Excluded<'a>,
    pub(super) top: Top,
    targets: &'a [u32],
    ranks: TargetRanks,
    pub(super) screened: Option<Screened>,
    /// Whether the list was filled without scoring any item.
    is_complete: bool,
}

/// Items that are not ranked, as rising positions in the catalogue. None is in both lists.
struct Excluded<'a> {
    /// Those of the user.
    own: Vec<u32>,
    /// Those that are excluded for all users of the request.
    shared: &'a [u32],
    /// Numbers of positions of both lists that were passed.
    passed: [usize; 2],
}

impl Excluded<'_> {
    /// Positions in a range.
    fn within(&self, range: Range<usize>) -> impl Iterator<Item = u32> {
        let within = move |positions: &[u32]| {
            let first = positions.partition_point(|&at| (at as usize) < range.start);
            let end = positions.partition_point(|&at| (at as usize) < range.end);
            first..end
        };
        let (own, shared) = (within(&self.own), within(self.shared));
        self.own[own].iter().chain(&self.shared[shared]).copied()
    }

    /// Positions before `end` that were not yielded yet.
    fn next(&mut self, end: usize) -> impl Iterator<Item = u32> {
        let [own, shared] = self.passed;
        let next = |positions: &[u32], from: usize| {
            let rest = positions[from..].iter();
            from + rest.take_while(|&&at| (at as usize) < end).count()
        };
        self.passed = [next(&self.own, own), next(self.shared, shared)];
        let (own, shared) = (own..self.passed[0], shared..self.passed[1]);
        self.own[own].iter().chain(&self.shared[shared]).copied()
    }

    fn len(&self) -> usize {
        self.own.len() + self.shared.len()
    }
}

/// A quantised user, and the items that passed the screens.
pub(super) struct Screened {
    pub(super) row: QuantisedRow,
    /// Items still to be scored.
    waiting: Vec<u32>,
    /// Numbers of items that were screened and that passed so far.
    looked: usize,
    found: usize,
}

impl Screened {
    pub(super) fn new(row: QuantisedRow) -> Self {
        Self {
            row,
            waiting: Vec::new(),
            looked: 0,
            found: 0,
        }
    }

    /// Whether enough items pass that scoring all items is faster: scoring them one by one takes about
    /// ten times as long.
    fn passes_too_many(&self) -> bool {
        self.found > 512 + self.looked / 32
    }
}

impl UserState<'_> {
    /// Whether an item with this bound, or without one, may still enter the list.
    pub(super) fn is_open(&self, bound: Option<&f64>) -> bool {
        let out = bound.is_some_and(|bound| self.bound * bound < f64::from(self.top.threshold()));
        !(out || self.is_complete)
    }

    /// The quantised user, if the next items are to be screened for it.
    pub(super) fn to_screen(&self) -> Option<&QuantisedRow> {
        let screened = self.screened.as_ref()?;
        (self.top.threshold() > f32::NEG_INFINITY && !screened.passes_too_many())
            .then_some(&screened.row)
    }

    /// Whether all items must be scored because too many pass the screens.
    pub(super) fn is_refused(&self) -> bool {
        let screened = self.screened.as_ref();
        screened.is_none_or(Screened::passes_too_many)
    }

    /// Fills the list of a user whose factors are all zero. All its scores are equal, so no bound would
    /// end the search.
    fn complete(&mut self, catalogue: &Catalogue, is_excluded: impl Fn(&u32) -> bool) {
        let is_left = |item: &u32| catalogue.has(*item) && !is_excluded(item);
        let items = (0..catalogue.n_items() as u32).filter(is_left);
        for item in items.take(self.top.limit()) {
            self.top.offer(&[item], &[0.0]);
        }
        self.is_complete = true;
    }

    /// Positions of the excluded items in a range of the catalogue.
    pub(super) fn excluded_in(&self, range: Range<usize>) -> impl Iterator<Item = u32> {
        self.excluded.within(range)
    }

    /// Takes the scores of a strip of items that starts at position `first` of the catalogue.
    pub(super) fn see(&mut self, first: usize, items: &[u32], scores: &mut [f32]) {
        for at in self.excluded.next(first + items.len()) {
            scores[at as usize - first] = f32::NEG_INFINITY;
        }
        self.top.offer(items, scores);
        self.ranks.count(self.targets, items, scores);
    }

    /// Takes the items of a strip that passed its screen, one bit per item.
    pub(super) fn take_passed(&mut self, first: usize, items: &[u32], passed: &mut [u16]) {
        for at in self.excluded.next(first + items.len()) {
            let place = at as usize - first;
            passed[place / LANES] &= !(1 << (place % LANES));
        }
        let Some(screened) = &mut self.screened else {
            return;
        };
        screened.looked += items.len();
        if passed.iter().all(|&bits| bits == 0) {
            return;
        }
        let before = screened.waiting.len();
        for (bits, items) in passed.iter().zip(items.chunks(LANES)) {
            let mut bits = *bits;
            while bits != 0 {
                let lane = bits.trailing_zeros() as usize;
                // The last panel may have fewer items than bits.
                screened.waiting.extend(items.get(lane));
                bits &= bits - 1;
            }
        }
        screened.found += screened.waiting.len() - before;
    }

    /// Scores the waiting items, if there are enough of them or this is the last call.
    pub(super) fn score_waiting(
        &mut self,
        factors: &FactorScorer<'_>,
        all: bool,
        buffer: &mut Vec<f32>,
    ) {
        let Some(screened) = &mut self.screened else {
            return;
        };
        if screened.waiting.len() >= TOGETHER || (all && !screened.waiting.is_empty()) {
            let scores = factors.score_items(self.user, &screened.waiting, buffer);
            self.top.offer(&screened.waiting, scores);
            screened.waiting.clear();
        }
    }

    pub(super) fn finish(self, catalogue: &Catalogue) -> Ranking {
        Ranking {
            top: self.top.finish(),
            ranks: self.ranks.finish(),
            candidates: catalogue.items.len() - self.excluded.len(),
        }
    }
}

/// The states of the users of a batch, which starts at position `first` of the request. `denied` has the
/// positions of items of the catalogue that are ranked for nobody.
pub(super) fn prepare<'a>(
    scorer: &dyn Scorer,
    request: &RankRequest<'a>,
    (catalogue, denied): (&Catalogue, &'a [u32]),
    first: usize,
    users: &[u32],
) -> Vec<UserState<'a>> {
    let state = |tile: &mut ScoreTile, (at, &user): (usize, &u32)| {
        let mut own = Vec::new();
        if let Some(exclude) = request.exclude {
            exclude.append_seen(user, &mut own);
        }
        let is_denied = |item: &u32| request.deny.binary_search(item).is_ok();
        own.retain(|item| !is_denied(item));
        own.sort_unstable();
        own.dedup();
        let is_excluded = |item: &u32| own.binary_search(item).is_ok() || is_denied(item);
        let targets = request.targets.map_or(&[][..], |rows| rows.row(first + at));
        let mut ranks = TargetRanks::default();
        if !targets.is_empty() {
            let scores = score_list(scorer, user, targets, tile);
            ranks = TargetRanks::new(scores.iter().copied());
            for (score, target) in ranks.scores.iter_mut().zip(targets) {
                *score = score.filter(|_| !is_excluded(target) && catalogue.has(*target));
            }
        }
        let mut state = UserState {
            user,
            bound: if catalogue.is_ordered() {
                scorer.user_bound(user)
            } else {
                f64::INFINITY
            },
            excluded: Excluded {
                own: catalogue.positions_of(&own),
                shared: denied,
                passed: [0; 2],
            },
            top: Top::new(request.top),
            targets,
            ranks,
            screened: None,
            is_complete: false,
        };
        let is_zero = |factors: &FactorScorer<'_>| factors.user(user).iter().all(|x| *x == 0.0);
        if catalogue.is_ordered_and_finite() && scorer.as_factors().is_some_and(is_zero) {
            state.complete(catalogue, is_excluded);
        }
        state
    };
    if users.len() <= TILE {
        let (mut tile, users) = (ScoreTile::default(), users.iter().enumerate());
        return users.map(|user| state(&mut tile, user)).collect();
    }
    let users = users.par_iter().enumerate();
    users.map_init(ScoreTile::default, state).collect()
}
