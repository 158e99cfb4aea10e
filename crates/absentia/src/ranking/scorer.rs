//! Where scores come from: popularity, any function of user and item, or another model.

use std::ops::Range;

use super::factors::FactorScorer;
use crate::linalg::LANES;

/// A model that gives every user a score for every item; the larger, the earlier in the ranking.
///
/// An item with a score of NaN or −∞ is not in the list and is ranked after all others.
pub trait Scorer: Sync {
    /// Number of users; users are row numbers below it.
    fn n_users(&self) -> usize;

    /// Number of items N.
    fn n_items(&self) -> usize;

    /// Prepares the scoring of these items for many users.
    fn block<'s>(&'s self, items: &'s [u32]) -> Box<dyn ScoreBlock + 's>;

    /// Yields a bound for every item such that no computed score of an item exceeds its bound times
    /// its user's ([`user_bound`](Self::user_bound)), where such bounds are known.
    ///
    /// Items are then scored in order of falling bounds, for each user only as long as needed.
    fn item_bounds(&self) -> Option<Vec<f64>> {
        None
    }

    /// The user's part of the bound on its scores.
    fn user_bound(&self, user: u32) -> f64 {
        let _ = user;
        f64::INFINITY
    }

    /// The factors, if scores are their inner products.
    ///
    /// Rankings are then faster: they can skip items, and score a few users without blocks.
    fn as_factors(&self) -> Option<&FactorScorer<'_>> {
        None
    }

    /// How many items one block should hold, so that what it prepares stays in cache.
    fn block_items(&self) -> usize {
        1024
    }
}

/// Some items of a scorer, prepared for many users.
pub trait ScoreBlock: Sync {
    /// Writes the score of item `range.start + j` of the block for `users[row]` to
    /// `tile.row_mut(row)[j]`; places beyond the range may be filled with anything.
    ///
    /// `range.start` is a multiple of 16. The score of a pair must not depend on the other users
    /// or items of the call.
    fn score(&self, users: &[u32], range: Range<usize>, tile: &mut ScoreTile);
}

/// Scores of a few users for a strip of items, and memory that a scorer may use; one per worker.
#[derive(Clone, Debug, Default)]
pub struct ScoreTile {
    pub(super) scores: Vec<f32>,
    pub(super) stride: usize,
    /// Memory that a scorer may use between calls of one worker.
    pub scratch: Vec<f32>,
}

impl ScoreTile {
    /// Makes room for `rows` users and `items` items, whole lanes each.
    pub fn resize(&mut self, rows: usize, items: usize) {
        self.stride = items.next_multiple_of(LANES);
        self.scores.resize(rows * self.stride, 0.0);
    }

    /// Scores of one user.
    #[must_use]
    pub fn row_mut(&mut self, row: usize) -> &mut [f32] {
        &mut self.scores[row * self.stride..(row + 1) * self.stride]
    }
}

/// Gives every user the same ranking: items by number of training interactions.
#[derive(Clone, Debug)]
pub struct PopularityScorer {
    n_users: usize,
    scores: Vec<f32>,
}

impl PopularityScorer {
    /// Takes the number of interactions `n_i` of each item; counts above 2²⁴ are rounded.
    #[must_use]
    pub fn new(n_users: usize, item_counts: &[u32]) -> Self {
        let scores = item_counts.iter().map(|&count| count as f32).collect();
        Self { n_users, scores }
    }

    /// Ranks items by their number of late interactions, and those that are equal in that by all of them
    /// ([`latest_item_counts`](crate::data::latest_item_counts)).
    #[must_use]
    pub fn lately(n_users: usize, latest: &[u32], all: &[u32]) -> Self {
        let counts: Vec<(u32, u32)> = latest.iter().copied().zip(all.iter().copied()).collect();
        let mut distinct = counts.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let place = |count| distinct.partition_point(|other| other < count) as f32;
        Self {
            n_users,
            scores: counts.iter().map(place).collect(),
        }
    }
}

impl Scorer for PopularityScorer {
    fn n_users(&self) -> usize {
        self.n_users
    }

    fn n_items(&self) -> usize {
        self.scores.len()
    }

    fn block<'s>(&'s self, items: &'s [u32]) -> Box<dyn ScoreBlock + 's> {
        let scores = &self.scores;
        Box::new(move |_: u32, at: usize| scores[items[at] as usize])
    }
}

/// Scores by any function of `(user, item)`.
#[derive(Clone, Debug)]
pub struct FnScorer<F> {
    n_users: usize,
    n_items: usize,
    score: F,
}

impl<F: Fn(u32, u32) -> f32 + Sync> FnScorer<F> {
    /// Takes the function and the shape it is defined on.
    pub fn new(n_users: usize, n_items: usize, score: F) -> Self {
        Self {
            n_users,
            n_items,
            score,
        }
    }
}

impl<F: Fn(u32, u32) -> f32 + Sync> Scorer for FnScorer<F> {
    fn n_users(&self) -> usize {
        self.n_users
    }

    fn n_items(&self) -> usize {
        self.n_items
    }

    fn block<'s>(&'s self, items: &'s [u32]) -> Box<dyn ScoreBlock + 's> {
        Box::new(move |user: u32, at: usize| (self.score)(user, items[at]))
    }
}

/// A function of the user and the position in the block.
impl<F: Fn(u32, usize) -> f32 + Sync> ScoreBlock for F {
    fn score(&self, users: &[u32], range: Range<usize>, tile: &mut ScoreTile) {
        for (row, &user) in users.iter().enumerate() {
            for (slot, at) in tile.row_mut(row).iter_mut().zip(range.clone()) {
                *slot = self(user, at);
            }
        }
    }
}
