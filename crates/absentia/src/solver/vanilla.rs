//! Algorithm 1 of the paper: element-wise ALS over every entry of the matrix, `O(MNK)` a sweep.
//!
//! The fast solvers are tested against it, and it is the only solver that takes any dense W as it is.
//! Written for clarity: dense rows in `f64`, no caches.

use super::{EntryLoss, NotConvex, RowSolver, Side, Tile, missing_weight, observed_row};
use crate::linalg::Dense;

/// Vanilla element-wise ALS.
pub(crate) struct VanillaSolver<'w> {
    /// Weights of missing entries, a row per row of the free side; the low-rank ones when absent.
    pub(crate) dense: Option<&'w Dense>,
}

/// Weight, target and prediction of every column of one row.
#[derive(Default)]
pub(crate) struct VanillaScratch {
    w: Vec<f64>,
    r: Vec<f64>,
    predicted: Vec<f64>,
}

impl RowSolver for VanillaSolver<'_> {
    type Scratch = VanillaScratch;

    fn solve(
        &self,
        tile: &mut Tile<'_>,
        side: &Side<'_>,
        scratch: &mut VanillaScratch,
    ) -> Result<EntryLoss, NotConvex> {
        tile.fill(side);
        for at in 0..tile.len() {
            let row = tile.row(at);
            self.load_row(row, side, scratch);
            scratch.predict(tile.factors_of(at), side);
            for f in 0..side.fixed.cols() {
                scratch.update(f, row, tile.factors_of(at), side)?;
            }
            let entries = tile.entries(at, side);
            for (slot, &column) in entries.predicted.iter_mut().zip(entries.gathered.indices) {
                *slot = scratch.predicted[column as usize] as f32;
            }
        }
        Ok(tile.loss(side))
    }
}

impl VanillaSolver<'_> {
    fn load_row(&self, row: usize, side: &Side<'_>, scratch: &mut VanillaScratch) {
        let n = side.fixed.rows();
        scratch.w.clear();
        scratch.w.extend((0..n).map(|column| {
            if let Some(w) = self.dense {
                f64::from(w.row(row)[column])
            } else {
                missing_weight(side.own_weights.row(row), side.fixed_weights.row(column))
            }
        }));
        scratch.r.clear();
        scratch.r.resize(n, 0.0);
        for (column, target) in side.feature_targets(row) {
            scratch.r[column] = f64::from(target);
        }
        let observed = observed_row(side, row);
        for (at, &column) in observed.indices.iter().enumerate() {
            scratch.w[column as usize] = f64::from(observed.c.get(at));
            scratch.r[column as usize] = f64::from(observed.r.get(at));
        }
    }
}

impl VanillaScratch {
    /// `r̂_ui` of every column (eq. `mf` of the paper).
    fn predict(&mut self, p: &[f32], side: &Side<'_>) {
        self.predicted.clear();
        self.predicted.extend((0..side.fixed.rows()).map(|column| {
            let q = side.fixed.row(column);
            q.iter()
                .zip(p)
                .map(|(q, p)| f64::from(*q) * f64::from(*p))
                .sum::<f64>()
        }));
    }

    /// The update of `p_uf` over all columns (eq. `p_uf0` of the paper, with r̂ cached).
    fn update(
        &mut self,
        f: usize,
        row: usize,
        p: &mut [f32],
        side: &Side<'_>,
    ) -> Result<(), NotConvex> {
        let (mut above, mut below) = (0.0, 0.0);
        for (column, w) in self.w.iter().enumerate() {
            let q = f64::from(side.fixed.row(column)[f]);
            let without = self.predicted[column] - f64::from(p[f]) * q;
            above += (self.r[column] - without) * w * q;
            below += w * q * q;
        }
        below += f64::from(side.penalty.get(row));
        if side.may_be_negative && below < 0.0 {
            return Err(NotConvex {
                row,
                curvature: below as f32,
            });
        }
        if below > 0.0 {
            let new = (above / below) as f32;
            let change = f64::from(new) - f64::from(p[f]);
            for (column, predicted) in self.predicted.iter_mut().enumerate() {
                *predicted += change * f64::from(side.fixed.row(column)[f]);
            }
            p[f] = new;
        }
        Ok(())
    }
}
