//! One half-sweep for both sides, and the row solvers that plug into it.
//!
//! With Q fixed, row u of P is the quadratic `p ↦ pᵀ H_u p − 2 pᵀ y_u` with
//!
//! ```text
//! H_u = Σ_t a_ut S_t + Σ_{i∈R_u} d_ui q_i q_iᵀ + λ_u I,   d_ui = c_ui − a_u·b_i,   y_u = Σ_{i∈R_u} c_ui r_ui q_i
//! ```
//!
//! and rows do not interact. Solving Q is the same function on the transposed matrix; everything
//! here is written as if solving P. The caches `S_t` ([`cache`]) are the only data that rows share, so
//! another backend needs only "sum the caches" and "half-sweep my rows".
//!
//! | solver | what it does to a row | file |
//! | --- | --- | --- |
//! | `eals` | one exact step per coordinate (Algorithm 2) | [`lane_parallel`] with AVX-512; otherwise, and for long rows, [`block`] with blocks of 1 |
//! | `subspace` | one exact solve per block of coordinates | [`block`] |
//! | `als` | one exact solve | [`block`], one block of K |
//! | `als-cg` | a few conjugate-gradient steps | [`cg`] |
//! | `eals-vanilla` | Algorithm 1, over every item | [`vanilla`] |
//!
//! What blocks of features add to `y_u` is a matrix product for all rows ([`features`]).
//! A sweep that rounding has spoilt is made again in double precision ([`in_double`]).

pub(crate) mod block;
mod block_step;
pub(crate) mod cache;
pub(crate) mod cg;
pub(crate) mod features;
pub(crate) mod growing;
pub(crate) mod guarded;
pub(crate) mod in_double;
pub(crate) mod lane_parallel;
mod long_rows;
pub(crate) mod objective;
pub(crate) mod penalty;
pub(crate) mod quadratic;
mod tile;
mod tiles;
pub(crate) mod vanilla;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use crate::data::{Entries, Row, Values};
use crate::linalg::Dense;
use crate::linalg::kernels::{Gathered, Kernels};
use crate::row_sums::{RowSum, Summand};
use cache::GramCache;
use features::SideFeatures;
pub(crate) use objective::ridge;
pub use objective::{EntryLoss, Objective};
pub(crate) use tile::Tile;
pub(crate) use tiles::{MAX_STORED_ENTRIES, Tiles, scratch_bytes, stored_layout_bytes};

/// What the free side reads while it is being solved.
///
/// Solving P borrows `(R, A, B, Q, S^q)`; solving Q borrows `(Rᵀ, B, A, P, S^p)`.
pub(crate) struct Side<'a> {
    /// Rows of the free side.
    pub(crate) observed: &'a Entries<'a>,
    /// Weight rows of the free side (A when solving P).
    pub(crate) own_weights: &'a Dense,
    /// Weight rows of the fixed side (B when solving P).
    pub(crate) fixed_weights: &'a Dense,
    /// Factors of the fixed side, padded.
    pub(crate) fixed: &'a Dense,
    /// `S_t` of the fixed side.
    pub(crate) cache: &'a GramCache,
    /// `λ_u` of every row of the free side.
    pub(crate) penalty: &'a Values<'a>,
    /// Blocks whose entries are all observed, which are not among `observed`.
    pub(crate) features: &'a [SideFeatures<'a>],
    /// Whether some weight on missing entries may be below zero, so that curvature may be too.
    pub(crate) may_be_negative: bool,
    /// Whether the half-sweep sums what the entries contribute to the objective.
    pub(crate) wants_loss: bool,
    /// Inner loops to use.
    pub(crate) kernels: Kernels,
    /// Set when the run is to end before the sweep does.
    pub(crate) cancelled: &'a AtomicBool,
}

impl<'a> Side<'a> {
    /// Rows of the fixed side that `indices` name.
    pub(crate) fn gathered(&self, indices: &'a [u32]) -> Gathered<'a> {
        Gathered {
            matrix: self.fixed.as_slice(),
            stride: self.fixed.stride(),
            indices,
        }
    }

    /// Weights `a_u · b_i` that the entries at `columns` would have if they were missing.
    pub(crate) fn missing_weights(&self, row: usize, columns: &[u32], out: &mut [f32]) {
        let a = self.own_weights.row(row);
        if let &[a] = a {
            // Rank one is by far the most common; its loop is a gather and a product.
            let b = self.fixed_weights.as_slice();
            for (slot, &column) in out.iter_mut().zip(columns) {
                *slot = a * b[column as usize];
            }
            return;
        }
        for (slot, &column) in out.iter_mut().zip(columns) {
            let b = self.fixed_weights.row(column as usize);
            *slot = a.iter().zip(b).map(|(a, b)| a * b).sum();
        }
    }
}

/// A row whose quadratic has no minimum, because weights on missing entries are negative.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NotConvex {
    /// The row.
    pub row: usize,
    /// Its curvature.
    pub curvature: f32,
}

