//! Scoring blocks of items for tiles of users.

use rayon::prelude::*;

use super::catalogue::Catalogue;
use super::factors::FactorScorer;
use super::scorer::{ScoreBlock, ScoreTile, Scorer};
use super::screen::{self, QuantisedBlock, ScreenScratch};
use super::state::UserState;

/// Users scored together: with sixteen items, their factors fit the first-level cache.
pub(super) const TILE: usize = 32;
/// Items of a strip, which are scored before they are compared; a multiple of the lanes.
pub(super) const STRIP: usize = 256;

/// Minimum number of users that need every score for which panels pay.
const PACKED_FROM: usize = 4 * TILE;
/// Maximum bytes of quantised items that are stored for the next batch of users.
const KEPT: usize = 256 << 20;

/// Items of a block.
pub(super) fn block_len(scorer: &dyn Scorer) -> usize {
    scorer.block_items().max(1).next_multiple_of(STRIP)
}

/// Scores all items for one batch of users after another.
pub(super) struct Scan<'a> {
    scorer: &'a dyn Scorer,
    catalogue: &'a Catalogue,
    /// The factors, if items are screened by them.
    factors: Option<&'a FactorScorer<'a>>,
    /// Quantised blocks of an index.
    ready: &'a [QuantisedBlock],
    /// Quantised blocks of earlier batches, if there is no index.
    kept: Vec<QuantisedBlock>,
    room: usize,
}

impl<'a> Scan<'a> {
    /// Prepares to fill lists of `top` items each, in one batch of users or more.
    pub(super) fn new(
        scorer: &'a dyn Scorer,
        catalogue: &'a Catalogue,
        top: usize,
        ready: &'a [QuantisedBlock],
        has_more: bool,
    ) -> Self {
        let factors = scorer
            .as_factors()
            .filter(|_| catalogue.is_ordered())
            .filter(|factors| screen::pays(factors, top, catalogue.items.len()));
        Self {
            scorer,
            catalogue,
            factors,
            ready,
            kept: Vec::new(),
            room: if has_more { KEPT } else { 0 },
        }
    }

    /// Scores all items that may enter the lists of a batch of users.
    pub(super) fn show(&mut self, states: &mut [UserState<'_>]) {
        if let Some(factors) = self.factors {
            screen::prepare(factors, states);
        }
        let len = block_len(self.scorer);
        for (at, items) in self.catalogue.items.chunks(len).enumerate() {
            let bounds = self.catalogue.bounds(at * len..at * len + items.len());
            let mut open: Vec<&mut UserState<'_>> = states
                .iter_mut()
                .filter(|state| state.is_open(bounds.first()))
                .collect();
            // Bounds fall: a user without candidates in this block has none in later ones.
            if open.is_empty() {
                break;
            }
            self.show_block(at, (at * len, items, bounds), &mut open);
        }
        if let Some(factors) = self.factors {
            for_each_tile(states, |buffer: &mut Vec<f32>, states| {
                for state in states {
                    state.score_waiting(factors, true, buffer);
                }
            });
        }
    }

    fn show_block(
        &mut self,
        at: usize,
        (start, items, bounds): (usize, &[u32], &[f64]),
        open: &mut [&mut UserState<'_>],
    ) {
        let refused = open.iter().filter(|state| state.is_refused());
        let pack = refused.count() >= PACKED_FROM;
        let passing = self
            .factors
            .and_then(|factors| self.keep(factors, at, items));
        let screen = self.ready.get(at).or(self.kept.get(at));
        let screen = screen.or(passing.as_ref());
        let block = ItemBlock {
            exact: match self.factors.filter(|_| !pack) {
                Some(factors) => Box::new(factors.unpacked(items)),
                None => self.scorer.block(items),
            },
            screen: self.factors.zip(screen),
            start,
            items,
            bounds,
        };
        for_each_tile(open, |tiles, states| block.show(states, tiles));
    }

    /// Quantises a block unless it is stored already; yields it if there is no room to store it.
    fn keep(
        &mut self,
        factors: &FactorScorer<'_>,
        at: usize,
        items: &[u32],
    ) -> Option<QuantisedBlock> {
        if at < self.ready.len().max(self.kept.len()) {
            return None;
        }
        let block = QuantisedBlock::new(factors, items);
        let Some(room) = self.room.checked_sub(block.size()) else {
            // Later blocks are not stored either, because their positions would be wrong.
            self.room = 0;
            return Some(block);
        };
        self.room = room;
        self.kept.push(block);
        None
    }
}

/// Calls `work` for every tile of users, in parallel if there are several. For a single tile, waking
/// threads would take longer than the work.
pub(super) fn for_each_tile<S: Send, T: Default>(
    states: &mut [S],
    work: impl Fn(&mut T, &mut [S]) + Send + Sync,
) {
    if states.len() <= TILE {
        work(&mut T::default(), states);
    } else {
        states.par_chunks_mut(TILE).for_each_init(T::default, work);
    }
}

/// Some items, prepared for all users of a batch.
struct ItemBlock<'a> {
    exact: Box<dyn ScoreBlock + 'a>,
    screen: Option<(&'a FactorScorer<'a>, &'a QuantisedBlock)>,
    /// Where the block begins in the catalogue.
    start: usize,
    items: &'a [u32],
    bounds: &'a [f64],
}

impl ItemBlock<'_> {
    /// Scores the items for a tile of users.
    fn show(&self, states: &mut [&mut UserState<'_>], tiles: &mut (ScoreTile, ScreenScratch)) {
        for first in (0..self.items.len()).step_by(STRIP) {
            let strip = &self.items[first..self.items.len().min(first + STRIP)];
            let (mut open, mut screened) = (Places::default(), Places::default());
            for (at, state) in states.iter().enumerate() {
                if state.is_open(self.bounds.get(first)) {
                    if self.screen.is_some() && state.to_screen().is_some() {
                        screened.push(at);
                    } else {
                        open.push(at);
                    }
                }
            }
            if open.len + screened.len == 0 {
                break;
            }
            if open.len > 0 {
                self.score(first, strip, (states, open.get()), &mut tiles.0);
            }
            if let Some((factors, block)) = self.screen.filter(|_| screened.len > 0) {
                let at = (self.start, first);
                block.screen(at, strip, (states, screened.get()), &mut tiles.1);
                for &at in screened.get() {
                    states[at].score_waiting(factors, false, &mut tiles.1.scores);
                }
            }
        }
    }

    /// Scores a strip for some users of a tile.
    fn score(
        &self,
        first: usize,
        strip: &[u32],
        (states, open): (&mut [&mut UserState<'_>], &[usize]),
        tile: &mut ScoreTile,
    ) {
        let mut users = [0; TILE];
        for (slot, &at) in users.iter_mut().zip(open) {
            *slot = states[at].user;
        }
        tile.resize(open.len(), strip.len());
        let range = first..first + strip.len();
        self.exact.score(&users[..open.len()], range, tile);
        for (row, &at) in open.iter().enumerate() {
            let scores = &mut tile.row_mut(row)[..strip.len()];
            states[at].see(self.start + first, strip, scores);
        }
    }
}

/// Places in a tile.
#[derive(Default)]
struct Places {
    places: [usize; TILE],
    len: usize,
}

impl Places {
    fn push(&mut self, at: usize) {
        self.places[self.len] = at;
        self.len += 1;
    }

    fn get(&self) -> &[usize] {
        &self.places[..self.len]
    }
}
