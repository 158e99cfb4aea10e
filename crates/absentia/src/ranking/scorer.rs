//! Where scores come from: factors, popularity, or any function of user and item.

use std::ops::Range;

use rayon::prelude::*;

use super::error::RankError;
use super::score::{pack_panel, score_tile};
use crate::linalg::kernels::Panel;
use crate::linalg::{Dense, LANES};

/// A model that gives every user a score for every item; the larger, the earlier in the ranking.
///
/// A score of NaN or −∞ takes the item out of the list and puts it behind all others in ranks.
pub trait Scorer: Sync {
    /// Number of users; users are row numbers below it.
    fn n_users(&self) -> usize;

    /// Number of items N.
    fn n_items(&self) -> usize;

    /// Prepares the scoring of these items for many users.
    fn block<'s>(&'s self, items: &'s [u32]) -> Box<dyn ScoreBlock + 's>;

    /// Yields a bound for every item such that no computed score of an item passes its bound times
    /// its user's ([`user_bound`](Self::user_bound)), where such bounds are known.
    ///
    /// Items are then looked at with falling bounds, and for each user no longer than needed.
    fn item_bounds(&self) -> Option<Vec<f64>> {
        None
    }

    /// The user's part of the bound on its scores.
    fn user_bound(&self, user: u32) -> f64 {
        let _ = user;
        f64::INFINITY
    }

    /// How many items one block should hold, so that what it prepares stays in cache.
    fn block_items(&self) -> usize {
        1024
    }
}

/// Some items of a scorer, made ready.
pub trait ScoreBlock: Sync {
    /// Writes the score of item `range.start + j` of the block for `users[row]` to
    /// `tile.row_mut(row)[j]`; places beyond the range may be filled with anything.
    ///
    /// `range.start` is a multiple of 16. The score of a pair must not depend on the other users
    /// or items of the call.
    fn score(&self, users: &[u32], range: Range<usize>, tile: &mut Tile);
}

/// Scores of a few users for a strip of items, and memory that a scorer may use; one per worker.
#[derive(Clone, Debug, Default)]
pub struct Tile {
    scores: Vec<f32>,
    stride: usize,
    /// Whatever a scorer wants to keep between calls of one worker.
    pub scratch: Vec<f32>,
}

impl Tile {
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

/// A borrowed `rows × k` matrix of factors whose rows are `stride` floats apart.
#[derive(Clone, Copy, Debug)]
pub struct FactorRows<'a> {
    values: &'a [f32],
    rows: usize,
    k: usize,
    stride: usize,
}

impl<'a> FactorRows<'a> {
    /// Takes a row-major matrix.
    ///
    /// # Errors
    /// A slice too short for its shape, or a stride below `k`.
    pub fn new(values: &'a [f32], rows: usize, k: usize, stride: usize) -> Result<Self, RankError> {
        let needed = rows
            .checked_sub(1)
            .map_or(Some(0), |before| before.checked_mul(stride)?.checked_add(k));
        if stride < k || needed.is_none_or(|needed| values.len() < needed) {
            return Err(RankError::Length {
                what: "factors",
                expected: needed.unwrap_or(usize::MAX).max(k),
                got: values.len().min(stride),
            });
        }
        Ok(Self {
            values,
            rows,
            k,
            stride,
        })
    }

    /// Takes a matrix whose shape was checked.
    pub(crate) fn of_model(values: &'a [f32], rows: usize, k: usize, stride: usize) -> Self {
        Self {
            values,
            rows,
            k,
            stride,
        }
    }

    /// Row `row` without its padding.
    #[must_use]
    pub fn row(&self, row: usize) -> &'a [f32] {
        &self.values[row * self.stride..row * self.stride + self.k]
    }

    fn first_not_finite(&self) -> Option<usize> {
        // Without a way out of the row the compiler looks at many numbers at a time.
        let is_finite = |row: usize| {
            let numbers = self.row(row).iter();
            numbers.fold(true, |finite, x| finite & x.is_finite())
        };
        (0..self.rows)
            .into_par_iter()
            .with_min_len(256)
            .find_first(|&row| !is_finite(row))
    }
}

impl<'a> From<&'a Dense> for FactorRows<'a> {
    fn from(dense: &'a Dense) -> Self {
        Self {
            values: dense.as_slice(),
            rows: dense.rows(),
            k: dense.cols(),
            stride: dense.stride(),
        }
    }
}

/// Scores `p_u · s_i q_i`, with `s_i` an optional scale of the item.
#[derive(Clone, Copy, Debug)]
pub struct FactorScorer<'a> {
    users: FactorRows<'a>,
    items: FactorRows<'a>,
    scale: Option<&'a [f32]>,
}