/// Why a half-sweep ended early.
#[derive(Clone, Debug, PartialEq)]
pub enum Halt {
    /// A row has no minimum.
    NotConvex(NotConvex),
    /// The run was cancelled; some rows are improved and some are not.
    Cancelled,
    /// The hardware cannot go on, for the reason given: workers that are lost, for instance.
    Failed(String),
}

/// A way of improving the rows of a tile; the one place where solvers differ.
pub(crate) trait RowSolver: Sync {
    /// Scratch memory of one worker, empty until its first tile.
    type Scratch: Default + Send;

    /// Improves the rows of the tile and yields what their entries then contribute to the objective,
    /// if the side requests it.
    fn solve(
        &self,
        tile: &mut Tile<'_>,
        side: &Side<'_>,
        scratch: &mut Self::Scratch,
    ) -> Result<EntryLoss, NotConvex>;
}

/// Writes to `after` every row of `before` improved with the other side held fixed, and yields what
/// the rows then contribute to the objective.
///
/// Rows do not interact and sums run in a fixed order, so the result does not depend on the number
/// of threads.
pub(crate) fn half_sweep<S: RowSolver>(
    solver: &S,
    before: &Dense,
    after: &mut Dense,
    side: &Side<'_>,
    tiles: &Tiles,
) -> Result<RowSum<EntryLoss>, Halt> {
    // A worker that waits for parts of a long row may begin another tile: buffers belong to the
    // tile, not to the worker.
    let pool: Mutex<Vec<(tile::TileScratch, S::Scratch)>> = Mutex::default();
    let losses: Vec<Result<EntryLoss, Halt>> = tiles
        .split(before, after)
        .into_par_iter()
        .map(|part| {
            if side.cancelled.load(Ordering::Relaxed) {
                return Err(Halt::Cancelled);
            }
            let (mut buffers, mut scratch) = locked(&pool).pop().unwrap_or_default();
            let mut tile = Tile::load(part, side, &mut buffers);
            let solved = solver.solve(&mut tile, side, &mut scratch);
            let ridge = tile.ridge(side);
            locked(&pool).push((buffers, scratch));
            let loss = solved.map_err(Halt::NotConvex)?;
            Ok(EntryLoss { ridge, ..loss })
        })
        .collect();
    let mut total = RowSum::default();
    let mut current: Option<(usize, EntryLoss)> = None;
    for (rows, loss) in tiles.rows().zip(losses) {
        let (chunk, loss) = (tiles.chunk_of(rows.start), loss?);
        match &mut current {
            Some((at, sum)) if *at == chunk => sum.add(loss),
            _ => {
                let mut sum = EntryLoss::default();
                sum.add(loss);
                if let Some((done, sum)) = current.replace((chunk, sum)) {
                    total = total.merge(RowSum::of_chunk(done, sum));
                }
            }
        }
    }
    Ok(match current {
        Some((done, sum)) => total.merge(RowSum::of_chunk(done, sum)),
        None => total,
    })
}

/// Solves the rows of a side exactly, on the calling thread: for a few rows, whatever trained the
/// others. A row without entries is exactly 0.
pub(crate) fn solve_exactly(side: &Side<'_>) -> Result<Dense, NotConvex> {
    let before = Dense::padded(side.observed.rows(), side.fixed.cols());
    improve_rows(side, &before, before.stride(), &mut RowScratch::default())
}

/// Buffers for rows that are improved on the calling thread.
#[derive(Default)]
pub(crate) struct RowScratch {
    tile: tile::TileScratch,
    block: block::BlockScratch,
}

/// Yields the rows of `before` improved by exact steps over blocks of `block` coordinates, on the
/// calling thread: blocks of 1 make the steps of `eals`, a block of the whole row solves it.
pub(crate) fn improve_rows(
    side: &Side<'_>,
    before: &Dense,
    block: usize,
    scratch: &mut RowScratch,
) -> Result<Dense, NotConvex> {
    let mut after = before.clone();
    let tiles = Tiles::new(side.observed, before.stride());
    let solver = block::BlockSolver { block };
    for part in tiles.split(before, &mut after) {
        let mut tile = Tile::load(part, side, &mut scratch.tile);
        solver.solve(&mut tile, side, &mut scratch.block)?;
    }
    Ok(after)
}

/// The guarded value; buffers can be used even if the thread that had them panicked.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `a · b` in `f64`: the weight of an entry if it were missing.
pub(crate) fn missing_weight(a: &[f32], b: &[f32]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// The observed entries of a row.
pub(crate) fn observed_row<'a>(side: &Side<'a>, row: usize) -> Row<'a> {
    side.observed.row(row)
}
