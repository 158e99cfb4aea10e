//! Scores that are inner products of factors.

use std::ops::Range;

use rayon::prelude::*;

use super::error::RankError;
use super::index::ItemIndex;
use super::score::score_tile;
use super::scorer::{ScoreBlock, ScoreTile, Scorer};
use crate::linalg::kernels::{Kernels, ScaledRows, StridedRows};
use crate::linalg::{Dense, LANES};

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

    /// Number of rows.
    pub(crate) fn n_rows(&self) -> u32 {
        self.rows as u32
    }

    /// Number of factors K.
    pub(crate) fn n_factors(&self) -> usize {
        self.k
    }

    fn first_not_finite(&self) -> Option<usize> {
        // Without an early exit, so that the compiler can test many numbers at a time.
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
    index: Option<&'a ItemIndex>,
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
            index: None,
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
            index: None,
        }
    }

    /// Uses an index of these items and scales.
    pub(crate) fn with_index(self, index: Option<&'a ItemIndex>) -> Self {
        Self { index, ..self }
    }

    /// The index of the items, if there is one.
    pub(super) fn index(&self) -> Option<&'a ItemIndex> {
        self.index
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
        self.index = None;
        Ok(self)
    }

    /// The length of a row, rounded up so that the product of two lengths is an upper bound of the inner
    /// product as computed in `f32`.
    pub(super) fn length(row: &[f32], scale: f32) -> f64 {
        // Eight sums, because each addition waits for the previous one to the same sum.
        let mut squares = [0.0; 8];
        for eight in row.chunks(8) {
            for (square, x) in squares.iter_mut().zip(eight) {
                let x = f64::from(x * scale);
                *square += x * x;
            }
        }
        let square: f64 = squares.iter().sum();
        // Zero times an infinite scale: there is no bound.
        if square.is_nan() {
            return f64::INFINITY;
        }
        square.sqrt() * (1.0 + (row.len() + 8) as f64 * f64::from(f32::EPSILON)) + 1e-30
    }

    /// How long the difference of two rows with their scales is, rounded up so that its product with a length bounds how
    /// much the inner products differ as computed in `f32`.
    pub(super) fn change(before: (&[f32], f32), now: (&[f32], f32)) -> f64 {
        let scaled = |x: &f32, scale: f32| f64::from(x * scale);
        let pairs = now.0.iter().zip(before.0);
        let square: f64 = pairs
            .map(|(x, y)| scaled(x, now.1) - scaled(y, before.1))
            .map(|difference| difference * difference)
            .sum();
        if square.is_nan() {
            return f64::INFINITY;
        }
        let lengths = Self::length(before.0, before.1) + Self::length(now.0, now.1);
        let rounding = 2.0 * (now.0.len() + 8) as f64 * f64::from(f32::EPSILON);
        square.sqrt() * (1.0 + rounding) + rounding * lengths
    }

    /// Item factors in their stored order.
    fn item_rows(&self) -> ScaledRows<'a> {
        ScaledRows {
            matrix: self.items.values,
            stride: self.items.stride,
            k: self.items.k,
            scale: self.scale,
        }
    }

    /// Number of factors K.
    pub(super) fn n_factors(&self) -> usize {
        self.items.k
    }

    /// The factors of a user.
    pub(super) fn user(&self, user: u32) -> &'a [f32] {
        self.users.row(user as usize)
    }

    /// The factors of an item, and what they are multiplied by.
    pub(super) fn item(&self, item: u32) -> (&'a [f32], f32) {
        let scale = self.scale.map_or(1.0, |scale| scale[item as usize]);
        (self.items.row(item as usize), scale)
    }

    /// Scores any items for one user, with the bits they have in a block.
    pub(super) fn score_items<'t>(
        &self,
        user: u32,
        items: &[u32],
        out: &'t mut Vec<f32>,
    ) -> &'t mut [f32] {
        let room = items.len().next_multiple_of(LANES);
        if out.len() < room {
            out.resize(room, 0.0);
        }
        Kernels::in_use().products(self.user(user), self.item_rows(), items, out);
        &mut out[..items.len()]
    }

    /// Items without panels: no preparation, but somewhat slower for every tile of users.
    pub(super) fn unpacked<'s>(&'s self, items: &'s [u32]) -> UnpackedItems<'s> {
        UnpackedItems {
            scorer: self,
            items,
        }
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
                .for_each(|(panel, items)| {
                    Kernels::in_use().transpose_rows(self.item_rows(), items, panel);
                });
        }
        Box::new(PackedItems {
            users: self.users,
            panels,
        })
    }

    /// By the Cauchy–Schwarz inequality.
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

    fn as_factors(&self) -> Option<&FactorScorer<'_>> {
        Some(self)
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
    fn score(&self, users: &[u32], range: Range<usize>, tile: &mut ScoreTile) {
        let k = self.users.k;
        let (_, rows) = gather(self.users, users, 0, &mut tile.scratch);
        for (strip, first) in range.step_by(LANES).enumerate() {
            let panel = &self.panels[first * k..(first + LANES) * k];
            let out = &mut tile.scores[strip * LANES..];
            score_tile(rows, panel, out, tile.stride);
        }
    }
}

/// The factors of some users one after another, after `room` floats for other uses.
fn gather<'t>(
    factors: FactorRows<'_>,
    users: &[u32],
    room: usize,
    scratch: &'t mut Vec<f32>,
) -> (&'t mut [f32], StridedRows<'t>) {
    scratch.clear();
    scratch.resize(room, 0.0);
    for &user in users {
        scratch.extend_from_slice(factors.row(user as usize));
    }
    let (before, values) = scratch.split_at_mut(room);
    let rows = StridedRows {
        values,
        rows: users.len(),
        k: factors.k,
        stride: factors.k,
    };
    (before, rows)
}

/// Items that are transposed into panels one at a time, when they are scored.
pub(super) struct UnpackedItems<'a> {
    scorer: &'a FactorScorer<'a>,
    items: &'a [u32],
}

impl ScoreBlock for UnpackedItems<'_> {
    fn score(&self, users: &[u32], range: Range<usize>, tile: &mut ScoreTile) {
        let (scorer, items) = (self.scorer, &self.items[range]);
        if let &[user] = users {
            let (p, rows) = (scorer.user(user), scorer.item_rows());
            return Kernels::in_use().products(p, rows, items, &mut tile.scores);
        }
        let room = scorer.items.k * LANES;
        let (panel, rows) = gather(scorer.users, users, room, &mut tile.scratch);
        for (strip, items) in items.chunks(LANES).enumerate() {
            Kernels::in_use().transpose_rows(scorer.item_rows(), items, panel);
            let out = &mut tile.scores[strip * LANES..];
            score_tile(rows, panel, out, tile.stride);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_never_below_the_row_nor_no_number() {
        let row = [3.0, 0.0, 4.0];
        let length = FactorScorer::length(&row, 2.0);
        assert!((10.0..10.0001).contains(&length), "{length}");
        // Zero times infinity is NaN, which would end a user's search too early.
        assert!(FactorScorer::length(&row, f32::INFINITY) == f64::INFINITY);
    }
}