impl<'a> FactorScorer<'a> {
    /// Takes user and item factors; users may be rows that were never trained.
    ///
    /// # Errors
    /// Different numbers of factors, or a row that is not finite.
    pub fn new(
        users: impl Into<FactorRows<'a>>,
        items: impl Into<FactorRows<'a>>,
    ) -> Result<Self, RankError> {
        let (users, items) = (users.into(), items.into());
        if users.k != items.k {
            return Err(RankError::Length {
                what: "row of item factors",
                expected: users.k,
                got: items.k,
            });
        }
        for (what, factors) in [("user factors", &users), ("item factors", &items)] {
            if let Some(row) = factors.first_not_finite() {
                return Err(RankError::NotFinite { what, row });
            }
        }
        Ok(Self {
            users,
            items,
            scale: None,
        })
    }

    /// Takes factors that a model has checked: same length, all finite.
    pub(crate) fn of_model(
        users: FactorRows<'a>,
        items: FactorRows<'a>,
        scale: Option<&'a [f32]>,
    ) -> Self {
        Self {
            users,
            items,
            scale,
        }
    }

    /// Multiplies the factors of each item by its scale, as `n_i^ρ` after training.
    ///
    /// # Errors
    /// Not one finite number per item.
    pub fn scaled(mut self, scale: &'a [f32]) -> Result<Self, RankError> {
        if scale.len() != self.items.rows {
            return Err(RankError::Length {
                what: "item scale",
                expected: self.items.rows,
                got: scale.len(),
            });
        }
        if let Some(row) = scale.iter().position(|s| !s.is_finite()) {
            return Err(RankError::NotFinite {
                what: "item scale",
                row,
            });
        }
        self.scale = Some(scale);
        Ok(self)
    }

    /// The length of a row, large enough that a product of two such bounds what rounding in `f32`
    /// makes of their inner product.
    fn length(row: &[f32], scale: f32) -> f64 {
        let scaled = row.iter().map(|x| f64::from(x * scale));
        let square: f64 = scaled.map(|x| x * x).sum();
        square.sqrt() * (1.0 + (row.len() + 8) as f64 * f64::from(f32::EPSILON)) + 1e-30
    }

    fn pack(&self, items: &[u32], panel: &mut [f32]) {
        let rows = items.iter().map(|&item| {
            let scale = self.scale.map_or(1.0, |scale| scale[item as usize]);
            (self.items.row(item as usize), scale)
        });
        pack_panel(rows, panel);
    }
}

impl Scorer for FactorScorer<'_> {
    fn n_users(&self) -> usize {
        self.users.rows
    }

    fn n_items(&self) -> usize {
        self.items.rows
    }

    fn block<'s>(&'s self, items: &'s [u32]) -> Box<dyn ScoreBlock + 's> {
        let size = self.items.k * LANES;
        let mut panels = vec![0.0; size * items.len().div_ceil(LANES)];
        if size > 0 {
            panels
                .par_chunks_mut(size)
                .zip(items.par_chunks(LANES))
                .with_min_len(16)
                .for_each(|(panel, items)| self.pack(items, panel));
        }
        Box::new(PackedItems {
            users: self.users,
            panels,
        })
    }

    /// By the inequality of Cauchy and Schwarz.
    fn item_bounds(&self) -> Option<Vec<f64>> {
        let bound = |item: usize| {
            let scale = self.scale.map_or(1.0, |scale| scale[item]);
            Self::length(self.items.row(item), scale)
        };
        let items = (0..self.items.rows).into_par_iter().with_min_len(512);
        Some(items.map(bound).collect())
    }

    fn user_bound(&self, user: u32) -> f64 {
        Self::length(self.users.row(user as usize), 1.0)
    }

    /// Half a megabyte of panels: within the second-level cache, next to a tile of users.
    fn block_items(&self) -> usize {
        ((1 << 17) / self.items.k.max(1)).clamp(256, 8192)
    }
}

struct PackedItems<'a> {
    users: FactorRows<'a>,
    panels: Vec<f32>,
}

impl ScoreBlock for PackedItems<'_> {
    fn score(&self, users: &[u32], range: Range<usize>, tile: &mut Tile) {
        let k = self.users.k;
        tile.scratch.clear();
        for &user in users {
            tile.scratch
                .extend_from_slice(self.users.row(user as usize));
        }
        let rows = Panel {
            values: &tile.scratch,
            rows: users.len(),
            k,
            stride: k,
        };
        for (strip, first) in range.step_by(LANES).enumerate() {
            let panel = &self.panels[first * k..(first + LANES) * k];
            let out = &mut tile.scores[strip * LANES..];
            score_tile(rows, panel, out, tile.stride);
        }
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
    fn score(&self, users: &[u32], range: Range<usize>, tile: &mut Tile) {
        for (row, &user) in users.iter().enumerate() {
            for (slot, at) in tile.row_mut(row).iter_mut().zip(range.clone()) {
                *slot = self(user, at);
            }
        }
    }
}
